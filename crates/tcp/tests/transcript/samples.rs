//! Samples passed to a congestion control.

use std::cell::RefCell;
use std::sync::Once;

use lowtide_tcp::cc::{
    AckSample, CcEntry, CcSetup, CongestionControl, CongestionEvent, DeclaredProperties, Reaction,
    Requirements,
};
use lowtide_tcp::{Config, Values, cc};
use lowtide_units::Probe;

use crate::common::{Origin, Script, at_every_origin, plain};

thread_local! {
    static SEEN: RefCell<Vec<AckSample>> = const { RefCell::new(Vec::new()) };
}

/// NewReno that records its samples.
static WITNESS: CcEntry = CcEntry {
    name: "witness",
    summary: "for this test",
    spec: "none",
    equations: &[],
    params: cc::newreno::ENTRY.params,
    declared: DeclaredProperties {
        reacts_to: &[],
        floor_segments: 2,
        proportional: false,
        rate_based: false,
        exemptions: &[],
    },
    requires: Requirements { ecn: false, host_stamps: false, rate_samples: true },
    build,
};

fn build(values: &Values, setup: &CcSetup) -> Box<dyn CongestionControl> {
    Box::new(Witness((cc::newreno::ENTRY.build)(values, setup)))
}

#[derive(Debug)]
struct Witness(Box<dyn CongestionControl>);

impl CongestionControl for Witness {
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        SEEN.with_borrow_mut(|seen| seen.push(*ack));
        self.0.on_ack(ack)
    }

    fn on_event(&mut self, event: &CongestionEvent) {
        self.0.on_event(event);
    }

    fn cwnd(&self) -> u64 {
        self.0.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.0.ssthresh()
    }

    fn probe(&self, out: &mut dyn Probe) {
        self.0.probe(out);
    }
}

fn watched(o: Origin) -> Script {
    watched_with(o, &plain())
}

fn watched_with(o: Origin, config: &Config) -> Script {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| cc::REGISTRY.register(&WITNESS).expect("the name is free"));
    SEEN.with_borrow_mut(Vec::clear);
    Script::established(o, &Config { cc: "witness", ..config.clone() })
}

/// A sender of this many bytes after its first window, the ACK of its first segment 10 ms later,
/// and the two segments that it released.
fn begun(o: Origin, bytes: u32) -> Script {
    let mut t = watched(o);
    t.run(&format!(
        "send {bytes}
         > . 1:1001(1000) ack 1 * 10
         +10ms < . 1:1(0) ack 1001
         > . 10001:11001(1000) ack 1 * 2"
    ));
    t
}

/// The newest sample.
fn seen() -> AckSample {
    SEEN.with_borrow(|seen| *seen.last().expect("an ACK was told of"))
}

/// The newest sample of the delivery rate, bit/s, and whether it is app-limited.
fn rate() -> Option<(u64, bool)> {
    let sample = seen().rate_sample?;
    Some((sample.rate()?.as_bps(), sample.app_limited))
}

#[test]
fn the_delivery_rate_is_delivered_bytes_over_the_time_since_the_segment_was_sent() {
    at_every_origin(|o| {
        let mut t = begun(o, 20_000);
        // The last two segments were sent 10 ms after the first, and 11 kB were delivered since.
        t.run("+4ms < . 1:1(0) ack 12001\n> . 12001:13001(1000) ack 1 * 8");
        assert_eq!(rate(), Some((8_800_000, false)));
        // Data that follows a write to an unused cwnd tells the rate of the application.
        t.run(
            "send 1000
             > P. 20001:21001(1000) ack 1
             +4ms < . 1:1(0) ack 20001",
        );
        assert_eq!(rate(), Some((16_000_000, false)));
        t.run("+4ms < . 1:1(0) ack 21001");
        assert_eq!(rate(), Some((9_000_000, true)));
    });
}

#[test]
fn the_sender_is_limited_by_the_application_when_it_has_nothing_more_to_send() {
    at_every_origin(|o| {
        let mut t = begun(o, 12_000);
        assert!(!seen().app_limited);
        t.run("< . 1:1(0) ack 2001");
        assert!(seen().app_limited);
    });
}

#[test]
fn an_ack_that_delivers_nothing_moves_no_clock_of_the_delivery_rate() {
    at_every_origin(|o| {
        let mut t = begun(o, 20_000);
        t.run(
            "+1ms < . 1:1(0) ack 1001
             > . 12001:13001(1000) ack 1
             +3ms < . 1:1(0) ack 13001
             > . 13001:14001(1000) ack 1 * 7",
        );
        // 12 kB, sent within 11 ms, and acknowledged within 4 ms of the last delivery before.
        assert_eq!(rate(), Some((8_727_272, false)));
        t.run("+5ms < . 1:1(0) ack 20001");
        // 7 kB in 5 ms of the second ACK; they were sent 3 ms after the one before.
        assert_eq!(rate(), Some((11_200_000, false)));
    });
}

#[test]
fn the_third_duplicate_reports_one_lost_segment() {
    at_every_origin(|o| {
        let mut t = watched(o);
        t.run("send 10000\n> . 1:1001(1000) ack 1 * 10\n+10ms < . 1:1(0) ack 1 * 2");
        assert_eq!((seen().lost_bytes, seen().lost_segments), (0, 0));
        t.run("< . 1:1(0) ack 1\n> . 1:1001(1000) ack 1");
        assert_eq!((seen().lost_bytes, seen().lost_segments), (1000, 1));
    });
}

#[test]
fn a_late_ack_of_the_last_odd_segment_is_suspected_of_the_timer() {
    at_every_origin(|o| {
        let mut t = watched_with(o, &Config { delack_segments: 2, ..plain() });
        t.run("send 2000\n> . 1:1001(1000) ack 1 * 2\n+10ms < . 1:1(0) ack 2001");
        assert!(!seen().delack_suspected, "two segments ask for an ACK at once");
        t.run("send 1000\n> P. 2001:3001(1000) ack 1\n+10ms < . 1:1(0) ack 3001");
        let early = seen().delack_suspected;
        t.run("send 1000\n> P. 3001:4001(1000) ack 1\n+150ms < . 1:1(0) ack 4001");
        assert!(seen().delack_suspected);
        assert!(!early, "no later than others");
    });
}
