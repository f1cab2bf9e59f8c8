//! A position in the text, and basic token readers.

use std::ops::Range;
use std::sync::Arc;

use lowtide_units::Duration;

use super::ScriptError;

pub(super) type Result<T> = std::result::Result<T, ScriptError>;

/// A position in a script. `text` may have parts blanked out; `shown` is the original.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    pub(super) name: &'a str,
    pub(super) source: &'a Arc<str>,
    pub(super) text: &'a str,
    pub(super) pos: usize,
    /// Byte range of the last blanks and comments.
    blanks: Range<usize>,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(name: &'a str, shown: &'a Arc<str>, text: &'a str, at: usize) -> Self {
        Self { name, source: shown, text, pos: at, blanks: 0..0 }
    }

    /// End of the last token, before trailing blanks and comments.
    pub(super) const fn end(&self) -> usize {
        if self.pos == self.blanks.end { self.blanks.start } else { self.pos }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.pos..).unwrap_or("")
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn at_end(&self) -> bool {
        self.pos >= self.text.len()
    }

    /// Consumes `what` if it follows.
    pub(super) fn eat(&mut self, what: &str) -> bool {
        let found = self.rest().starts_with(what);
        if found {
            self.pos += what.len();
        }
        found
    }

    /// Consumes `what`, which must follow.
    pub(super) fn expect(&mut self, what: &str) -> Result<()> {
        if self.eat(what) { Ok(()) } else { Err(self.unexpected(&format!("`{what}`"))) }
    }

    /// An error: found the next word, expected `wanted`.
    pub(super) fn unexpected(&self, wanted: &str) -> ScriptError {
        let word = self.word();
        let found = if word.is_empty() { "the end of the line" } else { &format!("`{word}`") };
        self.error(self.pos..self.pos + word.len(), format!("{found} where {wanted} is expected"))
    }

    /// Text up to the next space, for messages.
    pub(super) fn word(&self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| c.is_whitespace()).unwrap_or(rest.len());
        let mut end = end.min(24);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        &rest[..end]
    }

    pub(super) fn error(&self, span: Range<usize>, message: impl Into<String>) -> ScriptError {
        ScriptError::new(self.name, self.source, span, message)
    }

    /// Skips spaces and comments within the line.
    pub(super) fn skip_blanks(&mut self) -> Result<()> {
        let start = self.end();
        let skipped = self.skip_all_blanks();
        self.blanks = start..self.pos;
        skipped
    }

    fn skip_all_blanks(&mut self) -> Result<()> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
            self.pos += blank;
            if self.rest().starts_with("//") {
                self.pos += self.rest().find('\n').unwrap_or(self.rest().len());
            } else if self.rest().starts_with("/*") {
                let start = self.pos;
                match self.rest().find("*/") {
                    Some(end) => self.pos += end + 2,
                    None => return Err(self.error(start..start + 2, "this comment has no end")),
                }
            } else if blank == 0 {
                return Ok(());
            }
        }
    }

    /// Skips spaces, line ends and comments.
    pub(super) fn skip_space(&mut self) -> Result<()> {
        loop {
            let before = self.pos;
            self.skip_blanks()?;
            self.eat("\n");
            if self.pos == before {
                return Ok(());
            }
        }
    }

    /// Reads a name: letters, digits and underscores, no leading digit; empty if there is none.
    pub(super) fn ident(&mut self) -> &'a str {
        let rest = self.rest();
        if rest.starts_with(|c: char| c.is_ascii_digit()) {
            return "";
        }
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let found = &rest[..end.unwrap_or(rest.len())];
        self.pos += found.len();
        found
    }

    fn digits(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        self.pos += end;
        &rest[..end]
    }

    /// Reads a whole number that fits into `T`.
    pub(super) fn number<T: std::str::FromStr>(&mut self, what: &str) -> Result<T> {
        let start = self.pos;
        let digits = self.digits();
        if digits.is_empty() {
            return Err(self.unexpected(what));
        }
        digits
            .parse()
            .map_err(|_| self.error(start..self.pos, format!("{digits} does not fit into {what}")))
    }

    /// Reads a signed decimal or `0x` number.
    pub(super) fn integer(&mut self) -> Result<i64> {
        let start = self.pos;
        let negative = self.eat("-");
        let value = if self.eat("0x") || self.eat("0X") {
            let rest = self.rest();
            let end = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
            self.pos += end;
            i64::from_str_radix(&rest[..end], 16).ok()
        } else {
            self.digits().parse().ok()
        };
        match value {
            Some(n) => Ok(if negative { -n } else { n }),
            None => Err(self.error(start..self.pos.max(start + 1), "a number is expected here")),
        }
    }

    /// Reads a time in seconds: `1`, `1.5`, `.1`.
    pub(super) fn seconds(&mut self) -> Result<Duration> {
        let start = self.pos;
        let whole = self.digits();
        let mut fraction = "";
        // `0...0.2` is a range: a dot before another dot starts no fraction.
        let point = self.rest().strip_prefix('.');
        if point.is_some_and(|after| after.starts_with(|c: char| c.is_ascii_digit())) {
            self.pos += 1;
            fraction = self.digits();
        }
        if whole.is_empty() && fraction.is_empty() {
            return Err(self.unexpected("a time in seconds"));
        }
        let too_fine = || {
            let message = format!("a time is at most {} days, in steps of 1 ps", 213);
            self.error(start..self.pos, message)
        };
        let padded = format!("{fraction:0<12}");
        if padded.len() > 12 {
            return Err(too_fine());
        }
        let whole: u64 =
            if whole.is_empty() { 0 } else { whole.parse().map_err(|_| too_fine())? };
        let parts: u64 = padded.parse().map_err(|_| too_fine())?;
        let ps = whole.checked_mul(1_000_000_000_000).and_then(|ps| ps.checked_add(parts));
        ps.map(Duration::from_ps).ok_or_else(too_fine)
    }

    /// Reads everything up to `end` and consumes `end`.
    pub(super) fn until(&mut self, end: &str, what: &str) -> Result<&'a str> {
        let rest = self.rest();
        match rest.find(end) {
            Some(len) => {
                self.pos += len + end.len();
                Ok(&rest[..len])
            }
            None => Err(self
                .error(self.pos..self.pos + 1, format!("{what} has no end; close it by `{end}`"))),
        }
    }
}
