//! Kernel packages, fetched by apt with separate lists: apt checks the signature of the index and
//! the checksum of each package. The machine's own apt settings are not touched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A kernel of a Debian release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Package {
    /// Name of the guest.
    pub(crate) name: &'static str,
    /// Debian's release. Its index says which kernel is the latest.
    suite: &'static str,
}

/// The kernels of the guests, oldest first.
pub(crate) const FLEET: [Package; 3] = [
    Package { name: "6.1", suite: "bookworm" },
    Package { name: "6.12", suite: "trixie" },
    Package { name: "newest", suite: "sid" },
];

/// Package that depends on the latest kernel of its release. The cloud kernel has few drivers.
const META: &str = "linux-image-cloud-amd64";

/// Names of packages with parts of a kernel. From 7.0 on image and modules are separate.
const PARTS: [&str; 3] = ["linux-image-", "linux-binary-", "linux-modules-"];

/// Settings of every call of apt.
const SETTINGS: [&str; 4] = [
    "Dir::State::status=/dev/null",
    "Dir::Etc::SourceParts=/dev/null",
    "APT::Architecture=amd64",
    // The private folders are not readable by apt's own user.
    "APT::Sandbox::User=root",
];

/// An unpacked kernel.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// Its release, as `uname -r` prints it.
    pub(crate) release: String,
    /// The image to boot.
    pub(crate) image: PathBuf,
    /// Root of the unpacked packages: `lib/modules/RELEASE` is below it.
    pub(crate) root: PathBuf,
}

/// Runs a program to its end; returns its standard output.
pub(crate) fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `target/kernels`: cargo removes it with everything else that is built.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("kernels")
}

impl Package {
    /// Fetches and unpacks the latest kernel of the release unless an earlier run has.
    pub(crate) fn kernel(&self) -> Result<Kernel, String> {
        let folder = folder().join(self.suite);
        let apt = Apt::new(&folder.join("apt"), self.suite)?;
        let names = apt.parts()?;
        let latest =
            names.last().ok_or_else(|| format!("{META} of {} has no kernel", self.suite))?;
        let root = folder.join(latest);
        if !root.exists() {
            let unfinished = folder.join("unfinished");
            let _ = fs::remove_dir_all(&unfinished);
            fs::create_dir_all(unfinished.join("debs")).map_err(|e| e.to_string())?;
            let debs = unfinished.join("debs");
            run(apt.command("apt-get").arg("download").args(&names).current_dir(&debs))?;
            for deb in entries(&debs)? {
                run(Command::new("dpkg-deb").arg("-x").arg(deb).arg(&unfinished))?;
            }
            // Kernels before 7.0 have /lib/modules, later ones /usr/lib/modules.
            if unfinished.join("usr/lib/modules").exists() {
                fs::rename(unfinished.join("usr/lib"), unfinished.join("lib"))
                    .map_err(|e| e.to_string())?;
            }
            run(Command::new("depmod").arg("-b").arg(&unfinished).arg(release(&unfinished)?))?;
            fs::rename(&unfinished, &root).map_err(|e| e.to_string())?;
        }
        let release = release(&root)?;
        let images = [format!("boot/vmlinuz-{release}"), format!("lib/modules/{release}/vmlinuz")];
        let image = images.into_iter().map(|image| root.join(image)).find(|image| image.exists());
        let image = image.ok_or_else(|| format!("{latest} has no vmlinuz"))?;
        Ok(Kernel { release, image, root })
    }
}

/// apt with the index of one Debian release.
struct Apt(PathBuf);

impl Apt {
    /// Fetches the index.
    fn new(folder: &Path, suite: &str) -> Result<Self, String> {
        for sub in ["state/lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(folder.join(sub)).map_err(|e| e.to_string())?;
        }
        let source = format!(
            "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \
             http://deb.debian.org/debian {suite} main\n"
        );
        fs::write(folder.join("sources.list"), source).map_err(|e| e.to_string())?;
        let apt = Self(folder.to_owned());
        run(apt.command("apt-get").arg("update"))?;
        Ok(apt)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let at = self.0.display();
        let folders = [("State", "state"), ("Cache", "cache"), ("Etc::SourceList", "sources.list")];
        for (key, name) in folders {
            command.args(["-o", &format!("Dir::{key}={at}/{name}")]);
        }
        command.args(SETTINGS.iter().flat_map(|setting| ["-o", setting]));
        command
    }

    /// Names of the packages that [`META`] depends on and that are parts of a kernel, in order of
    /// discovery.
    fn parts(&self) -> Result<Vec<String>, String> {
        let (mut found, mut next) = (Vec::new(), vec![META.to_owned()]);
        while let Some(name) = next.pop() {
            let depends = run(self.command("apt-cache").args(["depends", &name]))?;
            let names = depends.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
            for part in names.filter(|name| PARTS.iter().any(|part| name.starts_with(part))) {
                if !found.iter().any(|name| name == part) {
                    found.push(part.to_owned());
                    next.push(part.to_owned());
                }
            }
        }
        Ok(found)
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

fn release(root: &Path) -> Result<String, String> {
    let modules = entries(&root.join("lib/modules"))?;
    let name = modules.first().and_then(|path| path.file_name()?.to_str());
    name.map(str::to_owned).ok_or_else(|| format!("{} has no modules", root.display()))
}
