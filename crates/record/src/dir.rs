//! The run directory: finished runs under `partial/` while it grows, merged tables when complete.
//!
//! Contract: `manifest.json` says `interrupted` from the first moment and `complete` only after every
//! other file is there. A run under `partial/` is whole: its directory is renamed into place. Results
//! of another scenario or version are never mixed in. Only files that this crate wrote are removed.
//!
//! Several processes may fill one directory, on one machine or over a shared file system, without a
//! lock: each writes under names of its own and renames what is whole. Two that complete it at once
//! write the same bytes; the one that comes too late finds the directory complete.

mod apart;

use std::fs;
use std::path::{Path, PathBuf};

use crate::convert::RunTables;
use crate::error::RecordError;
use crate::files::{self, is_temporary, make_directory, remove_directory, rename, temporary};
use crate::files::{write_new, write_whole};
use crate::key::{Point, RunKey};
use crate::manifest::{Manifest, ManifestRun, SCHEMA, Status};
use crate::parquet::{self, ByRun, TableWriter, write_rows};
use crate::rows::{
    ClassRow, DelayRow, FlowRow, LevelRow, LinkRow, MemoryRow, ProbeRow, QueryRow, QueueRow,
    QueueSampleRow, RunRow,
};
use crate::table::{self, Row};
use crate::trace::{TRACE_TABLES, TraceHopRow, TraceSegmentRow, TraceSenderRow, TraceTables};

const MANIFEST: &str = "manifest.json";
const PARTIAL: &str = "partial";
const RUN_FILE: &str = "run.json";

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

/// The name of the table of queries, which only runs with askers have.
pub const QUERIES: &str = QueryRow::TABLE;

/// The names of the tables that only runs with something to write into them have, traces aside; each with
/// what a scenario lacks that has none.
pub const SOME_TABLES: [(&str, &str); 3] = [
    (QUERIES, "the scenario has no queries"),
    (ClassRow::TABLE, "the switches have no classes (`[switch.class]`)"),
    (MemoryRow::TABLE, "no queues share a memory (`buffer = \"dynamic\"`)"),
];

/// A directory with the results of one plan.
#[derive(Debug)]
pub struct RunDir {
    root: PathBuf,
}

/// What there is over time in some runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Series {
    /// Sampled senders.
    pub probes: Vec<(u32, ProbeRow)>,
    /// Sampled queues.
    pub queue_samples: Vec<(u32, QueueSampleRow)>,
}

impl RunDir {
    /// Opens `root` for the plan of `manifest`, making it when needed, and returns what was there.
    ///
    /// Runs that another session finished stay. With `afresh` they go. A directory that holds
    /// something else, or results of another scenario or version, is refused.
    pub fn begin(
        root: &Path,
        manifest: &Manifest,
        afresh: bool,
    ) -> Result<(Self, Option<Manifest>), RecordError> {
        let dir = Self { root: root.to_path_buf() };
        let mut before = None;
        if root.join(MANIFEST).exists() {
            let found = dir.manifest()?;
            if found.identity() == manifest.identity() {
                before = Some(found);
            } else if !afresh {
                return Err(RecordError::Stale {
                    path: root.to_path_buf(),
                    found: found.identity(),
                    wanted: manifest.identity(),
                });
            }
        } else if fs::read_dir(root)
            .is_ok_and(|mut entries| entries.any(|e| e.is_ok_and(|e| !is_temporary(&e.path()))))
            && !root.join(MANIFEST).exists()
        {
            return Err(RecordError::NotResults { path: root.to_path_buf() });
        }
        let begun = Manifest { status: Status::Interrupted, ..manifest.clone() };
        if afresh {
            remove_directory(&root.join(PARTIAL))?;
            dir.write_manifest(&begun)?;
            return Ok((dir, None));
        }
        let path = root.join(MANIFEST);
        match &before {
            None if !write_new(&path, &json(&path, &begun)?)? => {
                return Self::begin(root, manifest, false);
            }
            // What says so already is left alone: another process may complete it this moment.
            Some(found) if found.status == Status::Interrupted && !found.plans_as(&begun) => {
                dir.write_manifest(&begun)?;
            }
            _ => {}
        }
        Ok((dir, before))
    }

    /// Opens a directory of complete results.
    pub fn open(root: &Path) -> Result<(Self, Manifest), RecordError> {
        let dir = Self { root: root.to_path_buf() };
        let manifest = dir.manifest()?;
        if manifest.status == Status::Interrupted {
            let wanted = manifest.schemes.len() * manifest.points.len() * manifest.seeds.len();
            let finished = dir.partial_runs().len();
            return Err(RecordError::Interrupted { path: root.to_path_buf(), finished, wanted });
        }
        Ok((dir, manifest))
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path of a table.
    pub fn table(&self, name: &str) -> Result<PathBuf, RecordError> {
        let path = self.root.join(format!("{name}.parquet"));
        let some = SOME_TABLES.into_iter().find(|(table, _)| *table == name);
        let sometimes = some.is_some() || TRACE_TABLES.contains(&name);
        if TABLES.contains(&name) || (sometimes && path.exists()) {
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

    fn path_of<R: Row>(&self) -> PathBuf {
        self.root.join(format!("{}.parquet", R::TABLE))
    }

    /// Where a run grows: named by what decides it and by what its rows say, not by its number,
    /// which another plan may change.
    fn partial(&self, key: &RunKey, hash: &str) -> PathBuf {
        let mut hasher = blake3::Hasher::new();
        for part in [hash, &key.scheme, &key.point.to_string(), &key.seed.to_string()] {
            hasher.update(part.as_bytes());
            hasher.update(b"\0");
        }
        self.root.join(PARTIAL).join(&hasher.finalize().to_hex().as_str()[..16])
    }

    /// Keeps a finished run.
    pub fn keep(&self, run: &ManifestRun, tables: &RunTables) -> Result<(), RecordError> {
        let key = &run.key;
        let place = self.partial(key, &run.hash);
        let growing = temporary(&place);
        make_directory(&growing)?;
        write_rows(&growing, key, std::slice::from_ref(&tables.run))?;
        write_rows(&growing, key, &tables.flows)?;
        write_rows(&growing, key, &tables.queues)?;
        write_rows(&growing, key, &tables.levels)?;
        write_rows(&growing, key, &tables.links)?;
        write_rows(&growing, key, &tables.probes)?;
        write_rows(&growing, key, &tables.delays)?;
        write_rows(&growing, key, &tables.queue_samples)?;
        write_some(&growing, key, &tables.queries)?;
        write_some(&growing, key, &tables.classes)?;
        write_some(&growing, key, &tables.memories)?;
        tables.trace.write(&growing, key)?;
        write_json(&growing.join(RUN_FILE), run)?;
        // Another process may have done the same run; equal hashes are equal runs.
        if self.kept(key, &run.hash).is_some() {
            return remove_directory(&growing);
        }
        remove_directory(&place)?;
        match rename(&growing, &place) {
            Err(_) if self.kept(key, &run.hash).is_some() => remove_directory(&growing),
            renamed => renamed,
        }
    }

    /// Whether a run is there, without reading it.
    pub fn has(&self, key: &RunKey, hash: &str) -> bool {
        self.partial(key, hash).join(RUN_FILE).exists()
    }

    /// A run that another session finished, without its series; `None` when it is not there or not
    /// readable, so that it must be run again.
    pub fn kept(&self, key: &RunKey, hash: &str) -> Option<(ManifestRun, RunTables)> {
        let place = self.partial(key, hash);
        let run: ManifestRun = read_json(&place.join(RUN_FILE)).ok()?;
        if !TABLES.iter().all(|t| place.join(format!("{t}.parquet")).exists()) {
            return None;
        }
        let mut reader = Self { root: place }.reader().ok()?;
        let tables = reader.take(run.key.run).ok()??;
        Some((ManifestRun { key: key.clone(), ..run }, tables))
    }

    fn partial_runs(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.root.join(PARTIAL)) else { return Vec::new() };
        let paths = entries.filter_map(|e| e.ok().map(|e| e.path()));
        paths.filter(|p| !is_temporary(p) && p.join(RUN_FILE).exists()).collect()
    }

    /// Merges the kept runs, which must all be there, into the tables, in the order of `runs`.
    pub fn merge(&self, runs: &[ManifestRun]) -> Result<(), RecordError> {
        self.merge_table::<RunRow>(runs)?;
        self.merge_table::<FlowRow>(runs)?;
        self.merge_table::<QueueRow>(runs)?;
        self.merge_table::<LevelRow>(runs)?;
        self.merge_table::<LinkRow>(runs)?;
        self.merge_table::<ProbeRow>(runs)?;
        self.merge_table::<DelayRow>(runs)?;
        self.merge_table::<QueueSampleRow>(runs)?;
        self.merge_some::<QueryRow>(runs)?;
        self.merge_some::<ClassRow>(runs)?;
        self.merge_some::<MemoryRow>(runs)?;
        self.merge_some::<TraceSegmentRow>(runs)?;
        self.merge_some::<TraceHopRow>(runs)?;
        self.merge_some::<TraceSenderRow>(runs)
    }

    /// The same for a table that only some runs have (with queries, with a trace); without any, there is
    /// none. A run that is not there any more is an error, not one without the table.
    fn merge_some<R: Row>(&self, runs: &[ManifestRun]) -> Result<(), RecordError> {
        let mut with = Vec::new();
        for run in runs {
            let place = self.partial(&run.key, &run.hash);
            // In this order: a run that is there after the look was there for it.
            if place.join(format!("{}.parquet", R::TABLE)).exists() {
                with.push(run.clone());
            } else {
                let path = place.join(RUN_FILE);
                fs::metadata(&path).map_err(RecordError::io("read", &path))?;
            }
        }
        if with.is_empty() {
            files::remove(&self.path_of::<R>())
        } else {
            self.merge_table::<R>(&with)
        }
    }

    fn merge_table<R: Row>(&self, runs: &[ManifestRun]) -> Result<(), RecordError> {
        let none = Point::default();
        let point = runs.first().map_or(&none, |r| &r.key.point);
        let mut writer = TableWriter::create(&self.path_of::<R>(), table::schema::<R>(point))?;
        for run in runs {
            let place = self.partial(&run.key, &run.hash);
            let path = place.join(format!("{}.parquet", R::TABLE));
            for batch in parquet::batches(&path, None)? {
                let batch = batch
                    .and_then(|b| table::renumbered(&b, run.key.run))
                    .map_err(|e| RecordError::table(&path, &e))?;
                writer.batch(&batch)?;
            }
        }
        writer.finish()
    }

    /// The keys of all runs in the merged tables.
    pub fn keys(&self) -> Result<Vec<RunKey>, RecordError> {
        let path = self.path_of::<RunRow>();
        let mut keys = Vec::new();
        for batch in parquet::batches(&path, None)? {
            let batch = batch.map_err(|e| RecordError::table(&path, &e))?;
            keys.extend(table::keys(&batch).map_err(|column| {
                RecordError::table(&path, &format!("the column `{column}` is missing or wrong"))
            })?);
        }
        Ok(keys)
    }

    /// Reads the merged tables run by run.
    pub fn reader(&self) -> Result<RunReader, RecordError> {
        Ok(RunReader {
            runs: ByRun::open(&self.path_of::<RunRow>())?,
            flows: ByRun::open(&self.path_of::<FlowRow>())?,
            queries: self.some_by_run()?,
            classes: self.some_by_run()?,
            memories: self.some_by_run()?,
            queues: ByRun::open(&self.path_of::<QueueRow>())?,
            links: ByRun::open(&self.path_of::<LinkRow>())?,
        })
    }

    /// A table that only some runs have.
    fn some_by_run<R: Row>(&self) -> Result<Option<ByRun<R>>, RecordError> {
        let path = self.path_of::<R>();
        if path.exists() { ByRun::open(&path).map(Some) } else { Ok(None) }
    }

    /// What the merged tables hold over time for `runs`.
    pub fn series(&self, runs: &[u32]) -> Result<Series, RecordError> {
        Ok(Series {
            probes: parquet::read(&self.path_of::<ProbeRow>(), Some(runs))?,
            queue_samples: parquet::read(&self.path_of::<QueueSampleRow>(), Some(runs))?,
        })
    }

    /// The flows of `run`, from the merged tables.
    pub fn flows(&self, run: u32) -> Result<Vec<FlowRow>, RecordError> {
        let rows = parquet::read(&self.path_of::<FlowRow>(), Some(&[run]))?;
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    /// What was traced in `run`, from the merged tables; empty when nothing was.
    pub fn traces(&self, run: u32) -> Result<TraceTables, RecordError> {
        TraceTables::read(&self.root, run)
    }

    /// The histograms of the queues of `runs`, from the merged tables.
    pub fn levels(&self, runs: &[u32]) -> Result<Vec<(u32, LevelRow)>, RecordError> {
        parquet::read(&self.path_of::<LevelRow>(), Some(runs))
    }

    /// Writes a file of text, whole or not at all.
    pub fn write(&self, relative: &str, content: &str) -> Result<(), RecordError> {
        write_whole(&self.root.join(relative), content.as_bytes())
    }

    /// Reads a file of text.
    pub fn read(&self, relative: &str) -> Result<String, RecordError> {
        let path = self.root.join(relative);
        fs::read_to_string(&path).map_err(RecordError::io("read", &path))
    }

    /// Declares the directory complete: lists the tables and `files` with their hashes in the
    /// manifest, and only then removes the partial results.
    pub fn finish(&self, manifest: Manifest, files: &[String]) -> Result<Manifest, RecordError> {
        let some = SOME_TABLES.iter().map(|(table, _)| table).chain(&TRACE_TABLES);
        let some = some.filter(|t| self.root.join(format!("{t}.parquet")).exists());
        let tables = TABLES.iter().chain(some).map(|t| format!("{t}.parquet"));
        let entries: Result<Vec<_>, _> =
            tables.chain(files.iter().cloned()).map(|f| files::entry(&self.root, &f)).collect();
        let manifest = Manifest { status: Status::Complete, files: entries?, ..manifest };
        self.write_manifest(&manifest)?;
        self.tidy()?;
        Ok(manifest)
    }

    /// Removes what a complete directory has no use for: the partial results, also those of a process that
    /// did not know yet, and what was left half written.
    pub fn tidy(&self) -> Result<(), RecordError> {
        remove_directory(&self.root.join(PARTIAL))?;
        self.remove_left_over();
        Ok(())
    }

    /// Removes what processes that were killed left half written. One that is still completing the same
    /// directory loses a file, and finds the directory complete.
    fn remove_left_over(&self) {
        let figures = self.root.join("figures");
        for place in [&self.root, &figures] {
            let Ok(entries) = fs::read_dir(place) else { continue };
            for path in entries.filter_map(|e| e.ok().map(|e| e.path())) {
                if is_temporary(&path) {
                    // What stays is in nobody's way.
                    let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
                }
            }
        }
    }

    /// Reads the manifest, whatever its status.
    pub fn manifest(&self) -> Result<Manifest, RecordError> {
        let path = self.root.join(MANIFEST);
        let manifest: Manifest = read_json(&path)?;
        if manifest.schema == SCHEMA {
            Ok(manifest)
        } else {
            let message = format!("its schema is `{}`, not `{SCHEMA}`", manifest.schema);
            Err(RecordError::json(&path, &message))
        }
    }

    fn write_manifest(&self, manifest: &Manifest) -> Result<(), RecordError> {
        write_json(&self.root.join(MANIFEST), manifest)
    }
}

/// Reads merged tables run by run, in the order of the plan.
pub struct RunReader {
    runs: ByRun<RunRow>,
    flows: ByRun<FlowRow>,
    queries: Option<ByRun<QueryRow>>,
    classes: Option<ByRun<ClassRow>>,
    memories: Option<ByRun<MemoryRow>>,
    queues: ByRun<QueueRow>,
    links: ByRun<LinkRow>,
}

impl RunReader {
    /// The rows of `run` without its series; runs must be asked for in the order of the plan. `None`
    /// when the run is not there.
    pub fn take(&mut self, run: u32) -> Result<Option<RunTables>, RecordError> {
        let Some(row) = self.runs.take(run)?.pop() else { return Ok(None) };
        Ok(Some(RunTables {
            run: row,
            flows: self.flows.take(run)?,
            queries: take_some(self.queries.as_mut(), run)?,
            classes: take_some(self.classes.as_mut(), run)?,
            memories: take_some(self.memories.as_mut(), run)?,
            queues: self.queues.take(run)?,
            links: self.links.take(run)?,
            levels: Vec::new(),
            probes: Vec::new(),
            delays: Vec::new(),
            queue_samples: Vec::new(),
            trace: TraceTables::default(),
        }))
    }
}

/// Of a table that there may not be.
fn take_some<R: Row>(table: Option<&mut ByRun<R>>, run: u32) -> Result<Vec<R>, RecordError> {
    table.map_or(Ok(Vec::new()), |t| t.take(run))
}

/// Writes a table that is there only where it has rows.
fn write_some<R: Row>(place: &Path, key: &RunKey, rows: &[R]) -> Result<(), RecordError> {
    if rows.is_empty() { Ok(()) } else { write_rows(place, key, rows) }
}

fn write_json<T: serde::Serialize>(path: &Path, value: &T) -> Result<(), RecordError> {
    write_whole(path, &json(path, value)?)
}

fn json<T: serde::Serialize>(path: &Path, value: &T) -> Result<Vec<u8>, RecordError> {
    let mut text = serde_json::to_string_pretty(value).map_err(|e| RecordError::json(path, &e))?;
    text.push('\n');
    Ok(text.into_bytes())
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, RecordError> {
    let text = fs::read_to_string(path).map_err(RecordError::io("read", path))?;
    serde_json::from_str(&text).map_err(|e| RecordError::json(path, &e))
}
