//! `papers/<paper>/open.toml` states the values that the runs of our experiments have.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lowtide_papers::{Experiment, ReproduceMode, experiments, plan};
use lowtide_scenario::glob_matches;
use toml::{Table, Value};

/// Fewest experiments of one value that are not named.
const OTHERS: usize = 4;

/// The scenario of an experiment, and the settings of its runs with their schemes.
struct Settings {
    row: &'static str,
    scenario: Table,
    runs: Vec<(String, Table)>,
}

impl Settings {
    fn new(experiment: &Experiment) -> Self {
        // The settings of a run do not depend on its seed.
        let mode = ReproduceMode { seeds: Some(1), ..ReproduceMode::default() };
        let runs = plan(experiment, mode).expect("the experiment is right").runs;
        let of_run = |text: String| text.parse().expect("TOML");
        Self {
            row: experiment.name,
            scenario: experiment.scenario.parse().expect("TOML"),
            runs: runs.iter().map(|r| (r.scheme.clone(), of_run(r.resolved_toml()))).collect(),
        }
    }

    /// The values of a key of a scenario in the runs. The runs have the rules of a profile and not
    /// its name, which is then that of the scenario.
    fn values(&self, key: &str) -> BTreeSet<String> {
        let (scheme, of_run) = key_of_run(key);
        let mut out = BTreeSet::new();
        for (_, table) in self.runs.iter().filter(|(of, _)| scheme.is_none_or(|s| s == of)) {
            collect(&mut out, table, &of_run);
        }
        if out.is_empty() {
            collect(&mut out, &self.scenario, key);
        }
        out
    }
}

/// The key of a run that a key of a scenario sets, and the scheme whose runs have it: those of a
/// bundle, or `None` for all.
fn key_of_run(key: &str) -> (Option<&str>, String) {
    let bundle = key.strip_prefix("compare.bundles.").and_then(|rest| rest.split_once('.'));
    let (scheme, key) = bundle.map_or((None, key), |(bundle, key)| (Some(bundle), key));
    let of_run = match (key.strip_prefix("set."), key.strip_prefix("transport."), scheme) {
        (Some(set), ..) => set.to_owned(),
        // A run has the settings of `[transport]`, and those of a bundle, at each host.
        (None, Some(setting), _) => format!("hosts.*.{setting}"),
        (None, None, Some(_)) => format!("hosts.*.{key}"),
        (None, None, None) => key.to_owned(),
    };
    (scheme, of_run)
}

/// Adds the values at a key of a table; a `*` in a part of the key matches any letters.
fn collect(out: &mut BTreeSet<String>, table: &Table, key: &str) {
    let (first, rest) = key.split_once('.').map_or((key, None), |(a, b)| (a, Some(b)));
    for (_, value) in table.iter().filter(|(name, _)| glob_matches(first, name)) {
        match (value, rest) {
            (Value::Table(inner), Some(rest)) => collect(out, inner, rest),
            (Value::Table(_), None) | (_, Some(_)) => {}
            (Value::String(text), None) => _ = out.insert(text.clone()),
            (other, None) => _ = out.insert(other.to_string()),
        }
    }
}

/// The values with their experiments: `16777216 B (fig1); 4 MB (others)`.
fn listed(of: &[(&'static str, BTreeSet<String>)]) -> String {
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (row, values) in of.iter().filter(|(_, values)| !values.is_empty()) {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        groups.entry(values.join(" and ")).or_default().push(row);
    }
    let most = groups.values().map(Vec::len).max().unwrap_or_default();
    let mut named = Vec::new();
    let mut others = Vec::new();
    for (value, rows) in &groups {
        if groups.len() == 1 {
            others.push(value.clone());
        } else if rows.len() == most && most >= OTHERS && others.is_empty() {
            others.push(format!("{value} (others)"));
        } else {
            named.push(format!("{value} ({})", rows.join(", ")));
        }
    }
    [named, others].concat().join("; ")
}

#[test]
fn open_settings_have_the_values_of_the_runs() {
    let all = experiments();
    let papers: BTreeSet<&str> = all.iter().map(|row| row.paper).collect();
    let (mut stated_values, mut wrong) = (0, Vec::new());
    for paper in papers {
        let name = format!("papers/{paper}/open.toml");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(&name);
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        let file: Table = text.parse().expect("TOML");
        let rows: Vec<Settings> =
            all.iter().filter(|row| row.paper == paper).map(Settings::new).collect();
        let mut names = BTreeSet::new();
        for parameter in file["parameter"].as_array().expect("an array of tables") {
            let id = parameter["name"].as_str().expect("a name");
            assert!(names.insert(id), "{name}: two parameters `{id}`");
            for field in ["says", "quote", "source", "why"] {
                let text = parameter[field].as_str().expect("a text");
                assert!(!text.trim().is_empty(), "{name}: `{id}` needs `{field}`");
            }
            let only: Option<Vec<&str>> = parameter.get("only").map(|only| {
                let only = only.as_array().expect("an array");
                only.iter().map(|row| row.as_str().expect("a row")).collect()
            });
            for row in only.iter().flatten() {
                assert!(rows.iter().any(|r| r.row == *row), "{name}: `{id}`: no row `{row}`");
            }
            let applies = |row: &&Settings| only.as_ref().is_none_or(|o| o.contains(&row.row));
            let stated = parameter["value"].as_table().expect("a table of keys");
            assert!(!stated.is_empty(), "{name}: `{id}` needs a key with its value");
            stated_values += stated.len();
            for (key, value) in stated {
                let of = rows.iter().filter(applies).map(|row| (row.row, row.values(key)));
                let expected = listed(&of.collect::<Vec<_>>());
                if expected.is_empty() || value.as_str() != Some(expected.as_str()) {
                    wrong.push(format!("{name}\t{id}\t{key}\t{expected}\tstated: {value}"));
                }
            }
        }
    }
    assert!(stated_values > 0, "no open setting was found");
    assert!(wrong.is_empty(), "parameters without the values of the runs:\n{}", wrong.join("\n"));
}

#[test]
fn experiments_of_the_most_frequent_value_are_not_named() {
    let of = |values: &[(&'static str, &str)]| {
        let one = |(row, value): &(&'static str, &str)| (*row, BTreeSet::from([(*value).into()]));
        listed(&values.iter().map(one).collect::<Vec<_>>())
    };
    let four = [("fig2", "4 MB"), ("fig3", "4 MB"), ("fig4", "4 MB"), ("fig5", "4 MB")];
    assert_eq!(of(&four), "4 MB");
    assert_eq!(of(&[&four[..], &[("fig1", "9 MB")]].concat()), "9 MB (fig1); 4 MB (others)");
    assert_eq!(of(&[("fig1", "a"), ("fig2", "b")]), "a (fig1); b (fig2)");
    assert_eq!(of(&[]), "");
}

#[test]
fn a_key_of_a_bundle_belongs_to_its_runs() {
    let key = |k| key_of_run(k);
    assert_eq!(key("transport.sender.cc"), (None, "hosts.*.sender.cc".into()));
    assert_eq!(key("compare.bundles.a.set.switch.mark.k"), (Some("a"), "switch.mark.k".into()));
    assert_eq!(key("compare.bundles.a.sender.x"), (Some("a"), "hosts.*.sender.x".into()));
    assert_eq!(key("topology.link-delay"), (None, "topology.link-delay".into()));
}
