//! Forwards what another process appends to a file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A growing file, read from its start.
#[derive(Debug)]
pub(crate) struct FileFollower {
    file: File,
    piece: Vec<u8>,
}

impl FileFollower {
    /// Creates the file, empty.
    pub(crate) fn make(path: &Path) -> io::Result<Self> {
        File::create(path)?;
        Ok(Self { file: File::open(path)?, piece: vec![0; 64 << 10] })
    }

    /// Forwards new bytes; returns true if there were any.
    pub(crate) fn forward_new(
        &mut self,
        each: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<bool> {
        let mut some = false;
        loop {
            match self.file.read(&mut self.piece)? {
                0 => return Ok(some),
                n => each(self.piece.get(..n).unwrap_or_default())?,
            }
            some = true;
        }
    }
}

/// The last lines of a text, at most `most` bytes.
pub(crate) fn tail(path: &Path, most: usize) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    let from = bytes.len().saturating_sub(most);
    let text = String::from_utf8_lossy(bytes.get(from..).unwrap_or_default()).replace('\r', "");
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn new_bytes_are_forwarded_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut follow = FileFollower::make(&path).unwrap();
        let mut file = File::options().append(true).open(&path).unwrap();
        let mut seen = Vec::new();
        for text in ["", "one\n", "two"] {
            file.write_all(text.as_bytes()).unwrap();
            let some = follow.forward_new(&mut |bytes| seen.write_all(bytes)).unwrap();
            assert_eq!(some, !text.is_empty());
        }
        assert_eq!(seen, b"one\ntwo");
        assert_eq!(tail(&path, 3), "two");
    }
}
