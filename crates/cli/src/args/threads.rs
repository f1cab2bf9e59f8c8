//! How many threads one run may take.

use std::fmt;
use std::str::FromStr;

/// What `--threads` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ThreadCount {
    /// What the machine has, as far as other runs leave it.
    Auto,
    /// Up to so many.
    UpTo(u32),
}

impl ThreadCount {
    /// The number that was given, if one was.
    pub(crate) fn number(self) -> Option<usize> {
        match self {
            Self::Auto => None,
            Self::UpTo(n) => Some(n as usize),
        }
    }
}

impl FromStr for ThreadCount {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        match text.parse() {
            Ok(n @ 1..=1_024) => Ok(Self::UpTo(n)),
            _ => Err("expected `auto` or a whole number from 1 to 1024".to_owned()),
        }
    }
}

impl fmt::Display for ThreadCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::UpTo(n) => n.fmt(f),
        }
    }
}
