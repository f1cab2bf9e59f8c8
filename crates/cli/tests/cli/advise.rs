//! `lowtide advise` as a process.

use crate::process::{lowtide, stderr, stdout};

/// A fabric of eight hosts, with little traffic.
const SMALL: [&str; 14] = [
    "advise",
    "--racks",
    "2",
    "--hosts-per-rack",
    "4",
    "--hosts",
    "1G",
    "--up",
    "4G",
    "--flows",
    "60",
    "--incast",
    "4",
    "--budget=1",
];

#[test]
fn the_answer_comes_first_and_its_files_are_usable() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("advice");
    let named = ["--ports", "leaf-spine=Ethernet192,Ethernet196", "-o", out.to_str().unwrap()];
    let advised = lowtide(&[&SMALL[..], &named].concat());
    assert!(advised.status.success(), "{}", stderr(&advised));
    let text = stdout(&advised);
    assert!(text.starts_with("Set K by class of ports: leaf-host "), "{text}");
    assert!(!text.contains("at every port"), "{text}");
    assert!(
        text.contains("WRED_PROFILE") && text.lines().all(|l| l.chars().count() <= 80),
        "{text}"
    );
    for name in ["knee.svg", "knee.csv", "sonic-leaf-spine.json", "advice.json"] {
        assert!(out.join(name).is_file(), "{name}");
    }
    #[cfg(feature = "figures")]
    {
        let file = dir.path().join("knee.pdf");
        let drawn = ["figure", out.to_str().unwrap(), "knee", "-o", file.to_str().unwrap()];
        let drawn = lowtide(&drawn);
        assert!(drawn.status.success(), "{}", stderr(&drawn));
        assert!(std::fs::read(file).unwrap().starts_with(b"%PDF-"));
        std::fs::write(out.join("advice.json"), "{}").unwrap();
        let refused = lowtide(&["figure", out.to_str().unwrap(), "knee"]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(stderr(&refused).contains("advice.json cannot be read"), "{}", stderr(&refused));
    }
    let scenario = out.join("advised.toml");
    let checked = lowtide(&["check", scenario.to_str().unwrap()]);
    assert!(checked.status.success(), "{}", stderr(&checked));
    // The next question: what happens if a part of the hosts moves?
    let rollout = ["matrix", "--on", scenario.to_str().unwrap(), "--share", "cubic,dctcp"];
    let runs = dir.path().join("rollout");
    let more = ["--points", "50", "--seeds", "1", "-o", runs.to_str().unwrap()];
    let rollout = lowtide(&[&rollout[..], &more[..]].concat());
    assert!(rollout.status.success(), "{}", stderr(&rollout));
    assert!(stdout(&rollout).contains("cubic, ECN off"), "{}", stdout(&rollout));
    let json = lowtide(&[&SMALL[..], &["--json"], &named[..2]].concat());
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let classes = json["classes"].as_array().unwrap();
    let of = |name: &str| classes.iter().find(|c| c["name"] == name).unwrap();
    let (host, spine) = (&of("leaf-host")["k_bytes"], &of("leaf-spine")["k_bytes"]);
    assert!(host.as_u64() < spine.as_u64(), "1 Gbit/s and 4 Gbit/s: {classes:?}");
    // The switch has K of the named class in a separate profile, and no other one.
    let [switch] = json["switches"].as_array().unwrap().as_slice() else { panic!("{json}") };
    let tables = &switch["configuration"];
    let wred = &tables["WRED_PROFILE"]["LOWTIDE_LEAF_SPINE"]["green_min_threshold"];
    assert_eq!(wred.as_str().unwrap(), spine.to_string());
    assert_eq!(tables["QUEUE"]["Ethernet196|0"]["wred_profile"], "LOWTIDE_LEAF_SPINE");
    // A later export of the advised scenario refuses one K for all, and has that of a class.
    let export = |more: &[&str]| {
        let args = ["export", "sonic", scenario.to_str().unwrap(), "--ports", "Ethernet0"];
        lowtide(&[&args[..], more].concat())
    };
    let refused = export(&[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("choose one with --pipe: leaf-host"), "{}", stderr(&refused));
    let exported = export(&["--pipe", "leaf-host"]);
    assert!(stdout(&exported).contains(&format!("\"{host}\"")), "{}", stdout(&exported));
}

#[test]
fn the_lines_are_those_of_the_named_switch() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let ports = ["--ports", "leaf-host=swp1,swp2"];
    let named = [&["--switch", "cumulus", "-o", out], &ports[..]].concat();
    let advised = lowtide(&[&SMALL[..], &named].concat());
    assert!(advised.status.success(), "{}", stderr(&advised));
    let (text, file) =
        (stdout(&advised), std::fs::read_to_string(dir.path().join("cumulus-leaf-host.sh")));
    let file = file.unwrap();
    assert!(text.contains(file.trim_end()), "{text}");
    assert!(file.contains(" red enable\n") && file.contains("shared-alpha alpha_"), "{file}");
    assert!(file.contains("profile lowtide-leaf-host"), "{file}");
    let refused = lowtide(&[&SMALL[..], &["--switch", "junos", "--json"], &ports[..]].concat());
    let json: serde_json::Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert!(json["switches"] == serde_json::json!([]) && json["advised"].is_u64(), "{json}");
}

#[test]
fn fabrics_that_cannot_be_are_refused() {
    for (args, message) in [
        (&["--load", "120 %"][..], "at most 100 %"),
        (&["--spines", "1", "--load", "90 %"], "at most --load"),
        (&["--racks", "1"], "at least two racks"),
        (&["--hosts", "25"], "no unit"),
        (&["first-light", "--load", "20 %"], "cannot be used with"),
        (&["--ports", "leaf=Ethernet0"], "with a class of leaf-host, leaf-spine, spine-leaf"),
        (&["--mtu", "400"], "576..=9216"),
        (&["--incast", "0", "--for", "queries"], "the scenario has no queries"),
        (&["--for", "steps"], "the scenario has no collective with two iterations"),
        (&["--tenants", "60 %"], "not a share from 0 to 50 %"),
    ] {
        let refused = lowtide(&[&["advise"], args].concat());
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {}", stderr(&refused));
        assert!(stderr(&refused).contains(message), "{args:?}: {}", stderr(&refused));
    }
}
