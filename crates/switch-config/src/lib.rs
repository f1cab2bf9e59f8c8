//! Switch configuration from `[switch]` of a scenario, one module per operating system: `sonic`,
//! `cumulus`, `nxos`, `junos`. SONiC's tables are also read back into `[switch]`.
//!
//! Contract: [`Settings`] is what a scenario says of one queue. A module prints only what the
//! documents of [`Vendor::sources`] define. A setting that a switch lacks is an error that names
//! the key. A setting that it rounds, or that is not exported, is a note of the [`Configuration`].

mod configuration;
mod cumulus;
mod error;
mod junos;
mod nxos;
mod settings;
mod sonic;
mod switch_table;
mod vendor;

pub use configuration::{Configuration, Content, Placement};
pub use error::ConfigError;
pub use settings::{Buffer, Marking, NotEct, Settings, Signal, Thresholds};
pub use sonic::{Import, import as import_sonic, merge as merge_sonic};
pub use switch_table::{from_switch, to_switch};
pub use vendor::Vendor;

/// Returns the configuration of a switch of `vendor`.
///
/// # Errors
/// The switch cannot express a setting, or has no such port or queue.
pub fn export(
    vendor: Vendor,
    settings: &Settings,
    place: &Placement,
) -> Result<Configuration, ConfigError> {
    let export = match vendor {
        Vendor::Sonic => sonic::export,
        Vendor::Cumulus => cumulus::export,
        Vendor::Nxos => nxos::export,
        Vendor::Junos => junos::export,
    };
    export(settings, place)
}
