//! Packing a run directory.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use lowtide_record::{RunDir, write_atomic_with};

use crate::archive::ArchiveWriter;
use crate::contents::{BundleInfo, INFO_FILE, RESULTS};
use crate::error::BundleError;
use crate::hashes::{HASHES_FILE, sha256, write_list};
use crate::readme::readme;

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
enum Member {
    Text(String),
    File(PathBuf),
}

impl Member {
    fn hash(&self) -> Result<String, BundleError> {
        match self {
            Self::Text(text) => {
                sha256(&mut text.as_bytes()).map_err(BundleError::io(Path::new(INFO_FILE)))
            }
            Self::File(path) => {
                let mut file = File::open(path).map_err(BundleError::io(path))?;
                sha256(&mut file).map_err(BundleError::io(path))
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

    let mut members: BTreeMap<String, Member> = BTreeMap::new();
    for path in std::iter::once("manifest.json").chain(manifest.files.iter().map(|f| &*f.path)) {
        members.insert(format!("{RESULTS}/{path}"), Member::File(dir.join(path)));
    }
    for (name, text) in source.files {
        members.insert(name, Member::Text(text));
    }
    members.insert("README.md".to_owned(), Member::Text(readme(&info)));
    let described = serde_json::to_string_pretty(&info).map_err(std::io::Error::from);
    let described = described.map_err(BundleError::io(Path::new(INFO_FILE)))?;
    members.insert(INFO_FILE.to_owned(), Member::Text(described + "\n"));
    let hashes: BTreeMap<String, String> = members
        .iter()
        .map(|(name, member)| Ok((name.clone(), member.hash()?)))
        .collect::<Result<_, BundleError>>()?;
    members.insert(HASHES_FILE.to_owned(), Member::Text(write_list(&hashes)));

    let folder = info.folder();
    let path = out.map_or_else(|| PathBuf::from(format!("{folder}.tar.gz")), Path::to_path_buf);
    let files = members.len();
    write_atomic_with(&path, |to| {
        let mut archive = ArchiveWriter::new(to);
        for (name, member) in &members {
            let name = format!("{folder}/{name}");
            match member {
                Member::Text(text) => archive.append(&name, text.len() as u64, text.as_bytes()),
                Member::File(source) => File::open(source)
                    .and_then(|file| Ok((file.metadata()?.len(), file)))
                    .and_then(|(bytes, file)| archive.append(&name, bytes, file)),
            }
            .map_err(BundleError::io(&path))?;
        }
        archive.finish().map_err(BundleError::io(&path))
    })?;
    let bytes = std::fs::metadata(&path).map_err(BundleError::io(&path))?.len();
    Ok(PackedBundle { path, info, files, bytes })
}
