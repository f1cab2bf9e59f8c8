//! The value of an open parameter in the experiments as they are: our choice.

use lowtide_scenario::glob_matches;
use toml::{Table, Value};

use super::open::{OpenParameter, ParameterDomain};
use super::setting::Setting;
use super::subject::InferredExperiment;
use crate::error::PaperError;

/// Values that experiments do not set and that no run of theirs has.
const NOT_SET: &str = "not set";

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
    Ok(match &values[..] {
        [] => NOT_SET.to_owned(),
        [(value, _)] => value.clone(),
        several => {
            let of = |(value, rows): &(String, Vec<&str>)| format!("{value} ({})", rows.join(", "));
            several.iter().map(of).collect::<Vec<_>>().join("; ")
        }
    })
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
