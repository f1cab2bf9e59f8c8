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
    let advised = lowtide(&[&SMALL[..], &["-o", out.to_str().unwrap()]].concat());
    assert!(advised.status.success(), "{}", stderr(&advised));
    let text = stdout(&advised);
    assert!(text.starts_with("Set K = "), "{text}");
    assert!(
        text.contains("WRED_PROFILE") && text.lines().all(|l| l.chars().count() <= 80),
        "{text}"
    );
    for name in ["knee.svg", "knee.csv", "sonic.json", "advice.json"] {
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
    let json = lowtide(&[&SMALL[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let candidates = json["candidates"].as_array().unwrap();
    let chosen = &candidates[usize::try_from(json["advised"].as_u64().unwrap()).unwrap()];
    // Terminal and JSON agree, and the switch has the advised K.
    assert!(text.starts_with(&format!("Set K = {} packets", chosen["k_packets"])), "{text}");
    let tables = &json["switch"]["configuration"];
    let wred = &tables["WRED_PROFILE"]["LOWTIDE"]["green_min_threshold"];
    assert_eq!(wred.as_str().unwrap(), chosen["k_bytes"].to_string());
}

#[test]
fn the_lines_are_those_of_the_named_switch() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let advised = lowtide(&[&SMALL[..], &["--switch", "cumulus", "-o", out]].concat());
    assert!(advised.status.success(), "{}", stderr(&advised));
    let (text, file) = (stdout(&advised), std::fs::read_to_string(dir.path().join("cumulus.sh")));
    let file = file.unwrap();
    assert!(text.contains(file.trim_end()), "{text}");
    assert!(file.contains(" red enable\n") && file.contains("shared-alpha alpha_"), "{file}");
    let refused = lowtide(&[&SMALL[..], &["--switch", "junos", "--json"]].concat());
    let json: serde_json::Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert!(json["switch"].is_null() && json["advised"].is_u64(), "{json}");
}

#[test]
fn fabrics_that_cannot_be_are_refused() {
    for (args, message) in [
        (&["--load", "120 %"][..], "at most 100 %"),
        (&["--spines", "1", "--load", "90 %"], "at most --load"),
        (&["--racks", "1"], "at least two racks"),
        (&["--hosts", "25"], "no unit"),
        (&["first-light", "--load", "20 %"], "cannot be used with"),
        (&["first-light"], "compares or sweeps something itself"),
    ] {
        let refused = lowtide(&[&["advise"], args].concat());
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {}", stderr(&refused));
        assert!(stderr(&refused).contains(message), "{args:?}: {}", stderr(&refused));
    }
}
