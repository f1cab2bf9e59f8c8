//! The shell of our HTML pages: templates, style, and the script that draws figures and sorts
//! tables.
//!
//! Contract: a page is one file that loads nothing from the network. It is complete without its
//! script: figures are SVG, tables are HTML. The script, built from `web/`, replaces a figure by an
//! interactive one from the JSON beside it. Equal values give equal bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::value::Value;
use minijinja::{Environment, context};
use miniz_oxide::deflate::compress_to_vec_zlib;

use crate::FigureFiles;
use crate::error::ChartError;

/// The script of a page: `web/` after `npm run build`, gzip.
const SCRIPT: &[u8] = include_bytes!("../assets/page.js.gz");

/// Templates that pages use.
const TEMPLATES: [(&str, &str); 6] = [
    ("shell.html", include_str!("page/shell.html")),
    ("figure.html", include_str!("page/figure.html")),
    ("table.html", include_str!("page/table.html")),
    ("settings.html", include_str!("page/settings.html")),
    ("style.css", include_str!("page/style.css")),
    ("load.js", include_str!("page/load.js")),
];

/// Compression level of the values of figures: the best one that takes milliseconds.
const LEVEL: u8 = 9;

/// Renders one of our page templates. They extend `shell.html`.
pub fn fill(page: &str, values: &Value) -> Result<String, ChartError> {
    let mut environment = Environment::new();
    environment.add_global("script", Value::from_safe_string(STANDARD.encode(SCRIPT)));
    TEMPLATES
        .into_iter()
        .chain([("page.html", page)])
        .try_for_each(|(name, text)| environment.add_template(name, text))
        .and_then(|()| environment.get_template("page.html")?.render(values))
        .map_err(|e| ChartError { what: "the report".to_owned(), reason: format!("{e:#}") })
}

/// Returns a page of one figure.
pub fn of_figure(drawn: &FigureFiles) -> Result<String, ChartError> {
    fill(include_str!("page/single.html"), &context! { figure => figure(drawn, None) })
}

/// Returns the values that the template `figure.html` needs. `file` is the path of the CSV file
/// relative to the page, if the directory of the page has one.
pub fn figure(figure: &FigureFiles, file: Option<&str>) -> Value {
    let json = compress_to_vec_zlib(figure.json.as_bytes(), LEVEL);
    context! {
        id => figure.id.as_str(),
        caption => figure.caption.as_str(),
        svg => Value::from_safe_string(figure.svg.clone()),
        file,
        json => Value::from_safe_string(STANDARD.encode(json)),
    }
}
