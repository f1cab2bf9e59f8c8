//! Unpacking and checking an archive.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use lowtide_lab::{CompletedExperiment, load};
use lowtide_record::{Manifest, RunDir};

use crate::archive::extract;
use crate::contents::{BundleInfo, INFO_FILE, RESULTS, SCHEMA};
use crate::error::BundleError;
use crate::hashes::{HASHES_FILE, read_list, sha256};

/// An unpacked archive whose content was checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnpackedBundle {
    /// Folder of its files.
    pub dir: PathBuf,
    /// Its description.
    pub info: BundleInfo,
    /// Checked files.
    pub files: usize,
}

/// Unpacks `file` into the directory `into` and checks it: the hash of every file, the hashes in
/// the manifest of the results, and the digest, which is computed from the tables.
///
/// # Errors
/// The file is not such an archive, or something in it is not as stated.
pub fn unpack(file: &Path, into: &Path) -> Result<UnpackedBundle, BundleError> {
    let dir = into.join(extract(file, into)?);
    let not_bundle = |reason: String| BundleError::NotBundle { path: file.to_path_buf(), reason };
    let text = |name: &str| {
        fs::read_to_string(dir.join(name)).map_err(|e| not_bundle(format!("its `{name}`: {e}")))
    };
    let hashes = read_list(&text(HASHES_FILE)?)
        .ok_or_else(|| not_bundle(format!("its `{HASHES_FILE}` is not a list of hashes")))?;
    for (name, hash) in &hashes {
        let path = dir.join(name);
        let content = File::open(&path).and_then(|mut f| sha256(&mut f));
        match content {
            Ok(found) if found == *hash => {}
            Ok(_) => return Err(BundleError::Damaged(format!("`{name}` does not have its hash"))),
            Err(e) => return Err(BundleError::Damaged(format!("`{name}`: {e}"))),
        }
    }
    let mut present = BTreeSet::new();
    list_files(&dir, "", &mut present)?;
    if let Some(name) = present.iter().find(|n| *n != HASHES_FILE && !hashes.contains_key(*n)) {
        return Err(BundleError::Damaged(format!("`{name}` is not in `{HASHES_FILE}`")));
    }
    let info: BundleInfo = serde_json::from_str(&text(INFO_FILE)?)
        .map_err(|e| not_bundle(format!("its `{INFO_FILE}`: {e}")))?;
    if info.schema != SCHEMA {
        let reason = format!("its schema is `{}`, and this version reads `{SCHEMA}`", info.schema);
        return Err(not_bundle(reason));
    }
    let (run_dir, _) = RunDir::open(&dir.join(RESULTS))?;
    run_dir.verify(|_| true)?;
    let CompletedExperiment { manifest, results, .. } = load(&dir.join(RESULTS))?;
    let stated = [Some(&info.digest), manifest.digest.as_ref()];
    if stated.iter().any(|digest| *digest != Some(&results.digest)) {
        return Err(BundleError::Damaged(format!(
            "the tables have the digest {}, and `{INFO_FILE}` states {}",
            results.digest, info.digest
        )));
    }
    Ok(UnpackedBundle { dir, info, files: hashes.len() + 1 })
}

/// Inserts the paths of all files in `root`/`below`, relative to `root`.
fn list_files(root: &Path, below: &str, into: &mut BTreeSet<String>) -> Result<(), BundleError> {
    let here = root.join(below);
    for entry in fs::read_dir(&here).map_err(BundleError::io(&here))? {
        let entry = entry.map_err(BundleError::io(&here))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        if entry.path().is_dir() {
            list_files(root, &path, into)?;
        } else {
            into.insert(path);
        }
    }
    Ok(())
}

/// Finds the results of the same scenario in `root` or its folders, as `papers reproduce` writes
/// below its output directory.
pub fn find_repeated(root: &Path, info: &BundleInfo) -> Option<Manifest> {
    const DEPTH: usize = 3;
    let mut level = vec![root.to_path_buf()];
    for _ in 0..DEPTH {
        let mut below = Vec::new();
        for dir in level {
            if RunDir::is_begun(&dir) {
                let found = RunDir::open(&dir).ok().map(|(_, manifest)| manifest);
                if let Some(found) = found.filter(|m| m.scenario_hash == info.scenario_hash) {
                    return Some(found);
                }
            } else if let Ok(entries) = fs::read_dir(&dir) {
                below.extend(entries.flatten().map(|e| e.path()).filter(|p| p.is_dir()));
            }
        }
        below.sort();
        level = below;
    }
    None
}
