//! The BPF file system: pins that keep programs after the loader's exit.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};
use nix::unistd::{AccessFlags, access};

use crate::error::KernelError;

/// Its usual mount point.
const DEFAULT: &str = "/sys/fs/bpf";

/// Folder of our pins.
const FOLDER: &str = "lowtide";

/// Returns the folder of our pins; `None` if no BPF file system is mounted.
pub(crate) fn folder() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    mount_point(&mounts).map(|point| Path::new(point).join(FOLDER))
}

fn mount_point(mounts: &str) -> Option<&str> {
    let points = mounts.lines().filter_map(|line| {
        let mut parts = line.split(' ');
        let (_, point, kind) = (parts.next()?, parts.next()?, parts.next()?);
        (kind == "bpf").then_some(point)
    });
    // The usual place first.
    points.max_by_key(|point| *point == DEFAULT)
}

/// Returns the folder of our pins; mounts a BPF file system if there is none.
pub(crate) fn folder_or_mount() -> Result<PathBuf, KernelError> {
    if folder().is_none() {
        mount(Some("bpf"), DEFAULT, Some("bpf"), MsFlags::empty(), Some("mode=0700"))
            .map_err(|e| KernelError::NoBpffs { at: DEFAULT, source: e.into() })?;
    }
    let folder = folder().unwrap_or_else(|| Path::new(DEFAULT).join(FOLDER));
    fs::create_dir_all(&folder).map_err(|e| KernelError::io(&folder, e))?;
    access(&folder, AccessFlags::W_OK).map_err(|e| KernelError::io(&folder, e.into()))?;
    Ok(folder)
}

/// Excludes other commands that change pins until the returned file is closed.
pub(crate) fn lock() -> Result<File, KernelError> {
    let folder = folder_or_mount()?;
    let file = File::open(&folder).map_err(|e| KernelError::io(&folder, e))?;
    file.lock().map_err(|e| KernelError::io(&folder, e))?;
    Ok(file)
}

/// Returns `path` as a name of a pin: names there have neither `/` nor `.`.
pub(crate) fn pin_name(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%25").replace('.', "%2e").replace('/', "%2f")
}

/// Returns the path of a name made by [`pin_name`].
pub(crate) fn path_of_pin(name: &str) -> PathBuf {
    PathBuf::from(name.replace("%2f", "/").replace("%2e", ".").replace("%25", "%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_mount_is_preferred() {
        let mounts =
            "sysfs /sys sysfs rw 0 0\nbpf /run/other bpf rw 0 0\nbpf /sys/fs/bpf bpf rw 0 0\n";
        assert_eq!(mount_point(mounts), Some("/sys/fs/bpf"));
        assert_eq!(mount_point("none /a bpf rw 0 0"), Some("/a"));
        assert_eq!(mount_point("sysfs /sys sysfs rw 0 0"), None);
    }

    #[test]
    fn a_pin_has_the_name_of_its_path() {
        for path in ["/sys/fs/cgroup/a.slice/b.service", "/100%/x"] {
            let name = pin_name(Path::new(path));
            assert!(!name.contains(['/', '.']), "{name}");
            assert_eq!(path_of_pin(&name), Path::new(path));
        }
    }
}
