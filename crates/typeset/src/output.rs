//! A figure as a file: SVG, PDF or PNG.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use krilla::Document;
use krilla::geom::Size;
use krilla::page::PageSettings;
use krilla_svg::{SurfaceExt, SvgSettings};
use lowtide_charts::{Chart, Sheet};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree, WriteOptions};

use crate::error::TypesetError;
use crate::fonts::Fonts;
use crate::length::Length;

/// Least and greatest width and height of a figure, points.
const SIDE: [f64; 2] = [72.0, 3600.0];
/// Least and greatest size of text, points.
const TEXT: [f64; 2] = [4.0, 36.0];
/// Least resolution of a PNG file, pixels per inch.
pub const MIN_DPI: u32 = 36;
/// Greatest resolution of a PNG file, pixels per inch.
pub const MAX_DPI: u32 = 2400;
/// Limit on the pixels of a PNG file: 400 MB of memory.
const MAX_PIXELS: f64 = 1e8;
/// Pixels per inch of SVG.
const SVG_DPI: f32 = 96.0;
/// Meters per inch.
const INCH: f64 = 0.0254;

/// Kind of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Vector graphics with the font.
    Svg,
    /// Vector graphics with the used part of the font.
    Pdf,
    /// Pixels.
    Png,
}

impl Format {
    /// All, in the order of messages.
    pub const ALL: [Self; 3] = [Self::Svg, Self::Pdf, Self::Png];

    /// Returns the extension of its files.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Pdf => "pdf",
            Self::Png => "png",
        }
    }
}

/// Form of a figure for a paper.
pub struct PaperStyle {
    /// Width of the file.
    pub width: Length,
    /// Height of the file; `None` follows from the figure.
    pub height: Option<Length>,
    /// Size of all text.
    pub font_size: Length,
    /// Whether the title is drawn.
    pub title: bool,
    /// Greys only.
    pub grey: bool,
    /// Text as outlines, without a font: SVG and PDF.
    pub outlines: bool,
    /// Pixels per inch of a PNG file.
    pub dpi: u32,
}

impl PaperStyle {
    /// Checks the lengths.
    ///
    /// # Errors
    /// A length is out of range.
    pub fn check(&self) -> Result<(), TypesetError> {
        let check = |name: &str, length: Length, [low, high]: [f64; 2]| {
            if (low..=high).contains(&length.points()) {
                return Ok(());
            }
            let message = format!("the {name} {length} is not between {low}pt and {high}pt");
            let help = Some("an inch is 72pt, a millimetre 2.83pt".to_owned());
            Err(TypesetError::Invalid { message, help })
        };
        check("width", self.width, SIDE)?;
        self.height.map_or(Ok(()), |height| check("height", height, SIDE))?;
        check("font size", self.font_size, TEXT)
    }
}

/// Returns the file of a figure.
///
/// # Errors
/// The style is out of range, or the figure does not fit into it.
pub fn render(
    chart: &Chart,
    style: &PaperStyle,
    fonts: &Fonts,
    format: Format,
) -> Result<Vec<u8>, TypesetError> {
    style.check()?;
    let measure = |text: &str, bold: bool| fonts.measure(text, bold);
    let sheet = Sheet {
        width: style.width.points(),
        height: style.height.map(Length::points),
        font_size: style.font_size.points(),
        family: fonts.family(),
        measure: &measure,
        title: style.title,
        grey: style.grey,
    };
    let svg = chart.to_svg_on(&sheet)?;
    match format {
        Format::Svg if style.outlines => {
            let options = WriteOptions { preserve_text: false, ..WriteOptions::default() };
            Ok(tree(&svg, fonts, format)?.to_string(&options).into_bytes())
        }
        Format::Svg => Ok(with_fonts(&svg, fonts)?.into_bytes()),
        Format::Pdf => pdf(&tree(&svg, fonts, format)?, style.outlines),
        Format::Png => png(&tree(&svg, fonts, format)?, style.dpi),
    }
}

fn failed(format: Format, reason: &dyn std::fmt::Display) -> TypesetError {
    TypesetError::Write { format: format.extension(), reason: reason.to_string() }
}

fn tree(svg: &str, fonts: &Fonts, format: Format) -> Result<Tree, TypesetError> {
    let options = Options {
        dpi: SVG_DPI,
        font_family: fonts.family().to_owned(),
        fontdb: fonts.database(),
        ..Options::default()
    };
    Tree::from_str(svg, &options).map_err(|e| failed(format, &e))
}

/// Adds the used faces of the font to a drawing.
fn with_fonts(svg: &str, fonts: &Fonts) -> Result<String, TypesetError> {
    let mut rules = String::new();
    for (bold, weight) in [(false, "normal"), (true, "bold")] {
        let (data, is_bold) = fonts.face(bold);
        let used = if bold { svg.contains("font-weight=\"bold\"") } else { svg.contains("<text") };
        // A family without a bold face has one rule.
        if !used || (bold && !is_bold) {
            continue;
        }
        if data.starts_with(b"ttcf") {
            let message = format!("SVG cannot contain the font collection of `{}`", fonts.family());
            let help = Some("give --outlines, or --format pdf".to_owned());
            return Err(TypesetError::Invalid { message, help });
        }
        let kind = if data.starts_with(b"OTTO") { "otf" } else { "ttf" };
        let rule = format!(
            "@font-face{{font-family:\"{}\";font-weight:{weight};\
             src:url(data:font/{kind};base64,{})}}",
            fonts.family().replace(['"', '<', '&'], ""),
            STANDARD.encode(data),
        );
        rules.push_str(&rule);
    }
    let head = svg.find('>').map_or(0, |end| end + 1);
    Ok(format!("{}\n<style>{rules}</style>{}", &svg[..head], &svg[head..]))
}

fn pdf(tree: &Tree, outlines: bool) -> Result<Vec<u8>, TypesetError> {
    let empty = || failed(Format::Pdf, &"the page is empty");
    let [width, height] =
        [tree.size().width(), tree.size().height()].map(|side| side * 72.0 / SVG_DPI);
    let size = Size::from_wh(width, height).ok_or_else(empty)?;
    let mut document = Document::new();
    let mut page = document.start_page_with(PageSettings::new(size));
    let mut surface = page.surface();
    let settings = SvgSettings { embed_text: !outlines, ..SvgSettings::default() };
    surface.draw_svg(tree, size, settings).ok_or_else(empty)?;
    surface.finish();
    page.finish();
    document.finish().map_err(|e| failed(Format::Pdf, &format!("{e:?}")))
}

fn png(tree: &Tree, dpi: u32) -> Result<Vec<u8>, TypesetError> {
    if !(MIN_DPI..=MAX_DPI).contains(&dpi) {
        let message = format!("{dpi} dpi is not between {MIN_DPI} and {MAX_DPI}");
        return Err(TypesetError::Invalid { message, help: None });
    }
    let size = tree.size();
    let [width, height] = [size.width(), size.height()]
        .map(|side| (f64::from(side) * f64::from(dpi) / f64::from(SVG_DPI)).round());
    if width * height > MAX_PIXELS {
        let message = format!("{width} x {height} pixels are more than {MAX_PIXELS:.0}");
        let help = Some("give a lower --dpi, or --format pdf".to_owned());
        return Err(TypesetError::Invalid { message, help });
    }
    let too_large = || failed(Format::Png, &"the picture is empty");
    let mut picture = Pixmap::new(width as u32, height as u32).ok_or_else(too_large)?;
    // Every pixel is opaque, so that the file needs no alpha.
    picture.fill(Color::WHITE);
    let scale = [width as f32 / size.width(), height as f32 / size.height()];
    resvg::render(tree, Transform::from_scale(scale[0], scale[1]), &mut picture.as_mut());
    let pixels: Vec<u8> = picture.data().chunks_exact(4).flat_map(|p| &p[..3]).copied().collect();
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    let per_meter = (f64::from(dpi) / INCH).round() as u32;
    let unit = png::Unit::Meter;
    encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: per_meter, yppu: per_meter, unit }));
    let mut writer = encoder.write_header().map_err(|e| failed(Format::Png, &e))?;
    writer.write_image_data(&pixels).map_err(|e| failed(Format::Png, &e))?;
    writer.finish().map_err(|e| failed(Format::Png, &e))?;
    Ok(out)
}
