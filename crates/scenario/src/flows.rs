//! References to flows: `7` is the flow of that number, `short` all flows of a traffic group,
//! `short.2` the third of them. Flows are numbered from zero, by group in the order of the file.

use std::ops::Range;

use lowtide_traffic::workload::Traffic;

use crate::error::suggest;
use crate::model::ScenarioModel;

/// Returns the traffic groups of a scenario with their numbers of flows. Connections of query
/// clients are numbered after the last flow, so groups of query clients come after all others.
pub(crate) fn groups(model: &ScenarioModel, made: &[Traffic]) -> Vec<(String, u32)> {
    let names = || model.traffic.iter().map(|g| g.name.clone());
    let flows = names().zip(made.iter().map(|t| t.flows.len() as u32));
    let asked = names().zip(made.iter().map(connections));
    let load = names().map(|name| format!("{name} (load)"));
    let load = load.zip(made.iter().map(|t| t.load.len() as u32));
    let some = |group: &(String, u32)| group.1 > 0;
    flows.filter(some).chain(load.filter(some)).chain(asked.filter(some)).collect()
}

/// Counts the connections of query clients.
fn connections(made: &Traffic) -> u32 {
    made.query_clients.iter().map(|a| a.connections() as u32).sum()
}

/// Resolves `text` to numbers of flows; `groups` are names and numbers of flows, in the order of
/// the run.
///
/// # Errors
/// Returns a message and help if there is no such group or flow.
pub fn resolve<S: AsRef<str>>(
    text: &str,
    groups: &[(S, u32)],
) -> Result<Range<u32>, (String, Option<String>)> {
    let total: u32 = groups.iter().map(|(_, n)| n).sum();
    let absent = |what: String, n: u32| {
        let have = match n {
            1 => "there is one, 0".to_owned(),
            _ => format!("there are {n}, 0 to {}", n.saturating_sub(1)),
        };
        (format!("there is no flow {what}"), Some(have))
    };
    if let Ok(number) = text.parse::<u32>() {
        return if number < total {
            Ok(number..number + 1)
        } else {
            Err(absent(number.to_string(), total))
        };
    }
    let (name, part) = text.rsplit_once('.').map_or((text, None), |(n, p)| (n, Some(p)));
    let mut first = 0;
    for (group, count) in groups {
        if group.as_ref() == name {
            let Some(part) = part else { return Ok(first..first + count) };
            return match part.parse::<u32>() {
                Ok(i) if i < *count => Ok(first + i..first + i + 1),
                Ok(i) => Err(absent(format!("{i} in `{name}`"), *count)),
                Err(_) => {
                    let help = format!("write `{name}`, `{name}.0`, or the flow's number");
                    Err((format!("`{text}` names no flow"), Some(help)))
                }
            };
        }
        first += count;
    }
    let names: Vec<&str> = groups.iter().map(|(n, _)| n.as_ref()).collect();
    Err((format!("no traffic group `{name}`"), suggest(name, &names)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_groups() {
        let groups = [("long", 2), ("short", 10)];
        let of = |text| resolve(text, &groups);
        assert_eq!(of("11"), Ok(11..12));
        assert_eq!(of("long"), Ok(0..2));
        assert_eq!(of("short"), Ok(2..12));
        assert_eq!(of("short.9"), Ok(11..12));
        let error = of("12").unwrap_err();
        assert_eq!(error, ("there is no flow 12".into(), Some("there are 12, 0 to 11".into())));
        assert_eq!(of("short.10").unwrap_err().0, "there is no flow 10 in `short`");
        assert!(of("shirt").unwrap_err().1.unwrap().contains("short"));
        assert_eq!(of("long.x").unwrap_err().0, "`long.x` names no flow");
    }
}
