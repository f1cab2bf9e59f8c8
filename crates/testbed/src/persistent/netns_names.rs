//! Names of namespaces as of `ip netns`: a file on which the namespace is mounted.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use lowtide_live::netns::Namespace;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statfs::{NSFS_MAGIC, statfs};

use super::state::{NetnsName, TestbedState};
use super::{PersistentError, TestbedPaths};

/// Prefix of every name.
const PREFIX: &str = "lowtide-";

/// Name of a host's namespace.
pub(super) fn netns_name(host: &str) -> Result<String, PersistentError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    if host.is_empty() || host.len() > 200 || !host.chars().all(plain) {
        return Err(PersistentError::InvalidName(host.to_owned()));
    }
    Ok(format!("{PREFIX}{host}"))
}

fn path(paths: &TestbedPaths, name: &str) -> PathBuf {
    paths.netns_dir.join(name)
}

/// Status of a name.
#[derive(PartialEq, Eq, Debug)]
enum NameStatus {
    Free,
    /// A mount point without a namespace: its creator or the machine was stopped.
    Stale,
    /// A namespace.
    Namespace(u64),
    /// Another file.
    Other,
}

fn probe(paths: &TestbedPaths, name: &str) -> Result<NameStatus, PersistentError> {
    let path = path(paths, name);
    let meta = match fs::symlink_metadata(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(NameStatus::Free),
        meta => meta.map_err(PersistentError::system(format!("look at {}", path.display())))?,
    };
    if !meta.is_file() {
        return Ok(NameStatus::Other);
    }
    let of = statfs(&path)
        .map_err(|e| PersistentError::system(format!("look at {}", path.display()))(e.into()))?;
    if of.filesystem_type() == NSFS_MAGIC {
        return Ok(NameStatus::Namespace(meta.ino()));
    }
    Ok(if meta.len() == 0 { NameStatus::Stale } else { NameStatus::Other })
}

/// Fails if one of these names is in use.
pub(super) fn check_free(paths: &TestbedPaths, names: &[String]) -> Result<(), PersistentError> {
    for name in names {
        if probe(paths, name)? != NameStatus::Free {
            return Err(PersistentError::ForeignNetns(name.clone()));
        }
    }
    Ok(())
}

/// Gives `namespace` its name.
pub(super) fn bind(
    paths: &TestbedPaths,
    name: &str,
    namespace: &Namespace,
) -> Result<(), PersistentError> {
    fs::create_dir_all(&paths.netns_dir)
        .map_err(PersistentError::system(format!("make {}", paths.netns_dir.display())))?;
    let path = path(paths, name);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o000).open(&path);
    if file.as_ref().is_err_and(|e| e.kind() == std::io::ErrorKind::AlreadyExists) {
        return Err(PersistentError::ForeignNetns(name.to_owned()));
    }
    file.map_err(PersistentError::system(format!("make {}", path.display())))?;
    let (none, flags) = (None::<&str>, MsFlags::MS_BIND);
    mount(Some(&namespace.path()), &path, none, flags, none).map_err(|e| {
        PersistentError::system(format!("give a namespace the name `{name}`"))(e.into())
    })
}

/// Removes the remaining names of `state` and returns them. A name that was reused since is kept.
pub(super) fn remove_all(
    paths: &TestbedPaths,
    state: &TestbedState,
) -> Result<Vec<String>, PersistentError> {
    let mut taken = Vec::new();
    for NetnsName { name, inode } in &state.names {
        let path = path(paths, name);
        let what = || format!("take the name `{name}` away");
        match probe(paths, name)? {
            NameStatus::Free | NameStatus::Other => continue,
            NameStatus::Namespace(found) if found != *inode || !state.is_of_this_boot() => continue,
            NameStatus::Namespace(_) => {
                umount2(&path, MntFlags::MNT_DETACH)
                    .map_err(|e| PersistentError::system(what())(e.into()))?;
            }
            NameStatus::Stale => {}
        }
        fs::remove_file(&path).map_err(PersistentError::system(what()))?;
        taken.push(name.clone());
    }
    Ok(taken)
}
