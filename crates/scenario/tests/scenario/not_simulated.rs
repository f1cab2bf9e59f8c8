//! A mechanism that is not simulated is refused with its sentence, and the page has all sentences.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use lowtide_net::{aqm, topology};
use lowtide_scenario::{Scenario, nearest, table_descriptions};
use lowtide_schema::{NOT_SIMULATED, NotSimulated};
use lowtide_tcp::{cc, scheme, switches};
use lowtide_traffic::workload;

const SCENARIO: &str = "first-light";

/// The messages of a scenario with `key` set to `value`.
fn refused(key: &str, value: &str) -> Vec<String> {
    let scenario = Scenario::load(SCENARIO).expect(SCENARIO);
    let errors = match scenario.with_override(key, value) {
        Ok(scenario) => scenario.expand().expect_err(key),
        Err(errors) => errors,
    };
    errors.iter().map(|error| error.message.clone()).collect()
}

fn has(messages: &[String], row: &NotSimulated) -> bool {
    messages.iter().any(|message| message.ends_with(row.sentence))
}

#[test]
fn a_name_that_a_scenario_asks_for_gets_the_sentence() {
    for row in NOT_SIMULATED {
        for name in row.names {
            for key in [
                "compare.schemes",
                "transport.scheme",
                "transport.sender.cc",
                "transport.receiver.ack",
                "switch.mark.kind",
                "routing.kind",
                "topology.kind",
                "traffic.pair.kind",
            ] {
                assert!(has(&refused(key, name), row), "{key} = {name}: {:?}", refused(key, name));
            }
            for table in ["", "switch.", "transport.", "transport.sender.", "hosts.senders."] {
                let key = format!("{table}{name}");
                let found = refused(&key, "true");
                assert!(has(&found, row), "{key}: {found:?}");
            }
        }
    }
}

#[test]
fn keys_and_tables_of_a_file_get_it_too() {
    let text = include_str!("../../../../scenarios/first-light.toml");
    for (more, name) in [
        ("\n[pfc]\nheadroom = \"3 kB\"\n", "pfc"),
        ("\n[switch.pfc]\nheadroom = \"3 kB\"\n", "pfc"),
        ("\n[transport.sender.timely]\nbeta = 1\n", "timely"),
        ("\n[compare.bundles.mine]\nbase = \"hpcc\"\n", "hpcc"),
    ] {
        let errors = Scenario::parse(&format!("{text}{more}"), "mine.toml")
            .and_then(|scenario| scenario.expand().map(drop))
            .expect_err(more);
        let row = NotSimulated::find(name).unwrap();
        let error = errors.iter().find(|error| error.message.ends_with(row.sentence));
        let error = error.unwrap_or_else(|| panic!("{more}: {errors}"));
        assert!(error.line_column().is_some(), "{error}");
    }
}

#[test]
fn a_misspelt_name_keeps_its_hint() {
    for (key, value, hint) in [
        ("compare.schemes", "dctp", "did you mean `dctcp`?"),
        ("compare.schemes", "hul", "did you mean `hull`?"),
        ("switch.mark.kind", "codell", "did you mean `codel`?"),
        ("switch.mark.kk", "9 pkt", "did you mean `k`?"),
        ("switch.bufer", "9 pkt", "did you mean `buffer`?"),
    ] {
        let scenario = Scenario::load(SCENARIO).unwrap();
        let errors = match scenario.with_override(key, value) {
            Ok(scenario) => scenario.expand().expect_err(key),
            Err(errors) => errors,
        };
        assert!(errors.to_string().contains(hint), "{key} = {value}: {errors}");
    }
}

/// Names that users may write where a mechanism is refused.
fn known() -> Vec<String> {
    let mut names: Vec<String> = switches::all().iter().map(switches::Setting::name).collect();
    names.extend(scheme::REGISTRY.names().into_iter().map(str::to_owned));
    names.extend(cc::REGISTRY.names().into_iter().map(str::to_owned));
    names.extend(aqm::REGISTRY.names().into_iter().map(str::to_owned));
    names.extend(topology::REGISTRY.names().into_iter().map(str::to_owned));
    names.extend(workload::REGISTRY.names().into_iter().map(str::to_owned));
    names
}

#[test]
fn no_name_is_that_of_a_part_or_a_likely_misspelling_of_one() {
    let known = known();
    let names = NOT_SIMULATED.iter().flat_map(|row| row.names);
    let near = |name: &&'static str| nearest(name, known.iter().map(String::as_str));
    let found: Vec<_> = names.filter_map(|name| Some((*name, near(name)?))).collect();
    // These designs have names that differ by a letter from those of parts.
    assert_eq!(found, [("d2tcp", "dctcp"), ("bbr", "bbr1"), ("ecn#", "ecn"), ("tcn", "ecn")]);
}

#[test]
fn the_nearest_parts_exist() {
    let known = known();
    for row in NOT_SIMULATED {
        let (_, nearest) = row.sentence.rsplit_once("nearest is ").expect(row.sentence);
        let quoted: Vec<&str> = nearest.split('`').skip(1).step_by(2).collect();
        assert!(!quoted.is_empty(), "{nearest}");
        for text in quoted {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            let is_file = text.contains('/') && root.join(text).is_file();
            let documented = text.split(" = ").all(|word| {
                let word = word.trim_matches(['"', '[', ']']).trim_start_matches("routing.");
                known.iter().any(|name| name == word)
                    || switches::all().iter().any(|s| s.kind().describe().contains(word))
                    || table_descriptions().iter().any(|table| {
                        let mut keys = table.keys.iter();
                        table.path == word
                            || keys.any(|key| key.name == word || key.accepts.contains(word))
                    })
            });
            assert!(is_file || documented, "`{text}` of: {}", row.sentence);
        }
    }
}

const MARK: &str =
    "<!-- Generated from `crates/schema/src/not_simulated.rs`; a test compares it. -->\n";

#[test]
fn the_page_has_all_sentences() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/explanation/not-simulated.md");
    let mut table = String::from("\n| names | sentence |\n|---|---|\n");
    for row in NOT_SIMULATED {
        let names: Vec<String> = row.names.iter().map(|name| format!("`{name}`")).collect();
        writeln!(table, "| {} | {} |", names.join(", "), row.sentence).unwrap();
    }
    let page = fs::read_to_string(&path).unwrap();
    let (head, tail) = page.split_once(MARK).unwrap();
    if std::env::var_os("LOWTIDE_WRITE_DOCS").is_some() {
        fs::write(&path, format!("{head}{MARK}{table}")).unwrap();
    } else {
        assert_eq!(
            tail, table,
            "LOWTIDE_WRITE_DOCS=1 cargo test -p lowtide-scenario not_simulated"
        );
    }
}
