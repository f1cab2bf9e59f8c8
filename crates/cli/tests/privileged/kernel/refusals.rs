//! Kernels, privileges, file systems and programs that `lowtide kernel` cannot use: one sentence
//! each, and nothing remains loaded.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lowtide_kernel::register_object;

use super::cwr::compile;
use super::{Cgroup, Twin, hosts, one_at_a_time, state};
use crate::live::{lowtide, stderr};

const LOWTIDE: &str = env!("CARGO_BIN_EXE_lowtide");

/// Pins of a twin.
const PINS: &str = "/sys/fs/bpf/lowtide/lt_dctcp";

/// Controls that are registered with the kernel.
fn registered(name: &str) -> bool {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    fs::read_to_string(path).unwrap().split_whitespace().any(|n| n == name)
}

/// Runs a command that must fail with one sentence that contains `why`.
fn refused(command: &mut Command, why: &str) {
    refused_with(1, command, why);
}

fn refused_with(status: i32, command: &mut Command, why: &str) {
    let output = command.output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(status), "{command:?}: {said}");
    assert!(said.starts_with("error: ") && said.contains(why), "{command:?}: {said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{command:?}: {said}");
}

/// The command in a separate mount namespace, after `setup`.
fn mounted(setup: &str, args: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &format!("{setup} && exec {LOWTIDE} kernel {args}")]);
    command
}

pub(crate) fn missing_privileges_and_types_are_named() {
    let _one = one_at_a_time();
    // Other users may not search the folder of the binary.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("lowtide");
    fs::copy(LOWTIDE, &program).unwrap();
    for args in [
        &["load", "lt_dctcp"][..],
        &["load", "lt_dctcp", "--default"],
        &["unload", "lt_dctcp", "--force"],
        &["list"],
        &["stats"],
    ] {
        for drop in [
            &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"][..],
            &["setpriv", "--bounding-set=-sys_admin,-bpf", "--inh-caps=-sys_admin,-bpf"],
            &["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin"],
            &["unshare", "--user", "--map-root-user"],
        ] {
            let mut command = Command::new(drop[0]);
            command.args(&drop[1..]).arg(&program).arg("kernel").args(args);
            refused(&mut command, "needs root with CAP_SYS_ADMIN and CAP_NET_ADMIN");
        }
        let hidden = "mount -t tmpfs none /sys/kernel/btf";
        refused(&mut mounted(hidden, &args.join(" ")), "this kernel has no BTF");
    }
    assert_eq!(state("lt_dctcp")["state"], "not loaded");
}

pub(crate) fn a_bpf_file_system_that_cannot_be_used_changes_nothing() {
    let _one = one_at_a_time();
    let read_only = "mount -o remount,bind,ro /sys/fs/bpf";
    let unmounted = "umount -l /sys/fs/bpf";
    refused(&mut mounted(read_only, "load lt_dctcp"), "is on a read-only file system");
    assert_eq!(state("lt_dctcp")["state"], "not loaded");
    let hidden = format!("{unmounted} && mount -t tmpfs -o ro none /sys/fs");
    let absent = "no BPF file system is mounted, and mounting one at /sys/fs/bpf failed";
    refused(&mut mounted(&hidden, "load lt_dctcp"), absent);
    assert_eq!(state("lt_dctcp")["state"], "not loaded");

    // Loading mounts one if there is none.
    let load = format!("{unmounted} && {LOWTIDE} kernel load lt_dctcp");
    let both = mounted(&load, "unload lt_dctcp").output().unwrap();
    assert!(both.status.success(), "{}", stderr(&both));

    let hosts = hosts();
    let twin =
        hosts.right.run(|| Twin::load("lt_dctcp", &["--unrestricted", "--default"])).unwrap();
    for force in ["", " --force"] {
        let unload = format!("unload lt_dctcp{force}");
        refused(&mut mounted(read_only, &unload), "is on a read-only file system");
    }
    assert_eq!(state(twin.0)["state"], "loaded");
    let default = || fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
    assert_eq!(hosts.right.run(default).unwrap().trim(), "lt_dctcp", "the default is unchanged");
}

pub(crate) fn a_program_that_the_verifier_refuses_is_reported_with_its_reason() {
    let _one = one_at_a_time();
    let error = register_object("lt_broken", &compile("tests/broken.bpf.c", &[])).unwrap_err();
    let said = error.to_string();
    println!("{said}");
    assert!(said.starts_with("the kernel refused `lt_broken`: "), "{said}");
    assert!(said.contains("no write support to tcp_sock at off"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(!registered("lt_broken"));
}

pub(crate) fn a_control_of_another_program_is_left_alone() {
    let _one = one_at_a_time();
    let other = register_object("lt_dctcp", &compile("lt_dctcp.bpf.c", &[])).unwrap();
    let again = register_object("lt_dctcp", &compile("lt_dctcp.bpf.c", &[])).unwrap_err();
    for args in [
        &["load", "lt_dctcp"][..],
        &["load", "lt_dctcp", "--default"],
        &["unload", "lt_dctcp"],
        &["unload", "lt_dctcp", "--force"],
    ] {
        refused(Command::new(LOWTIDE).arg("kernel").args(args), "that lowtide did not load");
    }
    assert!(again.to_string().contains("that lowtide did not load"), "{again}");
    assert_eq!(state("lt_dctcp")["state"], "elsewhere");
    assert!(registered("lt_dctcp"));
    drop(other);
    let twin = Twin::load("lt_dctcp", &[]);
    assert_eq!(state(twin.0)["state"], "loaded");
}

pub(crate) fn a_folder_that_is_no_cgroup_of_version_2_is_refused() {
    let _one = one_at_a_time();
    let version_1 = "mount -t tmpfs none /mnt && mkdir /mnt/v1 && \
                     mount -t cgroup -o none,name=lowtide-test none /mnt/v1";
    for (setup, folder, why) in [
        ("true", "/sys/fs/cgroup/no-such-cgroup", "there is no cgroup /sys/fs/cgroup/no-such"),
        ("true", "/proc", "/proc is no cgroup of version 2"),
        (version_1, "/mnt/v1", "/mnt/v1 is no cgroup of version 2"),
    ] {
        let load = format!("load lt_dctcp --cgroup {folder}");
        refused_with(2, &mut mounted(setup, &load), why);
        assert_eq!(state("lt_dctcp")["state"], "not loaded", "{folder}");
    }
}

/// Kills a loader at 24 moments of up to twice the time that a load takes.
#[expect(clippy::disallowed_methods, reason = "a load takes real time")]
pub(crate) fn a_killed_loader_leaves_nothing_that_stops_the_next() {
    let _one = one_at_a_time();
    let begin = Instant::now();
    let twin = Twin::load("lt_dctcp", &[]);
    let whole = begin.elapsed();
    drop(twin);
    let mut left = Vec::new();
    for step in 0..24 {
        let delay = whole * step / 12;
        let mut command = Command::new(LOWTIDE);
        command.args(["kernel", "load", "lt_dctcp"]).stdout(Stdio::null());
        let mut loader = command.spawn().unwrap();
        thread::sleep(delay);
        loader.kill().unwrap();
        loader.wait().unwrap();
        let after = state("lt_dctcp")["state"].as_str().unwrap().to_owned();
        if after == "loaded" {
            refused(Command::new(LOWTIDE).args(["kernel", "load", "lt_dctcp"]), "loaded already");
        } else {
            drop(Twin::load("lt_dctcp", &[]));
        }
        let _ = lowtide(&["kernel", "unload", "lt_dctcp"]);
        assert_eq!(state("lt_dctcp")["state"], "not loaded", "{delay:?}, {after}");
        assert!(!registered("lt_dctcp"), "{delay:?}, {after}");
        left.push(after);
    }
    println!("{left:?}");
    for state in ["not loaded", "loaded"] {
        assert!(left.iter().any(|after| after == state), "{left:?}");
    }

    // Killed between its folder and its first pin.
    fs::create_dir(PINS).unwrap();
    assert_eq!(state("lt_dctcp")["state"], "gone");
    assert!(lowtide(&["kernel", "unload", "lt_dctcp"]).status.success());
    fs::create_dir(PINS).unwrap();
    let twin = Twin::load("lt_dctcp", &[]);
    assert_eq!(state(twin.0)["state"], "loaded");
}

pub(crate) fn a_cgroup_that_was_made_again_is_selected_again() {
    let _one = one_at_a_time();
    let cgroup = Cgroup::new().expect("a mount of type cgroup2");
    let folder = cgroup.0.display().to_string();
    let twin = Twin::load("lt_odctcp_snd", &["--cgroup", &folder]);
    let cgroups = || state(twin.0)["cgroups"].as_array().unwrap().len();
    assert_eq!(cgroups(), 1);
    // As a service that systemd starts again.
    fs::remove_dir(&cgroup.0).unwrap();
    fs::create_dir(&cgroup.0).unwrap();
    for _ in 0..100 {
        if cgroups() == 0 {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(cgroups(), 0, "the kernel detaches what selected the removed cgroup");
    for more in [&[][..], &["--delack-max", "1 ms"]] {
        let again = lowtide(&[&["kernel", "load", twin.0, "--cgroup", &folder], more].concat());
        assert!(again.status.success(), "{}", stderr(&again));
        assert_eq!(cgroups(), 1);
    }
    // A command that fails later leaves the selection as it was.
    let fails = ["kernel", "load", twin.0, "--cgroup", &folder, "--route", "10.99.0.0/16"];
    let failed = lowtide(&fails);
    assert!(stderr(&failed).contains("no such route"), "{}", stderr(&failed));
    assert_eq!(cgroups(), 1);
}
