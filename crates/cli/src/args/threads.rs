//! Number of threads of a run: `--threads`.

use std::fmt;
use std::str::FromStr;

/// Value of `--threads`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ThreadCount {
    /// The CPUs that other runs leave idle.
    #[default]
    Auto,
    /// At most this number.
    UpTo(u32),
}

impl ThreadCount {
    /// Number given by the user; `None` for `auto`.
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
