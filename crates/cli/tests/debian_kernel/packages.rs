//! Kernel packages, fetched by apt with separate lists: apt checks the signature of
//! the index and the checksum of the package. The machine's own apt settings are not touched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A kernel of a distribution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Package {
    /// Folder below `target/debian-kernel`.
    pub(crate) folder: &'static str,
    /// Line of `sources.list`.
    source: &'static str,
    /// Package whose dependency is the kernel of the day.
    meta: &'static str,
}

/// Linux 6.1, before struct_ops links.
pub(crate) const BOOKWORM: Package = Package {
    folder: "bookworm",
    source: "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \
             http://deb.debian.org/debian bookworm main",
    meta: "linux-image-cloud-amd64",
};

/// Linux 6.12.
pub(crate) const BACKPORTS: Package = Package {
    folder: "bookworm-backports",
    source: "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \
             http://deb.debian.org/debian bookworm-backports main",
    meta: "linux-image-cloud-amd64",
};

/// An unpacked kernel.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// Its release, as `uname -r` prints it.
    pub(crate) release: String,
    /// The image to boot.
    pub(crate) image: PathBuf,
    /// Root of the unpacked package: `lib/modules/RELEASE` is below it.
    pub(crate) root: PathBuf,
}

/// Runs a program to its end; returns its standard output.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

impl Package {
    /// Fetches and unpacks the kernel unless an earlier run has.
    pub(crate) fn kernel(&self) -> Kernel {
        // target/debian-kernel: cargo removes it with everything else that is built.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let folder = target.join("debian-kernel").join(self.folder);
        let root = folder.join("root");
        if !root.exists() {
            let unfinished = folder.join("root.new");
            let _ = fs::remove_dir_all(&unfinished);
            let deb = self.fetch(&folder);
            run(Command::new("dpkg-deb").arg("-x").arg(deb).arg(&unfinished));
            let release = release(&unfinished);
            run(Command::new("depmod").arg("-b").arg(&unfinished).arg(release));
            fs::rename(&unfinished, &root).unwrap();
        }
        let release = release(&root);
        let image = root.join("boot").join(format!("vmlinuz-{release}"));
        Kernel { release, image, root }
    }

    fn fetch(&self, folder: &Path) -> PathBuf {
        let apt = folder.join("apt");
        for sub in ["state/lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(apt.join(sub)).unwrap();
        }
        fs::write(apt.join("sources.list"), format!("{}\n", self.source)).unwrap();
        let with = |program: &str| {
            let mut command = Command::new(program);
            for (key, value) in [
                ("Dir::State", apt.join("state").display().to_string()),
                ("Dir::State::status", "/dev/null".to_owned()),
                ("Dir::Cache", apt.join("cache").display().to_string()),
                ("Dir::Etc::SourceList", apt.join("sources.list").display().to_string()),
                ("Dir::Etc::SourceParts", "/dev/null".to_owned()),
                ("APT::Architecture", "amd64".to_owned()),
                // The private folders are not readable by apt's own user.
                ("APT::Sandbox::User", "root".to_owned()),
            ] {
                command.args(["-o", &format!("{key}={value}")]);
            }
            command
        };
        run(with("apt-get").arg("update"));
        let depends = run(with("apt-cache").args(["depends", self.meta]));
        let name = depends.lines().find_map(|line| line.trim().strip_prefix("Depends: "));
        let name = name.unwrap_or_else(|| panic!("{} depends on nothing: {depends}", self.meta));
        run(with("apt-get").args(["download", name]).current_dir(folder));
        let found = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut debs = found.filter(|path| path.extension().is_some_and(|e| e == "deb"));
        debs.next().unwrap()
    }
}

fn release(root: &Path) -> String {
    let mut modules = fs::read_dir(root.join("lib/modules")).unwrap();
    modules.next().unwrap().unwrap().file_name().into_string().unwrap()
}
