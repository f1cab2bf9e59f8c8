//! A scenario file in memory, with the changes of the command line.

use std::path::Path;
use std::sync::Arc;

use lowtide_input_files::{SCENARIO, read_text};

use crate::diagnostics::error_at;
use crate::embedded;
use crate::error::{ScenarioError, ScenarioErrors, suggest};
use crate::files::{Directory, Files, NoFiles, RecordedFiles};
use crate::key_path::{self, PathTarget};
use crate::known_names::KnownNames;
use crate::plan::{self, RunPlan};
use crate::sweep;
use crate::table_spec::SWEEP;
use crate::toml_tree::{self, SourceSpan, SourceText, TomlData, TomlEntry, TomlNode};

/// A scenario, parsed but not yet interpreted. [`Scenario::expand`] finds all errors.
#[derive(Clone, Debug)]
pub struct Scenario {
    name: String,
    sources: Vec<SourceText>,
    root: TomlNode,
    files: Arc<RecordedFiles>,
}

/// Source name of overrides in errors.
const OVERRIDE: &str = "-s";

/// Source name of sweeps in errors.
const SWEEPS: &str = "--over";

impl Scenario {
    /// Reads a file and the files it names, or an embedded scenario of that name. A name with a
    /// path separator or the ending `.toml` is a path.
    ///
    /// # Errors
    /// The file cannot be read, the name is unknown (with the nearest one), or the text is not
    /// TOML.
    pub fn load(name_or_path: &str) -> Result<Self, ScenarioErrors> {
        if let Some(found) = embedded::find(name_or_path) {
            return Self::parse(found.text, &format!("{name_or_path}.toml"));
        }
        let path = Path::new(name_or_path);
        let looks_like_path = path.components().count() > 1
            || path.extension().is_some_and(|e| e.eq_ignore_ascii_case("toml"));
        if !looks_like_path && !path.exists() {
            let names: Vec<&str> = embedded::embedded_scenarios().iter().map(|e| e.name).collect();
            let message =
                format!("there is no scenario `{name_or_path}`, and no file of that name");
            return Err(ScenarioError::plain(message, suggest(name_or_path, &names)).into());
        }
        match read_text(path, &SCENARIO) {
            Ok(text) => {
                let directory = path.parent().map(Path::to_path_buf).unwrap_or_default();
                Self::parse_with(&text, name_or_path, Arc::new(Directory(directory)))
            }
            Err(e) => {
                let message = format!("cannot read `{name_or_path}`: {e}");
                Err(ScenarioError::plain(message, None).into())
            }
        }
    }

    /// Parses a text; errors call it `file_name`, whose stem becomes the scenario's name. It has no
    /// files except embedded ones.
    ///
    /// # Errors
    /// The text is not TOML.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, ScenarioErrors> {
        Self::parse_with(text, file_name, Arc::new(NoFiles))
    }

    /// As [`Scenario::parse`], with the files that it may name.
    ///
    /// # Errors
    /// The text is not TOML.
    pub fn parse_with(
        text: &str,
        file_name: &str,
        files: Arc<dyn Files>,
    ) -> Result<Self, ScenarioErrors> {
        let source = SourceText { name: file_name.to_owned(), text: Arc::from(text) };
        let root = match toml_tree::parse_file(0, &source) {
            Ok(root) => root,
            Err(found) => {
                return Err(ScenarioErrors::collect(found)
                    .unwrap_or_else(|| ScenarioError::plain("not TOML", None).into()));
            }
        };
        let stem = Path::new(file_name).file_stem().map(|s| s.to_string_lossy().into_owned());
        let name = stem.unwrap_or_else(|| file_name.to_owned());
        let files = Arc::new(RecordedFiles::new(files));
        Ok(Self { name, sources: vec![source], root, files })
    }

    /// Name: that of the embedded scenario, or the file's without its ending.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the scenario under another name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// Text as it was read, without overrides.
    pub fn text(&self) -> &str {
        &self.sources[0].text
    }

    /// Files that [`Scenario::expand`] has read, by name.
    pub(crate) fn files_read(&self) -> std::collections::BTreeMap<String, String> {
        self.files.texts()
    }

    /// Content of the file with the overrides.
    pub(crate) const fn root(&self) -> &TomlNode {
        &self.root
    }

    /// Sets a dotted key, as `-s key=value` does: it takes precedence over the file, and ends a
    /// sweep of that key. `value` is TOML or plain text; commas separate the elements of a list. A
    /// `*` in the name of a table matches all such tables: `traffic.long-*.size`.
    ///
    /// # Errors
    /// The key is unknown (with the nearest one). `expand` reports an invalid value.
    pub fn with_override(self, key: &str, value: &str) -> Result<Self, ScenarioErrors> {
        self.with_flag(OVERRIDE, key, value)
    }

    /// As `with_override`, for a key set by the option `flag` of the command line: errors name the
    /// flag.
    ///
    /// # Errors
    /// As `with_override`.
    pub fn with_flag(mut self, flag: &str, key: &str, value: &str) -> Result<Self, ScenarioErrors> {
        let (key, key_at, offset, target) = self.add_flag_source(flag, key, value)?;
        let mut node = toml_tree::parse_value(key_at.source, offset, value);
        if let (PathTarget::Key(found), TomlData::Text(text)) = (target, &node.data)
            && found.ty.is_list()
        {
            node.data = TomlData::List(split(key_at.source, node.at.start, text));
        }
        // `add_flag_source` has reported unknown names.
        for path in key_path::expand_stars(&key, &KnownNames::of(&self.root)).unwrap_or_default() {
            let parts: Vec<&str> = path.split('.').collect();
            if let Some((bundle, key)) = key_path::key_of_bundle(&parts) {
                self.set_of_bundle(bundle, &key, key_at, node.clone());
                continue;
            }
            self.remove_from_sweep(&path);
            self.root.insert(&parts, key_at, node.clone());
        }
        self.remove_from_sweep(&key);
        Ok(self)
    }

    /// Sweeps a dotted key over `values`, as `--over key=a,b` does; it replaces the file's sweep of
    /// it. A `*` matches as in `with_override`; all matching tables take one value at a point.
    /// Values that together are a range, `{from = "10 pkt", to = .., step = ..}`, are read as one.
    ///
    /// # Errors
    /// The key is unknown (with the nearest one), or there is no value. `expand` reports invalid
    /// values.
    pub fn with_sweep(mut self, key: &str, values: &[String]) -> Result<Self, ScenarioErrors> {
        let (key, key_at, offset, _) = self.add_flag_source(SWEEPS, key, &values.join(","))?;
        let joined = values.join(",");
        let mut node = toml_tree::parse_value(key_at.source, offset, &joined);
        if !matches!(node.data, TomlData::Table(_)) {
            let mut start = offset;
            let mut items = Vec::new();
            for value in values {
                items.push(toml_tree::parse_value(key_at.source, start, value));
                start += value.len() + 1;
            }
            node.data = TomlData::List(items);
        }
        // A `*` also replaces the file's sweep of a single matching key.
        for path in key_path::expand_stars(&key, &KnownNames::of(&self.root)).unwrap_or_default() {
            if path != key {
                self.remove_from_sweep(&path);
            }
        }
        let place = self.remove_from_sweep(&key);
        self.root.insert(
            &[SWEEP],
            key_at,
            self.root.get(&[SWEEP]).cloned().unwrap_or(TomlNode {
                data: TomlData::Table(Vec::new()),
                at: key_at,
                is_override: true,
            }),
        );
        if let TomlData::Table(lines) = &mut self.root.data
            && let Some(sweep) = lines.iter_mut().find(|e| e.key == SWEEP)
            && let TomlData::Table(axes) = &mut sweep.node.data
        {
            let place = place.unwrap_or(axes.len()).min(axes.len());
            axes.insert(place, TomlEntry { key, key_at, node });
        }
        Ok(self)
    }

    /// Removes a table, as if the file never had it: `hosts.senders`, `traffic.short`. An
    /// unknown table is not an error.
    #[must_use]
    pub fn without(mut self, table: &str) -> Self {
        self.root.remove(&table.split('.').collect::<Vec<_>>());
        self
    }

    /// Runs each point with `n` seeds.
    ///
    /// # Errors
    /// Never fails; `expand` rejects zero.
    pub fn seeds(self, n: u64) -> Result<Self, ScenarioErrors> {
        self.with_flag("--seeds", "run.seeds", &n.to_string())
    }

    /// Expands the scenario to all its runs and checks them.
    ///
    /// # Errors
    /// Returns all errors of the file and the overrides.
    pub fn expand(&self) -> Result<RunPlan, ScenarioErrors> {
        plan::expand(&self.name, &self.root, &self.sources, self.files.as_ref())
    }

    /// Returns an error about the value of a dotted key, or about a table, at its location. A
    /// default has no location.
    pub fn error_at_key(&self, key: &str, message: &str, help: Option<String>) -> ScenarioErrors {
        let node = self.root.get(&key.split('.').collect::<Vec<_>>());
        match node {
            Some(node) => error_at(&self.sources, node.at, message, help).into(),
            None => ScenarioError::plain(message, help).into(),
        }
    }

    /// Adds `key=value` of a flag as a source and resolves the key. Returns the key without quotes,
    /// its location, the offset of the value, and the target.
    fn add_flag_source(
        &mut self,
        flag: &str,
        key: &str,
        value: &str,
    ) -> Result<(String, SourceSpan, usize, PathTarget), ScenarioErrors> {
        let index = self.sources.len();
        self.sources
            .push(SourceText { name: flag.to_owned(), text: format!("{key}={value}").into() });
        let at = SourceSpan { source: index, start: 0, end: key.len() };
        let bare = key.trim().replace('"', "");
        match key_path::resolve(&bare, &KnownNames::of(&self.root)) {
            Ok(target) => Ok((bare, at, key.len() + 1, target)),
            Err((message, help)) => Err(error_at(&self.sources, at, message, help).into()),
        }
    }

    /// Replaces a key that a bundle sets, however the file writes it.
    fn set_of_bundle(&mut self, bundle: &str, key: &str, key_at: SourceSpan, node: TomlNode) {
        let table = ["compare", "bundles", bundle, "set"];
        let others: Vec<TomlEntry> = self.root.get(&table).map_or_else(Vec::new, |set| {
            let entries = sweep::dotted_entries(set).into_iter();
            let other = entries.filter(|(known, ..)| known != key);
            other.map(|(key, key_at, node)| TomlEntry { key, key_at, node: node.clone() }).collect()
        });
        let data = TomlData::Table(others);
        self.root.insert(&table, key_at, TomlNode { data, at: key_at, is_override: false });
        self.root.insert(&[&table[..], &[key]].concat(), key_at, node);
    }

    /// Removes a key from the sweep and returns its former position.
    fn remove_from_sweep(&mut self, key: &str) -> Option<usize> {
        let TomlData::Table(lines) = &mut self.root.data else { return None };
        let entry = lines.iter_mut().find(|e| e.key == SWEEP)?;
        // Unquoted dotted keys are parsed as nested tables: flatten them first.
        let flat: Vec<TomlEntry> = sweep::dotted_entries(&entry.node)
            .into_iter()
            .map(|(key, key_at, node)| TomlEntry { key, key_at, node: node.clone() })
            .collect();
        let place = flat.iter().position(|e| e.key == key);
        if place.is_some() {
            entry.node.data = TomlData::Table(flat.into_iter().filter(|e| e.key != key).collect());
        }
        place
    }
}

/// Splits a comma-separated list of the command line.
fn split(source: usize, offset: usize, text: &str) -> Vec<TomlNode> {
    let mut start = offset;
    let mut out = Vec::new();
    for part in text.split(',') {
        let lead = part.len() - part.trim_start().len();
        let at = SourceSpan { source, start: start + lead, end: start + lead + part.trim().len() };
        out.push(TomlNode { data: TomlData::Text(part.trim().to_owned()), at, is_override: true });
        start += part.len() + 1;
    }
    out
}
