//! The run directory: finished runs under `partial/` until all are present, then merged tables.
//!
//! Contract: `manifest.json` is `interrupted` from the start and `complete` only after all other
//! files are durable. A run under `partial/` is whole: its directory is synced, then renamed into
//! place. Results of another scenario or version are never mixed in. Only files that this crate
//! wrote are removed.
//!
//! The manifest lists every file with its hash, and ends with a hash of itself. Every file is
//! checked against its hash before it is read; a mismatch is an error.
//!
//! Two processes may run one command at once. Each writes under unique names and renames whole
//! files. They complete the directory one after the other ([`RunDir::lock_exclusive`]); a late
//! process finds it complete.

mod checksums;
mod part;
mod partial;
mod split;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use lowtide_input_files::{self as input, RESULT_TEXT, check_links, open_beneath, place_beneath};
use lowtide_output::control::find_unprintable;
use lowtide_output::{json, shell};
use lowtide_rows::{
    BufferPoolRow, ClassRow, CollectiveRow, DelayRow, FlowRow, LevelRow, LinkRow, ProbeRow,
    QueryRow, QueueRow, QueueSampleRow, Row, RunRow, VariableRow,
};

use crate::content_hash::{self, HashCheck};
use crate::convert::RunTables;
use crate::error::RecordError;
use crate::files::{self, is_temporary, remove_directory, sync_directory, write_atomic_nosync};
use crate::files::{write_atomic, write_new};
use crate::frame::{self, DataFrame};
use crate::key::RunKey;
use crate::manifest::{DirectoryStatus, Manifest, SCHEMA};
use crate::parquet::{self, ByRun, TableReader};
use crate::table::{self, TableOrigin};
use crate::text::{self, TextTable};
use crate::trace::{TRACE_TABLES, TraceTables};
use checksums::Checksums;
pub use part::PART_PLAN;
use partial::PARTIAL;

const MANIFEST: &str = "manifest.json";

/// The names of all tables that every run has.
pub const TABLES: [&str; 8] = [
    RunRow::TABLE,
    FlowRow::TABLE,
    QueueRow::TABLE,
    LevelRow::TABLE,
    LinkRow::TABLE,
    ProbeRow::TABLE,
    DelayRow::TABLE,
    QueueSampleRow::TABLE,
];

/// The name of the table of queries, present only in runs with query clients.
pub const QUERIES: &str = QueryRow::TABLE;

/// The names of the tables that exist only if they have rows, except traces; each with the reason
/// of its absence.
pub const OPTIONAL_TABLES: [(&str, &str); 5] = [
    (QUERIES, "the scenario has no queries"),
    (CollectiveRow::TABLE, "the scenario has no collectives"),
    (ClassRow::TABLE, "the switches have no classes (`[switch.class]`)"),
    (BufferPoolRow::TABLE, "no queues share a buffer pool (`buffer = \"dynamic\"`)"),
    (VariableRow::TABLE, "no congestion control with own variables was sampled (`[probes]`)"),
];

/// A directory with the results of one plan.
#[derive(Debug)]
pub struct RunDir {
    root: PathBuf,
    checksums: Checksums,
    /// Origin of the tables that are written.
    origin: TableOrigin,
    /// Digest of the program whose partial runs count here.
    program: String,
}

/// The schema of a manifest of any version.
#[derive(serde::Deserialize)]
struct Versioned {
    schema: String,
}

/// Remedy for a damaged directory without a readable manifest.
const AFRESH: &str = "the command that wrote the directory makes it again with `--afresh`";

/// Remedy for a damaged file of complete results.
fn remedy(manifest: &Manifest) -> String {
    let command = manifest.command.trim_end_matches(" --afresh");
    format!("`{command} --afresh` makes the results again")
}

/// Time series of some runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SampledSeries {
    /// Sampled senders.
    pub probes: Vec<(u32, ProbeRow)>,
    /// Variables of their controls.
    pub variables: Vec<(u32, VariableRow)>,
    /// Sampled queues.
    pub queue_samples: Vec<(u32, QueueSampleRow)>,
}

impl RunDir {
    /// Opens `root` for the plan of `manifest`, creating it if needed, and returns the previous
    /// manifest.
    ///
    /// Runs that another session finished are kept, unless `afresh`. A directory with foreign
    /// files, or with results of another scenario or version, is rejected. So is an unfinished one
    /// of another program, and a part with other runs.
    pub fn begin(
        root: &Path,
        manifest: &Manifest,
        afresh: bool,
    ) -> Result<(Self, Option<Manifest>), RecordError> {
        let mut dir = Self::of(root, manifest);
        check_links(root).map_err(RecordError::io("write to", root))?;
        let mut before = None;
        if root.join(MANIFEST).exists() {
            match dir.manifest() {
                Ok(found) if found.identity() == manifest.identity() => {
                    if !afresh {
                        check_task(root, &found, manifest)?;
                    }
                    before = Some(found);
                }
                Ok(_) if afresh => {}
                Ok(found) => {
                    return Err(RecordError::Stale {
                        path: root.to_path_buf(),
                        found: found.identity(),
                        wanted: manifest.identity(),
                        differs: found.differing_keys(manifest),
                    });
                }
                Err(_) if afresh && dir.is_ours() => {}
                Err(error) => return Err(error),
            }
        } else if fs::read_dir(root)
            .is_ok_and(|mut entries| entries.any(|e| e.is_ok_and(|e| !is_temporary(&e.path()))))
            && !root.join(MANIFEST).exists()
        {
            return Err(RecordError::NotResults { path: root.to_path_buf() });
        }
        let begun = Manifest { status: DirectoryStatus::Interrupted, ..manifest.clone() };
        if afresh {
            dir.write_manifest(begun)?;
            remove_directory(&root.join(PARTIAL))?;
            return Ok((dir, None));
        }
        let path = root.join(MANIFEST);
        match &before {
            None if !write_new(&path, &encode_hashed(&path, &begun)?)? => {
                return Self::begin(root, manifest, false);
            }
            // An unchanged manifest is not rewritten: another process may be completing the
            // directory.
            Some(found)
                if found.status == DirectoryStatus::Interrupted && !found.has_same_plan(&begun)
                    || found.status == DirectoryStatus::Part =>
            {
                dir.write_manifest(begun)?;
            }
            Some(found) if found.status == DirectoryStatus::Complete => {
                dir.checksums = Checksums::of(&found.files, remedy(found));
            }
            _ => {}
        }
        Ok((dir, before))
    }

    /// Whether `root` contains begun results.
    pub fn is_begun(root: &Path) -> bool {
        root.join(MANIFEST).exists()
    }

    /// Opens a directory of complete results. Its files are checked as they are read.
    pub fn open(root: &Path) -> Result<(Self, Manifest), RecordError> {
        let manifest = read_manifest(root)?;
        let mut dir = Self::of(root, &manifest);
        if let Some(selection) = &manifest.selection {
            let runs = selection.to_string();
            return Err(RecordError::IsPart { path: root.to_path_buf(), runs });
        }
        if manifest.status == DirectoryStatus::Interrupted {
            let wanted = manifest.planned_runs();
            let finished = dir.partial_runs();
            return Err(RecordError::Interrupted { path: root.to_path_buf(), finished, wanted });
        }
        dir.checksums = Checksums::of(&manifest.files, remedy(&manifest));
        Ok((dir, manifest))
    }

    /// The directory at `root`, whose tables are those of `manifest`.
    fn of(root: &Path, manifest: &Manifest) -> Self {
        Self {
            root: root.to_path_buf(),
            checksums: Checksums::default(),
            origin: TableOrigin::of(manifest),
            program: manifest.program.clone(),
        }
    }

    /// The path of the directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file of a table.
    fn file_of(table: &str) -> String {
        format!("{table}.parquet")
    }

    /// The path of a table.
    pub fn table(&self, name: &str) -> Result<PathBuf, RecordError> {
        let path = self.root.join(Self::file_of(name));
        let some = OPTIONAL_TABLES.into_iter().find(|(table, _)| *table == name);
        let sometimes = some.is_some() || TRACE_TABLES.contains(&name);
        if TABLES.contains(&name) || (sometimes && self.exists(&Self::file_of(name))) {
            Ok(path)
        } else if let Some((name, reason)) = some {
            Err(RecordError::NoTable { path: self.root.clone(), name, reason })
        } else if TRACE_TABLES.contains(&name) {
            Err(RecordError::NoTrace { path: self.root.clone(), name: name.to_owned() })
        } else {
            let known = TABLES.join(", ");
            Err(RecordError::UnknownTable { name: name.to_owned(), known })
        }
    }

    /// Opens a table, checked against the manifest, with its path.
    fn open_table<R: Row>(&self) -> Result<(PathBuf, File), RecordError> {
        self.open_named(R::TABLE)
    }

    fn open_named(&self, table: &str) -> Result<(PathBuf, File), RecordError> {
        let name = Self::file_of(table);
        Ok((self.root.join(&name), self.checksums.open(&self.root, &name)?))
    }

    fn rows<R: Row>(&self, runs: Option<&[u32]>) -> Result<Vec<(u32, R)>, RecordError> {
        let (path, file) = self.open_table::<R>()?;
        parquet::read((&path, file), runs)
    }

    fn by_run<R: Row>(&self) -> Result<ByRun<R>, RecordError> {
        let (path, file) = self.open_table::<R>()?;
        ByRun::open(&path, file)
    }

    /// Whether the directory has a file: by the manifest, or on disk before there is a manifest.
    fn exists(&self, relative: &str) -> bool {
        if self.checksums.is_empty() {
            self.root.join(relative).exists()
        } else {
            self.checksums.entry(relative).is_some()
        }
    }

    /// Opens a file of the manifest, checked against its hash.
    ///
    /// # Errors
    /// The file is damaged or missing.
    pub fn open_file(&self, relative: &str) -> Result<File, RecordError> {
        self.checksums.open(&self.root, relative)
    }

    /// The bytes of the manifest.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn manifest_bytes(&self) -> Result<Vec<u8>, RecordError> {
        let path = self.root.join(MANIFEST);
        read_beneath(&self.root, MANIFEST).map_err(RecordError::io("read", &path))
    }

    /// Reads each known file for which `wanted` holds, and checks it against its hash.
    ///
    /// # Errors
    /// The first file that is damaged or missing.
    pub fn verify(&self, wanted: impl Fn(&str) -> bool) -> Result<(), RecordError> {
        let names = self.checksums.names();
        names
            .iter()
            .filter(|n| wanted(n))
            .try_for_each(|n| self.checksums.open(&self.root, n).map(drop))
    }

    /// Every file that is damaged or missing, as errors.
    pub fn damage(&self) -> Vec<RecordError> {
        let names = self.checksums.names();
        names.iter().filter_map(|n| self.checksums.open(&self.root, n).err()).collect()
    }

    /// As [`crate::read_table`], checked against the manifest.
    pub fn text_table(&self, name: &str) -> Result<TextTable, RecordError> {
        self.table(name)?;
        let (path, file) = self.open_named(name)?;
        text::open(&path, file)
    }

    /// The names of the tables of the directory.
    pub fn table_names(&self) -> Vec<&'static str> {
        let optional = OPTIONAL_TABLES.into_iter().map(|(name, _)| name);
        let all = TABLES.into_iter().chain(optional).chain(TRACE_TABLES);
        all.filter(|name| self.exists(&Self::file_of(name))).collect()
    }

    /// The columns and rows of a table, checked against the manifest. The file is read batch by
    /// batch.
    pub fn table_reader(&self, name: &str) -> Result<TableReader, RecordError> {
        self.table(name)?;
        let (path, file) = self.open_named(name)?;
        TableReader::open((&path, file))
    }

    /// The columns `names` of a table, checked against the manifest. Missing columns are omitted.
    pub fn frame(&self, table: &str, names: &[&str]) -> Result<DataFrame, RecordError> {
        self.table(table)?;
        let (path, file) = self.open_named(table)?;
        frame::read(&path, file, names)
    }

    /// Whether the table in the file `name`, which both directories have, has equal rows in both.
    /// Metadata and the numbers of swept keys are not compared.
    pub fn has_equal_rows(&self, other: &Self, name: &str) -> Result<bool, RecordError> {
        let hash = |dir: &Self| dir.checksums.entry(name).map(|entry| entry.blake3);
        if hash(self).is_some_and(|own| hash(other) == Some(own)) {
            return Ok(true);
        }
        let open = |dir: &Self| {
            let path = dir.root.join(name);
            let file = dir.checksums.open(&dir.root, name)?;
            Ok::<_, RecordError>((path, file))
        };
        parquet::have_equal_rows(open(self)?, open(other)?)
    }

    /// The keys of all runs in the merged tables.
    pub fn keys(&self) -> Result<Vec<RunKey>, RecordError> {
        let (path, file) = self.open_table::<RunRow>()?;
        let mut keys = Vec::new();
        for batch in TableReader::open((&path, file))? {
            keys.extend(table::keys(&batch?).map_err(|e| RecordError::table(&path, &e))?);
        }
        Ok(keys)
    }

    /// Reads the merged tables run by run.
    pub fn reader(&self) -> Result<RunReader, RecordError> {
        Ok(RunReader {
            runs: self.by_run()?,
            flows: self.by_run()?,
            queries: self.optional_by_run()?,
            collectives: self.optional_by_run()?,
            classes: self.optional_by_run()?,
            buffer_pools: self.optional_by_run()?,
            queues: self.by_run()?,
            links: self.by_run()?,
        })
    }

    /// A table that only some runs have.
    fn optional_by_run<R: Row>(&self) -> Result<Option<ByRun<R>>, RecordError> {
        if self.exists(&Self::file_of(R::TABLE)) { self.by_run().map(Some) } else { Ok(None) }
    }

    /// The time series of `runs`, from the merged tables.
    pub fn series(&self, runs: &[u32]) -> Result<SampledSeries, RecordError> {
        Ok(SampledSeries {
            probes: self.rows(Some(runs))?,
            variables: self.optional(runs)?,
            queue_samples: self.rows(Some(runs))?,
        })
    }

    /// The flows of `run`, from the merged tables.
    pub fn flows(&self, run: u32) -> Result<Vec<FlowRow>, RecordError> {
        Ok(self.rows(Some(&[run]))?.into_iter().map(|(_, row)| row).collect())
    }

    /// The traces of `run`, from the merged tables; empty if nothing was traced.
    pub fn traces(&self, run: u32) -> Result<TraceTables, RecordError> {
        Ok(TraceTables {
            segments: self.traced(run)?,
            hops: self.traced(run)?,
            senders: self.traced(run)?,
        })
    }

    fn traced<R: Row>(&self, run: u32) -> Result<Vec<R>, RecordError> {
        Ok(self.optional(&[run])?.into_iter().map(|(_, row)| row).collect())
    }

    /// The rows of `runs` in a table that may not exist.
    fn optional<R: Row>(&self, runs: &[u32]) -> Result<Vec<(u32, R)>, RecordError> {
        if !self.exists(&format!("{}.parquet", R::TABLE)) {
            return Ok(Vec::new());
        }
        self.rows(Some(runs))
    }

    /// The histograms of the queues of `runs`, from the merged tables.
    pub fn levels(&self, runs: &[u32]) -> Result<Vec<(u32, LevelRow)>, RecordError> {
        self.rows(Some(runs))
    }

    /// Writes a text file atomically.
    pub fn write(&self, relative: &str, content: &str) -> Result<(), RecordError> {
        let place = place_beneath(&self.root, relative);
        let place = place.map_err(RecordError::io("write to", &self.root))?;
        let written = write_atomic_nosync(&place, content.as_bytes())?;
        self.checksums.record_written(written.into_entry(relative));
        Ok(())
    }

    /// Reads a text file, checked against the manifest.
    pub fn read(&self, relative: &str) -> Result<String, RecordError> {
        let file = self.checksums.open(&self.root, relative)?;
        let text = input::read_open(&file, &RESULT_TEXT).and_then(|bytes| {
            String::from_utf8(bytes).map_err(|_| std::io::ErrorKind::InvalidData.into())
        });
        text.map_err(RecordError::io("read", &self.root.join(relative)))
    }

    /// Waits for the exclusive lock of completing this directory, which is held until the result is
    /// dropped. `None` if the file system has no locks: concurrent processes then write the same
    /// bytes.
    pub fn lock_exclusive(&self) -> Option<File> {
        let directory = input::open_directory(&self.root).ok()?;
        directory.lock().ok()?;
        Some(directory)
    }

    /// Marks the directory complete: lists the tables and `files` with their hashes in the
    /// manifest, and only then removes the partial results.
    pub fn finish(&self, manifest: Manifest, files: &[String]) -> Result<Manifest, RecordError> {
        let some = OPTIONAL_TABLES.iter().map(|(table, _)| table).chain(&TRACE_TABLES);
        let some = some.filter(|t| self.exists(&Self::file_of(t)));
        let tables = TABLES.iter().chain(some).map(|t| Self::file_of(t));
        let all: Vec<String> = tables.chain(files.iter().cloned()).collect();
        // A table that was not rewritten keeps its recorded hash, as its content may be damaged
        // since.
        let entry = |name: &String| match self.checksums.entry(name) {
            Some(entry) => Ok(entry),
            None => files::file_entry(&self.root, name),
        };
        let entries = all.iter().map(entry).collect::<Result<_, RecordError>>()?;
        let mut places: Vec<&Path> = all.iter().filter_map(|f| Path::new(f).parent()).collect();
        places.sort_unstable();
        places.dedup();
        places.iter().try_for_each(|p| sync_directory(&self.root.join(p)))?;
        let manifest = Manifest { status: DirectoryStatus::Complete, files: entries, ..manifest };
        let manifest = self.write_manifest(manifest)?;
        self.tidy()?;
        Ok(manifest)
    }

    /// Removes leftovers from a complete directory: partial results, including those of late
    /// processes, and half-written files.
    pub fn tidy(&self) -> Result<(), RecordError> {
        remove_directory(&self.root.join(PARTIAL))?;
        self.remove_left_over();
        Ok(())
    }

    /// Removes half-written files of killed processes. A process that is still completing the same
    /// directory loses a file, and finds the directory complete.
    fn remove_left_over(&self) {
        for place in ["", "figures", "resolved"] {
            let place = self.root.join(place);
            // Only the directory itself may be reached by a link.
            if place != self.root && place.is_symlink() {
                continue;
            }
            let Ok(entries) = fs::read_dir(place) else { continue };
            for path in entries.filter_map(|e| e.ok().map(|e| e.path())) {
                if is_temporary(&path) {
                    // A file that cannot be removed is harmless.
                    let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
                }
            }
        }
    }

    /// Reads the manifest, with any status.
    pub fn manifest(&self) -> Result<Manifest, RecordError> {
        read_manifest(&self.root)
    }

    fn write_manifest(&self, manifest: Manifest) -> Result<Manifest, RecordError> {
        let manifest = Manifest { schema: SCHEMA.to_owned(), ..manifest };
        write_hashed(&self.root.join(MANIFEST), &manifest)?;
        Ok(manifest)
    }

    /// Whether a directory with an unreadable manifest is one of ours, by its manifest or its other
    /// files.
    fn is_ours(&self) -> bool {
        let content = read_beneath(&self.root, MANIFEST).unwrap_or_default();
        String::from_utf8_lossy(&content).contains("lowtide")
            || self.root.join(PARTIAL).is_dir()
            || TABLES.iter().all(|t| self.root.join(format!("{t}.parquet")).exists())
    }
}

/// Reads the manifest of a directory, with any status.
fn read_manifest(root: &Path) -> Result<Manifest, RecordError> {
    let path = root.join(MANIFEST);
    let damaged = |reason: String| RecordError::damaged(&path, reason, AFRESH);
    check_links(root).map_err(RecordError::io("use", root))?;
    let content = read_beneath(root, MANIFEST).map_err(RecordError::io("read", &path))?;
    let seal = content_hash::verify(&content);
    if seal == HashCheck::Mismatch {
        return Err(damaged("its content does not match its hash".to_owned()));
    }
    let Versioned { schema } =
        serde_json::from_slice(&content).map_err(|e| damaged(e.to_string()))?;
    match (schema.as_str(), seal) {
        (SCHEMA, HashCheck::Missing) => {
            Err(damaged("the hash of its content is missing".to_owned()))
        }
        (SCHEMA, _) => {
            let mut manifest: Manifest =
                serde_json::from_slice(&content).map_err(|e| damaged(e.to_string()))?;
            // Names, titles and the command go into reports, and onto terminals.
            if let Some(found) = json::find_unprintable(&String::from_utf8_lossy(&content)) {
                return Err(damaged(format!("a text of it has {found}")));
            }
            // A setting may be a file of several lines; these are lines of files and reports.
            let names = manifest.schemes.iter().chain([&manifest.scenario, &manifest.command]);
            let asked = manifest.question.iter().flat_map(|question| {
                let schemes = question.schemes.iter().flat_map(|asked| &asked.name);
                schemes.chain(&question.source).chain([&question.traffic, &question.percentile])
            });
            let names = names.chain(asked);
            if let Some(found) = names.chain([&manifest.title]).find_map(|t| find_unprintable(t)) {
                return Err(damaged(format!("a name of it has {found}")));
            }
            manifest.command = shell::requoted(&manifest.command);
            manifest.check_paths().map_err(RecordError::io("use", &path))?;
            Ok(manifest)
        }
        (other, _) => {
            let found = format!("its schema is `{other}`");
            Err(RecordError::OtherVersion { path, found, reads: SCHEMA })
        }
    }
}

/// Rejects a directory that `found` describes if `wanted` would mix other runs into it.
fn check_task(root: &Path, found: &Manifest, wanted: &Manifest) -> Result<(), RecordError> {
    let path = || root.to_path_buf();
    if found.selection != wanted.selection {
        let runs = |m: &Manifest| {
            m.selection.as_ref().map_or_else(|| "all runs".to_owned(), |s| format!("`{s}`"))
        };
        return Err(RecordError::OtherRuns {
            path: path(),
            found: runs(found),
            wanted: runs(wanted),
        });
    }
    if found.status != DirectoryStatus::Complete && found.program != wanted.program {
        return Err(RecordError::OtherProgram {
            path: path(),
            found: found.program.clone(),
            wanted: wanted.program.clone(),
        });
    }
    Ok(())
}

/// Reads merged tables run by run, in the order of the plan.
pub struct RunReader {
    runs: ByRun<RunRow>,
    flows: ByRun<FlowRow>,
    queries: Option<ByRun<QueryRow>>,
    collectives: Option<ByRun<CollectiveRow>>,
    classes: Option<ByRun<ClassRow>>,
    buffer_pools: Option<ByRun<BufferPoolRow>>,
    queues: ByRun<QueueRow>,
    links: ByRun<LinkRow>,
}

impl RunReader {
    /// The rows of `run` without its series; runs must be requested in plan order. `None` if the
    /// run is missing.
    pub fn take(&mut self, run: u32) -> Result<Option<RunTables>, RecordError> {
        let Some(row) = self.runs.take(run)?.pop() else { return Ok(None) };
        Ok(Some(RunTables {
            run: row,
            flows: self.flows.take(run)?,
            queries: take_optional(self.queries.as_mut(), run)?,
            collectives: take_optional(self.collectives.as_mut(), run)?,
            classes: take_optional(self.classes.as_mut(), run)?,
            buffer_pools: take_optional(self.buffer_pools.as_mut(), run)?,
            queues: self.queues.take(run)?,
            links: self.links.take(run)?,
            levels: Vec::new(),
            probes: Vec::new(),
            variables: Vec::new(),
            delays: Vec::new(),
            queue_samples: Vec::new(),
            trace: TraceTables::default(),
        }))
    }
}

/// The rows of `run` in an optional table.
fn take_optional<R: Row>(table: Option<&mut ByRun<R>>, run: u32) -> Result<Vec<R>, RecordError> {
    table.map_or(Ok(Vec::new()), |t| t.take(run))
}

/// Writes `value` with its content hash, and syncs the file.
fn write_hashed<T: serde::Serialize>(path: &Path, value: &T) -> Result<(), RecordError> {
    write_atomic(path, &encode_hashed(path, value)?)
}

fn encode_hashed<T: serde::Serialize>(path: &Path, value: &T) -> Result<Vec<u8>, RecordError> {
    content_hash::with_content_hash(value).map_err(|e| RecordError::encode(path, &e))
}

/// Reads the file `relative` in `root`, which [`write_hashed`] wrote.
fn read_hashed<T: serde::de::DeserializeOwned>(
    root: &Path,
    relative: &str,
    remedy: &str,
) -> Result<T, RecordError> {
    let path = &root.join(relative);
    let content = read_beneath(root, relative).map_err(RecordError::io("read", path))?;
    if content_hash::verify(&content) != HashCheck::Valid {
        return Err(RecordError::damaged(path, "its content does not match its hash", remedy));
    }
    serde_json::from_slice(&content).map_err(|e| RecordError::json(path, &e))
}

/// Reads a manifest, or the entry of a partial run.
fn read_beneath(root: &Path, relative: &str) -> std::io::Result<Vec<u8>> {
    input::read_open(&open_beneath(root, relative, &input::MANIFEST)?, &input::MANIFEST)
}
