//! Linux 7.2 with default sysctls: `linux` with Accurate ECN as Linux has it since 7.0.
//!
//! Sources are `include/net/tcp_ecn.h`, `tcp_input.c` and `tcp_output.c` of 7.2; Linux's own
//! packetdrill scripts of AccECN are the judge (docs/evidence/accecn.md).

use super::api::changed;
use super::{Assignment, Profile, linux, set};

/// Registration.
pub static ENTRY: Profile = Profile {
    name: "linux-7.2",
    summary: "Linux 7.2 with default settings: `linux` with Accurate ECN as since 7.0",
    settings: &SETTINGS,
};

const CHANGES: &[Assignment] =
    &[set("ect", "data-or-accecn", "tcp_ecn_send: INET_ECN_xmit on all segments with AccECN")];

static SETTINGS: [Assignment; linux::ENTRY.settings.len()] =
    changed(linux::ENTRY.settings, CHANGES);
