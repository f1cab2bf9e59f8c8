//! Files that a scenario names: traces, distributions, topologies.
//!
//! Contract: the scenario reader requests files by their name in the scenario and never opens one
//! itself. Files embedded in `[files]` take precedence, so that an emitted run is self-contained.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use lowtide_input_files::{NAMED_BY_SCENARIO, read_text};
use lowtide_traffic::text_file::FileError;
use lowtide_traffic::workload::UserFile;

use crate::toml_tree::{SourceSpan, TomlData, TomlNode};

/// Source of a scenario's files.
pub trait Files: Debug + Send + Sync {
    /// Returns the text of the file `name`.
    ///
    /// # Errors
    /// Returns the reason, as text that follows "cannot read `name`: ".
    fn read(&self, name: &str) -> Result<String, String>;
}

/// No files except the embedded ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("the scenario has no directory, and the file is not embedded in [files]".to_owned())
    }
}

/// The files of a directory; names may be paths relative to it.
#[derive(Clone, Debug)]
pub struct Directory(pub PathBuf);

impl Files for Directory {
    fn read(&self, name: &str) -> Result<String, String> {
        read_text(&self.0.join(name), &NAMED_BY_SCENARIO).map_err(|e| e.to_string())
    }
}

/// Files of a scenario, and the texts of those that were read.
#[derive(Debug)]
pub(crate) struct RecordedFiles {
    files: Arc<dyn Files>,
    texts: Mutex<BTreeMap<String, String>>,
}

impl RecordedFiles {
    pub(crate) fn new(files: Arc<dyn Files>) -> Self {
        Self { files, texts: Mutex::default() }
    }

    /// The files that were read, by name; embedded ones are never read.
    pub(crate) fn texts(&self) -> BTreeMap<String, String> {
        // A text is inserted at once, so a poisoned map is consistent.
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Files for RecordedFiles {
    fn read(&self, name: &str) -> Result<String, String> {
        let text = self.files.read(name)?;
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        texts.insert(name.to_owned(), text.clone());
        Ok(text)
    }
}

/// Table of embedded files.
pub(crate) const FILES: &str = "files";

/// Files of one scenario; each is read once, even if many points of a sweep use it.
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

    /// Returns the file of that name, or the reason that it cannot be read.
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

/// Location of an error in its file: from its column to the end of the field, or the whole line.
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
