//! The congestion control `abe` in the command of this crate.

use crate::command::{folder, lowtide, stdout};

#[test]
fn the_control_is_listed_and_explained_beside_the_others() {
    let listed = stdout(&["list", "cc"]);
    let names: Vec<&str> = listed.lines().filter_map(|l| l.split_whitespace().nth(1)).collect();
    assert!(names.contains(&"abe") && names.contains(&"newreno"), "{listed}");
    let explained = stdout(&["explain", "abe"]);
    assert!(explained.contains("RFC 8511") && explained.contains("keep"), "{explained}");
    assert!(stdout(&["schema"]).contains("\"abe\""), "the JSON Schema knows it");
}

#[test]
fn a_scenario_runs_with_it_and_its_parameter_counts() {
    let digest = |name: &str, keep: &str| {
        let keep = format!("transport.sender.abe.keep={keep}");
        let settings = ["transport.sender.cc=abe", "transport.sender.ect=data", keep.as_str()];
        let mut args = vec!["--quiet", "run", "first-light", "-o"];
        let out = folder(name).display().to_string();
        args.push(&out);
        args.extend(["-s", "compare.schemes=ecn", "-s", "run.seeds=1"]);
        for s in &settings {
            args.extend(["-s", s]);
        }
        lowtide(&args);
        let flows = stdout(&["table", &out, "flows", "--csv"]);
        assert!(flows.contains("abe"), "{flows}");
        flows
    };
    assert_ne!(digest("mild", "95"), digest("half", "50"), "the cuts differ");
}
