//! A host without delays and offloads.

use lowtide_tcp::profile::set;

use super::HostProfile;
use crate::clocks::clock::ClockSpec;
use crate::datapath::nic::NicSpec;

/// Registration.
pub static ENTRY: HostProfile = HostProfile {
    name: "ideal",
    summary: "packets leave one by one and arrive at once, as in most simulators",
    nic: NicSpec::IDEAL,
    clock: ClockSpec::IDEAL,
    transport: &[set("tso-segments", "1", "no segmentation offload")],
    sources: &[],
    omits: "everything",
};
