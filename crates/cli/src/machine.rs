//! Memory and disk space of this machine.

use std::fs;
use std::path::Path;

/// Memory limit of runs without `--memory`, bytes: 90 % of the available memory. `None` if the
/// system reports none.
pub fn memory() -> Option<u64> {
    available(Path::new("/")).map(|bytes| bytes / 10 * 9)
}

/// Resident memory of this process, bytes.
pub fn resident() -> Option<u64> {
    parse_kib(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// Free disk space for this user at `path` or its nearest existing ancestor, bytes.
#[cfg(unix)]
pub fn free_disk(path: &Path) -> Option<u64> {
    let path = std::path::absolute(path).ok()?;
    let there = path.ancestors().find(|p| p.exists())?;
    let found = rustix::fs::statvfs(there).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

#[cfg(not(unix))]
pub fn free_disk(_: &Path) -> Option<u64> {
    None
}

/// Minimum of available memory without swapping, remaining memory of the control groups, and the
/// limit on address space, bytes. `root` is `/` except in tests.
fn available(root: &Path) -> Option<u64> {
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    let free = read("proc/meminfo").and_then(|text| parse_kib(&text, "MemAvailable:"));
    let space = read("proc/self/limits").and_then(|text| {
        let line = text.lines().find_map(|l| l.strip_prefix("Max address space"))?;
        line.split_whitespace().next()?.parse().ok()
    });
    [free, space, cgroup_available(root)].into_iter().flatten().min()
}

/// Remaining memory of the control groups of this process and of their ancestors, bytes.
fn cgroup_available(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mut least = None;
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next(), parts.next()?, parts.next()?);
        let (mount, files) = if controllers.is_empty() {
            ("sys/fs/cgroup", ["memory.max", "memory.current", "inactive_file "])
        } else if controllers.split(',').any(|c| c == "memory") {
            let v1 = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "];
            ("sys/fs/cgroup/memory", v1)
        } else {
            continue;
        };
        let mount = root.join(mount);
        let place = mount.join(path.trim_start_matches('/'));
        for group in place.ancestors().take_while(|p| p.starts_with(&mount)) {
            least = [least, cgroup_remaining(group, files)].into_iter().flatten().min();
        }
    }
    least
}

/// Remaining memory of one control group, bytes. Inactive file pages count as free.
fn cgroup_remaining(group: &Path, [limit, usage, cache]: [&str; 3]) -> Option<u64> {
    let number = |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
    let limit = number(limit)?;
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cache = stat.lines().find_map(|l| l.strip_prefix(cache)?.trim().parse::<u64>().ok());
    let used = number(usage).unwrap_or(0).saturating_sub(cache.unwrap_or(0));
    Some(limit.saturating_sub(used))
}

/// Parses a line like `MemAvailable:  123 kB`; in bytes.
fn parse_kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    #[test]
    fn available_memory_is_the_minimum_of_kernel_cgroups_and_address_space() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        assert_eq!(available(root), None, "nothing is known");
        put(root, "proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:    8000 kB\n");
        assert_eq!(available(root), Some(8_000 * 1024));
        put(root, "proc/self/cgroup", "0::/user/job\n");
        let group = "sys/fs/cgroup/user";
        put(root, &format!("{group}/job/memory.max"), "max\n");
        assert_eq!(available(root), Some(8_000 * 1024), "no limit");
        // The limit of the parent group, of which 2 MB are used and not reclaimable.
        put(root, &format!("{group}/memory.max"), "6000000\n");
        put(root, &format!("{group}/memory.current"), "3000000\n");
        put(root, &format!("{group}/memory.stat"), "anon 1\ninactive_file 1000000\n");
        assert_eq!(available(root), Some(4_000_000));
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space     3000000   unlimited  bytes\n";
        put(root, "proc/self/limits", limits);
        assert_eq!(available(root), Some(3_000_000));
    }

    #[test]
    fn cgroup_v1_limits_count() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        put(root, "proc/self/cgroup", "5:cpu:/a\n4:memory:/a\n");
        put(root, "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "5000\n");
        put(root, "sys/fs/cgroup/memory/a/memory.usage_in_bytes", "1500\n");
        assert_eq!(available(root), Some(3_500));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_reports_memory_and_disk() {
        assert!(memory().is_some_and(|bytes| bytes > 1 << 20));
        assert!(resident().is_some_and(|bytes| bytes > 1 << 20));
        let temp = tempfile::tempdir().unwrap();
        assert!(free_disk(&temp.path().join("not/yet")).is_some());
    }
}
