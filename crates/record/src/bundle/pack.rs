//! Packing a run directory.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::{RunDir, write_atomic_with};
use lowtide_input_files::{self as input, ARCHIVE};

use super::archive::ArchiveWriter;
use super::contents::{BundleInfo, INFO_FILE, RESULTS};
use super::error::BundleError;
use super::hashes::{HASHES_FILE, sha256, write_list};
use super::readme::readme;
use super::verify::survey;

/// Content of an archive beside the run directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BundleSource {
    /// Arguments that repeat the runs, or the reason that none do ([`BundleInfo::repeat`]).
    pub repeat: Result<Vec<String>, String>,
    /// Further files at the top: name and text.
    pub files: Vec<(String, String)>,
}

/// A written archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackedBundle {
    /// The archive.
    pub path: PathBuf,
    /// Its description.
    pub info: BundleInfo,
    /// Its files.
    pub files: usize,
    /// Its size.
    pub bytes: u64,
}

/// A member before it is written.
enum Member<'a> {
    Text(Vec<u8>),
    /// A file of the run directory.
    File(&'a RunDir, &'a str),
}

impl Member<'_> {
    fn hash(&self) -> Result<String, BundleError> {
        match self {
            Self::Text(text) => sha256(&**text).map_err(BundleError::io(Path::new(INFO_FILE))),
            Self::File(dir, path) => {
                sha256(dir.open_file(path)?).map_err(BundleError::io(&dir.root().join(path)))
            }
        }
    }

    fn append_to<W: std::io::Write>(
        &self,
        archive: &mut ArchiveWriter<W>,
        name: &str,
    ) -> Result<(), BundleError> {
        let written = BundleError::io(Path::new(name));
        match self {
            Self::Text(text) => archive.append(name, text.len() as u64, &**text).map_err(written),
            Self::File(dir, path) => {
                let file = dir.open_file(path)?;
                let bytes = file.metadata().map_err(&written)?.len();
                archive.append(name, bytes, file.take(bytes)).map_err(written)
            }
        }
    }
}

/// Packs the run directory `dir`. `out` is the archive; by default it is named after the scenario,
/// in the working directory.
///
/// # Errors
/// The directory is not complete, a file of it is damaged, or the archive cannot be written.
pub fn pack(
    dir: &Path,
    source: BundleSource,
    out: Option<&Path>,
) -> Result<PackedBundle, BundleError> {
    let (run_dir, manifest) = RunDir::open(dir)?;
    run_dir.verify(|_| true)?;
    let digest = manifest.digest.clone().unwrap_or_default();
    let info = BundleInfo::new(&manifest, &digest, source.repeat);

    let mut members: BTreeMap<String, Member<'_>> = BTreeMap::new();
    members.insert(format!("{RESULTS}/manifest.json"), Member::Text(run_dir.manifest_bytes()?));
    for path in manifest.files.iter().map(|f| &*f.path) {
        members.insert(format!("{RESULTS}/{path}"), Member::File(&run_dir, path));
    }
    for (name, text) in source.files {
        members.insert(name, Member::Text(text.into_bytes()));
    }
    members.insert("README.md".to_owned(), Member::Text(readme(&info).into_bytes()));
    let described = serde_json::to_string_pretty(&info).map_err(std::io::Error::from);
    let described = described.map_err(BundleError::io(Path::new(INFO_FILE)))?;
    members.insert(INFO_FILE.to_owned(), Member::Text((described + "\n").into_bytes()));
    let hashes: BTreeMap<String, String> = members
        .iter()
        .map(|(name, member)| Ok((name.clone(), member.hash()?)))
        .collect::<Result<_, BundleError>>()?;
    members.insert(HASHES_FILE.to_owned(), Member::Text(write_list(&hashes).into_bytes()));

    let folder = info.folder();
    let path = out.map_or_else(|| PathBuf::from(format!("{folder}.tar.gz")), Path::to_path_buf);
    let files = members.len();
    write_atomic_with(&path, |to| {
        let mut archive = ArchiveWriter::new(to);
        for (name, member) in &members {
            member.append_to(&mut archive, &format!("{folder}/{name}"))?;
        }
        archive.finish().map_err(BundleError::io(&path))
    })?;
    let written = input::open(&path, &ARCHIVE).map_err(BundleError::io(&path))?;
    let bytes = written.metadata().map_err(BundleError::io(&path))?.len();
    // Others must be able to verify it: results may be too large, or expand too much.
    if let Err(error) = survey(&path, &written) {
        let _ = std::fs::remove_file(&path);
        return Err(error);
    }
    Ok(PackedBundle { path, info, files, bytes })
}
