//! Interface of the profiles, and the assignments that schemes and host profiles share with them.

use lowtide_schema::Part;

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

impl Part for Profile {
    const WHAT: &'static str = "profile";

    fn name(&self) -> &'static str {
        self.name
    }
}

/// An assignment of `value` to `switch`; `source` is its reason.
pub const fn set(switch: &'static str, value: &'static str, source: &'static str) -> Assignment {
    Assignment { switch, value, source }
}

/// The assignments of `base` with the values of `changes`, each of which must be in `base`.
pub(super) const fn changed<const N: usize>(
    base: &[Assignment],
    changes: &[Assignment],
) -> [Assignment; N] {
    let mut out = [set("", "", ""); N];
    let (mut len, mut i) = (0, 0);
    while len < N {
        out[len] = base[len];
        len += 1;
    }
    while i < changes.len() {
        let mut at = 0;
        while !equal(base[at].switch.as_bytes(), changes[i].switch.as_bytes()) {
            at += 1;
        }
        out[at] = changes[i];
        i += 1;
    }
    out
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

impl Profile {
    /// Returns the complete configuration.
    ///
    /// # Errors
    /// As [`Profile::apply`].
    pub fn config(&self) -> Result<Config, SwitchError> {
        let mut config = Config::default();
        self.apply(&mut config)?;
        Ok(config)
    }

    /// Sets the switches of this profile; the rest of `config` is unchanged.
    ///
    /// # Errors
    /// The profile sets a switch that does not exist, or a value that it does not accept.
    pub fn apply(&self, config: &mut Config) -> Result<(), SwitchError> {
        apply(self.settings, config)
    }

    /// Returns the source of this profile's value of `switch`, if it sets one.
    pub fn source(&self, switch: &str) -> Option<&'static str> {
        self.settings.iter().find(|a| a.switch == switch).map(|a| a.source)
    }
}

/// Sets every switch of `settings` in `config`.
///
/// # Errors
/// A switch does not exist or does not accept its value.
pub fn apply(settings: &[Assignment], config: &mut Config) -> Result<(), SwitchError> {
    settings.iter().try_for_each(|a| switches::set_text(config, a.switch, a.value))
}
