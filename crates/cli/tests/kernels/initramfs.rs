//! The file system of a guest: this program as process 1, programs to test, the commands of
//! iproute2, their libraries, and modules.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::packages::{Kernel, folder, run};

/// Modules of the tests. A module that is built in, or that a kernel does not have, is skipped: the
/// test that needs it fails.
const MODULES: [&str; 15] = [
    "tun",
    "veth",
    "inet_diag",
    "tcp_diag",
    "af_packet",
    "sch_ingress",
    "cls_bpf",
    "sch_fq",
    "sch_tbf",
    "sch_red",
    "sch_codel",
    "sch_fq_codel",
    "sch_pie",
    "sch_netem",
    "tcp_dctcp",
];

/// The list of module files in the guest, in the order of loading.
pub(crate) const MODULE_LIST: &str = "/modules/list";

/// Commands of the host that every guest has. `bash`, `setpriv` and `unshare` of busybox lack what
/// tests use.
const COMMANDS: [&str; 7] = ["ip", "tc", "busybox", "bash", "setpriv", "unshare", "bpftool"];

/// The part of the file system that all kernels share: programs at their absolute paths and in
/// `/bin`, and the libraries.
pub(crate) struct Programs(TempDir);

impl Programs {
    pub(crate) fn new<'a>(programs: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        let folder = temporary();
        write_programs(programs, &folder.path().join("root"), &folder.path().join("cpio"));
        Self(folder)
    }

    pub(crate) fn archive(&self) -> PathBuf {
        self.0.path().join("cpio")
    }
}

/// A folder beside what else the suite makes: archives are too large for some `/tmp`.
pub(crate) fn temporary() -> TempDir {
    fs::create_dir_all(folder()).unwrap();
    tempfile::tempdir_in(folder()).unwrap()
}

fn write_programs<'a>(programs: impl IntoIterator<Item = &'a PathBuf>, root: &Path, file: &Path) {
    for sub in ["bin", "dev", "proc", "sys", "run", "tmp", "modules", "data"] {
        fs::create_dir_all(root.join(sub)).unwrap();
    }
    add_program(&std::env::current_exe().unwrap(), &root.join("init"), root);
    for name in COMMANDS {
        add_program(&in_path(name), &root.join("bin").join(name), root);
    }
    for program in programs {
        let inside = root.join(program.strip_prefix("/").unwrap());
        fs::create_dir_all(inside.parent().unwrap()).unwrap();
        add_program(program, &inside, root);
        symlink(program, root.join("bin").join(program.file_name().unwrap())).unwrap();
    }
    // Programs look for their loader and libraries under either name.
    for name in ["lib", "lib64"] {
        let (top, usr) = (root.join(name), root.join("usr").join(name));
        if usr.exists() && !top.exists() {
            symlink(format!("usr/{name}"), top).unwrap();
        }
    }
    archive(root, file);
}

/// Writes the modules of `kernel`.
pub(crate) fn write_modules(kernel: &Kernel, folder: &Path, file: &Path) {
    let root = folder.join(format!("modules-{}", kernel.release));
    fs::create_dir_all(root.join("modules")).unwrap();
    add_modules(kernel, &root);
    archive(&root, file);
}

/// Writes a job and its files, which the guest has in `/data`.
pub(crate) fn write_job(job: &str, files: &[PathBuf], folder: &Path, file: &Path) {
    let root = folder.join("job");
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(root.join("data")).unwrap();
    fs::write(root.join("job"), job).unwrap();
    for path in files {
        run(Command::new("cp").arg("-rL").arg(path).arg(root.join("data"))).unwrap();
    }
    archive(&root, file);
}

/// Writes a folder as an archive of the format that the kernel unpacks. Archives can be joined.
fn archive(root: &Path, file: &Path) {
    let mut find = Command::new("find").arg(".").current_dir(root).stdout(Stdio::piped()).spawn();
    let files = find.as_mut().unwrap().stdout.take().unwrap();
    let status = Command::new("busybox")
        .args(["cpio", "-o", "-H", "newc"])
        .current_dir(root)
        .stdin(files)
        .stdout(File::create(file).unwrap())
        .stderr(Stdio::null())
        .status();
    assert!(status.unwrap().success() && find.unwrap().wait().unwrap().success());
}

/// Path of a program, as a shell finds it; `/usr/sbin` is not in every PATH.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let extra = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(extra).map(|p| p.join(name)).find(|p| p.is_file())
}

fn in_path(name: &str) -> PathBuf {
    find(name).unwrap_or_else(|| panic!("there is no `{name}`"))
}

/// Copies a program without its debugging information, and the libraries that it loads.
fn add_program(program: &Path, to: &Path, root: &Path) {
    run(Command::new("strip").arg("--strip-debug").arg("-o").arg(to).arg(program)).unwrap();
    // A static program has no libraries: `ldd` fails.
    let libraries = run(Command::new("ldd").arg(program)).unwrap_or_default();
    // `name => /path (address)`, or `/path (address)` for the loader.
    for path in libraries.split_whitespace().filter(|word| word.starts_with('/')) {
        let inside = root.join(path.trim_start_matches('/'));
        fs::create_dir_all(inside.parent().unwrap()).unwrap();
        fs::copy(path, inside).unwrap();
    }
}

fn add_modules(kernel: &Kernel, root: &Path) {
    let (mut list, mut known) = (Vec::new(), BTreeSet::new());
    for name in MODULES {
        let output = Command::new(in_path("modprobe"))
            .args(["--show-depends", "-S", &kernel.release, "-d"])
            .args([&kernel.root, Path::new(name)])
            .output()
            .unwrap();
        // `insmod FILE` for each file in order; `builtin NAME`.
        let text = String::from_utf8(output.stdout).unwrap();
        let files = text.lines().filter_map(|line| line.strip_prefix("insmod "));
        for file in files.map(|file| Path::new(file.trim())) {
            let name = file.file_name().unwrap().to_str().unwrap();
            let plain = name.strip_suffix(".xz").unwrap_or(name);
            if !known.insert(plain.to_owned()) {
                continue;
            }
            fs::copy(file, root.join("modules").join(name)).unwrap();
            if plain != name {
                run(Command::new("xz").arg("-df").arg(root.join("modules").join(name))).unwrap();
            }
            list.push(format!("/modules/{plain}\n"));
        }
    }
    fs::write(root.join(MODULE_LIST.trim_start_matches('/')), list.concat()).unwrap();
}
