//! Privileges of `lowtide live` once its devices are open.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Effective, permitted, inheritable and bounding capabilities, user, group and `no_new_privs` of
/// every thread.
fn threads(child: &Child) -> Vec<Vec<String>> {
    let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).expect("it runs");
    tasks
        .filter_map(|task| {
            // A thread may end meanwhile.
            let status = fs::read_to_string(task.ok()?.path().join("status")).ok()?;
            let wanted = ["CapEff", "CapPrm", "CapInh", "CapBnd", "Uid", "Gid", "NoNewPrivs"];
            let line = |key: &str| {
                let line = status.lines().find(|l| l.starts_with(&format!("{key}:")));
                line.unwrap_or_default().split_once(':').map_or("", |l| l.1).trim().to_owned()
            };
            Some(wanted.map(line).to_vec())
        })
        .collect()
}

/// Runs the command. Returns its threads after the first interval, and whether it succeeded.
fn while_running(args: &[&str]) -> (Vec<Vec<String>>, bool) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.args(["live", "client", "--peer", "kernel", "-t", "1.5", "-i", "0.3"]).args(args);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the command starts");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    // The first interval is over.
    lines.by_ref().flatten().find(|line| line.contains("bit/s"));
    let seen = threads(&child);
    for _ in lines {}
    (seen, child.wait().expect("it is our child").success())
}

pub(crate) fn no_thread_of_a_client_keeps_a_capability() {
    let dir = tempfile::tempdir().unwrap();
    let capture = dir.path().join("run.pcapng");
    let capture = capture.to_str().unwrap();
    let none = "0000000000000000";
    for (args, user) in [
        (&["-p", "80"] as &[&str], "0"),
        (&["--user", "54321:54322", "-p", "80"], "54321"),
        (&["--through", "--rate", "100Mbit/s", "--capture", capture], "0"),
        (
            &["--through", "--rate", "100Mbit/s", "--user", "54321:54322", "--capture", capture],
            "54321",
        ),
    ] {
        let (threads, good) = while_running(args);
        assert!(good, "{args:?}");
        assert!(threads.len() > 2, "{args:?}: {threads:?}");
        for thread in &threads {
            let [effective, permitted, inheritable, bounding, uid, gid, no_new] = &thread[..]
            else {
                panic!("{thread:?}")
            };
            for set in [effective, permitted, inheritable, bounding] {
                assert_eq!(set, none, "{args:?}: {threads:?}");
            }
            assert!(uid.split_whitespace().all(|u| u == user), "{args:?}: {uid}");
            assert_eq!(gid.starts_with("54322"), user != "0", "{args:?}: {gid}");
            assert_eq!(no_new, "1", "{args:?}");
        }
    }
    // The file is in a folder of root: it was opened before the privileges were dropped.
    assert!(fs::metadata(capture).unwrap().len() > 1000, "{capture}");
}

pub(crate) fn unknown_users_and_root_are_refused() {
    for user in ["root", "0", "no-such-user-here"] {
        let output = crate::live::lowtide(&["live", "client", "--peer", "kernel", "--user", user]);
        assert_eq!(output.status.code(), Some(2));
        let message = crate::live::stderr(&output);
        assert!(message.contains("write NAME, UID or UID:GID"), "{message}");
    }
}
