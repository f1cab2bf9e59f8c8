//! `lowtide figure`: figures of result directories for papers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lowtide_charts::Chart;
use lowtide_input_files::{JSON, read_text};
use lowtide_lab::flow::{FlowSource, PlotWindow, ReplayProgress};
use lowtide_lab::load_open;
use lowtide_output::shell;
use lowtide_record::write_atomic;
use lowtide_sizing::fabric::{FabricAdvice, knee};
use lowtide_typeset::{Fonts, Format, PaperStyle, TypesetError, render};
use serde::Serialize;

use crate::args::{FigureArgs, RunSelectorArgs};
use crate::cmd::advise::ADVICE_FILE;
use crate::cmd::flow::{each_flow, flow_selector};
use crate::error::CommandError;
use crate::output::Output;

/// Near names in an error.
const NEAR: usize = 3;

#[derive(Serialize)]
struct FigureOutput<'a> {
    file: String,
    #[serde(flatten)]
    figure: FigureRow<'a>,
}

#[derive(Serialize)]
struct FigureRow<'a> {
    name: &'a str,
    title: &'a str,
    caption: &'a str,
}

impl<'a> FigureRow<'a> {
    fn new(chart: &'a Chart) -> Self {
        Self { name: chart.id(), title: chart.title(), caption: chart.caption() }
    }
}

pub(crate) fn figure(args: &FigureArgs, out: Output) -> Result<(), CommandError> {
    // All that needs no table is checked first.
    let format = format(args)?;
    let file = args.out.as_deref().map(check_file).transpose()?;
    let fonts = args.font.as_deref().map_or_else(Fonts::built_in, Fonts::find)?;
    let style = PaperStyle {
        width: args.width,
        height: args.height,
        font_size: args.font_size,
        title: args.title,
        grey: args.grey,
        outlines: args.outlines,
        dpi: args.dpi,
    };
    style.check()?;
    let charts = charts(args, out)?;
    let Some(chart) = select(args, &charts)? else { return list(&charts, out) };
    let content = render(chart, &style, &fonts, format)?;
    let default = || PathBuf::from(format!("{}.{}", chart.id(), format.extension()));
    let file = file.map_or_else(default, Path::to_path_buf);
    write_atomic(&file, &content)?;
    let file = file.display().to_string();
    if out.json {
        let body = FigureOutput { file, figure: FigureRow::new(chart) };
        return out.answer("lowtide.figure/1", &body);
    }
    let caption = format!("{}. {}", chart.title(), chart.caption());
    out.note(&textwrap::fill(caption.trim_end(), 80));
    out.text(&file)
}

/// Returns the format of the output, which its extension must not contradict.
fn format(args: &FigureArgs) -> Result<Format, CommandError> {
    let asked = args.format.map(Format::from);
    let extension = args.out.as_deref().and_then(Path::extension);
    let Some(extension) = extension.map(|e| e.to_string_lossy().to_lowercase()) else {
        return Ok(asked.unwrap_or(Format::Pdf));
    };
    let known = Format::ALL.into_iter().find(|f| f.extension() == extension);
    match (known, asked) {
        (Some(format), None) => Ok(format),
        (Some(format), Some(asked)) if format == asked => Ok(format),
        (_, Some(asked)) => Err(CommandError::Usage(
            format!("-o names a .{extension} file, but --format is {}", asked.extension()),
            Some(format!("name a .{} file, or leave --format out", asked.extension())),
        )),
        (None, None) => Err(CommandError::Usage(
            format!("`.{extension}` is not a format of figures"),
            Some("name a .svg, .pdf or .png file, or give --format".to_owned()),
        )),
    }
}

/// Checks that a file can be in its folder.
fn check_file(file: &Path) -> Result<&Path, CommandError> {
    let folder = file.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        let message = format!("the folder {} of -o does not exist", folder.display());
        let help = Some(format!("create it with `mkdir -p {}`", folder.display()));
        return Err(CommandError::Usage(message, help));
    }
    if file.is_dir() {
        let message = format!("{} of -o is a folder", file.display());
        return Err(CommandError::Usage(message, Some("name a file in it".to_owned())));
    }
    Ok(file)
}

/// Returns the figures of the directory, or of its flow.
fn charts(args: &FigureArgs, out: Output) -> Result<Vec<Chart>, CommandError> {
    let dir = &args.dir;
    let advice = dir.join(ADVICE_FILE);
    if let Some(flow) = &args.flow.flow {
        let (scheme, seed, at) = (args.flow.scheme.clone(), args.flow.seed, args.flow.at.clone());
        let selector = flow_selector(flow, &RunSelectorArgs { scheme, seed, at })?;
        let window = PlotWindow { from: args.from, to: args.to };
        let draw = |flow: &FlowSource, progress: ReplayProgress<'_>| flow.chart(window, progress);
        return each_flow((dir, args.flow.memory), &selector, out, draw);
    }
    if advice.is_file() {
        return Ok(vec![Chart::Panels(knee(&read_advice(&advice)?))]);
    }
    let (run, finished) =
        load_open(dir).map_err(|e| CommandError::Usage(e.to_string(), served(dir)))?;
    let mut charts = lowtide_deployment::charts(&run, &finished)?;
    charts.extend(lowtide_papers::charts(&run, &finished)?);
    Ok(charts)
}

fn read_advice(file: &Path) -> Result<FabricAdvice, CommandError> {
    let wrong = |e: &dyn std::fmt::Display| {
        let help = "run `lowtide advise -o DIR` again".to_owned();
        CommandError::Usage(format!("{} cannot be read: {e}", file.display()), Some(help))
    };
    let text = read_text(file, &JSON).map_err(|e| wrong(&e))?;
    let advice: FabricAdvice = serde_json::from_str(&text).map_err(|e| wrong(&e))?;
    if advice.advised >= advice.candidates.len() {
        return Err(wrong(&"`advised` is not the index of a candidate"));
    }
    Ok(advice)
}

/// Returns the help for a directory without tables.
fn served(dir: &Path) -> Option<String> {
    let help = "figures are drawn from a directory of `run`, `matrix`, `papers reproduce` or \
                `advise -o`; those of `analyze` are SVG files already";
    (!dir.join("manifest.json").is_file()).then(|| help.to_owned())
}

/// Returns the figure that is named; none if the list is wanted.
fn select<'a>(args: &FigureArgs, charts: &'a [Chart]) -> Result<Option<&'a Chart>, CommandError> {
    let dir = shell::word(&args.dir.display().to_string());
    let command = format!("`lowtide figure {dir}` lists the figures");
    let Some(name) = &args.name else {
        return match charts {
            [chart] if args.flow.flow.is_some() => Ok(Some(chart)),
            _ if args.out.is_some() || args.format.is_some() => {
                Err(CommandError::Usage("no figure is named".to_owned(), Some(command)))
            }
            _ => Ok(None),
        };
    };
    if let Some(chart) = charts.iter().find(|c| c.id() == name) {
        return Ok(Some(chart));
    }
    let mut near: Vec<&str> = charts.iter().map(Chart::id).collect();
    near.sort_by_key(|id| strsim::damerau_levenshtein(id, name));
    let near: Vec<String> = near.iter().take(NEAR).map(|id| format!("`{id}`")).collect();
    let help = match near.as_slice() {
        [] => format!("{} has no figures", args.dir.display()),
        near => format!("near names are {}; {command}", near.join(", ")),
    };
    Err(CommandError::Usage(format!("no figure is named `{name}`"), Some(help)))
}

fn list(charts: &[Chart], out: Output) -> Result<(), CommandError> {
    if out.json {
        let figures: Vec<_> = charts.iter().map(FigureRow::new).collect();
        return out.answer("lowtide.figures/1", &BTreeMap::from([("figures", figures)]));
    }
    let row = |c: &Chart| vec![c.id().to_owned(), c.title().to_owned()];
    out.table(&["figure", "title"], &[], &charts.iter().map(row).collect::<Vec<_>>())
}

impl From<TypesetError> for CommandError {
    fn from(error: TypesetError) -> Self {
        match error {
            TypesetError::Invalid { message, help } => Self::Usage(message, help),
            TypesetError::Chart(error) => Self::Usage(error.to_string(), None),
            TypesetError::Write { .. } => Self::Run(error.to_string()),
        }
    }
}
