//! Arguments of `lowtide figure`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use lowtide_typeset::{Format, Length, MAX_DPI, MIN_DPI, parse_length};
use lowtide_units::{Duration, parse_duration};

use super::OptionalFlowArgs;

#[derive(Debug, Args)]
pub(crate) struct FigureArgs {
    /// Directory of `run`, `matrix`, `papers reproduce` or `advise -o`
    pub(crate) dir: PathBuf,
    /// Figure, by the name that the list has; default: print the list
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) flow: OptionalFlowArgs,
    /// Start of the interval of --flow, in time of the run
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "flow")]
    pub(crate) from: Option<Duration>,
    /// End of the interval of --flow, in time of the run
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "flow")]
    pub(crate) to: Option<Duration>,
    /// Output file; default: the name of the figure in the working directory
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Format; default: by the extension of FILE, else pdf
    #[arg(long, value_enum)]
    pub(crate) format: Option<FormatArg>,
    /// Width, as 3.3in, 84mm or 240pt
    #[arg(long, value_name = "LENGTH", default_value = "3.3in", value_parser = parse_length)]
    pub(crate) width: Length,
    /// Height; default: the plots keep the proportions of the report, with at least eight lines of
    /// text each
    #[arg(long, value_name = "LENGTH", value_parser = parse_length)]
    pub(crate) height: Option<Length>,
    /// Font: a family of this system, or a file (.ttf, .otf); default: Liberation Sans, which is in
    /// the binary
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) font: Option<String>,
    /// Size of all text in the file
    #[arg(long, value_name = "LENGTH", default_value = "8pt", value_parser = parse_length)]
    pub(crate) font_size: Length,
    /// Greys only; dashes and markers distinguish the schemes
    #[arg(long, alias = "gray")]
    pub(crate) grey: bool,
    /// Draw the title, which papers have in the caption
    #[arg(long)]
    pub(crate) title: bool,
    /// Draw text as outlines, without a font (SVG, PDF)
    #[arg(long)]
    pub(crate) outlines: bool,
    /// Pixels per inch of a PNG file
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = dpi())]
    pub(crate) dpi: u32,
}

/// Format of a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum FormatArg {
    /// Vector graphics for pages, with the font.
    Svg,
    /// Vector graphics for papers, with the used part of the font.
    Pdf,
    /// Pixels.
    Png,
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Svg => Self::Svg,
            FormatArg::Pdf => Self::Pdf,
            FormatArg::Png => Self::Png,
        }
    }
}

fn dpi() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(i64::from(MIN_DPI)..=i64::from(MAX_DPI))
}

pub(super) const EXAMPLES: &str = "\
A figure has the values of the report's figure. It is laid out at its width, so that text keeps its
size. Times and intervals are those of the report: the last point of a sweep, the first seed.

Examples:
  lowtide figure out                                    the names of its figures
  lowtide figure out queue-over-time                    queue-over-time.pdf, 3.3 in wide, 8 pt
  lowtide figure out queue-over-time --grey --font 'Times New Roman' --font-size 9pt
  lowtide figure out queue-distribution --width 84mm --height 50mm -o fig3.svg
  lowtide figure out --flow short.2 --scheme dctcp      the plots of a flow, as `lowtide plot`
  lowtide figure advice knee -o knee.png --dpi 600      after `lowtide advise -o advice`";
