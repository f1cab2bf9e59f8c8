//! Comments of one line in configuration files.

use crate::control::is_unprintable;

/// Returns `text` for a comment that ends at the line end (`#`, `!`, `--`) or at `*/`: unprintable
/// characters become spaces, and `*/` is separated.
pub fn text(text: &str) -> String {
    let line: String = text.chars().map(|c| if is_unprintable(c) { ' ' } else { c }).collect();
    line.replace("*/", "* /")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_comment_ends_where_its_text_does() {
        assert_eq!(super::text("a\nreboot */ system { }"), "a reboot * / system { }");
        assert_eq!(super::text("K is 65 pkt"), "K is 65 pkt");
        assert_eq!(super::text("**/*/"), "** /* /");
    }
}
