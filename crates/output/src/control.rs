//! Characters that no name, title, label or argument may have.

/// Whether `c` has an effect on a terminal or on the lines of a file beside its glyph: control
/// characters (C0, DEL, C1), Unicode's line and paragraph separators, and the formatting characters
/// of bidirectional text (Unicode UAX #9: marks, embeddings, overrides, isolates).
pub const fn is_unprintable(c: char) -> bool {
    matches!(
        c,
        '\0'..='\x1f'
            | '\x7f'..='\u{9f}'
            | '\u{61c}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
    )
}

/// The first such character of `text`, as a noun phrase for an error: "a line feed (U+000A)".
pub fn find_unprintable(text: &str) -> Option<String> {
    text.chars().find(|&c| is_unprintable(c)).map(describe)
}

/// Names an unprintable character.
fn describe(c: char) -> String {
    let name = match c {
        '\n' => "a line feed",
        '\r' => "a carriage return",
        '\t' => "a tab",
        '\x1b' => "an escape character",
        c if c.is_control() => "a control character",
        '\u{2028}' => "a line separator",
        '\u{2029}' => "a paragraph separator",
        _ => "a character that changes the direction of text",
    };
    format!("{name} (U+{:04X})", u32::from(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_found_and_letters_of_any_script_are_not() {
        assert_eq!(find_unprintable("Zürich 東京 🦀 a=b '\"\\`$"), None);
        for (text, found) in [
            ("a\nb", "a line feed (U+000A)"),
            ("\u{1b}[31m", "an escape character (U+001B)"),
            ("\u{9b}31m", "a control character (U+009B)"),
            ("a\u{2028}b", "a line separator (U+2028)"),
            ("a\u{61c}b", "a character that changes the direction of text (U+061C)"),
            ("a\u{202e}b", "a character that changes the direction of text (U+202E)"),
        ] {
            assert_eq!(find_unprintable(text).as_deref(), Some(found));
        }
    }
}
