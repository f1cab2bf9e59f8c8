//! `show`, `check` with offered load, `table` with a selection, `explain` with headings, `bench`
//! with progress.

use std::process::{Command, Output};

use lowtide_record::RunDir;

fn lowtide(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lowtide")).args(args).output().expect("it runs")
}

fn stdout(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.split_whitespace().filter(|word| *word != "\u{2502}").collect::<Vec<_>>().join(" ")
}

#[test]
fn show_prints_a_file_that_can_be_run() {
    let temp = tempfile::tempdir().expect("a directory");
    for name in ["first-light", "matrix", "od-fig4.4"] {
        let text = stdout(&lowtide(&["show", name]));
        let path = temp.path().join(format!("{name}.toml"));
        std::fs::write(&path, text).expect("written");
        stdout(&lowtide(&["check", path.to_str().expect("a path")]));
    }
    let wrong = lowtide(&["show", "queue-buildap"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    let error = stderr(&wrong);
    assert!(
        error.contains("there is no embedded scenario or experiment `queue-buildap`"),
        "{error}"
    );
    assert!(error.contains("`queue-buildup`") && error.contains("`queue-buildup-100m`"), "{error}");
}

#[test]
fn check_prints_the_offered_load_and_warns_from_90_percent() {
    let at = |load: &str| {
        lowtide(&["check", "leaf-spine", "-s", &format!("traffic.background.load={load}")])
    };
    let low = at("30 %");
    let text = stdout(&low);
    assert!(text.contains("\nhosts to leaf: offered load "), "{text}");
    assert!(text.contains("\nleaf to spine: offered load "), "{text}");
    assert!(text.contains("oversubscription 1.0:1"), "{text}");
    assert!(!stderr(&low).contains("warning"), "{low:?}");
    let narrow = ["check", "leaf-spine", "-s", "topology.fabric-rate=2 Gbit/s"];
    let high = lowtide(&narrow);
    assert!(stdout(&high).contains("oversubscription 10.0:1"), "{high:?}");
    let warning = stderr(&high);
    assert!(
        warning.contains("of the lines leaf to spine, which its lines cannot carry"),
        "{warning}"
    );
    assert!(warning.contains("below 90 % is right"), "{warning}");
    assert!(!warning.contains("hosts to leaf"), "{warning}");
    let dumbbell = stdout(&lowtide(&[
        "check",
        "mixed-deployment-100m",
        "-s",
        "traffic.stayed-short.spacing=5 ms",
    ]));
    assert!(dumbbell.contains("\nswitch0 to switch1: offered load "), "{dumbbell}");
}

#[test]
fn a_table_prints_chosen_columns_and_rows() {
    let temp = tempfile::tempdir().expect("a directory");
    let dir = temp.path().join("out");
    let dir = dir.to_str().expect("a path");
    stdout(&lowtide(&["-q", "run", "first-light", "-s", "run.seeds=2", "-o", dir]));
    let (_, manifest) = RunDir::open(std::path::Path::new(dir)).expect("results");
    let scheme = &manifest.runs[0].key.scheme;
    let condition = format!("scheme={scheme}");
    let select = ["table", dir, "flows", "--columns", "seed,flow", "--where", &condition];
    let csv = stdout(&lowtide(&[&select[..], &["--where", "seed=2", "--csv"]].concat()));
    assert_eq!(csv.lines().next(), Some("seed,flow"));
    assert!(csv.lines().count() > 1 && csv.lines().skip(1).all(|l| l.starts_with("2,")), "{csv}");
    let text = stdout(&lowtide(&select));
    assert_eq!(
        text.lines().next().map(|l| l.split_whitespace().collect()),
        Some(vec!["seed", "flow"])
    );
    let none = stdout(&lowtide(&["table", dir, "flows", "--where", "scheme=no", "--csv"]));
    assert_eq!(none.lines().count(), 1, "the header: {none}");
    let wrong = lowtide(&["table", dir, "flows", "--columns", "sead"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("there is no column `sead`"), "{wrong:?}");
    assert!(stderr(&wrong).contains("did you mean `seed`?"), "{wrong:?}");
    let wrong = lowtide(&["table", dir, "flows", "--where", "seed"]);
    assert!(stderr(&wrong).contains("is not of the form `--where COLUMN=VALUE`"), "{wrong:?}");
}

#[test]
fn long_explanations_have_headings() {
    let long = stdout(&lowtide(&["explain", "linux"]));
    let places: Vec<usize> = ["\n Sender\n", "\n Receiver\n", "\n Both ends\n"]
        .iter()
        .map(|heading| long.find(heading).unwrap_or_else(|| panic!("{heading}: {long}")))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    let delayed = long.find("\n  ack = ").expect("the ACK policy");
    assert!(delayed > places[1] && delayed < places[2], "{long}");
    let short = stdout(&lowtide(&["explain", "step"]));
    assert!(!short.contains("\n Sender"), "{short}");
}

#[test]
fn the_tcp_of_a_tool_is_compared_with_the_rfcs() {
    let diff = stdout(&lowtide(&["explain", "--diff", "rfc+dctcp", "ns-2+dctcp"]));
    for (switch, values) in [
        ("growth-when", ["cwnd-limited", "below-rwnd"]),
        ("growth-counts", ["bytes", "acks"]),
        ("cut-from", ["cwnd", "window"]),
        ("dctcp.initial-alpha", ["1024", "0"]),
    ] {
        let line = diff.lines().find(|line| line.split_whitespace().next() == Some(switch));
        let line = line.unwrap_or_else(|| panic!("{switch}: {diff}"));
        assert!(values.iter().all(|value| line.contains(value)), "{line}");
    }
    // The scheme sets it in both.
    assert!(!diff.contains("freeze-growth"), "{diff}");
    for tool in ["inet", "windows-2008r2", "freebsd-10", "linux-3.13"] {
        let explained = stdout(&lowtide(&["explain", tool]));
        assert!(explained.contains("not checked against the tool"), "{explained}");
    }
}

#[test]
fn tables_and_columns_are_explained() {
    let column = stdout(&lowtide(&["explain", "flows.fct_ps"]));
    assert!(column.contains("fct_ps  (int64 in ps, may be null)"), "{column}");
    assert!(!column.contains("transfer_ps  ("), "{column}");
    let list = stdout(&lowtide(&["list", "tables", "--json"]));
    let list: serde_json::Value = serde_json::from_str(&list).expect("JSON");
    let found = |table: &serde_json::Value| lowtide_rows::table_columns(table["name"].as_str()?);
    for table in list["items"].as_array().expect("a list") {
        let columns = found(table).expect("a table");
        assert_eq!(table["columns"].as_array().map(Vec::len), Some(3 + columns.len()), "{table}");
    }
    let wrong = lowtide(&["explain", "flows.fct_p"]);
    assert_eq!(wrong.status.code(), Some(2));
    let error = stderr(&wrong);
    assert!(error.contains("there is no column of `flows` `fct_p`"), "{error}");
    assert!(error.contains("did you mean `fct_ps`?"), "{error}");
}

#[test]
fn all_keys_of_the_json_schema_are_listed() {
    use std::collections::BTreeSet;

    use serde_json::Value;

    let parsed =
        |args: &[&str]| -> Value { serde_json::from_str(&stdout(&lowtide(args))).expect("JSON") };
    let (schema, list) = (parsed(&["schema"]), parsed(&["list", "--json"]));
    let items = list["items"].as_array().expect("a list");
    let keys = |item: &Value| -> BTreeSet<String> {
        let settings = item["settings"].as_array().expect("its keys");
        settings.iter().filter_map(|key| key["name"].as_str()).map(str::to_owned).collect()
    };
    let of_kinds: BTreeSet<String> = items
        .iter()
        .filter(|item| ["topology", "marker", "workload"].contains(&item["kind"].as_str().unwrap()))
        .flat_map(&keys)
        .collect();
    let tables: Vec<_> = items.iter().filter(|item| item["kind"] == "scenario table").collect();
    assert!(tables.len() > 20, "{}", tables.len());
    for table in tables {
        let name = table["name"].as_str().unwrap();
        let mut node = &schema;
        for part in name.split('.').filter(|part| *part != "scenario") {
            let node_of_table = node.get("items").unwrap_or(node);
            node = match part {
                "NAME" => node_of_table["patternProperties"].as_object().unwrap().values().next(),
                part => node_of_table["properties"].get(part),
            }
            .unwrap_or_else(|| panic!("{name}"));
        }
        let properties = node.get("items").unwrap_or(node)["properties"].as_object();
        let is_key = |value: &Value| value["type"] != "object" && value.get("items").is_none();
        let of_schema = properties.into_iter().flatten();
        let (all, scalar): (BTreeSet<_>, BTreeSet<_>) =
            of_schema.map(|(key, value)| (key.clone(), is_key(value).then(|| key.clone()))).unzip();
        let own = keys(table);
        assert!(own.is_subset(&all), "{name}: {own:?} of {all:?}");
        for key in scalar.into_iter().flatten() {
            assert!(own.contains(&key) || of_kinds.contains(&key), "{name}: {key}");
        }
    }
}

#[test]
fn keys_of_a_scenario_are_explained() {
    let explained = |name| stdout(&lowtide(&["explain", name]));
    let table = explained("traffic.short");
    assert!(table.starts_with("traffic.NAME (scenario table)\n"), "{table}");
    assert!(table.contains("lowtide explain poisson"), "{table}");
    let own = explained("probes.interval");
    assert!(own.contains("  interval = 1 ms  (a time above zero"), "{own}");
    assert!(!own.contains("size-classes"), "{own}");
    let of_kinds = explained("switch.mark.k");
    assert!(of_kinds.contains("step (marker)") && of_kinds.contains("phantom (marker)"));
    assert!(!of_kinds.contains("not-ect"), "{of_kinds}");
    let switch = explained("hosts.servers.sender.dctcp.shift-g");
    assert!(switch.starts_with("dctcp.shift-g (switch)\n"), "{switch}");
    let refused = lowtide(&["explain", "switch.mark.kk"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn declared_properties_of_a_control_are_explained() {
    let text = stdout(&lowtide(&["explain", "dctcp"]));
    assert!(text.contains("  reacts to: loss, the share of ECN marks\n"), "{text}");
    assert!(text.contains("  needs ECN\n"), "{text}");
}

#[test]
fn bench_names_its_runs() {
    let output = lowtide(&["bench", "instructions-dumbbell", "-n", "2"]);
    let progress = stderr(&output);
    assert!(stdout(&output).contains("instructions-dumbbell"));
    for said in ["warming up, then 2 measured runs", "run 1 of 2", "run 2 of 2"] {
        assert!(progress.contains(&format!("instructions-dumbbell: {said}")), "{progress}");
    }
    assert!(stderr(&lowtide(&["-q", "bench", "instructions-dumbbell", "-n", "1"])).is_empty());
}
