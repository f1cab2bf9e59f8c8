//! What stands at one end of a pair: a scheme, a profile, or both, and switches over them.
//!
//! Contract: a name is `scheme`, `profile`, `profile/scheme`, each with `+switch=value` after it as
//! often as one likes. An end is a whole host: where it sends, its sender-side switches decide, where
//! it receives, its receiver-side ones; what belongs to the connection each end asks for itself.

use lowtide_scenario::Scenario;
use lowtide_tcp::Config;
use lowtide_tcp::profile::{PROFILES, find_profile};
use lowtide_tcp::scheme::{SCHEMES, Scheme, apply, find_scheme};
use lowtide_tcp::switches::{self, Side};
use serde::{Deserialize, Serialize};

use crate::error::LabError;

/// One end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// As it was written.
    pub name: String,
    profile: Option<String>,
    scheme: Option<String>,
    /// Table of the side, switch, value.
    settings: Vec<(&'static str, String, String)>,
}

/// A scheme that behaves on this side exactly as another one, which stands for both.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Same {
    /// The one that is left out.
    pub name: String,
    /// The one that stands for it.
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

impl End {
    /// Reads a name. Bundles of `scenario` are schemes too.
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
            let place = if find_scheme(base).is_some() || is_bundle() {
                &mut end.scheme
            } else if find_profile(base).is_some() {
                &mut end.profile
            } else {
                return Err(unknown(base));
            };
            if place.replace(base.to_owned()).is_some() {
                return Err(LabError::Question {
                    message: format!("`{name}` names two schemes or two profiles"),
                    help: Some("write `profile/scheme`, as `linux/dctcp`".to_owned()),
                });
            }
        }
        for part in parts {
            let Some((switch, value)) = part.split_once('=') else {
                return Err(LabError::Question {
                    message: format!("`+{part}` in `{name}` is not of the form `+switch=value`"),
                    help: Some("for instance `dctcp+cwr=never`".to_owned()),
                });
            };
            let mut probe = Config::default();
            switches::set_text(&mut probe, switch, value).map_err(|e| LabError::Question {
                message: format!("`{name}`: {e}"),
                help: Some(format!("`lowtide explain {switch}` says what it takes")),
            })?;
            let side = switches::find(switch).map_or(Side::Sender, |s| s.side());
            end.settings.push((table(side), switch.to_owned(), value.to_owned()));
        }
        Ok(end)
    }

    fn of_scheme(name: &str) -> Self {
        let name = name.to_owned();
        Self { name: name.clone(), profile: None, scheme: Some(name), settings: Vec::new() }
    }

    /// Gives the hosts of `group` this stack.
    pub(crate) fn put(&self, scenario: Scenario, group: &str) -> Result<Scenario, LabError> {
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
}

fn unknown(name: &str) -> LabError {
    let schemes: Vec<&str> = SCHEMES.iter().map(|s| s.name).collect();
    let profiles: Vec<&str> = PROFILES.iter().map(|p| p.name).collect();
    LabError::Question {
        message: format!("there is no scheme or profile `{name}`"),
        help: Some(format!(
            "schemes: {}; profiles: {}; or both, `profile/scheme`",
            schemes.join(", "),
            profiles.join(", ")
        )),
    }
}

/// Every registered scheme that says something about `side`, and those that are left out because
/// another one is the same there.
pub fn registered(side: Side) -> (Vec<End>, Vec<Same>) {
    let (mut ends, mut same) = (Vec::new(), Vec::new());
    let mut seen: Vec<(&str, Vec<String>)> = Vec::new();
    for scheme in SCHEMES.iter().filter(|s| speaks_of(s, side)) {
        let face = face(scheme, side);
        if let Some((first, _)) = seen.iter().find(|(_, f)| *f == face) {
            same.push(Same { name: scheme.name.to_owned(), as_: (*first).to_owned() });
        } else {
            ends.push(End::of_scheme(scheme.name));
            seen.push((scheme.name, face));
        }
    }
    (ends, same)
}

fn speaks_of(scheme: &Scheme, side: Side) -> bool {
    scheme.settings.iter().any(|a| switches::find(a.switch).is_some_and(|s| s.side() == side))
}

/// What the other end meets: every setting of this side and of the connection, over every profile.
fn face(scheme: &Scheme, side: Side) -> Vec<String> {
    let mut out = Vec::new();
    for profile in PROFILES {
        let mut config = profile.config().unwrap_or_default();
        // A scheme that a profile refuses says so when it is run.
        let _ = apply(scheme, &mut config);
        let shown = switches::all().into_iter();
        let shown = shown.filter(|s| s.side() == side || s.side() == Side::Connection);
        out.extend(shown.map(|s| format!("{}={}", s.name(), s.get(&config))));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str) -> Result<End, LabError> {
        End::parse(name, &Scenario::load("matrix").unwrap())
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
    fn what_is_no_name_is_refused_with_what_there_is() {
        let error = parse("dctpc").unwrap_err();
        assert!(matches!(&error, LabError::Question { help: Some(h), .. } if h.contains("dctcp")));
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
            lowtide_scenario::list().iter().find(|e| e.name == "matrix").unwrap().text
        );
        let scenario = Scenario::parse(&text, "mine.toml").unwrap();
        assert_eq!(End::parse("mine", &scenario).unwrap().scheme.as_deref(), Some("mine"));
    }

    #[test]
    fn every_scheme_is_on_each_side_itself_or_stood_for() {
        for side in [Side::Sender, Side::Receiver] {
            let (ends, same) = registered(side);
            for scheme in SCHEMES.iter().filter(|s| speaks_of(s, side)) {
                let own = ends.iter().any(|e| e.name == scheme.name);
                let stood_for = same.iter().any(|s| s.name == scheme.name);
                assert!(own != stood_for, "{}", scheme.name);
            }
            assert!(same.iter().all(|s| ends.iter().any(|e| e.name == s.as_)));
        }
        let names: Vec<String> = registered(Side::Sender).0.into_iter().map(|e| e.name).collect();
        assert!(["sack", "ecn", "dctcp"].iter().all(|n| names.iter().any(|x| x == n)));
    }
}
