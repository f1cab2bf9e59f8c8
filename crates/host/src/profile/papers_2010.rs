//! A server of the testbeds in papers of about 2010.

use lowtide_tcp::profile::set;
use lowtide_units::Duration;

use super::HostProfile;
use crate::clocks::clock::ClockSpec;
use crate::datapath::nic::NicSpec;

/// Registration.
pub static ENTRY: HostProfile = HostProfile {
    name: "papers-2010",
    summary: "a server of the DCTCP testbed: LSO, moderated interrupts, timers of 10 ms",
    nic: NicSpec { moderation: Duration::from_us(80), ..NicSpec::IDEAL },
    clock: ClockSpec::IDEAL,
    transport: &[
        set("tso-segments", "40", "DCTCP §3.5: bursts of as many as 30-40 packets at 10 Gbit/s"),
        set("delack-segments", "2", "DCTCP §3.1: m; two as in RFC 1122 §4.2.3.2"),
        set("rto-granularity", "10 ms", "DCTCP §4.2.1: the tick granularity of our system"),
    ],
    sources: &[set(
        "moderation",
        "80 us",
        "chosen, so that bursts have 30-40 packets at 10 Gbit/s: DCTCP §3.5 gives their size, and names interrupt moderation without a number",
    )],
    omits: "the delay of the stack, which is in the round-trip times that DCTCP gives (100 us and more) and so in the links of its scenarios; receive aggregation, which DCTCP does not mention; the phase of its ticks, for which `timer-tick = \"10 ms\"` is the knob",
};
