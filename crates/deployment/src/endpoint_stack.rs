//! The stack at one endpoint of a pair: a scheme, a profile, or both, with overriding switches.
//!
//! Contract: a name is `scheme`, `profile` or `profile/scheme`, each followed by any number of
//! `+switch=value`. If no scheme has the name, it selects the congestion control or the
//! acknowledgement policy of that name. New modules are thus usable before a scheme names them. An
//! endpoint is a whole host. Its sender-side switches apply where it sends, its receiver-side ones
//! where it receives; each endpoint requests connection features for itself.

use lowtide_scenario::Scenario;
use lowtide_tcp::profile::{self, Profile};
use lowtide_tcp::scheme::{self, Scheme};
use lowtide_tcp::switches::{self, Side};
use lowtide_tcp::{Config, NotSimulated, ack, cc};
use serde::{Deserialize, Serialize};

use lowtide_lab::LabError;

/// The stack of one endpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndpointStack {
    /// The name as written.
    pub name: String,
    profile: Option<String>,
    scheme: Option<String>,
    /// Table of the side, switch, value.
    settings: Vec<(&'static str, String, String)>,
}

/// A scheme that behaves on this side exactly like another one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EquivalentScheme {
    /// The scheme that is omitted.
    pub name: String,
    /// The scheme that represents it.
    #[serde(rename = "as")]
    pub as_: String,
}

/// The table of a side in scenario files.
const fn table(side: Side) -> &'static str {
    match side {
        Side::Sender => "sender",
        Side::Receiver => "receiver",
        Side::Connection => "connection",
    }
}

impl EndpointStack {
    /// Parses a name. Bundles of `scenario` are schemes too.
    pub fn parse(name: &str, scenario: &Scenario) -> Result<Self, LabError> {
        let mut parts = name.split('+').map(str::trim);
        let mut end = Self {
            name: name.trim().to_owned(),
            profile: None,
            scheme: None,
            settings: Vec::new(),
        };
        for base in parts.next().unwrap_or_default().split('/').map(str::trim) {
            let is_bundle = || {
                let base_of = format!("compare.bundles.{base}.base");
                scenario.clone().with_override(&base_of, "sack").is_ok()
            };
            let place = if scheme::REGISTRY.find(base).is_some() || is_bundle() {
                &mut end.scheme
            } else if profile::REGISTRY.find(base).is_some() {
                &mut end.profile
            } else {
                let bare = module_switches(base);
                if bare.is_empty() || !end.settings.is_empty() {
                    return Err(unknown(base));
                }
                end.settings = bare;
                continue;
            };
            if place.replace(base.to_owned()).is_some() {
                return Err(LabError::InvalidRequest {
                    message: format!("`{name}` names two schemes or two profiles"),
                    help: Some("write `profile/scheme`, as `linux/dctcp`".to_owned()),
                });
            }
        }
        for part in parts {
            let Some((switch, value)) = part.split_once('=') else {
                return Err(LabError::InvalidRequest {
                    message: format!("`+{part}` in `{name}` is not of the form `+switch=value`"),
                    help: Some("for instance `dctcp+cwr=never`".to_owned()),
                });
            };
            let mut probe = Config::default();
            switches::set_text(&mut probe, switch, value).map_err(|e| {
                LabError::InvalidRequest {
                    message: format!("`{name}`: {e}"),
                    help: Some(format!("`lowtide explain {switch}` lists its values")),
                }
            })?;
            let side = switches::find(switch).map_or(Side::Sender, |s| s.side());
            end.settings.push((table(side), switch.to_owned(), value.to_owned()));
        }
        Ok(end)
    }

    fn from_scheme(name: &str) -> Self {
        let name = name.to_owned();
        Self { name: name.clone(), profile: None, scheme: Some(name), settings: Vec::new() }
    }

    fn from_module(name: &str) -> Self {
        Self { name: name.to_owned(), profile: None, scheme: None, settings: module_switches(name) }
    }

    /// Its configuration over `profile`.
    fn config(&self, profile: &Profile) -> Config {
        let mut config = profile.config().unwrap_or_default();
        // Settings that a profile rejects are also rejected when the scenario is run.
        if let Some(scheme) = self.scheme.as_deref().and_then(|s| scheme::REGISTRY.find(s)) {
            let _ = scheme.apply(&mut config);
        }
        for (_, switch, value) in &self.settings {
            let _ = switches::set_text(&mut config, switch, value);
        }
        config
    }

    /// Applies this stack to the hosts of `group`.
    pub(crate) fn apply_to(&self, scenario: Scenario, group: &str) -> Result<Scenario, LabError> {
        let mut out = scenario;
        if let Some(profile) = &self.profile {
            out = out.with_override(&format!("hosts.{group}.profile"), profile)?;
        }
        if let Some(scheme) = &self.scheme {
            out = out.with_override(&format!("hosts.{group}.scheme"), scheme)?;
        }
        for (side, switch, value) in &self.settings {
            out = out.with_override(&format!("hosts.{group}.{side}.{switch}"), value)?;
        }
        Ok(out)
    }

    /// Applies this stack to the hosts of `group` as [`Self::apply_to`] does, with precedence over
    /// switches that the scenario sets for the group. A bundle has no such precedence.
    pub(crate) fn impose_on(&self, scenario: Scenario, group: &str) -> Result<Scenario, LabError> {
        let mut out = scenario;
        let scheme = self.scheme.as_deref().and_then(|name| scheme::REGISTRY.find(name));
        for set in scheme.into_iter().flat_map(|scheme| scheme.settings) {
            let side = switches::find(set.switch).map_or(Side::Sender, |s| s.side());
            let key = format!("hosts.{group}.{}.{}", table(side), set.switch);
            out = out.with_override(&key, set.value)?;
        }
        self.apply_to(out, group)
    }

    /// Rejects a bundle that sets keys besides the transport: it would do so only when compared.
    pub(crate) fn refuse_bundle_keys(&self, scenario: &Scenario) -> Result<(), LabError> {
        let file: Option<toml::Table> = scenario.text().parse().ok();
        let bundles = file.as_ref().and_then(|t| t.get("compare")?.get("bundles"));
        let Some(name) = &self.scheme else { return Ok(()) };
        if bundles.and_then(|b| b.get(name)?.get("set")).is_none() {
            return Ok(());
        }
        Err(LabError::InvalidRequest {
            message: format!(
                "the bundle `{name}` sets other keys of the scenario, which some hosts cannot \
                 have alone"
            ),
            help: Some("set these keys with -s, and remove its table `set`".to_owned()),
        })
    }

    /// Moves the hosts of the deployment of `scenario` to this stack.
    pub(crate) fn deploy(&self, scenario: Scenario) -> Result<Scenario, LabError> {
        if let Some(profile) = &self.profile {
            return Err(LabError::InvalidRequest {
                message: format!(
                    "`{}` names the profile `{profile}`, but moved hosts keep their profile",
                    self.name
                ),
                help: Some("name a scheme with switches, as `dctcp+delack-segments=1`".to_owned()),
            });
        }
        let mut out = scenario;
        if let Some(scheme) = &self.scheme {
            out = out.with_override("deployment.to", scheme)?;
        }
        for (side, switch, value) in &self.settings {
            out = out.with_override(&format!("deployment.{side}.{switch}"), value)?;
        }
        Ok(out)
    }
}

fn unknown(name: &str) -> LabError {
    if let Some(absent) = NotSimulated::find(name) {
        return LabError::InvalidRequest { message: absent.sentence.to_owned(), help: None };
    }
    LabError::InvalidRequest {
        message: format!("there is no scheme or profile `{name}`"),
        help: Some(format!(
            "schemes: {}; profiles: {}; or both, `profile/scheme`",
            scheme::REGISTRY.names().join(", "),
            profile::REGISTRY.names().join(", ")
        )),
    }
}

/// The switches of a host that runs the congestion control or policy `name`, which no scheme is
/// named after.
fn module_switches(name: &str) -> Vec<(&'static str, String, String)> {
    let (control, policy) = (cc::REGISTRY.find(name), ack::REGISTRY.find(name));
    let mut out = Vec::new();
    if control.is_some() {
        out.push(("sender", "cc".to_owned(), name.to_owned()));
    }
    if policy.is_some() {
        out.push(("receiver", "ack".to_owned(), name.to_owned()));
    }
    if policy.is_some() || control.is_some_and(|e| e.requires.ecn) {
        out.push(("connection", "ecn".to_owned(), "rfc3168".to_owned()));
    }
    out
}

/// Returns every registered scheme that configures `side`, then the congestion controls (or
/// policies) that no scheme runs; and the schemes omitted as equivalent to another one.
pub fn registered(side: Side) -> (Vec<EndpointStack>, Vec<EquivalentScheme>) {
    let (switch, names) = match side {
        Side::Receiver => ("ack", ack::REGISTRY.names()),
        _ => ("cc", cc::REGISTRY.names()),
    };
    let runs = |s: &Scheme, name: &str| s.name == name || s.value(switch) == Some(name);
    let alone = names.into_iter().filter(|n| !scheme::REGISTRY.all().any(|s| runs(s, n)));
    let schemes = scheme::REGISTRY
        .all()
        .filter(|s| configures_side(s, side))
        .map(|s| EndpointStack::from_scheme(s.name));
    let (mut ends, mut same) = (Vec::new(), Vec::new());
    let mut seen: Vec<(String, Vec<String>)> = Vec::new();
    for end in schemes.chain(alone.map(EndpointStack::from_module)) {
        let face = observable_settings(&end, side);
        if let Some((first, _)) = seen.iter().find(|(_, f)| *f == face) {
            same.push(EquivalentScheme { name: end.name, as_: first.clone() });
        } else {
            seen.push((end.name.clone(), face));
            ends.push(end);
        }
    }
    (ends, same)
}

fn configures_side(scheme: &Scheme, side: Side) -> bool {
    scheme.settings.iter().any(|a| switches::find(a.switch).is_some_and(|s| s.side() == side))
}

/// The observable behaviour: every setting of this side and of the connection, over every profile.
fn observable_settings(end: &EndpointStack, side: Side) -> Vec<String> {
    let mut shown = switches::all();
    shown.retain(|s| s.side() == side || s.side() == Side::Connection);
    let configs: Vec<Config> = profile::REGISTRY.all().map(|p| end.config(p)).collect();
    let values = |c: &Config| shown.iter().map(|s| s.text(c)).collect::<Vec<_>>();
    configs.iter().flat_map(values).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str) -> Result<EndpointStack, LabError> {
        EndpointStack::parse(name, &Scenario::load("matrix").unwrap())
    }

    #[test]
    fn names_are_schemes_profiles_and_switches() {
        let end = parse("linux/dctcp+cwr=never+delack-segments=1").unwrap();
        assert_eq!((end.profile.as_deref(), end.scheme.as_deref()), (Some("linux"), Some("dctcp")));
        let sides: Vec<&str> = end.settings.iter().map(|s| s.0).collect();
        assert_eq!(sides, ["sender", "receiver"]);
        let end = parse("rfc").unwrap();
        assert_eq!((end.profile.as_deref(), end.scheme), (Some("rfc"), None));
    }

    #[test]
    fn unknown_names_are_rejected_with_the_known_ones() {
        let error = parse("dctpc").unwrap_err();
        assert!(
            matches!(&error, LabError::InvalidRequest { help: Some(h), .. } if h.contains("dctcp"))
        );
        assert!(parse("dctcp/ecn").unwrap_err().to_string().contains("two schemes"));
        assert!(parse("dctcp+cwr").unwrap_err().to_string().contains("+switch=value"));
        assert!(parse("dctcp+cwr=sometimes").unwrap_err().to_string().contains("cwr"));
        assert!(parse("dctcp+cvr=never").unwrap_err().to_string().contains("`cwr`"));
        assert!(parse("").is_err());
    }

    #[test]
    fn bundles_of_the_file_are_schemes() {
        let text = format!(
            "{}\n[compare.bundles.mine]\nbase = \"dctcp\"\n",
            lowtide_scenario::embedded_scenarios()
                .iter()
                .find(|e| e.name == "matrix")
                .unwrap()
                .text
        );
        let scenario = Scenario::parse(&text, "mine.toml").unwrap();
        assert_eq!(
            EndpointStack::parse("mine", &scenario).unwrap().scheme.as_deref(),
            Some("mine")
        );
    }

    #[test]
    fn a_congestion_control_without_scheme_is_a_sender() {
        let end = parse("newreno").unwrap();
        assert_eq!((end.scheme.as_deref(), end.settings.len()), (None, 1));
        let config = end.config(&profile::rfc::ENTRY);
        assert_eq!((config.cc, module_switches("no-such-file").len()), ("newreno", 0));
        assert_eq!(parse("rfc/newreno+cut=per-window").unwrap().settings.len(), 2);
    }

    #[test]
    fn everything_registered_is_listed_or_has_an_equivalent() {
        for (side, files) in
            [(Side::Sender, cc::REGISTRY.names()), (Side::Receiver, ack::REGISTRY.names())]
        {
            let (ends, same) = registered(side);
            let schemes =
                scheme::REGISTRY.all().filter(|s| configures_side(s, side)).map(|s| s.name);
            for name in schemes {
                let own = ends.iter().any(|e| e.name == name);
                assert!(own != same.iter().any(|s| s.name == name), "{name}");
            }
            assert!(same.iter().all(|s| ends.iter().any(|e| e.name == s.as_)));
            for file in files {
                let configs: Vec<Config> =
                    ends.iter().map(|e| e.config(&profile::rfc::ENTRY)).collect();
                let runs = |c: &Config| [c.cc, c.ack].contains(&file);
                assert!(configs.iter().any(runs), "{file} is nowhere");
            }
        }
        let names: Vec<String> = registered(Side::Sender).0.into_iter().map(|e| e.name).collect();
        assert!(["sack", "ecn", "dctcp"].iter().all(|n| names.iter().any(|x| x == n)), "{names:?}");
    }
}
