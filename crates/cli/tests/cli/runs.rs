//! `lowtide diff`, `bench`, `check` and `run` as processes: output and exit status.

use std::process::Output;

use serde_json::Value;

use crate::process::{lowtide, stderr, stdout};

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

#[test]
fn runs_that_differ_exit_with_1_and_the_first_difference() {
    let k = ["diff", "first-light", "-s", "switch.mark.k=10 pkt", "--first-divergence"];
    let differs = lowtide(&k);
    assert_eq!(differs.status.code(), Some(1), "{differs:?}");
    let text = stdout(&differs);
    assert!(text.contains("sack, seed 1: no difference\n"), "{text}");
    assert!(text.contains("port switch0->receivers.0\n  A enqueues 10.0.0."), "{text}");
    assert!(text.contains("\n  B marks 10.0.0."), "{text}");

    let same = ["diff", "first-light", "first-light", "--first-divergence", "--scheme", "dctcp"];
    let same = lowtide(&same);
    assert_eq!(
        (same.status.code(), stdout(&same).as_str()),
        (Some(0), "dctcp, seed 1: no difference\n")
    );

    let schemes = ["--json", "diff", "first-light", "--scheme", "sack,dctcp"];
    let overview = lowtide(&schemes);
    assert_eq!(overview.status.code(), Some(1));
    let answer = json(&overview);
    assert_eq!(answer["schema"], "lowtide.diff/1");
    assert_ne!(answer["runs"][0]["a"], answer["runs"][0]["b"]);

    let first = lowtide(&[&schemes[..], &["--first-divergence"]].concat());
    let answer = json(&first);
    assert_eq!(
        (&answer["schema"], &answer["same"]),
        (&"lowtide.divergence/1".into(), &false.into())
    );
    let first = &answer["runs"][0]["first"];
    // The first difference is the SYN, which asks for ECN in B.
    assert_eq!(first["kind"], "port");
    assert!(first["b"]["packet"].as_str().is_some_and(|p| p.contains("[SEW]")), "{answer}");
}

#[test]
fn progress_as_lines_has_the_share_done() {
    let dir = tempfile::tempdir().expect("a folder");
    let out = dir.path().join("out").display().to_string();
    let run = lowtide(&["--progress=lines", "run", "first-light", "-o", &out]);
    let text = stderr(&run);
    let first = text.lines().next().expect("a line");
    assert!(first.starts_with("progress 0.0000"), "{text}");
    let manifest = std::fs::read_to_string(dir.path().join("out/manifest.json")).expect("run");
    assert!(!manifest.contains("--progress"), "not part of the command that repeats it");

    let quiet = lowtide(&["--progress=lines", "-q", "run", "first-light", "--afresh", "-o", &out]);
    assert_eq!(stderr(&quiet), "");
}

#[test]
fn invalid_comparisons_are_rejected_with_help() {
    for (args, message) in [
        (&["diff", "first-light"][..], "nothing to compare"),
        (&["diff", "first-light", "--seed", "1,2,3"], "one for A and one for B"),
        (&["diff", "first-light", "--seed", "1,9"], "no run has the seed 9"),
        (&["diff", "first-light", "--scheme", "sack,vegas"], "no scheme `vegas`"),
        (&["diff", "first-light", "no-such-scenario"], "no-such-scenario"),
        (&["diff", env!("CARGO_TARGET_TMPDIR"), "-s", "switch.mark.k=3 pkt"], "is a run directory"),
    ] {
        let refused = lowtide(args);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(stderr(&refused).contains(message), "{args:?}: {}", stderr(&refused));
    }
}

#[test]
fn benchmarks_run_in_processes_and_on_threads() {
    let two = lowtide(&["--json", "--quiet", "bench", "instructions-*", "-n", "1"]);
    assert_eq!(two.status.code(), Some(0), "{two:?}");
    let answer = json(&two);
    let rows = answer["rows"].as_array().expect("a list");
    let names: Vec<_> = rows.iter().filter_map(|r| r["name"].as_str()).collect();
    assert_eq!(names, ["instructions-fat-tree", "instructions-dumbbell"]);
    for row in rows {
        assert!(row["hops"].as_u64().is_some_and(|n| n > 100_000), "{row}");
        for key in
            ["cpu_s", "wall_s", "hops_per_cpu_s", "ns_per_hop", "ns_per_segment", "bytes_per_port"]
        {
            assert!(row[key].as_f64().is_some_and(|x| x > 0.0), "{key}: {row}");
        }
    }
    let alone = json(&lowtide(&["--json", "bench", "instructions-dumbbell", "-n", "1"]));
    assert_eq!(alone["rows"][0]["digest"], rows[1]["digest"]);

    let on = |name, threads| {
        json(&lowtide(&["--json", "bench", name, "-n", "1", "--threads", threads]))["rows"][0]
            .clone()
    };
    let tree = on("instructions-fat-tree", "2");
    assert_eq!((&tree["threads"], &tree["fewer_threads"]), (&2.into(), &Value::Null));
    assert_eq!(tree["digest"], rows[0]["digest"]);
    let dumbbell = on("instructions-dumbbell", "2");
    assert_eq!(dumbbell["threads"], 1);
    assert!(dumbbell["fewer_threads"].as_str().is_some_and(|why| why.contains("events")));
    let zero = lowtide(&["bench", "perm-128", "--threads", "0"]);
    assert_eq!(zero.status.code(), Some(2));
    assert!(stderr(&zero).contains("`auto` or a whole number"), "{}", stderr(&zero));
    let unknown = lowtide(&["bench", "perm-64*"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("perm-64*"), "{}", stderr(&unknown));
}

#[test]
fn runs_that_do_not_fit_are_refused_before_they_start() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("out");
    let dir = dir.to_str().expect("a name");
    let tiny = ["first-light", "-s", "probes.interval=1 ps", "--memory", "8 GB", "-o", dir];
    for command in ["check", "run"] {
        let refused = lowtide(&[&[command][..], &tiny].concat());
        assert_eq!(refused.status.code(), Some(2), "{command}: {refused:?}");
        let message = stderr(&refused);
        for part in ["TB of memory", "samples", "8.0 GB", "probes.interval=1 ps", "--memory"] {
            assert!(message.contains(part), "{command}: {part}: {message}");
        }
        assert!(!std::path::Path::new(dir).exists(), "{command} leaves nothing");
    }
    let made = temp.path().join("made");
    let made = made.to_str().expect("a name");
    stdout(&lowtide(&["-q", "run", "first-light", "-s", "run.seeds=1", "-o", made]));
    for (command, needs) in [
        (&["compare", "first-light", "--with", "run.seeds=2"][..], "a run needs about "),
        (&["bench", "instructions-dumbbell"], "the run needs about "),
        (&["plan", "--rate", "1Gbps", "--rtt", "100us", "--flows", "2"], "a run needs about "),
        (
            &["diff", "first-light", "--seed", "1,2", "--first-divergence"],
            "side by side need about",
        ),
        (&["plot", made, "--flow", "0"], "the run needs about "),
        (&["pcap", made, "--flow", "0", "-o", dir], "the run needs about "),
        (&["explain", made, "--flow", "0"], "the run needs about "),
    ] {
        let refused = lowtide(&[command, &["--memory", "20 kB"]].concat());
        assert_eq!(refused.status.code(), Some(2), "{command:?}: {refused:?}");
        let message = stderr(&refused);
        for part in [needs, "the limit is 20.0 kB", "raise the limit with --memory"] {
            assert!(message.contains(part), "{command:?}: {part}: {message}");
        }
    }
    stdout(&lowtide(&["-q", "explain", made, "--flow", "0", "--memory", "8 GB"]));
    let fine = json(&lowtide(&["check", "first-light", "--json", "--memory", "8 GB"]));
    for part in ["memory_mb", "disk_mb"] {
        assert!(fine[part].as_f64().is_some_and(|mb| mb > 0.1 && mb < 10.0), "{part}: {fine}");
    }
    let nothing = lowtide(&["check", "first-light", "--memory", "0 B"]);
    assert_eq!(nothing.status.code(), Some(2));
    let documented = include_str!("../../../../docs/reference/json.md");
    for key in fine.as_object().expect("an object").keys() {
        assert!(documented.contains(&format!("`{key}`")), "docs/reference/json.md lacks `{key}`");
    }
}
