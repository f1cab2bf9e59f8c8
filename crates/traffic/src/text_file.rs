//! Users' text files, line by line, and errors with the location of a field.
//!
//! Contract: lines and columns count from one, columns in characters. Anything outside of the
//! format is rejected with its location, never skipped.

/// A user's file; a crate above this one reads it from disk.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct UserFile {
    /// Name in the scenario; errors begin with it.
    pub name: String,
    /// Contents.
    pub text: String,
}

/// An error in a file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}: {message}; {help}", self.location())]
pub struct FileError {
    /// File, as the user names it.
    pub file: String,
    /// Line, from one.
    pub line: u64,
    /// Column in characters, from one; zero is the whole line.
    pub column: u64,
    /// The error.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl FileError {
    /// Location as `flows.csv:3:7`.
    pub fn location(&self) -> String {
        match self.column {
            0 => format!("{}:{}", self.file, self.line),
            column => format!("{}:{}:{column}", self.file, self.line),
        }
    }
}

/// A line of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileLine<'a> {
    pub(crate) file: &'a str,
    pub(crate) number: u64,
    pub(crate) text: &'a str,
}

/// Returns the lines of a file, without a leading byte order mark.
pub(crate) fn lines<'a>(file: &'a str, text: &'a str) -> impl Iterator<Item = FileLine<'a>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..).zip(text.lines()).map(move |(number, text)| FileLine { file, number, text })
}

impl<'a> FileLine<'a> {
    /// Returns an error about a field, which must be a part of this line's text.
    pub(crate) fn field_error(
        &self,
        field: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> FileError {
        let offset = (field.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize);
        let before = offset.and_then(|offset| self.text.get(..offset));
        let column = before.map_or(0, |before| before.chars().count() as u64 + 1);
        FileError { column, ..self.line_error(message, help) }
    }
    /// Returns an error about the whole line.
    pub(crate) fn line_error(
        &self,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> FileError {
        FileError {
            file: self.file.to_owned(),
            line: self.number,
            column: 0,
            message: message.into(),
            help: help.into(),
        }
    }
    /// Returns the text without surrounding blanks, or nothing if the line is a comment.
    pub(crate) fn content(&self) -> &'a str {
        let text = self.text.trim();
        if text.starts_with('#') { "" } else { text }
    }
}

/// Quotes a field for an error: truncated and without control characters.
pub(crate) fn quoted(field: &str) -> String {
    const SHOWN: usize = 40;
    let mut out: String = field.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if field.chars().nth(SHOWN).is_some() {
        out.push_str("...");
    }
    format!("`{out}`")
}

/// Reads an unsigned number, times `scale`, rounded to the nearest whole number: `0.25` times
/// 10^12. Accepts `12`, `12.5`, `.5` and `1.5e-3`; returns `None` for anything else and for an
/// overflow of `u64`.
pub(crate) fn scaled(text: &str, scale: u64) -> Option<u64> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut digits: u128 = 0;
    let mut power = exponent;
    for (i, byte) in whole.bytes().chain(fraction.bytes()).enumerate() {
        if !byte.is_ascii_digit() {
            return None;
        }
        let fractional = i >= whole.len();
        // Later digits exceed the precision of a u64.
        if digits < 10_000_000_000_000_000_000 {
            digits = digits * 10 + u128::from(byte - b'0');
            power = power.checked_sub(i32::from(fractional))?;
        } else {
            power = power.checked_add(i32::from(!fractional))?;
        }
    }
    let product = digits.checked_mul(u128::from(scale))?;
    let value = if product == 0 {
        0
    } else if power >= 0 {
        product.checked_mul(10_u128.checked_pow(power.unsigned_abs())?)?
    } else {
        match 10_u128.checked_pow(power.unsigned_abs()) {
            Some(tenth) => (product + tenth / 2) / tenth,
            None => 0,
        }
    };
    u64::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_exactly_and_rounded_to_the_nearest() {
        assert_eq!(scaled("0.25", 1_000_000_000_000), Some(250_000_000_000));
        assert_eq!(scaled("2.000000001", 1_000_000_000_000), Some(2_000_000_001_000));
        assert_eq!(scaled("1.5e-3", 1_000_000), Some(1_500));
        assert_eq!(scaled("2E6", 1), Some(2_000_000));
        assert_eq!(scaled(".5", 1), Some(1));
        assert_eq!(scaled("0.49", 1), Some(0));
        assert_eq!(scaled("18446744073709551615", 1), Some(u64::MAX));
        assert_eq!(scaled("0.1234567890123456789012345", 1_000_000_000_000), Some(123_456_789_012));
        assert_eq!(scaled("1e-300", 1), Some(0));
        assert_eq!(scaled("0e300", 1), Some(0));
        for bad in ["", ".", "-1", "+1", "nan", "1e", "1e9999999999", "1e40", "0x10", "1 2", "٣"] {
            assert_eq!(scaled(bad, 1), None, "{bad}");
        }
        assert_eq!(scaled("18446744073709551616", 1), None);
    }

    #[test]
    fn columns_count_characters_from_one() {
        let line = lines("a.csv", "\u{feff}é, x\n").next().unwrap();
        let field = line.text.rsplit_once(' ').unwrap().1;
        let error = line.field_error(field, "wrong", "right");
        assert_eq!(error.to_string(), "a.csv:1:4: wrong; right");
        assert_eq!(line.line_error("wrong", "right").location(), "a.csv:1");
    }

    #[test]
    fn quoted_fields_are_truncated_and_escaped() {
        assert_eq!(quoted("a\u{1b}[0m"), "`a\\u{1b}[0m`");
        assert!(quoted(&"x".repeat(100)).ends_with("x...`"));
    }
}
