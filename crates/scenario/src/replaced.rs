//! Switches of a scheme that the settings of a run replace.
//!
//! Contract: a run is named after its scheme (or profile) regardless of other settings. Each switch
//! that distinguishes schemes and whose effective value differs from the scheme's is listed here,
//! so that no result passes for the scheme's own. Swept switches are not listed: their points
//! contain the value.

use std::collections::BTreeSet;

use lowtide_tcp::{Config, profile, switches};

use crate::model::{HostGroup, ScenarioModel, SpannedName};
use crate::run_config::RunConfig;
use crate::sweep::SweepAxis;
use crate::transport_config;

/// A switch whose value differs from that of the scheme that names the runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplacedSwitch {
    /// Label of the runs: a scheme, a bundle or a profile.
    pub scheme: String,
    /// `cc`, `ecn`, `feedback`, `ack` or `delay-option`.
    pub switch: &'static str,
    /// Value in the scheme; for a host group with its own scheme, in that one.
    pub scheme_value: String,
    /// Value in the runs.
    pub value: String,
    /// Host groups with that value; empty if all have it.
    pub hosts: Vec<String>,
}

/// Endpoints that a switch applies to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Sends,
    Receives,
    Both,
}

/// Switches that identify the transport.
const SWITCHES: [(&str, Role); 5] = [
    ("cc", Role::Sends),
    ("ecn", Role::Both),
    ("feedback", Role::Sends),
    ("ack", Role::Receives),
    ("delay-option", Role::Both),
];

/// Lists the switches that the settings of a run replace; `compared` is the compared scheme.
pub(crate) fn of(
    run_config: &RunConfig,
    compared: Option<&SpannedName>,
    axes: &[SweepAxis],
) -> Vec<ReplacedSwitch> {
    let model = &run_config.model;
    let expected: Vec<Option<Config>> = model
        .hosts
        .iter()
        .zip(&run_config.configs.groups)
        .map(|(group, config)| scheme_config(model, group, compared, config))
        .collect();
    let value = |config: &Config, switch| switches::get_text(config, switch).unwrap_or_default();
    let mut roles: Option<Roles> = None;
    let mut out: Vec<ReplacedSwitch> = Vec::new();
    for (switch, role) in SWITCHES {
        let swept = |path: &String| path.rsplit('.').next() == Some(switch);
        if axes.iter().flat_map(|axis| &axis.paths).any(swept) {
            continue;
        }
        let groups =
            || model.hosts.iter().zip(&run_config.configs.groups).zip(&expected).enumerate();
        let differs = |config: &Config, expected: &Option<Config>| {
            expected.as_ref().is_some_and(|e| value(e, switch) != value(config, switch))
        };
        if !groups().any(|(_, ((_, config), expected))| differs(config, expected)) {
            continue;
        }
        // Traffic is generated only if needed; otherwise a sweep would generate it for each point.
        let roles = roles.get_or_insert_with(|| Roles::of(run_config));
        let concerned = groups().filter(|(index, _)| roles.has(*index, role));
        let mut all = 0;
        let mut found: Vec<ReplacedSwitch> = Vec::new();
        for (_, ((group, config), expected)) in concerned {
            all += 1;
            let Some(expected) = expected.as_ref().filter(|_| differs(config, expected)) else {
                continue;
            };
            let (named, value) = (value(expected, switch), value(config, switch));
            match found.iter_mut().find(|r| r.value == value && r.scheme_value == named) {
                Some(known) => known.hosts.push(group.name.clone()),
                None => found.push(ReplacedSwitch {
                    scheme: run_config.scheme.clone(),
                    switch,
                    scheme_value: named,
                    value,
                    hosts: vec![group.name.clone()],
                }),
            }
        }
        for replaced in found.iter_mut().filter(|r| r.hosts.len() == all) {
            replaced.hosts.clear();
        }
        out.append(&mut found);
    }
    out
}

/// Returns the configuration of a group with every switch of its scheme set as in the scheme, or
/// else that of its profile; `None` if neither is named.
fn scheme_config(
    model: &ScenarioModel,
    group: &HostGroup,
    compared: Option<&SpannedName>,
    config: &Config,
) -> Option<Config> {
    let (general, own) = (&model.transport, &group.stack);
    if let Some(named) = own.scheme.as_ref().or(compared).or(general.scheme.as_ref()) {
        let mut expected = config.clone();
        transport_config::apply_scheme(model, Some(named), &mut expected).ok()?;
        return Some(expected);
    }
    let named = own.profile.as_ref().or(general.profile.as_ref())?;
    profile::REGISTRY.find(&named.name)?.config().ok()
}

/// The host groups that send data, and those that receive data.
struct Roles {
    sends: BTreeSet<u16>,
    receives: BTreeSet<u16>,
}

impl Roles {
    fn of(run_config: &RunConfig) -> Self {
        let setup = run_config.setup(run_config.model.run.first_seed);
        let mut roles = Self { sends: BTreeSet::new(), receives: BTreeSet::new() };
        let group = |host: u32| run_config.model.group_of(host).map(|(index, _)| index);
        for flow in &setup.flows {
            roles.sends.extend(group(flow.src));
            roles.receives.extend(group(flow.dst));
        }
        // Responses are the data of a query client's connections.
        for client in &setup.query_clients {
            roles.sends.extend(client.servers.iter().filter_map(|server| group(*server)));
            roles.receives.extend(group(client.client));
        }
        roles
    }

    fn has(&self, group: usize, role: Role) -> bool {
        let group = group as u16;
        let (sends, receives) = (self.sends.contains(&group), self.receives.contains(&group));
        match role {
            Role::Sends => sends,
            Role::Receives => receives,
            Role::Both => sends || receives,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn replaced(name: &str, set: &[(&str, &str)]) -> Vec<String> {
        let mut scenario = Scenario::load(name).unwrap();
        for (key, value) in set {
            scenario = scenario.with_override(key, value).unwrap();
        }
        let plan = scenario.expand().unwrap();
        let text = |r: &super::ReplacedSwitch| {
            let hosts = r.hosts.join("+");
            format!("{} {}={} for {} at {hosts}", r.scheme, r.switch, r.value, r.scheme_value)
        };
        plan.replaced.iter().map(text).collect()
    }

    #[test]
    fn switches_that_an_override_replaces_are_listed() {
        assert_eq!(replaced("first-light", &[]), Vec::<String>::new());
        assert_eq!(
            replaced("first-light", &[("transport.sender.cc", "cubic")]),
            ["sack cc=cubic for newreno at ", "dctcp cc=cubic for dctcp at "]
        );
        // Receivers send no data, so their congestion control has no effect.
        assert_eq!(
            replaced("first-light", &[("hosts.receivers.sender.cc", "cubic")]),
            Vec::<String>::new()
        );
        let off = [("hosts.receivers.connection.ecn", "off"), ("run.allow-mismatch", "true")];
        assert_eq!(replaced("first-light", &off), ["dctcp ecn=off for rfc3168 at receivers"]);
    }

    #[test]
    fn a_swept_switch_is_not_listed() {
        let scenario = Scenario::load("first-light").unwrap();
        let values = ["newreno", "cubic"].map(str::to_owned);
        let plan = scenario.with_sweep("transport.sender.cc", &values).unwrap().expand().unwrap();
        assert_eq!(plan.replaced, []);
    }

    #[test]
    fn no_embedded_scenario_replaces_switches_of_its_schemes() {
        for scenario in crate::embedded_scenarios() {
            let found = replaced(scenario.name, &[]);
            assert_eq!(found, Vec::<String>::new(), "{}", scenario.name);
        }
    }
}
