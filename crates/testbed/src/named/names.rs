//! Names of namespaces, as `ip netns` gives them: a file onto which the namespace is mounted.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use lowtide_live::netns::Namespace;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statfs::{NSFS_MAGIC, statfs};

use super::state::{Name, State};
use super::{NamedError, Places};

/// What every name begins with.
const PREFIX: &str = "lowtide-";

/// The name of a host's namespace.
pub(super) fn of(host: &str) -> Result<String, NamedError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    if host.is_empty() || host.len() > 200 || !host.chars().all(plain) {
        return Err(NamedError::Name(host.to_owned()));
    }
    Ok(format!("{PREFIX}{host}"))
}

fn path(places: &Places, name: &str) -> PathBuf {
    places.names.join(name)
}

/// What there is under a name.
#[derive(PartialEq, Eq, Debug)]
enum Found {
    Nothing,
    /// A place for a namespace, and none there: whoever made it was stopped, or the machine was.
    Empty,
    /// A namespace.
    Namespace(u64),
    /// Something else.
    Other,
}

fn look(places: &Places, name: &str) -> Result<Found, NamedError> {
    let path = path(places, name);
    let meta = match fs::symlink_metadata(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Nothing),
        meta => meta.map_err(NamedError::system(format!("look at {}", path.display())))?,
    };
    if !meta.is_file() {
        return Ok(Found::Other);
    }
    let of = statfs(&path)
        .map_err(|e| NamedError::system(format!("look at {}", path.display()))(e.into()))?;
    if of.filesystem_type() == NSFS_MAGIC {
        return Ok(Found::Namespace(meta.ino()));
    }
    Ok(if meta.len() == 0 { Found::Empty } else { Found::Other })
}

/// Nobody has any of these names.
pub(super) fn check_free(places: &Places, names: &[String]) -> Result<(), NamedError> {
    for name in names {
        if look(places, name)? != Found::Nothing {
            return Err(NamedError::NotOurs(name.clone()));
        }
    }
    Ok(())
}

/// Gives `namespace` its name.
pub(super) fn give(places: &Places, name: &str, namespace: &Namespace) -> Result<(), NamedError> {
    fs::create_dir_all(&places.names)
        .map_err(NamedError::system(format!("make {}", places.names.display())))?;
    let path = path(places, name);
    let made = OpenOptions::new().write(true).create_new(true).mode(0o000).open(&path);
    if made.as_ref().is_err_and(|e| e.kind() == std::io::ErrorKind::AlreadyExists) {
        return Err(NamedError::NotOurs(name.to_owned()));
    }
    made.map_err(NamedError::system(format!("make {}", path.display())))?;
    let (none, flags) = (None::<&str>, MsFlags::MS_BIND);
    mount(Some(&namespace.path()), &path, none, flags, none)
        .map_err(|e| NamedError::system(format!("give a namespace the name `{name}`"))(e.into()))
}

/// Takes away what is left of the names of `state`; what has got such a name since is left alone. Those that were
/// taken away.
pub(super) fn take(places: &Places, state: &State) -> Result<Vec<String>, NamedError> {
    let mut taken = Vec::new();
    for Name { name, inode } in &state.names {
        let path = path(places, name);
        let what = || format!("take the name `{name}` away");
        match look(places, name)? {
            Found::Nothing | Found::Other => continue,
            Found::Namespace(found) if found != *inode || !state.is_of_this_boot() => continue,
            Found::Namespace(_) => {
                umount2(&path, MntFlags::MNT_DETACH)
                    .map_err(|e| NamedError::system(what())(e.into()))?;
            }
            Found::Empty => {}
        }
        fs::remove_file(&path).map_err(NamedError::system(what()))?;
        taken.push(name.clone());
    }
    Ok(taken)
}
