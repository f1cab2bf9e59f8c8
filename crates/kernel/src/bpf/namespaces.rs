//! Work in every network namespace of the machine.

use std::collections::BTreeSet;
use std::fs::{File, read_dir};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use nix::sched::{CloneFlags, setns};

use crate::error::KernelError;

/// Returns what `work` returns in each network namespace that a process or a name below
/// `/run/netns` holds. It runs in a thread that is in the namespace, as do its child processes.
pub(super) fn in_each<T: Send>(
    work: impl Fn() -> Result<T, KernelError> + Sync,
) -> Result<Vec<T>, KernelError> {
    let enter = |namespace: &File| {
        setns(namespace, CloneFlags::CLONE_NEWNET)
            .map_err(|_| KernelError::NotPermitted { operation: "entering a namespace" })
    };
    let mut out = Vec::new();
    for namespace in namespaces() {
        // A separate thread: one that entered another namespace cannot be used again.
        let done = std::thread::scope(|scope| {
            let thread = scope.spawn(|| enter(&namespace).and_then(|()| work()));
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        out.push(done?);
    }
    Ok(out)
}

/// Returns these namespaces, each once.
fn namespaces() -> Vec<File> {
    let paths = |folder: &str| -> Vec<PathBuf> {
        let entries = read_dir(folder).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
    };
    let processes = paths("/proc").into_iter().map(|process| process.join("ns/net"));
    let own = PathBuf::from("/proc/self/ns/net");
    let all = std::iter::once(own).chain(processes).chain(paths("/run/netns"));
    let mut seen = BTreeSet::new();
    all.filter_map(|path| {
        let file = File::open(path).ok()?;
        let meta = file.metadata().ok()?;
        seen.insert((meta.dev(), meta.ino())).then_some(file)
    })
    .collect()
}
