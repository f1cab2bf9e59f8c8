//! Text for a terminal, which acts on control characters (ECMA-48).

use std::borrow::Cow;

use crate::control::is_unprintable;

/// Returns `text` with unprintable characters as `\u{1b}`. Line feeds and tabs remain, and the
/// carriage return of a line end.
pub fn printable(text: &str) -> Cow<'_, str> {
    let mut chars = text.char_indices();
    let is_kept = |at: usize, c: char| {
        matches!(c, '\n' | '\t') || (c == '\r' && text[at..].starts_with("\r\n"))
    };
    if !chars.any(|(at, c)| is_unprintable(c) && !is_kept(at, c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for (at, c) in text.char_indices() {
        if is_unprintable(c) && !is_kept(at, c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// As [`printable`], but every character is replaced by one of as many bytes, so that byte ranges
/// of `text` remain valid: `?`, `¿` or U+FFFD.
pub fn printable_in_place(text: &str) -> Cow<'_, str> {
    let is_replaced = |c: char| is_unprintable(c) && !matches!(c, '\n' | '\t');
    if !text.chars().any(is_replaced) {
        return Cow::Borrowed(text);
    }
    let replaced = text.chars().map(|c| match c.len_utf8() {
        _ if !is_replaced(c) => c,
        1 => '?',
        2 => '¿',
        _ => char::REPLACEMENT_CHARACTER,
    });
    Cow::Owned(replaced.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_control_character_but_line_ends_and_tabs() {
        assert_eq!(printable("a\tb\r\nc\n"), "a\tb\r\nc\n");
        let hostile = "\u{1b}]0;title\u{7}\u{9b}2J\rPASS\u{202e}";
        assert_eq!(printable(hostile), "\\u{1b}]0;title\\u{7}\\u{9b}2J\\u{d}PASS\\u{202e}");
    }

    #[test]
    fn byte_ranges_remain_valid() {
        let text = "é\u{1b}x\u{9b}y\u{2028}z\r\n";
        let shown = printable_in_place(text);
        assert_eq!(shown, "é?x¿y\u{fffd}z?\n");
        assert_eq!(shown.len(), text.len());
    }
}
