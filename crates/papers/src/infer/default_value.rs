//! The value of an open parameter in the experiments as they are: our choice.

use lowtide_scenario::glob_matches;
use toml::{Table, Value};

use super::open::{OpenParameter, ParameterDomain};
use super::setting::Setting;
use super::subject::InferredExperiment;
use crate::error::PaperError;

/// Values that experiments do not set and that no run of theirs has.
const NOT_SET: &str = "not set";
/// Fewest experiments that are not named.
const OTHERS: usize = 4;

/// The choice that sets nothing, or the values of a range: those of the scenarios, and those of
/// the runs for keys that the scenarios leave at the default of the program. Several values have
/// the experiments that they belong to.
pub(super) fn default_value(
    parameter: &OpenParameter,
    experiments: &[InferredExperiment],
) -> Result<String, PaperError> {
    let keys = match &parameter.domain {
        ParameterDomain::Range { keys, .. } => keys,
        ParameterDomain::Choices(choices) => {
            let none = choices.iter().find(|c| c.set.is_empty());
            return Ok(none.map_or(NOT_SET, |c| c.name.as_str()).to_owned());
        }
    };
    let mut values: Vec<(String, Vec<&str>)> = Vec::new();
    for experiment in experiments {
        let row = &experiment.experiment;
        if !parameter.applies_to(row.name) {
            continue;
        }
        let mut of_row = Vec::new();
        for key in keys {
            collect(&mut of_row, &row.scenario.parse().unwrap_or_default(), key);
        }
        if of_row.is_empty() {
            let plan = experiment.plan(&super::OpenSettings::default(), &Setting::defaults(), 0)?;
            for run in &plan.runs {
                let resolved = run.resolved_toml().parse().unwrap_or_default();
                for (scheme, key) in keys.iter().map(|key| key_of_run(key)) {
                    if scheme.is_none_or(|scheme| scheme == run.scheme) {
                        collect(&mut of_row, &resolved, &key);
                    }
                }
            }
        }
        for value in of_row {
            match values.iter_mut().find(|(known, _)| *known == value) {
                Some((_, rows)) if rows.last() == Some(&row.name) => {}
                Some((_, rows)) => rows.push(row.name),
                None => values.push((value, vec![row.name])),
            }
        }
    }
    Ok(listed(values))
}

/// The values with their experiments. Four or more experiments of one value are `others`, and last.
fn listed(mut values: Vec<(String, Vec<&str>)>) -> String {
    let most = (0..values.len()).max_by_key(|i| values[*i].1.len());
    let main = most.filter(|i| {
        let rows = &values[*i].1;
        let others = values.iter().enumerate().filter(|(j, _)| j != i);
        // An experiment with two values, one for each scheme, is listed with both.
        rows.len() >= OTHERS && !others.flat_map(|(_, (_, r))| r).any(|row| rows.contains(row))
    });
    let main = main.map(|i| values.remove(i).0);
    let list = values.iter().map(|(value, rows)| match &main {
        None if values.len() == 1 => value.clone(),
        _ => format!("{value} ({})", rows.join(", ")),
    });
    let alone = values.is_empty();
    let others = main.as_ref().map(|v| if alone { v.clone() } else { format!("{v} (others)") });
    let list: Vec<String> = list.chain(others).collect();
    if list.is_empty() { NOT_SET.to_owned() } else { list.join("; ") }
}

/// The key of a run that a key of a scenario sets, and the scheme whose runs have it: those of a
/// bundle, or `None` for all.
fn key_of_run(key: &str) -> (Option<&str>, String) {
    let (scheme, key) = match key.strip_prefix("compare.bundles.").and_then(|k| k.split_once('.')) {
        Some((bundle, key)) => (Some(bundle), key),
        None => (None, key),
    };
    let key = match key.strip_prefix("set.") {
        Some(key) => key.to_owned(),
        None if scheme.is_some() => format!("hosts.*.{key}"),
        None => key.to_owned(),
    };
    // A run has the settings of `[transport]` at each host.
    let key = key.strip_prefix("transport.").map(|k| format!("hosts.*.{k}")).unwrap_or(key);
    (scheme, key)
}

/// Adds the values at a key of a table; a `*` in a part of the key matches any letters.
fn collect(out: &mut Vec<String>, table: &Table, key: &str) {
    let (first, rest) = key.split_once('.').map_or((key, None), |(a, b)| (a, Some(b)));
    for (_, value) in table.iter().filter(|(name, _)| glob_matches(first, name)) {
        match (value, rest) {
            (Value::Table(inner), Some(rest)) => collect(out, inner, rest),
            (Value::Table(_), None) | (_, Some(_)) => {}
            (Value::String(text), None) => out.push(text.clone()),
            (other, None) => out.push(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_runs_belong_to_hosts() {
        let key = |k| key_of_run(k);
        assert_eq!(
            key("transport.sender.dctcp.shift-g"),
            (None, "hosts.*.sender.dctcp.shift-g".into())
        );
        assert_eq!(key("compare.bundles.a.set.switch.mark.k"), (Some("a"), "switch.mark.k".into()));
        assert_eq!(key("compare.bundles.a.sender.x"), (Some("a"), "hosts.*.sender.x".into()));
        assert_eq!(key("topology.link-delay"), (None, "topology.link-delay".into()));
    }

    #[test]
    fn most_experiments_are_not_named() {
        let of = |values: &[(&str, &[&'static str])]| {
            listed(values.iter().map(|(v, rows)| ((*v).to_owned(), rows.to_vec())).collect())
        };
        let four = ["fig2", "fig3", "fig4", "fig5"];
        assert_eq!(of(&[("16 MB", &["fig1"]), ("4 MB", &four)]), "16 MB (fig1); 4 MB (others)");
        assert_eq!(of(&[("4 MB", &four), ("16 MB", &["fig5"])]), {
            "4 MB (fig2, fig3, fig4, fig5); 16 MB (fig5)"
        });
        assert_eq!(of(&[("a", &["fig1"]), ("b", &["fig2"])]), "a (fig1); b (fig2)");
        assert_eq!((of(&[("a", &["fig1"])]).as_str(), of(&[("a", &four)]).as_str()), ("a", "a"));
        assert_eq!(of(&[]), "not set");
    }

    #[test]
    fn a_star_matches_several_tables() {
        let table = "[traffic.long-1]\nload = \"17 %\"\n[traffic.long-2]\nload = 3\n\
                     [traffic.short]\nload = 5\n";
        let mut out = Vec::new();
        collect(&mut out, &table.parse().unwrap(), "traffic.long-*.load");
        assert_eq!(out, ["17 %", "3"]);
        for key in ["traffic", "traffic.short", "traffic.short.load.x", "topology.k"] {
            let mut out = Vec::new();
            collect(&mut out, &table.parse().unwrap(), key);
            assert!(out.is_empty(), "{key}");
        }
    }
}
