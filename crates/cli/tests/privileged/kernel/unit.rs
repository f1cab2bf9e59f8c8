//! `lowtide kernel unit`, checked by systemd itself.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use lowtide_test_needs::Need;

use crate::live::{lowtide, stderr};

/// The command `systemd-analyze`.
pub(crate) const SYSTEMD: Need = Need {
    name: "systemd-analyze (Debian package systemd)",
    probe: || {
        let mut command = Command::new("systemd-analyze");
        let status = command.arg("--version").stdout(Stdio::null()).status();
        status.map(drop).map_err(|e| e.to_string())
    },
    enforceable: false,
};

/// A unit that configures the network before sysinit.target, as cloud-init does.
const CLOUD_INIT: &str = "\
[Unit]
DefaultDependencies=no
After=network-pre.target
Before=sysinit.target
[Service]
Type=oneshot
ExecStart=/bin/true
";

fn verify(unit: &Path) -> Output {
    Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(unit).output().unwrap()
}

pub(crate) fn systemd_accepts_the_units() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("early-network.service"), CLOUD_INIT).unwrap();
    for args in [
        &["lt_dctcp", "--default"][..],
        &["lt_dctcp", "--param", "shift-g=5", "--route", "10.0.0.0/8"],
        &["lt_tdctcp", "--cgroup", "/sys/fs/cgroup/a-b.slice", "--delack-max", "1 ms"],
        &["lt_odctcp_snd", "--cgroup", "/sys/fs/cgroup/50% of $x \\x2d 'it\"s"],
    ] {
        let printed = lowtide(&[&["kernel", "unit"], args].concat());
        assert!(printed.status.success(), "{args:?}: {}", stderr(&printed));
        let text = String::from_utf8(printed.stdout).unwrap();
        // Both are in one transaction: systemd reports an ordering cycle.
        let text = text.replace("[Unit]\n", "[Unit]\nWants=early-network.service\n");
        let unit = folder.path().join("lowtide-twin.service");
        fs::write(&unit, &text).unwrap();
        let output = verify(&unit);
        assert!(output.status.success(), "{args:?}: {}\n{text}", stderr(&output));
        assert!(!stderr(&output).contains("lowtide"), "{}\n{text}", stderr(&output));
    }
    // The check can fail: after sysinit.target, as ordinary services are, the order is a cycle.
    let late = "[Unit]\nBefore=network-pre.target\nWants=network-pre.target early-network.service\n\
                [Service]\nType=oneshot\nExecStart=/bin/true\n";
    let unit = folder.path().join("late.service");
    fs::write(&unit, late).unwrap();
    let output = verify(&unit);
    assert!(stderr(&output).contains("ordering cycle"), "{}", stderr(&output));
}
