//! Error messages of the command line name the flag, and suggest a value that is accepted.

use crate::process::lowtide;

/// Runs `args`, which must be refused. Returns the message in one line.
#[track_caller]
fn refused(args: &[&str]) -> String {
    let output = lowtide(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.split_whitespace().filter(|word| *word != "\u{2502}").collect::<Vec<_>>().join(" ")
}

#[test]
fn errors_about_a_missing_unit_name_the_units() {
    for (set, suggests, accepted) in [
        ("topology.link-rate=1000000000", "Gbit/s", "topology.link-rate=1G"),
        ("transport.sender.send-buffer=8 M", "\"8 MB\"", "transport.sender.send-buffer=8000000"),
        ("switch.buffer=6000000", "\"6000000 B\" for bytes", "switch.buffer=6 MB"),
        ("run.duration=100", "us, ms, s", "run.duration=100 ms"),
    ] {
        let error = refused(&["check", "first-light", "-s", set]);
        assert!(error.contains(suggests), "{set}: {error}");
        let right = lowtide(&["check", "first-light", "-s", accepted]);
        assert_eq!(right.status.code(), Some(0), "{accepted}: {right:?}");
    }
}

#[test]
fn errors_about_a_too_long_time_name_the_longest() {
    for duration in ["214 days", "308000 min", "25000 min", "never"] {
        let error = refused(&["check", "first-light", "-s", &format!("run.duration={duration}")]);
        if duration.contains("days") {
            assert!(error.contains("the unit is one of"), "{error}");
        } else {
            assert!(error.contains("the longest time of a scenario: \"86400 s\""), "{error}");
            assert!(!error.contains("write \"never\""), "{error}");
        }
    }
    let longest = lowtide(&["check", "first-light", "-s", "run.duration=86400 s"]);
    assert_eq!(longest.status.code(), Some(0), "{longest:?}");
}

#[test]
fn a_fat_tree_with_odd_k_is_refused_with_the_reason() {
    let error = refused(&["check", "bench-websearch", "-s", "topology.k=3"]);
    assert!(error.contains("there is no fat-tree with k = 3"), "{error}");
    assert!(error.contains("it must be an even number from 2 on"), "{error}");
    assert!(!error.contains("hosts, but the groups have"), "{error}");
}

#[test]
fn an_error_names_the_flag_that_set_the_key() {
    for (args, flag) in [
        (&["--over", "switch.mark.q=1,2"][..], "--> --over:1:1"),
        (&["--over", "switch.mark.k=1 pkt,2 elephants"], "--> --over:1:"),
        (&["-s", "switch.mark.q=1"], "--> -s:1:1"),
        (&["--seeds", "0"], "--> --seeds:1:"),
    ] {
        let error = refused(&[&["check", "first-light"][..], args].concat());
        assert!(error.contains(flag), "{args:?}: {error}");
    }
    let error = refused(&["run", "first-light", "--trace", "nobody"]);
    assert!(error.contains("--> --trace:1:"), "{error}");
}

#[test]
fn only_a_name_that_is_near_is_suggested() {
    let error = refused(&["explain", "zzz"]);
    assert!(!error.contains("did you mean") && error.contains("`lowtide list`"), "{error}");
    let error = refused(&["explain", "dctpc"]);
    assert!(error.contains("did you mean `dctcp`?"), "{error}");
    // A short list is shown completely.
    let error = refused(&["new", "mesh"]);
    for template in lowtide_scenario::TEMPLATES {
        assert!(error.contains(template.name), "{error}");
    }
    let error = refused(&["papers", "reproduce", "something-quite-different"]);
    assert!(!error.contains("the nearest"), "{error}");
}

#[test]
fn the_help_of_new_names_every_template() {
    let output = lowtide(&["new", "--help"]);
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    for template in lowtide_scenario::TEMPLATES {
        assert!(help.contains(&format!("`{}`", template.name)), "{help}");
    }
}
