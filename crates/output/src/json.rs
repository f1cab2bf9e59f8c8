//! JSON (RFC 8259) whose strings also escape C1 control characters, DEL and characters that change
//! the direction of text. A string of it is a double-quoted scalar of YAML 1.2 as well.

use std::fmt::Write as _;
use std::io;

use serde::Serialize;

use crate::control::is_unprintable;

/// Writes `value`, indented, without a line end.
///
/// # Errors
/// `out` cannot be written to, or `value` has a map whose keys are no strings.
pub fn write(out: &mut impl io::Write, value: &impl Serialize) -> io::Result<()> {
    let mut out = Escaping(io::BufWriter::new(out));
    serde_json::to_writer_pretty(&mut out, value)?;
    io::Write::flush(&mut out)
}

/// Writes fragments of serialised JSON, each whole UTF-8, without a copy of the document.
struct Escaping<W: io::Write>(io::BufWriter<W>);

impl<W: io::Write> io::Write for Escaping<W> {
    fn write(&mut self, fragment: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(fragment).map_err(io::Error::other)?;
        self.0.write_all(escaped(text).as_bytes())?;
        Ok(fragment.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Returns `text` as a JSON string, with its quotes.
pub fn string(text: &str) -> String {
    escaped(&serde_json::Value::from(text).to_string())
}

/// The first unprintable character of the strings of a JSON text, escaped or not
/// ([`find_unprintable`](crate::control::find_unprintable)). Line ends and tabs are none.
pub fn find_unprintable(json: &str) -> Option<String> {
    let mut chars = json.chars();
    while let Some(c) = chars.next() {
        let found = match c {
            '\n' | '\r' | '\t' => None,
            '\\' => match chars.next()? {
                'b' => Some('\x08'),
                'f' => Some('\x0c'),
                'u' => {
                    let digits: String = chars.by_ref().take(4).collect();
                    u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)
                }
                _ => None,
            },
            c => Some(c),
        };
        if let Some(found) = found.filter(|&c| is_unprintable(c)) {
            return crate::control::find_unprintable(found.encode_utf8(&mut [0; 4]));
        }
    }
    None
}

/// Serialised JSON has unprintable characters in strings only, except line feeds between values.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_unprintable(c) && c != '\n' {
            // All of them are in the basic plane. Writing to a string cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_control_character_is_found_in_any_notation() {
        let text = |s: &str| serde_json::to_string_pretty(&json!({ "a": [s], "b": 1 })).unwrap();
        for plain in ["x", "a\\nb", "\\u001b", "é\"/", "C:\\temp"] {
            assert_eq!(find_unprintable(&text(plain)), None, "{plain}");
        }
        for hostile in ["\u{1b}[2J", "\u{7f}", "\u{9b}2J", "\\\u{8}", "\u{202e}"] {
            assert!(find_unprintable(&text(hostile)).is_some(), "{hostile:?}");
        }
        assert!(find_unprintable("{\"\\u009B\": 1}").is_some());
    }

    #[test]
    fn strings_have_no_unprintable_character_and_read_back_the_same() {
        let hostile = "\u{1b}[31m\u{9b}2J\u{7f}\u{202e}\n\"\\ é";
        let value = json!({ hostile: [hostile, 1.5, null], "empty": {}, "list": [] });
        let mut text = Vec::new();
        write(&mut text, &value).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(!text.replace('\n', "").chars().any(is_unprintable), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        let plain = json!({ "a": [1, { "b": "é" }] });
        let mut text = Vec::new();
        write(&mut text, &plain).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), serde_json::to_string_pretty(&plain).unwrap());
        assert_eq!(string("a\u{9b}\"b\n"), "\"a\\u009b\\\"b\\n\"");
    }
}
