//! Interface of the schemes.

use lowtide_schema::Part;

use crate::profile::{self, Assignment};
use crate::settings::config::Config;
use crate::switches::SwitchError;

/// A named bundle of switches.
#[derive(Debug)]
pub struct Scheme {
    /// Name as users type it.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The switches.
    pub settings: &'static [Assignment],
}

impl Part for Scheme {
    const WHAT: &'static str = "scheme";

    fn name(&self) -> &'static str {
        self.name
    }
}

impl Scheme {
    /// Sets the switches of this scheme; the rest of `config` is unchanged.
    ///
    /// # Errors
    /// The scheme sets a switch that does not exist, or a value that it does not accept.
    pub fn apply(&self, config: &mut Config) -> Result<(), SwitchError> {
        profile::apply(self.settings, config)
    }

    /// Returns the value that this scheme gives to `switch`, if it sets it.
    pub fn value(&self, switch: &str) -> Option<&'static str> {
        self.settings.iter().find(|a| a.switch == switch).map(|a| a.value)
    }
}
