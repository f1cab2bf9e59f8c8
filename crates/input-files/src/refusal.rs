//! The error of a file that is refused: by its type, its size or its path.

use std::fmt;
use std::io;

/// The reason of a refusal, as a clause that begins with "it".
#[derive(Debug)]
struct RefusedFile(String);

impl fmt::Display for RefusedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RefusedFile {}

/// Makes the error of a refusal.
pub(crate) fn refuse(reason: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, RefusedFile(reason.into()))
}

/// Whether a file was refused, unlike one that is missing or that the system cannot read.
pub fn is_refusal(error: &io::Error) -> bool {
    error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<RefusedFile>)
}
