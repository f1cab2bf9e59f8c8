//! Congestion windows below one segment: one segment every `srtt / cwnd`, cwnd in segments (Swift,
//! SIGCOMM 2020 §3.4).

use std::sync::Once;

use lowtide_tcp::cc::{
    AckSample, CcEntry, CongestionControl, CongestionEvent, DeclaredProperties, Reaction,
    Requirements,
};
use lowtide_tcp::{Config, cc};

use crate::common::{Origin, Script, at_every_origin, plain};

macro_rules! fixed {
    ($name:literal, $share:literal) => {
        CcEntry {
            name: $name,
            summary: "for this test",
            spec: "none",
            equations: &[],
            params: &[],
            declared: DeclaredProperties {
                reacts_to: &[],
                floor_segments: 0,
                proportional: false,
                rate_based: false,
                exemptions: &[],
            },
            requires: Requirements { ecn: false, host_stamps: false, rate_samples: false },
            build: |_, setup| Box::new(Fixed(u64::from(setup.mss) / $share)),
        }
    };
}

static QUARTER: CcEntry = fixed!("quarter", 4);
static HUNDREDTH: CcEntry = fixed!("hundredth", 100);

/// A window of this many bytes.
#[derive(Debug)]
struct Fixed(u64);

impl CongestionControl for Fixed {
    fn on_ack(&mut self, _: &AckSample) -> Reaction {
        Reaction::None
    }

    fn on_event(&mut self, event: &CongestionEvent) {
        assert!(!matches!(event, CongestionEvent::IdleRestart { .. }), "a wait is not idle time");
    }

    fn cwnd(&self) -> u64 {
        self.0
    }

    fn ssthresh(&self) -> u64 {
        self.0
    }
}

/// Segments of 1000 B, a round trip of 10 ms and `pacing = "off"`.
fn with(o: Origin, cc: &'static str) -> Script {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for entry in [&QUARTER, &HUNDREDTH] {
            cc::REGISTRY.register(entry).expect("the name is free");
        }
    });
    Script::established(o, &Config { cc, ..plain() })
}

#[test]
fn a_quarter_of_a_segment_sends_one_in_four_round_trips() {
    at_every_origin(|o| {
        with(o, "quarter").run(
            "send 3000
             > . 1:1001(1000) ack 1
             is limited Cwnd
             +10ms < . 1:1(0) ack 1001
             is limited Cwnd
             is timer 30ms
             +30ms > . 1001:2001(1000) ack 1
             +10ms < . 1:1(0) ack 2001
             +30ms > P. 2001:3001(1000) ack 1
             is limited Application",
        );
    });
}

#[test]
fn an_ack_later_than_the_wait_releases_at_once() {
    // The ACK raises SRTT to 18.75 ms (RFC 6298 §2.3), so the wait is 75 ms.
    at_every_origin(|o| {
        with(o, "quarter").run(
            "send 2000
             > . 1:1001(1000) ack 1
             +80ms < . 1:1(0) ack 1001
             > P. 1001:2001(1000) ack 1",
        );
    });
}

#[test]
fn a_wait_longer_than_an_rto_is_not_idle_time() {
    at_every_origin(|o| {
        with(o, "hundredth").run(
            "send 2000
             > . 1:1001(1000) ack 1
             +10ms < . 1:1(0) ack 1001
             is timer 990ms
             +990ms > P. 1001:2001(1000) ack 1",
        );
    });
}

#[test]
fn a_timeout_sends_the_lost_segment_again() {
    at_every_origin(|o| {
        with(o, "quarter").run(
            "send 1000
             > P. 1:1001(1000) ack 1
             +1s > P. 1:1001(1000) ack 1",
        );
    });
}
