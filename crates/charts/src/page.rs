//! The shell of our HTML pages: template, style, table of settings.

use std::fmt::Write as _;

use minijinja::Environment;
use minijinja::value::Value;

use crate::error::ChartError;

/// Renders one of our page templates; they share the style and the table of settings.
pub fn fill(page: &str, values: &Value) -> Result<String, ChartError> {
    let mut environment = Environment::new();
    [
        ("style.css", include_str!("style.css")),
        ("settings.html", include_str!("settings.html")),
        ("page.html", page),
    ]
    .into_iter()
    .try_for_each(|(name, text)| environment.add_template(name, text))
    .and_then(|()| environment.get_template("page.html")?.render(values))
    .map_err(|e| ChartError { what: "the report".to_owned(), reason: e.to_string() })
}

/// Returns a CSV file as a data URI, which a browser can save.
pub fn data_uri(csv: &str) -> String {
    let mut out = String::from("data:text/csv;charset=utf-8,");
    for byte in csv.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~,".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_csv_file_survives_in_a_data_uri() {
        assert_eq!(
            data_uri("a,b\n1,\"2 %\"\n"),
            "data:text/csv;charset=utf-8,a,b%0A1,%222%20%25%22%0A"
        );
    }
}
