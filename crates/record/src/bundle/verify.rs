//! Unpacking and checking an archive.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::{Manifest, RecordError, RunDir};
use crate::{combine_digests, place_directory, remove_directory, temp_path};
use lowtide_input_files::{self as input, ARCHIVE};

use super::contents::{BundleInfo, INFO_FILE, RESULTS, SCHEMA};
use super::error::BundleError;
use super::hashes::{HASHES_FILE, HashingReader, read_list};
use super::members::{Member, MemberError, for_each_member};

/// The manifest of the results.
const MANIFEST_PATH: &str = "results/manifest.json";
/// Largest list of hashes, bytes: a thousand for each member.
const MAX_LIST: u64 = 100_000_000;

/// An unpacked archive whose content was checked.
#[derive(Clone, PartialEq, Debug)]
pub struct UnpackedBundle {
    /// Folder of its files.
    pub dir: PathBuf,
    /// Its description, of which all but `repeat` follows from the manifest.
    pub info: BundleInfo,
    /// The manifest of its results.
    pub manifest: Manifest,
    /// Checked files.
    pub files: usize,
}

/// The content of an archive: each file has its hash in the list.
#[derive(Debug)]
pub(crate) struct SurveyedArchive {
    /// The folder of all members.
    folder: String,
    /// Hash of each file but the list of hashes.
    hashes: BTreeMap<String, String>,
}

/// Unpacks `file` into the new directory `into` and checks it: sizes, names and the hash of every
/// file before anything is written, then the hashes in the manifest of the results, and the
/// digest, which is computed from the tables. On an error there is no directory.
///
/// # Errors
/// The file is not such an archive, or something in it is not as stated.
pub fn unpack(file: &Path, into: &Path) -> Result<UnpackedBundle, BundleError> {
    let opened = input::open(file, &ARCHIVE).map_err(|e| not_bundle(file, e.to_string()))?;
    let surveyed = survey(file, &opened)?;
    let staging = temp_path(into);
    let checked = extract(file, &opened, &surveyed, &staging)
        .and_then(|()| check(file, &staging.join(&surveyed.folder), &surveyed))
        .and_then(|found| Ok(place_directory(&staging, into).map(|()| found)?));
    if checked.is_err() {
        remove_directory(&staging)?;
    }
    let (info, manifest) = checked?;
    let files = surveyed.hashes.len() + 1;
    Ok(UnpackedBundle { dir: into.join(surveyed.folder), info, manifest, files })
}

fn not_bundle(file: &Path, reason: String) -> BundleError {
    BundleError::NotBundle { path: file.to_path_buf(), reason }
}

fn refused(file: &Path) -> impl Fn(MemberError<BundleError>) -> BundleError + '_ {
    |error| match error {
        MemberError::Refused(reason) => not_bundle(file, reason),
        MemberError::Visitor(error) => error,
    }
}

/// Reads the archive `opened` once, without writing anything.
///
/// # Errors
/// It exceeds a bound, or its files are not those of its list of hashes.
pub(crate) fn survey(file: &Path, opened: &File) -> Result<SurveyedArchive, BundleError> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut list = None;
    let folder = for_each_member(opened, &mut |member: Member<'_>| {
        let unreadable = |e: std::io::Error| not_bundle(file, e.to_string());
        let path = member.path.to_owned();
        let mut content = HashingReader::new(member.content);
        if path == HASHES_FILE {
            let mut text = String::new();
            (&mut content).take(MAX_LIST).read_to_string(&mut text).map_err(unreadable)?;
            list = Some(text);
        } else {
            content.read_to_end().map_err(unreadable)?;
        }
        let hash = content.hash();
        if found.insert(path.clone(), hash).is_some() {
            return Err(not_bundle(file, format!("it has two files `{path}`")));
        }
        Ok(())
    })
    .map_err(refused(file))?;
    let list = list.ok_or_else(|| not_bundle(file, format!("it has no `{HASHES_FILE}`")))?;
    let hashes = read_list(&list)
        .ok_or_else(|| not_bundle(file, format!("its `{HASHES_FILE}` is not a list of hashes")))?;
    found.remove(HASHES_FILE);
    check_list(&found, &hashes)?;
    if let Some(name) = file_and_folder(&found) {
        return Err(not_bundle(file, format!("`{name}` is a file and a folder")));
    }
    Ok(SurveyedArchive { folder, hashes })
}

/// Checks that the list has exactly the files that were found.
fn check_list(
    found: &BTreeMap<String, String>,
    hashes: &BTreeMap<String, String>,
) -> Result<(), BundleError> {
    if let Some(name) = hashes.keys().find(|name| !found.contains_key(*name)) {
        return Err(BundleError::Damaged(format!("`{}` is missing", name.escape_debug())));
    }
    for (name, hash) in found {
        match hashes.get(name) {
            Some(listed) if listed == hash => {}
            Some(_) => {
                return Err(BundleError::Damaged(format!("`{name}` does not have its hash")));
            }
            None => {
                return Err(BundleError::Damaged(format!("`{name}` is not in `{HASHES_FILE}`")));
            }
        }
    }
    Ok(())
}

/// Returns a path that is also the folder of another.
fn file_and_folder(found: &BTreeMap<String, String>) -> Option<&str> {
    let folders: BTreeSet<&str> = found
        .keys()
        .flat_map(|path| path.match_indices('/').map(|(end, _)| &path[..end]))
        .collect();
    folders.into_iter().find(|folder| found.contains_key(*folder))
}

/// Writes the files of an archive below the new directory `into`.
fn extract(
    file: &Path,
    opened: &File,
    surveyed: &SurveyedArchive,
    into: &Path,
) -> Result<(), BundleError> {
    for_each_member(opened, &mut |Member { folder, path, content }| {
        let place = into.join(folder).join(path);
        let above = place.parent().unwrap_or(into);
        fs::create_dir_all(above).map_err(BundleError::io(above))?;
        let mut target = File::create_new(&place).map_err(BundleError::io(&place))?;
        let mut content = HashingReader::new(content);
        std::io::copy(&mut content, &mut target).map_err(BundleError::io(&place))?;
        // Another process may have changed the archive since it was surveyed.
        let listed = surveyed.hashes.get(path);
        if path != HASHES_FILE && listed != Some(&content.hash()) {
            return Err(BundleError::Damaged(format!("`{path}` changed while it was unpacked")));
        }
        Ok(())
    })
    .map_err(refused(file))
    .map(drop)
}

/// Returns the digest of all runs, computed from the tables.
fn recorded_digest(dir: &RunDir, manifest: &Manifest) -> Result<String, RecordError> {
    let mut reader = dir.reader()?;
    let mut digests = Vec::new();
    for run in &manifest.runs {
        digests.extend(reader.take(run.key.run)?.map(|tables| tables.run.digest));
    }
    Ok(combine_digests(digests.iter().map(String::as_str)))
}

/// Checks the description and the results of the unpacked archive in `dir`.
fn check(
    file: &Path,
    dir: &Path,
    surveyed: &SurveyedArchive,
) -> Result<(BundleInfo, Manifest), BundleError> {
    let info = input::open_beneath(dir, INFO_FILE, &input::JSON)
        .and_then(|opened| input::read_open(&opened, &input::JSON))
        .map_err(|e| not_bundle(file, format!("its `{INFO_FILE}`: {e}")))?;
    let info: BundleInfo = serde_json::from_slice(&info)
        .map_err(|e| not_bundle(file, format!("its `{INFO_FILE}`: {e}")))?;
    if info.schema != SCHEMA {
        let reason = format!("its schema is {:?}, and this version reads `{SCHEMA}`", info.schema);
        return Err(not_bundle(file, reason));
    }
    let (run_dir, manifest) = RunDir::open(&dir.join(RESULTS))?;
    // Other files in folders could be taken for results, as `repeated` could.
    let listed: BTreeSet<String> =
        manifest.files.iter().map(|f| format!("{RESULTS}/{}", f.path)).collect();
    let own = |name: &str| !name.contains('/') || name == MANIFEST_PATH || listed.contains(name);
    if let Some(name) = surveyed.hashes.keys().find(|name| !own(name)) {
        return Err(BundleError::Damaged(format!("`{name}` is not in `{MANIFEST_PATH}`")));
    }
    run_dir.verify(|_| true)?;
    let digest = recorded_digest(&run_dir, &manifest)?;
    let stated = [Some(&info.digest), manifest.digest.as_ref()];
    if stated.iter().any(|stated| *stated != Some(&digest)) {
        return Err(BundleError::Damaged(format!(
            "the tables have the digest {digest}, and `{INFO_FILE}` states {:?}",
            info.digest
        )));
    }
    let repeat = info.repeat.clone().ok_or_else(|| info.not_repeatable.clone().unwrap_or_default());
    let follows = BundleInfo::new(&manifest, &digest, repeat);
    if (BundleInfo { not_repeatable: follows.not_repeatable.clone(), ..info.clone() }) != follows {
        let reason = format!("`{INFO_FILE}` does not describe `{MANIFEST_PATH}`");
        return Err(BundleError::Damaged(reason));
    }
    Ok((info, manifest))
}
