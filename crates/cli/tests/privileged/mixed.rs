//! A mixed deployment over the kernel: each host's sockets have the control of its scheme.

use std::process::Command;

use serde_json::Value;

use crate::kernel::{Twin, one_at_a_time};

/// Flows by group and effective control, of one short run with `scheme`.
fn controls(scheme: &str) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let schemes = format!("compare.schemes=[\"{scheme}\"]");
    let lowtide = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
        let output = command.args(args).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    lowtide(&[
        "run",
        "mixed-deployment-100m",
        "--backend",
        "kernel",
        "--seeds",
        "1",
        "-s",
        &schemes,
        "-s",
        "traffic.*.size=300 kB",
        "-s",
        "traffic.*-short.count=2",
        "-o",
        "out",
    ]);
    let table: Value =
        serde_json::from_slice(&lowtide(&["table", "out", "flows", "--json"])).unwrap();
    let rows = table["rows"].as_array().unwrap();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    rows.iter()
        .map(|row| {
            assert_eq!(row["status"], "complete", "{row}");
            assert_eq!(row["ecn_mode"], "rfc3168", "{row}");
            (text(row, "group"), text(row, "cc_used"))
        })
        .collect()
}

pub(crate) fn only_hosts_that_moved_run_the_twin() {
    let _one = one_at_a_time();
    for (scheme, twin) in [("odctcp-2", "lt_odctcp_snd"), ("dctcp-2", "lt_dctcp")] {
        let _loaded = Twin::load(twin, &[]);
        let flows = controls(scheme);
        assert_eq!(flows.len(), 8, "{flows:?}");
        for (group, control) in flows {
            let expected = if group.starts_with("moved") { twin } else { "reno" };
            assert_eq!(control, expected, "{scheme}: {group}");
        }
    }
}
