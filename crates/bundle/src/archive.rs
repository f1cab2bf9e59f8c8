//! The archive: gzip over tar, with members that depend on their content only.

use std::io::{Read, Write};
use std::path::{Component, Path};

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder, write::GzEncoder};
use tar::{Archive, Builder, EntryType, Header};

use crate::error::BundleError;

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
        content: impl Read,
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

/// Unpacks `file` into `into`. Members must be plain files of one folder, whose name it returns.
pub(crate) fn extract(file: &Path, into: &Path) -> Result<String, BundleError> {
    let not_bundle = |reason: &str| BundleError::NotBundle {
        path: file.to_path_buf(),
        reason: reason.to_owned(),
    };
    let source = std::fs::File::open(file).map_err(BundleError::io(file))?;
    let mut archive = Archive::new(GzDecoder::new(std::io::BufReader::new(source)));
    let unreadable = |e: std::io::Error| not_bundle(&e.to_string());
    let mut folder: Option<String> = None;
    for entry in archive.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let path = entry.path().map_err(unreadable)?.into_owned();
        let mut parts = path.components();
        let Some(Component::Normal(first)) = parts.next() else {
            return Err(not_bundle("a member has no folder"));
        };
        if entry.header().entry_type() != EntryType::Regular
            || !parts.clone().all(|p| matches!(p, Component::Normal(_)))
            || parts.next().is_none()
        {
            return Err(not_bundle(&format!("`{}` is no plain file in it", path.display())));
        }
        let first = first.to_string_lossy().into_owned();
        if folder.get_or_insert_with(|| first.clone()) != &first {
            return Err(not_bundle("it has several folders"));
        }
        let place = into.join(&path);
        let there = place.parent().unwrap_or(into);
        std::fs::create_dir_all(there).map_err(BundleError::io(there))?;
        let mut target = std::fs::File::create_new(&place).map_err(BundleError::io(&place))?;
        std::io::copy(&mut entry, &mut target).map_err(unreadable)?;
    }
    folder.ok_or_else(|| not_bundle("it is empty"))
}
