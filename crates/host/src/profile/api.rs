//! Interface of the host profiles.

use lowtide_schema::Part;
use lowtide_tcp::profile::{self, Assignment};
use lowtide_tcp::switches::SwitchError;

use crate::clocks::clock::ClockSpec;
use crate::datapath::nic::NicSpec;
use crate::setup::HostSetup;

/// A named kind of host.
#[derive(Debug)]
pub struct HostProfile {
    /// Name in user notation.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The stages between TCP and the line.
    pub nic: NicSpec,
    /// Its clock.
    pub clock: ClockSpec,
    /// TCP switches that its hardware determines, each with its source.
    pub transport: &'static [Assignment],
    /// Sources of the values of `nic` and `clock`: the knob, its value, its source.
    pub sources: &'static [Assignment],
    /// Features of such a host that this profile lacks.
    pub omits: &'static str,
}

impl Part for HostProfile {
    const WHAT: &'static str = "host profile";

    fn name(&self) -> &'static str {
        self.name
    }
}

impl HostProfile {
    /// Applies the profile to `host`: its NIC, its clock and its TCP switches.
    ///
    /// # Errors
    /// The profile sets a switch that does not exist, or a value that it does not accept.
    pub fn apply(&self, host: &mut HostSetup) -> Result<(), SwitchError> {
        (host.nic, host.clock) = (self.nic, self.clock);
        profile::apply(self.transport, &mut host.config)
    }
}
