//! Host profiles: NIC and clock of known kinds of hosts, as data.
//!
//! Contract: a profile replaces a host's NIC and clock, and sets the TCP switches that depend on
//! its hardware (segmentation offload, timer tick); nothing else of TCP. `ideal` is the default.
//! [`HostProfile::omits`] says what a profile leaves out, and why.

use lowtide_tcp::profile::Assignment;
use lowtide_tcp::switches::{self, SwitchError};
use lowtide_units::{Bytes, Duration};

use crate::clocks::clock::ClockSpec;
use crate::datapath::nic::{AggregationSpec, NicSpec};
use crate::datapath::stack::{StackDelay, StackJitter, StackSpec};
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

/// Every host profile, by name.
pub static HOST_PROFILES: &[&HostProfile] = &[&IDEAL, &LINUX, &PAPERS_2010];

/// Returns the host profile with that name.
pub fn find_host_profile(name: &str) -> Option<&'static HostProfile> {
    HOST_PROFILES.iter().copied().find(|p| p.name == name)
}

impl HostProfile {
    /// Applies the profile to `host`: its NIC, its clock and its TCP switches.
    pub fn apply(&self, host: &mut HostSetup) -> Result<(), SwitchError> {
        (host.nic, host.clock) = (self.nic, self.clock);
        self.transport
            .iter()
            .try_for_each(|a| switches::set_text(&mut host.config, a.switch, a.value))
    }
}

const fn set(switch: &'static str, value: &'static str, source: &'static str) -> Assignment {
    Assignment { switch, value, source }
}

const NO_DELAY: StackDelay = StackDelay { constant: Duration::ZERO, jitter: StackJitter::None };

/// No offload, no moderation, no delay.
const BARE: NicSpec = NicSpec {
    stack: StackSpec { send: NO_DELAY, receive: NO_DELAY },
    bucket: None,
    moderation: Duration::ZERO,
    aggregation: None,
    tsq_limit: None,
};

static IDEAL: HostProfile = HostProfile {
    name: "ideal",
    summary: "packets leave one by one and arrive at once, as in most simulators",
    nic: BARE,
    clock: ClockSpec::IDEAL,
    transport: &[set("tso-segments", "1", "no segmentation offload")],
    sources: &[],
    omits: "everything",
};

static PAPERS_2010: HostProfile = HostProfile {
    name: "papers-2010",
    summary: "a server of the DCTCP testbed: LSO, moderated interrupts, timers of 10 ms",
    nic: NicSpec { moderation: Duration::from_us(80), ..BARE },
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

static LINUX: HostProfile = HostProfile {
    name: "linux",
    summary: "Linux 6.18 with a common NIC: TSO and GRO of 64 KB, interrupts 8 us apart",
    nic: NicSpec {
        moderation: Duration::from_us(8),
        aggregation: Some(AggregationSpec {
            interval: Duration::ZERO,
            max_bytes: Bytes::new(65_000),
        }),
        ..BARE
    },
    clock: ClockSpec::IDEAL,
    transport: &[
        set(
            "tso-segments",
            "45",
            "sk_gso_max_size: 64 KiB less MAX_TCP_HEADER, in segments of 1448 B",
        ),
        set("rto-granularity", "4 ms", "one jiffy at CONFIG_HZ = 250"),
    ],
    sources: &[
        set(
            "moderation",
            "8 us",
            "mlx5e: MLX5E_PARAMS_DEFAULT_RX_CQ_MODERATION_USEC_FROM_CQE; other drivers have 3 us to 50 us",
        ),
        set(
            "aggregate",
            "0 s",
            "net.core gro_flush_timeout = 0: GRO ends with the poll that it began in",
        ),
        set("aggregate-size", "65000 B", "GRO_LEGACY_MAX_SIZE, 64 KiB with headers"),
    ],
    omits: "TSO autosizing, which changes nothing here: tcp_tso_rtt_log = 9 allows 64 KB below a round trip of 512 us at any rate; adaptive moderation (DIM); the moderation's limit of 32 packets; the wait for more ACKs before a burst (tcp_tso_should_defer), for which `tso-defer = 3` is the switch; TCP small queues, whose limit follows a pacing rate: `tsq-limit` is the knob; the delay of the stack, for which no public figure holds in general (DX Table I has about 100 us under load): `stack` is the knob",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_found_by_name_in_order_and_every_value_has_a_source() {
        let names: Vec<&str> = HOST_PROFILES.iter().map(|p| p.name).collect();
        assert_eq!(names, ["ideal", "linux", "papers-2010"]);
        for profile in HOST_PROFILES {
            assert!(std::ptr::eq(*profile, find_host_profile(profile.name).expect("itself")));
            let all = profile.transport.iter().chain(profile.sources);
            assert!(all.clone().all(|a| a.source.len() > 5), "{}", profile.name);
            let stated = |knob: &str| profile.sources.iter().any(|a| a.switch == knob);
            assert_eq!(stated("moderation"), profile.nic.moderation > Duration::ZERO);
            assert_eq!(stated("aggregate"), profile.nic.aggregation.is_some());
        }
        assert!(find_host_profile("windows").is_none());
    }

    #[test]
    fn a_profile_sets_only_its_own_switches() {
        let fresh = HostSetup::default();
        let mut host = HostSetup::default();
        for profile in HOST_PROFILES {
            profile.apply(&mut host).expect("switches that exist");
            assert_eq!((host.nic, host.clock), (profile.nic, profile.clock));
            for a in profile.transport {
                assert_eq!(switches::get_text(&host.config, a.switch).as_deref(), Ok(a.value));
            }
        }
        assert_eq!(find_host_profile("ideal").map(|p| p.nic), Some(NicSpec::default()));
        let other = lowtide_tcp::profile::diff(&host.config, &fresh.config);
        let names: Vec<&str> = other.iter().map(|d| d.switch.as_str()).collect();
        assert!(names.iter().all(|n| ["tso-segments", "rto-granularity"].contains(n)), "{names:?}");
    }
}
