//! Comma-separated values by RFC 4180, but with plain line feeds: text with a comma, a quote or a
//! line break is quoted, a null is an empty field.

/// One line, with its line feed.
pub fn line<'a>(fields: impl IntoIterator<Item = &'a str>) -> String {
    let mut line = String::new();
    for (i, field) in fields.into_iter().enumerate() {
        if i > 0 {
            line.push(',');
        }
        if field.contains([',', '"', '\n', '\r']) {
            line.push('"');
            line.push_str(&field.replace('"', "\"\""));
            line.push('"');
        } else {
            line.push_str(field);
        }
    }
    line.push('\n');
    line
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
}
