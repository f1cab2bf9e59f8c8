//! Comma-separated values by RFC 4180, but with plain line feeds: text with a comma, a quote or a
//! line break is quoted, a null is an empty field.
//!
//! Deviation: a spreadsheet runs a text that begins as a formula. An apostrophe before it prevents
//! that (OWASP, CSV injection). Numbers, also negative ones, are written as they are.

use std::borrow::Cow;

/// First characters of a formula, also in their full-width forms.
const FORMULA: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'];

/// One line, with its line feed.
pub fn line<'a>(fields: impl IntoIterator<Item = &'a str>) -> String {
    let mut line = String::new();
    for (i, field) in fields.into_iter().enumerate() {
        if i > 0 {
            line.push(',');
        }
        push(&mut line, field);
    }
    line.push('\n');
    line
}

/// Appends a field. Not generic, so that it is compiled and optimised with this crate.
fn push(line: &mut String, field: &str) {
    let field = without_formula(field);
    if field.contains([',', '"', '\n', '\r']) {
        line.push('"');
        line.push_str(&field.replace('"', "\"\""));
        line.push('"');
    } else {
        line.push_str(&field);
    }
}

/// A single sign is no formula.
fn without_formula(field: &str) -> Cow<'_, str> {
    let is_formula = field.starts_with(FORMULA)
        && field.parse::<f64>().is_err()
        && field.chars().nth(1).is_some();
    if is_formula { Cow::Owned(format!("'{field}")) } else { Cow::Borrowed(field) }
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn fields_that_could_be_misread_are_quoted() {
        assert_eq!(line(["a", "1.5", ""]), "a,1.5,\n");
        assert_eq!(
            line(["a,b", "say \"x\"", "two\nlines"]),
            "\"a,b\",\"say \"\"x\"\"\",\"two\nlines\"\n"
        );
    }

    #[test]
    fn a_text_is_no_formula_and_a_number_remains_a_number() {
        assert_eq!(line(["-1.5", "+2e-3", "-inf", "-", "a-b"]), "-1.5,+2e-3,-inf,-,a-b\n");
        assert_eq!(line(["=1+1", "@SUM(A1)", "-2+3|x"]), "'=1+1,'@SUM(A1),'-2+3|x\n");
        assert_eq!(line(["=HYPERLINK(\"u\",\"t\")"]), "\"'=HYPERLINK(\"\"u\"\",\"\"t\"\")\"\n");
    }
}
