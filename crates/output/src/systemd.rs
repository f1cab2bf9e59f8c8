//! Units of systemd (systemd.syntax(7), systemd.unit(5), systemd.service(5)).

use std::fmt::Write as _;

/// Returns `text` as one word of a command line: no variable, no specifier, no second line.
pub fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=,@+-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '%' => out.push_str("%%"),
            '$' => out.push_str("$$"),
            // Writing to a string cannot fail.
            c if c.is_ascii_control() => drop(write!(out, "\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns `text` if it is the name of a unit, without a specifier: letters, digits and `:-_.\@`.
pub fn unit_name(text: &str) -> Option<&str> {
    // UNIT_NAME_MAX of systemd.
    let is_valid = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    let is_name = !text.is_empty() && text.len() < 256 && text.chars().all(is_valid);
    is_name.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_systemd_reads_them() {
        for (text, expected) in [
            ("/usr/bin/lowtide", "/usr/bin/lowtide"),
            ("1 ms", "\"1 ms\""),
            ("a\\x2db", "\"a\\\\x2db\""),
            ("50%$x\"'", "\"50%%$$x\\\"'\""),
            ("a\nExecStart=/bin/sh", "\"a\\x0aExecStart=/bin/sh\""),
            (";", "\";\""),
            ("", "\"\""),
        ] {
            assert_eq!(word(text), expected);
        }
    }

    #[test]
    fn a_name_with_a_blank_or_a_specifier_is_no_unit() {
        assert_eq!(unit_name("a-b\\x2dc.slice"), Some("a-b\\x2dc.slice"));
        for text in ["", "a b.slice", "a%h.slice", "a\nb.slice", "a/b.slice"] {
            assert_eq!(unit_name(text), None, "{text}");
        }
    }
}
