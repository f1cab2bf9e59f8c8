//! Words and labels of results mean what a reader of the field takes them for: drops are all drops,
//! an absent scheme has its reason, a point is named by its value.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::process::{lowtide, stderr, stdout};

/// CUBIC behind an AQM that drops, a short buffer and random loss on an access link.
const LOSSY: &str = r#"
schema = 1
title = "Drops of three kinds"
[run]
duration = "400 ms"
end = "duration"
[topology]
kind = "dumbbell"
link-rate = "400 Mbit/s"
link-delay = "1 ms"
bottleneck-rate = "50 Mbit/s"
[switch]
buffer = "20 pkt"
[switch.mark]
kind = "codel"
signal = "drop"
target = "1 ms"
interval = "20 ms"
[transport]
profile = "linux"
scheme = "cubic"
[hosts.a]
count = 2
side = "left"
[hosts.b]
count = 2
side = "right"
[traffic.t]
from = "a"
to = "b"
count = 2
size = "unlimited"
"#;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn ran(args: &[&str]) -> String {
    let done = lowtide(args);
    assert!(done.status.success(), "{args:?}: {}", stderr(&done));
    stdout(&done)
}

fn rows(dir: &str, table: &str) -> Vec<Value> {
    let found: Value = serde_json::from_str(&ran(&["table", dir, table, "--json"])).expect("JSON");
    found["rows"].as_array().expect("rows").clone()
}

/// The value of a line of the terminal.
fn shown(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.contains(name))?;
    line.split_ascii_whitespace().last()?.parse().ok()
}

#[test]
fn drops_are_all_drops_and_their_kinds_add_up() {
    let folder = folder("drops");
    let scenario = folder.join("lossy.toml");
    fs::write(&scenario, LOSSY).expect("a file");
    let (scenario, dir) = (scenario.to_str().expect("text"), folder.join("out"));
    let dir = dir.to_str().expect("text");
    let text = ran(&["-q", "run", scenario, "--trace", "0", "--trace", "1", "-o", dir]);
    // The trace counts each packet on its own: an independent count of the drops.
    let mut traced: BTreeMap<String, u64> = BTreeMap::new();
    for hop in rows(dir, "trace_hops") {
        if hop["name"] == "switch0->switch1" {
            let verdict = hop["verdict"].as_str().expect("a verdict").to_owned();
            *traced.entry(verdict).or_default() += 1;
        }
    }
    let of = |verdict: &str| traced.get(verdict).copied().unwrap_or_default();
    let (overflow, aqm) = (of("dropped-by-buffer"), of("dropped-by-marker"));
    assert!(overflow > 0 && aqm > 0, "{traced:?}");
    let queue = rows(dir, "queues");
    let queue = queue.iter().find(|q| q["name"] == "switch0->switch1").expect("the bottleneck");
    let count = |name: &str| queue[name].as_u64().unwrap_or_else(|| panic!("{name}"));
    assert_eq!((count("overflow_drops"), count("aqm_drops")), (overflow, aqm));
    assert_eq!(count("drops"), overflow + aqm);
    assert_eq!(shown(&text, "drops"), Some((overflow + aqm) as f64), "{text}");
    assert_eq!(shown(&text, "by the AQM"), Some(aqm as f64), "{text}");
    assert_eq!(shown(&text, "by a full buffer"), Some(overflow as f64), "{text}");
    let page = fs::read_to_string(Path::new(dir).join("report.html")).expect("a page");
    for name in ["dropped packets", "of these, by a full buffer", "of these, by the AQM"] {
        assert!(page.contains(name), "{name}");
    }
    let compared = ran(&["compare", dir, dir, "--json"]);
    let compared: Value = serde_json::from_str(&compared).expect("JSON");
    let compared = compared["rows"].as_array().expect("rows");
    let of_queue = |metric: &str| {
        let row = |r: &&Value| r["metric"] == metric && r["queue"] == "switch0->switch1";
        compared.iter().find(row).and_then(|r| r["a"]["value"].as_f64())
    };
    assert_eq!(of_queue("drops"), Some((overflow + aqm) as f64));
    assert_eq!(of_queue("aqm_drops"), Some(aqm as f64));
}

#[test]
fn losses_elsewhere_are_shown_for_the_whole_network() {
    let folder = folder("losses");
    let scenario = folder.join("lossy.toml");
    let cut = LOSSY.find("[switch.mark]").expect("the AQM");
    let (head, mark) = LOSSY.split_at(cut);
    let rest = &mark[mark.find("[transport]").expect("a table")..];
    let pipe = "[pipe.access]\non = \"a\"\ndirection = \"up\"\nloss = \"1 %\"\n";
    let text = format!("{}{rest}{pipe}", head.replace("20 pkt", "5000 pkt"));
    fs::write(&scenario, text).expect("a file");
    let dir = folder.join("out");
    let (scenario, dir) = (scenario.to_str().expect("text"), dir.to_str().expect("text"));
    let text = ran(&["-q", "run", scenario, "-o", dir]);
    let lost: u64 =
        rows(dir, "queues").iter().map(|q| q["random_losses"].as_u64().expect("a count")).sum();
    assert!(lost > 0);
    let network = &text[text.find("the whole network").unwrap_or_else(|| panic!("{text}"))..];
    assert_eq!(shown(network, "drops"), Some(lost as f64), "{text}");
    assert!(network.contains("lost at random"), "{text}");
}

#[test]
fn an_absent_scheme_is_in_the_legend_with_the_reason() {
    let dir = folder("absent").join("out");
    let dir = dir.to_str().expect("text");
    ran(&["-q", "run", "first-light", "-o", dir]);
    let figures = Path::new(dir).join("figures");
    let alpha = fs::read_to_string(figures.join("alpha-over-time.svg")).expect("a figure");
    assert!(alpha.contains("sack: has no alpha"), "{alpha}");
    let short = ["-q", "run", "first-light", "-s", "run.duration=1 ms", "-o", dir, "--afresh"];
    let listed = ran(&short);
    assert!(listed.contains("unfinished"), "{listed}");
    for entry in fs::read_dir(&figures).expect("figures").flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "svg") {
            let svg = fs::read_to_string(&path).expect("a figure");
            let name = path.display();
            for scheme in ["sack", "dctcp"] {
                assert!(svg.contains(&format!("\n{scheme}")), "{name}: no {scheme}");
            }
        }
    }
}

#[test]
fn points_are_named_by_the_number_of_hosts_and_not_by_a_range() {
    let dir = folder("points").join("out");
    let dir = dir.to_str().expect("text");
    let over = "traffic.queries.to=servers[0..2],servers[0..10],servers[0..4]";
    let run = ["-q", "run", "incast", "--over", over, "-s", "traffic.queries.queries=3", "-o", dir];
    let text = ran(&[&run[..], &["--seeds", "2"]].concat());
    assert!(text.contains("10 servers") && !text.contains("[0.."), "{text}");
    let compared = ran(&["compare", dir, dir]);
    assert!(compared.contains("servers = 10") && !compared.contains("[0.."), "{compared}");
    let mut numbers = 0;
    for entry in fs::read_dir(Path::new(dir).join("figures")).expect("figures").flatten() {
        let content = fs::read_to_string(entry.path()).expect("text");
        assert!(!content.contains("[0.."), "{}", entry.path().display());
        let name = entry.file_name().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_some_and(|e| e == "csv")
            && content.starts_with("panel,scheme,series,traffic.queries.to,")
        {
            let column = content.lines().skip(1).filter_map(|line| line.split(',').nth(3));
            let found: Vec<&str> = column.take(3).collect();
            assert_eq!(found, ["2", "4", "10"], "{name}");
            numbers += 1;
        }
    }
    assert!(numbers > 0, "a figure over the sweep");
    let flows = rows(dir, "flows");
    let hosts: std::collections::BTreeSet<u64> =
        flows.iter().filter_map(|f| f["traffic.queries.to_hosts"].as_u64()).collect();
    assert_eq!(hosts.into_iter().collect::<Vec<_>>(), [2, 4, 10]);
}
