//! Rejected workloads and rejected files for them.

use std::sync::Arc;

use crate::common::BASE;
use lowtide_scenario::{Files, Scenario, ScenarioErrors};

/// A directory with one file, `mine.txt`.
#[derive(Debug)]
struct OneFile(String);

impl Files for OneFile {
    fn read(&self, name: &str) -> Result<String, String> {
        if name == "mine.txt" { Ok(self.0.clone()) } else { Err("no such file".to_owned()) }
    }
}

/// Returns the errors of the base with these lines as its traffic, and a file `mine.txt`.
fn errors(lines: &str, file: &str) -> ScenarioErrors {
    let traffic = BASE.find("[traffic.long]").expect("the base has it");
    let text = format!("{}[traffic.mine]\n{lines}\n", &BASE[..traffic]);
    let scenario = Scenario::parse_with(&text, "t.toml", Arc::new(OneFile(file.to_owned())));
    scenario.and_then(|s| s.expand()).expect_err("it was accepted")
}

/// Asserts that there is one error, which points at `meant` in `file` and contains all of `parts`.
#[track_caller]
fn assert_error(found: &ScenarioErrors, file: &str, meant: &str, parts: &[&str]) {
    assert_eq!(found.iter().count(), 1, "{found}");
    let error = found.first();
    let shown = error.to_string();
    for part in parts {
        assert!(shown.contains(part), "{part:?} is not in:\n{shown}");
    }
    let span = error.span.clone().unwrap_or_else(|| panic!("no place: {shown}"));
    assert_eq!((error.file.as_str(), &error.text[span]), (file, meant), "{shown}");
}

const POISSON: &str = "kind = \"poisson\"\nfrom = \"senders\"\nto = \"receivers\"\n";

#[test]
fn invalid_distributions() {
    let sizes =
        |file: &str| errors(&format!("{POISSON}load = \"10 %\"\nsizes = \"mine.txt\""), file);
    let falls = sizes("# mine\n1000 0.2\n2000 0.1\n3000 1\n");
    assert_error(
        &falls,
        "mine.txt",
        "0.1",
        &["mine.txt:3:6", "falls from `0.2` to `0.1`", "3 | 2000 0.1"],
    );
    assert_error(
        &sizes("1000 0.2\n2000 0.9\n"),
        "mine.txt",
        "0.9",
        &["it must reach 1", "mine.txt:2:6"],
    );
    assert_error(&sizes("2000 0.2\n1000 1\n"), "mine.txt", "1000 1", &["less than that of line 1"]);
    assert_error(&sizes("1000 -0.2\n2000 1\n"), "mine.txt", "-0.2", &["is negative"]);
    assert_error(&sizes("  many 1\n"), "mine.txt", "many", &["mine.txt:1:3", "not a number"]);
    let unknown = errors(&format!("{POISSON}load = \"10 %\"\nsizes = \"web-search\""), "");
    assert_error(&unknown, "t.toml", "\"web-search\"", &["no such file", "web-search-654kb"]);
}

#[test]
fn invalid_loads() {
    let sizes = format!("{POISSON}sizes = \"10 kB\"\n");
    assert_error(
        &errors(&sizes, ""),
        "t.toml",
        "mine",
        &["flows have no rate", "`load` or `flow-rate`"],
    );
    let twice = format!("{sizes}load = \"10 %\"\nflow-rate = 10");
    assert_error(&errors(&twice, ""), "t.toml", "\"10 %\"", &["given twice"]);
    let bare = format!("{sizes}load = 10");
    assert_error(&errors(&bare, ""), "t.toml", "10", &["`load`", "has no unit"]);
    let many = format!("{sizes}flow-rate = 1000000000");
    assert_error(&errors(&many, ""), "t.toml", "mine", &["4000000"]);
}

#[test]
fn invalid_flow_lists() {
    let list = |file: &str| errors("kind = \"flow-list\"\nfile = \"mine.txt\"", file);
    let head = "src,dst,bytes,start\n";
    let row = |row: &str, meant: &str, parts: &[&str]| {
        assert_error(&list(&format!("{head}{row}")), "mine.txt", meant, parts);
    };
    row("senders.0,receivers.0,10 kB,-1\n", "-1", &["mine.txt:2:29", "negative"]);
    row("senders.9,receivers.0,10 kB,0\n", "senders.9", &["mine.txt:2:1", "senders.9"]);
    row("senders.0,receivers.0,10 kB\n", "senders.0,receivers.0,10 kB", &["mine.txt:2"]);
    let late = list(&format!("{head}senders.0,receivers.0,10 kB,5\n"));
    assert_error(&late, "t.toml", "\"mine.txt\"", &["start at 5 s, but the run ends at 3 s"]);
    let absent = errors("kind = \"flow-list\"\nfile = \"flows.csv\"", "");
    assert_error(&absent, "t.toml", "\"flows.csv\"", &["cannot read `flows.csv`: no such file"]);
    let alone = Scenario::parse(
        &format!("{BASE}[traffic.mine]\nkind = \"flow-list\"\nfile = \"flows.csv\"\n"),
        "t.toml",
    );
    let alone = alone.unwrap().expand().unwrap_err();
    assert!(alone.first().message.contains("has no directory"), "{alone}");
}

#[test]
fn workloads_need_their_hosts() {
    let queries = |lines: &str| errors(&format!("kind = \"incast\"\n{lines}"), "");
    assert_error(
        &queries("from = \"senders\""),
        "t.toml",
        "mine",
        &["`to` is missing in [traffic.mine]"],
    );
    let itself = queries("from = \"receivers\"\nto = \"receivers\"");
    assert_error(&itself, "t.toml", "\"receivers\"", &["[traffic.mine]"]);
}

#[test]
fn a_topology_file_is_read_and_its_errors_are_its_own() {
    let graph = |file: &str| {
        let text = BASE.replace("kind = \"star\"", "kind = \"graph\"\nfile = \"mine.txt\"");
        let scenario = Scenario::parse_with(&text, "t.toml", Arc::new(OneFile(file.to_owned())));
        scenario.and_then(|s| s.expand())
    };
    let links =
        "[[links]]\nends = [\"senders\", \"tor0\"]\n[[links]]\nends = [\"receivers\", \"tor0\"]\n";
    let good = graph(&format!("switches = [\"tor0\"]\n{links}")).unwrap();
    let text = good.runs[0].resolved_toml();
    let again = Scenario::parse(&text, "resolved.toml").unwrap().expand().unwrap();
    assert_eq!(again.runs[0].hash, good.runs[0].hash, "it needs no file\n{text}");
    let other = graph(&format!("switches = [\"tor1\"]\n{links}")).unwrap_err();
    assert_error(
        &other,
        "mine.txt",
        "\"tor0\"",
        &["mine.txt:3:20", "neither a switch nor a host group"],
    );
    let torn = graph("switches = [").unwrap_err();
    assert!(torn.to_string().contains("mine.txt:1"), "{torn}");
    assert_error(
        &graph("switches = [\"tor0\"]\n").unwrap_err(),
        "mine.txt",
        "[\"tor0\"]",
        &["[[links]]"],
    );
    let key = graph(&format!("switchs = 1\nswitches = [\"tor0\"]\n{links}")).unwrap_err();
    assert_error(&key, "mine.txt", "switchs", &["no key `switchs`", "`switches`"]);
}

#[test]
fn a_class_of_traffic_must_be_one_of_the_switches() {
    let lines = "from = \"senders\"\nto = \"receivers\"\nsize = \"1 MB\"\nclass = \"fast\"";
    assert_error(&errors(lines, ""), "t.toml", "\"fast\"", &["fast", "class"]);
    let lines = format!("{lines}\n[switch.class.quick]\n[switch.class.rest]");
    assert_error(&errors(&lines, ""), "t.toml", "\"fast\"", &["fast", "quick", "rest"]);
}

#[test]
fn connections_cannot_open_early_without_time_before_the_transfers() {
    let transfers = "from = \"senders\"\nto = \"receivers\"\ncount = 3\nsize = \"10 kB\"\n";
    let late = errors(&format!("{transfers}start = \"2 ms\"\nconnect = \"early\""), "");
    assert_error(
        &late,
        "t.toml",
        "\"early\"",
        &["opens connections 1 ms apart", "number 2", "start 1 ms later or more"],
    );
    let queries = "kind = \"requests\"\nfrom = \"senders\"\nto = \"receivers\"\nanswer = \"2 kB\"\n\
                   start = \"1 s\"\nconnections = \"per-request\"\nconnect = \"early\"";
    let each = errors(queries, "");
    assert_error(&each, "t.toml", "\"early\"", &["opens a connection for each query"]);
}
