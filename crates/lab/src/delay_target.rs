//! Refuses a delay target that no path of the scenario can meet, and values that contradict.

use std::collections::BTreeSet;

use lowtide_scenario::{RunPlan, ScenarioError, ScenarioErrors};
use lowtide_tcp::cc::swift;
use lowtide_units::Duration;

use crate::paths::PathFinder;

/// Checks that the values of each Swift sender fit together, and that its target is above the base
/// round trips of its flows and answers, for the first seed of each point.
///
/// # Errors
/// One is not, or a run cannot be set up.
pub(crate) fn check(plan: &RunPlan) -> Result<(), ScenarioErrors> {
    let name = swift::ENTRY.name;
    let mut before = None;
    for run in plan.runs.iter().filter(|run| run.has_control(name)) {
        let case = (&run.scheme, &run.point);
        if before.replace(case) == Some(case) {
            continue;
        }
        let setup = run.setup()?;
        let flows = setup.flows.iter().map(|f| (f.src, f.dst));
        let answers =
            setup.query_clients.iter().flat_map(|a| a.servers.iter().map(|s| (*s, a.client)));
        let pairs: BTreeSet<(u32, u32)> = flows.chain(answers).collect();
        let mut paths = PathFinder::new(&setup.network);
        for (src, dst) in pairs {
            let config = |host: u32| setup.hosts.get(host as usize).map(|h| &h.config);
            let Some((sender, receiver)) = config(src).zip(config(dst)) else { continue };
            let values = sender.params.complete(name, swift::ENTRY.params);
            let Some(values) = values.ok().filter(|_| sender.cc == name) else { continue };
            if let Some([wrong, right]) = swift::contradiction(&values) {
                let message = format!("Swift at host {src} {wrong}");
                return Err(ScenarioError::plain(message, Some(right.to_owned())).into());
            }
            let mtu = u64::from(sender.mtu.min(receiver.mtu));
            let Some(path) = paths.between(src, dst) else { continue };
            let (target, base) = (swift::least_target(&values), path.round_trip(mtu));
            if target <= base {
                let us = |d: Duration| d.as_ps() as f64 / 1e6;
                let message = format!(
                    "Swift's target of {:.1} us is not above the base round trip of {:.1} us from \
                     host {src} to host {dst}: its window would fall to `min-cwnd`",
                    us(target),
                    us(base)
                );
                let help = format!(
                    "set `swift.base-target` above {:.1} us, with room for the queue that it keeps",
                    us(base)
                );
                return Err(ScenarioError::plain(message, Some(help)).into());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use lowtide_scenario::Scenario;

    use super::*;

    #[test]
    fn a_target_below_the_base_round_trip_is_refused() {
        let text = include_str!("../../../scenarios/first-light.toml");
        let with = |keys: &str| {
            let sender = format!("[transport.sender]\n{keys}\n");
            let text = text
                .replace("[transport.sender]\n", &sender)
                .replace("\"sack\", \"dctcp\"", "\"swift\", \"dctcp\"");
            check(&Scenario::parse(&text, "mine.toml").unwrap().expand().unwrap())
        };
        let check = |target: &str| with(&format!("swift.base-target = \"{target}\""));
        // 4 x 10 us, twice 1538 B and twice 90 B at 1 Gbit/s are 66.0 us; one hop adds 1 us.
        let error = check("65 us").unwrap_err().to_string();
        assert!(error.contains("target of 66.0 us"), "{error}");
        assert!(error.contains("base round trip of 66.0 us from host 0 to host 2"), "{error}");
        check("66 us").unwrap();
        for (keys, message) in [
            ("swift.max-mdf = \"3/2\"", "takes more than the window"),
            ("swift.fs-max-cwnd = \"1/10\"", "scales its target over no windows"),
            ("swift.endpoint-target = \"0 s\"", "allows no delay in the hosts"),
        ] {
            let error = with(&format!("swift.base-target = \"80 us\"\n{keys}")).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
        }
    }
}
