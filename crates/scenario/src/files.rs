//! Files that a scenario names: traces, distributions, topologies.
//!
//! Contract: the reader of scenarios asks for a file by the name that the scenario gives it and never
//! opens one itself. A file that the scenario carries in `[files]` comes before all others, so that a run
//! that is written out needs nothing beside it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use lowtide_traffic::text_file::FileError;
use lowtide_traffic::workload::UserFile;

use crate::toml_tree::{SourceSpan, TomlData, TomlNode};

/// Where a scenario's files are.
pub trait Files: Debug + Send + Sync {
    /// The text of the file that the scenario calls `name`.
    ///
    /// # Errors
    /// Why there is none, in words that follow "cannot read `name`: ".
    fn read(&self, name: &str) -> Result<String, String>;
}

/// No files but those that the scenario carries.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("this scenario has no directory to look in, and does not carry it in [files]"
            .to_owned())
    }
}

/// The files of a directory; names may be paths from there.
#[derive(Clone, Debug)]
pub struct Directory(pub PathBuf);

/// The largest file that is read: more than any list of flows that may be run.
const MAX_FILE_BYTES: u64 = 512_000_000;

impl Files for Directory {
    fn read(&self, name: &str) -> Result<String, String> {
        let path = self.0.join(name);
        let size = fs::metadata(&path).map_err(|e| e.to_string())?.len();
        if size > MAX_FILE_BYTES {
            return Err(format!("{size} B are more than {MAX_FILE_BYTES}"));
        }
        let bytes = fs::read(&path).map_err(|e| e.to_string())?;
        String::from_utf8(bytes).map_err(|_| "this is no text in UTF-8".to_owned())
    }
}

/// The table of the files that a scenario carries.
pub(crate) const FILES: &str = "files";

/// The files of one scenario; each is read once, however many points of a sweep ask for it.
#[derive(Debug)]
pub(crate) struct FileCache<'a> {
    files: &'a dyn Files,
    read: RefCell<BTreeMap<String, Result<Arc<UserFile>, String>>>,
}

impl<'a> FileCache<'a> {
    pub(crate) fn new(root: &TomlNode, files: &'a dyn Files) -> Self {
        let mut read = BTreeMap::new();
        for entry in root.get(&[FILES]).map(TomlNode::entries).unwrap_or_default() {
            if let TomlData::Text(text) = &entry.node.data {
                let name = entry.key.clone();
                let file = UserFile { name: name.clone(), text: text.clone() };
                read.insert(name, Ok(Arc::new(file)));
            }
        }
        Self { files, read: RefCell::new(read) }
    }

    /// The file of that name, or why there is none.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<UserFile>, String> {
        if let Some(known) = self.read.borrow().get(name) {
            return known.clone();
        }
        let read = self.files.read(name);
        let read = read.map(|text| Arc::new(UserFile { name: name.to_owned(), text }));
        self.read.borrow_mut().insert(name.to_owned(), read.clone());
        read
    }
}

/// Where an error stands in its file: from its column to the end of the field, or the whole line.
pub(crate) fn error_span(text: &str, error: &FileError, source: usize) -> SourceSpan {
    let number = usize::try_from(error.line).unwrap_or(usize::MAX).saturating_sub(1);
    let start: usize = text.split_inclusive('\n').take(number).map(str::len).sum();
    let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let column = usize::try_from(error.column).unwrap_or(usize::MAX);
    let skip: usize = match column.checked_sub(1) {
        Some(before) => line.chars().take(before).map(char::len_utf8).sum(),
        None => line.len() - line.trim_start().len(),
    };
    let field = &line[skip.min(line.len())..];
    let length = match error.column {
        0 => field.trim_end().len(),
        _ => field.find([' ', '\t', ',']).unwrap_or(field.trim_end().len()),
    };
    let start = start + skip;
    SourceSpan { source, start, end: start + length.max(1) }
}
