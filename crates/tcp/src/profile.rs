//! Profiles: complete settings of a known stack or of the standards, with the source of each value.
//!
//! Contract: a profile is data, a list of switches in the syntax of scenario files. `rfc` is
//! [`Config::default`] with the sources of its values. `linux` is an unmodified Linux host, as far
//! as the switches can express it. The others are the DCTCP family: DCTCP is on, and they differ in
//! the switches in which papers and stacks differ. A scheme on top of a profile replaces the
//! switches that it sets, so Linux's DCTCP needs no profile: it is `linux` with the scheme `dctcp`.

mod freebsd;
mod linux;
mod rfc;
mod rfc8257;
mod sigcomm10;
#[cfg(test)]
mod tests;
mod thesis;

use alloc::string::String;
use alloc::vec::Vec;

use crate::settings::config::Config;
use crate::switches::{self, SwitchError};

/// One switch of a profile or scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// Name of the switch or parameter.
    pub switch: &'static str,
    /// The value in the syntax of scenario files.
    pub value: &'static str,
    /// Source of this value (`RFC 6298 §2.4`, `Linux TCP_RTO_MIN`).
    pub source: &'static str,
}

/// A named list of switches.
#[derive(Debug)]
pub struct Profile {
    /// The name in scenario files.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The switches that differ from [`Config::default`] or whose source is stated.
    pub settings: &'static [Assignment],
}

/// Every profile, by name.
pub static PROFILES: &[&Profile] = &[
    &freebsd::PROFILE,
    &linux::PROFILE,
    &rfc::PROFILE,
    &rfc8257::PROFILE,
    &sigcomm10::PROFILE,
    &thesis::MODIFIED,
    &thesis::ORIGINAL,
];

const fn set(switch: &'static str, value: &'static str, source: &'static str) -> Assignment {
    Assignment { switch, value, source }
}

/// Finds a profile by name.
pub fn find_profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().copied().find(|p| p.name == name)
}

impl Profile {
    /// Returns the complete configuration.
    pub fn config(&self) -> Result<Config, SwitchError> {
        let mut config = Config::default();
        self.apply(&mut config)?;
        Ok(config)
    }
    /// Sets the switches of this profile; the rest of `config` is unchanged.
    pub fn apply(&self, config: &mut Config) -> Result<(), SwitchError> {
        apply(self.settings, config)
    }
    /// Returns the source of this profile's value of `switch`, if it sets one.
    pub fn source(&self, switch: &str) -> Option<&'static str> {
        self.settings.iter().find(|a| a.switch == switch).map(|a| a.source)
    }
}

/// Sets every switch of `settings` in `config`.
pub(crate) fn apply(settings: &[Assignment], config: &mut Config) -> Result<(), SwitchError> {
    settings.iter().try_for_each(|a| switches::set_text(config, a.switch, a.value))
}

/// A switch in which two configurations differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiffRow {
    /// Name of the switch or parameter.
    pub switch: String,
    /// The value in the first configuration.
    pub a: String,
    /// The value in the second configuration.
    pub b: String,
}

/// Returns every setting in which `a` and `b` differ, in the order of [`switches::all`].
///
/// A parameter that was not set counts as its default. [`Profile::source`] gives the reasons.
pub fn diff(a: &Config, b: &Config) -> Vec<DiffRow> {
    use alloc::string::ToString;
    switches::all()
        .into_iter()
        .filter_map(|setting| {
            let (x, y) = (setting.get(a), setting.get(b));
            (x != y).then(|| DiffRow { switch: setting.name(), a: x.to_string(), b: y.to_string() })
        })
        .collect()
}
