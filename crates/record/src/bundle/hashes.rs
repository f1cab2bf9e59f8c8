//! `SHA256SUMS`: the hash of every other file, in the format of `sha256sum -c`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;

use sha2::{Digest as _, Sha256};

/// File of the hashes.
pub(crate) const HASHES_FILE: &str = "SHA256SUMS";

/// Hashes what is read through it.
pub(crate) struct HashingReader<R> {
    source: R,
    hasher: Sha256,
}

impl<R: Read> HashingReader<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, hasher: Sha256::new() }
    }

    /// Reads the rest.
    pub(crate) fn read_to_end(&mut self) -> std::io::Result<()> {
        std::io::copy(self, &mut std::io::sink()).map(drop)
    }

    /// Hash of what was read, hexadecimal.
    pub(crate) fn hash(self) -> String {
        let mut text = String::new();
        for byte in self.hasher.finalize() {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.source.read(buffer)?;
        self.hasher.update(&buffer[..n]);
        Ok(n)
    }
}

/// Hash of what `source` gives, hexadecimal.
pub(crate) fn sha256(source: impl Read) -> std::io::Result<String> {
    let mut source = HashingReader::new(source);
    source.read_to_end()?;
    Ok(source.hash())
}

/// Text of the file.
pub(crate) fn write_list(hashes: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    for (path, hash) in hashes {
        let _ = writeln!(text, "{hash}  {path}");
    }
    text
}

/// Reads the file. Returns `None` if a line is no entry.
pub(crate) fn read_list(text: &str) -> Option<BTreeMap<String, String>> {
    let entry = |line: &str| {
        let (hash, path) = line.split_once("  ")?;
        Some((path.to_owned(), hash.to_owned()))
    };
    text.lines().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read_as_it_was_written() {
        let hash = sha256("abc".as_bytes()).unwrap();
        assert_eq!(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let list = BTreeMap::from([("results/a file".to_owned(), hash)]);
        assert_eq!(read_list(&write_list(&list)), Some(list));
        assert_eq!(read_list("nothing"), None);
    }
}
