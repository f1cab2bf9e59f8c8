//! Profiles: complete settings of a known stack or of the standards, each value with its source.
//!
//! Contract: a profile is data, a list of switches as people write them. `rfc` is
//! [`Config::default`] with the sources of its values; `linux` is what a Linux machine does as it
//! comes, as far as the switches can say it. The others are the DCTCP family: each has DCTCP on, with
//! the switches in which papers and stacks differ. A scheme over a profile replaces what it states, so
//! they need none; Linux's DCTCP is `linux` with the scheme `dctcp`.

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

use crate::config::Config;
use crate::switches::{self, SwitchError};

/// One switch of a profile or scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// Name of the switch or parameter.
    pub switch: &'static str,
    /// The value as people write it.
    pub value: &'static str,
    /// Why this value (`RFC 6298 §2.4`, `Linux TCP_RTO_MIN`).
    pub source: &'static str,
}

/// A named list of switches.
#[derive(Debug)]
pub struct Profile {
    /// Name as people write it.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// What differs from [`Config::default`], or what is worth a source.
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

/// The profile of that name.
pub fn find_profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().copied().find(|p| p.name == name)
}

impl Profile {
    /// The whole configuration.
    pub fn config(&self) -> Result<Config, SwitchError> {
        let mut config = Config::default();
        self.apply(&mut config)?;
        Ok(config)
    }
    /// Sets what this profile states; the rest of `config` stays.
    pub fn apply(&self, config: &mut Config) -> Result<(), SwitchError> {
        apply(self.settings, config)
    }
    /// Where this profile's value of `switch` comes from, if it states one.
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
    /// The first one's value.
    pub a: String,
    /// The second one's value.
    pub b: String,
}

/// Every setting in which `a` and `b` differ, in the order of [`switches::all`].
///
/// A parameter counts as its default where it was not set. [`Profile::source`] gives the reasons.
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
