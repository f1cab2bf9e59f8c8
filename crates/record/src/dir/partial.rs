//! Finished runs under `partial/`: saved, loaded, merged.
//!
//! Contract: `run.json` lists the files of its run with their hashes, and has a content hash. A
//! damaged partial run counts as absent, and its run is repeated.

use std::fs;
use std::path::{Path, PathBuf};

use lowtide_rows::{
    BufferPoolRow, ClassRow, CollectiveRow, DelayRow, FlowRow, LevelRow, LinkRow, ProbeRow,
    QueryRow, QueueRow, QueueSampleRow, Row, RunRow, TraceHopRow, TraceSegmentRow, TraceSenderRow,
    VariableRow,
};
use serde::{Deserialize, Serialize};

use super::checksums::Checksums;
use super::{RunDir, TABLES, read_hashed, write_hashed};
use crate::convert::RunTables;
use crate::error::RecordError;
use crate::files::{self, FileEntry, is_temporary, make_directory, remove_directory, rename};
use crate::files::{sync_directory, temp_path};
use crate::key::RunKey;
use crate::manifest::{ManifestRun, check_entries};
use crate::parquet::{RunWriter, TableReader, TableWriter};
use crate::table::{self, SweptKeys};

/// Directory of finished runs while others are missing.
pub(super) const PARTIAL: &str = "partial";
/// The file that identifies the run of a partial directory.
pub(super) const RUN_FILE: &str = "run.json";

/// Remedy for a damaged partial run.
const REMEDY: &str = "the command that wrote it repeats this run";

/// `run.json`.
#[derive(Serialize, Deserialize)]
pub(super) struct PartialRun {
    #[serde(flatten)]
    pub(super) run: ManifestRun,
    /// Digest of the program that made the run.
    pub(super) program: String,
    /// The tables of the run.
    pub(super) files: Vec<FileEntry>,
}

impl RunDir {
    /// Directory of a run, named by a hash of configuration, scheme, point and seed, as plans may
    /// renumber runs.
    pub(super) fn partial(&self, key: &RunKey, hash: &str) -> PathBuf {
        let mut hasher = blake3::Hasher::new();
        for part in [hash, &key.scheme, &key.point.to_string(), &key.seed.to_string()] {
            hasher.update(part.as_bytes());
            hasher.update(b"\0");
        }
        self.root.join(PARTIAL).join(&hasher.finalize().to_hex().as_str()[..16])
    }

    /// The path of [`Self::partial`] in this directory.
    pub(super) fn relative(&self, place: &Path) -> String {
        let name = place.strip_prefix(&self.root).unwrap_or(place);
        name.to_string_lossy().replace('\\', "/")
    }

    /// Saves a finished run.
    pub fn save_run(&self, run: &ManifestRun, tables: &RunTables) -> Result<(), RecordError> {
        let key = &run.key;
        let staging = temp_path(&self.partial(key, &run.hash));
        let writer = RunWriter { place: &staging, key, origin: &self.origin };
        let kept = write_partial(writer, tables).and_then(|f| self.commit(run, f, &staging));
        if kept.is_err() {
            // A half-written partial run may fill a device that is already full.
            let _ = fs::remove_dir_all(&staging);
        }
        kept
    }

    /// Renames the finished staging directory into place.
    pub(super) fn commit(
        &self,
        run: &ManifestRun,
        files: Vec<FileEntry>,
        staging: &Path,
    ) -> Result<(), RecordError> {
        let (key, place) = (&run.key, self.partial(&run.key, &run.hash));
        let program = self.program.clone();
        write_hashed(&staging.join(RUN_FILE), &PartialRun { run: run.clone(), program, files })?;
        sync_directory(staging)?;
        // Another process may have done the same run; equal hashes are equal runs.
        if self.is_run_intact(key, &run.hash) {
            return remove_directory(staging);
        }
        remove_directory(&place)?;
        match rename(staging, &place) {
            Err(_) if self.is_run_intact(key, &run.hash) => remove_directory(staging),
            Err(e) => Err(e),
            Ok(()) => sync_directory(&self.root.join(PARTIAL)),
        }
    }

    /// Whether a run is present and all its files are intact.
    pub fn is_run_intact(&self, key: &RunKey, hash: &str) -> bool {
        self.open_partial(key, hash).and_then(|(_, part)| part.verify(|_| true)).is_ok()
    }

    /// The entry of a saved run, whose tables are not checked; `None` if it is missing or damaged.
    pub fn saved_run(&self, key: &RunKey, hash: &str) -> Option<ManifestRun> {
        let (run, _) = self.open_partial(key, hash).ok()?;
        Some(ManifestRun { key: key.clone(), ..run })
    }

    /// A run that another session finished, without its series; `None` if it is missing or damaged
    /// and must be repeated.
    pub fn load_run(&self, key: &RunKey, hash: &str) -> Option<(ManifestRun, RunTables)> {
        let (run, part) = self.open_partial(key, hash).ok()?;
        part.verify(|_| true).ok()?;
        let tables = part.reader().ok()?.take(run.key.run).ok()??;
        Some((ManifestRun { key: key.clone(), ..run }, tables))
    }

    /// Opens the directory of a partial run.
    fn open_partial(&self, key: &RunKey, hash: &str) -> Result<(ManifestRun, Self), RecordError> {
        let root = self.partial(key, hash);
        let path = root.join(RUN_FILE);
        let PartialRun { run, program, files } =
            read_hashed(&self.root, &self.relative(&path), REMEDY)?;
        check_entries(&files).map_err(RecordError::io("use", &path))?;
        let listed = |t: &str| files.iter().any(|f| f.path.strip_suffix(".parquet") == Some(t));
        if run.hash != hash || !TABLES.iter().all(|t| listed(t)) {
            return Err(RecordError::damaged(&path, "it belongs to another run", REMEDY));
        }
        if program != self.program {
            return Err(RecordError::damaged(&path, "another program made it", REMEDY));
        }
        let checksums = Checksums::of(&files, REMEDY.to_owned());
        Ok((run, Self { root, checksums, origin: self.origin.clone(), program }))
    }

    /// Number of partial runs.
    pub(super) fn partial_runs(&self) -> usize {
        let Ok(entries) = fs::read_dir(self.root.join(PARTIAL)) else { return 0 };
        let paths = entries.filter_map(|e| e.ok().map(|e| e.path()));
        paths.filter(|p| !is_temporary(p) && p.join(RUN_FILE).exists()).count()
    }

    /// Merges the saved runs, which must be complete, into the tables, in the order of `runs`.
    ///
    /// # Errors
    /// A partial run is missing or damaged ([`RecordError::is_lost_partial`]), or a table cannot be
    /// written.
    pub fn merge(&self, runs: &[ManifestRun]) -> Result<(), RecordError> {
        self.merge_from(runs.iter().map(|run| (self, run)))
    }

    /// As [`Self::merge`], of runs that were saved in other directories.
    ///
    /// # Errors
    /// As [`Self::merge`].
    pub fn merge_from<'a>(
        &self,
        runs: impl Iterator<Item = (&'a Self, &'a ManifestRun)>,
    ) -> Result<(), RecordError> {
        // Hashes of earlier tables no longer apply.
        self.checksums.clear();
        let part = |(dir, run): (&Self, &ManifestRun)| {
            let (_, part) = dir.open_partial(&run.key, &run.hash)?;
            Ok((run.key.clone(), part))
        };
        let parts: Vec<_> = runs.map(part).collect::<Result<_, RecordError>>()?;
        self.merge_table::<RunRow>(&parts)?;
        self.merge_table::<FlowRow>(&parts)?;
        self.merge_table::<QueueRow>(&parts)?;
        self.merge_table::<LevelRow>(&parts)?;
        self.merge_table::<LinkRow>(&parts)?;
        self.merge_table::<ProbeRow>(&parts)?;
        self.merge_table::<DelayRow>(&parts)?;
        self.merge_table::<QueueSampleRow>(&parts)?;
        self.merge_table::<QueryRow>(&parts)?;
        self.merge_table::<CollectiveRow>(&parts)?;
        self.merge_table::<ClassRow>(&parts)?;
        self.merge_table::<BufferPoolRow>(&parts)?;
        self.merge_table::<VariableRow>(&parts)?;
        self.merge_table::<TraceSegmentRow>(&parts)?;
        self.merge_table::<TraceHopRow>(&parts)?;
        self.merge_table::<TraceSenderRow>(&parts)
    }

    /// Merges one table. An optional table (queries, traces) exists only if at least one run has
    /// it.
    fn merge_table<R: Row>(&self, parts: &[(RunKey, Self)]) -> Result<(), RecordError> {
        let name = format!("{}.parquet", R::TABLE);
        let place = self.root.join(&name);
        let with: Vec<_> =
            parts.iter().filter(|(_, part)| part.exists(&Self::file_of(R::TABLE))).collect();
        if with.is_empty() && !TABLES.contains(&R::TABLE) {
            return files::remove(&place);
        }
        // The units of swept values are those of the whole plan.
        let points: Vec<_> = parts.iter().map(|(key, _)| &key.point).collect();
        let swept = SweptKeys::of(&points);
        let fields = table::fields::<R>(&swept);
        let mut writer = TableWriter::create(&place, R::TABLE, &self.origin, &fields)?;
        for (key, part) in with {
            let (path, file) = part.open_table::<R>()?;
            for batch in TableReader::open((&path, file))? {
                let batch = table::merged(batch?, &fields, &swept, key)
                    .map_err(|e| RecordError::table(&path, &e))?;
                writer.batch(batch)?;
            }
        }
        self.checksums.record_written(writer.finish()?.into_entry(name));
        Ok(())
    }
}

/// Writes the tables of a run.
fn write_partial(writer: RunWriter<'_>, tables: &RunTables) -> Result<Vec<FileEntry>, RecordError> {
    make_directory(writer.place)?;
    let mut files = vec![
        writer.write(std::slice::from_ref(&tables.run))?,
        writer.write(&tables.flows)?,
        writer.write(&tables.queues)?,
        writer.write(&tables.levels)?,
        writer.write(&tables.links)?,
        writer.write(&tables.probes)?,
        writer.write(&tables.delays)?,
        writer.write(&tables.queue_samples)?,
    ];
    files.extend(writer.write_optional(&tables.queries)?);
    files.extend(writer.write_optional(&tables.collectives)?);
    files.extend(writer.write_optional(&tables.classes)?);
    files.extend(writer.write_optional(&tables.buffer_pools)?);
    files.extend(writer.write_optional(&tables.variables)?);
    files.extend(tables.trace.write(writer)?);
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::files::journal::{FsOp, STEPS};
    use crate::key::SweepPoint;
    use crate::manifest::{DirectoryStatus, Manifest, SCHEMA};

    fn run() -> ManifestRun {
        ManifestRun {
            key: RunKey { run: 0, scheme: "dctcp".into(), point: SweepPoint::default(), seed: 1 },
            hash: "00aa".into(),
            digest: "00bb".into(),
            wall_seconds: 0.0,
            threads: None,
            size_classes: Vec::new(),
            measured: None,
            shared_from: None,
        }
    }

    fn manifest() -> Manifest {
        Manifest {
            schema: SCHEMA.into(),
            status: DirectoryStatus::Interrupted,
            version: "0".into(),
            program: "00cc".into(),
            selection: None,
            scenario: "small".into(),
            title: String::new(),
            description: None,
            scenario_hash: "0".into(),
            command: String::new(),
            backend: None,
            digest: None,
            schemes: vec!["dctcp".into()],
            replaced: Vec::new(),
            question: None,
            points: vec![SweepPoint::default()],
            seeds: vec![1],
            settings: Vec::new(),
            shared: Vec::new(),
            wall_seconds: 0.0,
            hops: 0,
            flows: 0,
            unfinished: 0,
            failed: 0,
            runs: Vec::new(),
            files: Vec::new(),
        }
    }

    /// A partial run whose tables are all empty.
    fn keep(dir: &RunDir, run: &ManifestRun) -> PathBuf {
        let staging = temp_path(&dir.partial(&run.key, &run.hash));
        make_directory(&staging).unwrap();
        let writer = RunWriter { place: &staging, key: &run.key, origin: &dir.origin };
        let files = vec![
            writer.write::<RunRow>(&[]).unwrap(),
            writer.write::<FlowRow>(&[]).unwrap(),
            writer.write::<QueueRow>(&[]).unwrap(),
            writer.write::<LevelRow>(&[]).unwrap(),
            writer.write::<LinkRow>(&[]).unwrap(),
            writer.write::<ProbeRow>(&[]).unwrap(),
            writer.write::<DelayRow>(&[]).unwrap(),
            writer.write::<QueueSampleRow>(&[]).unwrap(),
        ];
        dir.commit(run, files, &staging).unwrap();
        staging
    }

    fn steps() -> Vec<(FsOp, PathBuf)> {
        STEPS.with_borrow_mut(std::mem::take)
    }

    fn at(steps: &[(FsOp, PathBuf)], step: FsOp, path: &Path) -> usize {
        let found = steps.iter().rposition(|(s, p)| *s == step && p == path);
        found.unwrap_or_else(|| panic!("no {step:?} of {}: {steps:?}", path.display()))
    }

    /// After a power failure a renamed directory may exist without the content of its files, unless
    /// each file and the directory were synced before.
    #[test]
    fn a_partial_run_is_synced_before_it_is_renamed_into_place() {
        let temp = tempfile::tempdir().unwrap();
        let (dir, _) = RunDir::begin(temp.path(), &manifest(), false).unwrap();
        steps();
        let staging = keep(&dir, &run());
        let steps = steps();
        let place = dir.partial(&run().key, &run().hash);
        let counts = at(&steps, FsOp::Rename, &place);
        let names = TABLES.map(|t| format!("{t}.parquet"));
        let whole = at(&steps, FsOp::SyncDirectory, &staging);
        for name in names.iter().map(String::as_str).chain([RUN_FILE]) {
            let file = staging.join(name);
            let renamed = at(&steps, FsOp::Rename, &file);
            assert!(at(&steps, FsOp::SyncFile, &file) < renamed, "{name}: {steps:?}");
            assert!(renamed < whole, "{name}: {steps:?}");
        }
        assert!(whole < counts, "{steps:?}");
        assert!(counts < at(&steps, FsOp::SyncDirectory, &temp.path().join(PARTIAL)), "{steps:?}");
    }

    #[test]
    fn all_files_reach_the_device_before_the_manifest_says_complete() {
        let temp = tempfile::tempdir().unwrap();
        let (dir, _) = RunDir::begin(temp.path(), &manifest(), false).unwrap();
        keep(&dir, &run());
        steps();
        dir.merge(&[run()]).unwrap();
        dir.write("figures/a.svg", "<svg/>").unwrap();
        dir.finish(manifest(), &["figures/a.svg".into()]).unwrap();
        let steps = steps();
        let complete = at(&steps, FsOp::Rename, &temp.path().join("manifest.json"));
        let before = &steps[..complete];
        let names = TABLES.map(|t| format!("{t}.parquet"));
        for name in names.iter().map(String::as_str).chain(["figures/a.svg"]) {
            let file = temp.path().join(name);
            let renamed = at(before, FsOp::Rename, &file);
            assert!(at(before, FsOp::SyncFile, &file) < renamed, "{name}: {steps:?}");
            let parent = temp.path().join(Path::new(name).parent().unwrap());
            assert!(renamed < at(before, FsOp::SyncDirectory, &parent), "{name}: {steps:?}");
        }
        let after = steps[complete..].iter().any(|(s, _)| *s == FsOp::SyncDirectory);
        assert!(after, "{steps:?}");
    }
}
