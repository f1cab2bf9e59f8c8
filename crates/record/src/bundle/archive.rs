//! The archive: gzip over tar, with members that depend on their content only.

use std::io::Write;

use flate2::{Compression, GzBuilder, write::GzEncoder};
use tar::{Builder, EntryType, Header};

/// A growing archive.
pub(crate) struct ArchiveWriter<W: Write> {
    tar: Builder<GzEncoder<W>>,
}

impl<W: Write> ArchiveWriter<W> {
    pub(crate) fn new(out: W) -> Self {
        // The header of gzip has no time and no name.
        let gzip = GzBuilder::new().mtime(0).write(out, Compression::default());
        Self { tar: Builder::new(gzip) }
    }

    /// Appends a file of `bytes` bytes.
    pub(crate) fn append(
        &mut self,
        path: &str,
        bytes: u64,
        content: impl std::io::Read,
    ) -> std::io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(bytes);
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        self.tar.append_data(&mut header, path, content)
    }

    pub(crate) fn finish(self) -> std::io::Result<()> {
        self.tar.into_inner()?.finish()?.flush()
    }
}
