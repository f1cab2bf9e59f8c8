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
    // JSON has no comments, so its document is named beside it.
    assert!(stderr(&exported).contains("Sources: https://"), "{}", stderr(&exported));
    let imported = lowtide(&["import", "sonic", file.to_str().unwrap()]);
    let toml = "[switch.mark]\nkind = \"step\"\nk = \"97500 B\"\nnot-ect = \"drop\"\n";
    assert_eq!(stdout(&imported), toml, "{}", stderr(&imported));
    assert!(stderr(&imported).contains("depends on the ASIC"), "{}", stderr(&imported));
    assert!(stderr(&imported).contains("its buffer is not known"), "{}", stderr(&imported));

    // Into the present configuration: the whole of it, and the changes on stderr.
    let present = dir.path().join("config_db.json");
    let text = r#"{"PORT": {"Ethernet0": {"speed": "25000"}},
        "QUEUE": {"Ethernet0|0-2": {"scheduler": "scheduler.0"}},
        "BUFFER_POOL": {"egress": {"type": "egress", "mode": "dynamic", "size": "9000000"}},
        "BUFFER_PROFILE": {"lossy": {"pool": "egress", "size": "1518", "dynamic_th": "0"}},
        "BUFFER_QUEUE": {"Ethernet0|0-2": {"profile": "lossy"}}}"#;
    fs::write(&present, text).unwrap();
    let merge =
        ["export", "sonic", "leaf-spine", "--ports", "Ethernet0", "--queue", "0", "--merge"];
    let merged = lowtide(&[&merge[..], &[present.to_str().unwrap()], &set[..]].concat());
    let whole: serde_json::Value = serde_json::from_str(&stdout(&merged)).unwrap();
    assert_eq!(whole["QUEUE"]["Ethernet0|0"]["wred_profile"], "LOWTIDE");
    assert_eq!(whole["QUEUE"]["Ethernet0|1-2"]["scheduler"], "scheduler.0");
    let changes = stderr(&merged);
    assert!(changes.contains("- QUEUE|Ethernet0|0-2 {\"scheduler\""), "{changes}");
    assert!(changes.contains("these queues have dynamic_th 0 already"), "{changes}");
}

#[test]
fn other_switches_have_comments_with_their_documents() {
    let drop = ["-s", "switch.mark.k=97500 B", "-s", "switch.mark.not-ect=drop"];
    let export = |args: &[&str], set: &[&str]| {
        let exported = lowtide(&[&["export"], args, set].concat());
        assert!(exported.status.success(), "{args:?}: {}", stderr(&exported));
        stdout(&exported)
    };
    for (args, line) in [
        (
            &["cumulus", "leaf-spine", "--ports", "swp1,swp2", "--queue", "3"][..],
            "nv set interface swp1,swp2 qos congestion-control profile lowtide\n",
        ),
        (&["nxos", "leaf-spine"], "minimum-threshold 98 kbytes maximum-threshold 98 kbytes"),
        (
            &["nxos", "leaf-spine", "--ports", "Ethernet1/1"],
            "interface Ethernet1/1\n  service-policy type queuing output lowtide\n",
        ),
        (&["junos", "leaf-spine", "--queue-memory", "400 kB"], "fill-level [ 24 25 ];"),
    ] {
        let text = export(args, &drop);
        assert!(text.contains(line), "{text}");
        assert!(text.contains("Sources: ") && text.contains("Untested on hardware"), "{text}");
    }
    // The rule for packets that are not ECT is the simulated one.
    assert!(export(&["cumulus", "leaf-spine"], &drop).contains(" red enable\n"));
    assert!(export(&["cumulus", "leaf-spine"], &[]).contains(" red disable\n"));
    let json = export(&["nxos", "leaf-spine", "--json"], &drop);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["name"], "nxos");
    assert!(json["configuration"].as_str().unwrap().starts_with("policy-map type queuing"));
    assert!(json["notes"][0].as_str().unwrap().starts_with("Untested on hardware"));
    assert!(json["notes"][1].as_str().unwrap().starts_with("Sources: "));
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
            &["export", "cumulus", "leaf-spine", "-s", "switch.alpha=1/5"],
            "`alpha`: alpha is a power of two from 1/128 to 64",
        ),
        (
            &["export", "sonic", "leaf-spine", "--over", "switch.mark.k=20 pkt,65 pkt"],
            "the runs differ in their switches",
        ),
        (&["import", "sonic", file], "no.json: not JSON"),
        (&["import", "sonic", "missing.json"], "missing.json: No such file"),
        (
            &["export", "nxos", "leaf-spine", "--merge", file],
            "--merge reads SONiC's config_db.json",
        ),
        (&["import", "junos", file], "possible values: sonic"),
        (&["export", "ios", "leaf-spine"], "possible values: sonic, cumulus, nxos, junos"),
        (&["export", "nxos", "leaf-spine"], "Cisco NX-OS cannot express `mark.not-ect`"),
        (&["export", "cumulus", "leaf-spine", "--queue", "9"], "egress queues are 0 to 7, not 9"),
        (&["export", "junos", "leaf-spine"], "state it with --queue-memory"),
        (&["export", "junos", "leaf-spine", "--queue-memory", "9 k"], "lacks the base unit"),
    ] {
        let refused = lowtide(args);
        assert_eq!(refused.status.code(), Some(2), "{args:?}");
        assert!(stderr(&refused).contains(message), "{args:?}: {}", stderr(&refused));
    }
}
