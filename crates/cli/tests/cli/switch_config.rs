//! `lowtide import` and `lowtide export`.

use std::fs;

use crate::process::{lowtide, stderr, stdout};

#[test]
fn a_switch_goes_to_sonic_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lowtide.json");
    let set = ["-s", "switch.mark.k=97500 B", "-s", "switch.mark.not-ect=drop"];
    let exported =
        lowtide(&[&["export", "sonic", "leaf-spine", "--queue", "3"], &set[..]].concat());
    assert!(exported.status.success(), "{}", stderr(&exported));
    fs::write(&file, &exported.stdout).unwrap();
    let imported = lowtide(&["import", "sonic", file.to_str().unwrap()]);
    let toml = "[switch]\nbuffer = \"dynamic\"\nalpha = \"1\"\nmemory = \"4 MB\"\n\n\
                [switch.mark]\nkind = \"step\"\nk = \"97500 B\"\nnot-ect = \"drop\"\n";
    assert_eq!(stdout(&imported), toml, "{}", stderr(&imported));
    assert!(stderr(&imported).contains("not ECN-capable"), "{}", stderr(&imported));
}

#[test]
fn what_a_switch_cannot_do_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("no.json");
    fs::write(&file, "{\"WRED_PROFILE\": ").unwrap();
    let file = file.to_str().unwrap();
    for (args, message) in [
        (&["export", "sonic", "leaf-spine"][..], "`mark.not-ect`: WRED drops packets"),
        (
            &[
                "export",
                "sonic",
                "leaf-spine",
                "-s",
                "switch.alpha=1/5",
                "-s",
                "switch.mark.not-ect=drop",
            ],
            "`alpha`: alpha is 2^dynamic_th",
        ),
        (
            &["export", "sonic", "leaf-spine", "--over", "switch.mark.k=20 pkt,65 pkt"],
            "the runs differ in their switches",
        ),
        (&["import", "sonic", file], "no.json: not JSON"),
        (&["import", "sonic", "missing.json"], "missing.json: No such file"),
        (&["import", "junos", file], "possible values: sonic"),
    ] {
        let refused = lowtide(args);
        assert_eq!(refused.status.code(), Some(2), "{args:?}");
        assert!(stderr(&refused).contains(message), "{args:?}: {}", stderr(&refused));
    }
}
