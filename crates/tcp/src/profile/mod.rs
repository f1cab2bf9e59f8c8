//! Profiles: complete settings of a known stack or of the standards, with the source of each value.
//!
//! Contract: a profile is data, a list of switches in the syntax of scenario files. `rfc` is
//! [`Config::default`] with the sources of its values. `linux` is an unmodified Linux host, as far
//! as the switches can express it; `linux-6.1` and `linux-7.2` are an older and a newer one with
//! what differs. `sigcomm10`, `rfc8257`, `freebsd` and the two of the thesis are the DCTCP family:
//! DCTCP is on, and they differ where papers and stacks differ. `ns-2`, `inet`, `windows-2008r2`,
//! `freebsd-10`, `linux-3.13` and `ns-3` are the TCPs below the experiments of papers, with the
//! file and revision of each value (docs/evidence/tools). A scheme on top of a profile replaces the
//! switches that it sets, so Linux's DCTCP needs no profile: it is `linux` with `dctcp`.

mod api;
#[cfg(test)]
mod tests;
mod thesis;
// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod freebsd;
pub mod freebsd_10;
pub mod inet;
pub mod linux;
pub mod linux_3_13;
pub mod linux_6_1;
pub mod linux_7_2;
pub mod ns_2;
pub mod ns_3;
pub mod rfc;
pub mod rfc8257;
pub mod sigcomm10;
pub mod thesis_modified;
pub mod thesis_original;
pub mod windows_2008r2;
// lowtide:registry end

use alloc::string::String;
use alloc::vec::Vec;

use lowtide_schema::Registry;

pub use api::{Assignment, Profile, apply, set};

use crate::settings::config::Config;
use crate::switches;

/// All profiles, sorted by name, then those that other crates registered.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: Registry<Profile> = Registry::new(&[
    &freebsd::ENTRY,
    &freebsd_10::ENTRY,
    &inet::ENTRY,
    &linux::ENTRY,
    &linux_3_13::ENTRY,
    &linux_6_1::ENTRY,
    &linux_7_2::ENTRY,
    &ns_2::ENTRY,
    &ns_3::ENTRY,
    &rfc::ENTRY,
    &rfc8257::ENTRY,
    &sigcomm10::ENTRY,
    &thesis_modified::ENTRY,
    &thesis_original::ENTRY,
    &windows_2008r2::ENTRY,
]);
// lowtide:registry list end

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
    switches::all()
        .into_iter()
        .filter_map(|setting| {
            let (a, b) = (setting.text(a), setting.text(b));
            (a != b).then(|| DiffRow { switch: setting.name(), a, b })
        })
        .collect()
}
