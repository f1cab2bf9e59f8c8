//! Controls, policies and decoders of another crate: registered ones are equal to built-in ones.

use std::sync::Arc;

use lowtide_tcp::cc::{CcSetup, CongestionControl, DeclaredProperties, Requirements};
use lowtide_tcp::{
    Config, Connection, DefaultValue, Param, ValueKind, Values, ack, cc, feedback, switches,
};
use lowtide_units::Instant;
use lowtide_wire::{Flags, Segment, SeqNum};

/// NewReno with a different initial window.
static CONTROL: cc::CcEntry = cc::CcEntry {
    name: "own-control",
    summary: "for this test",
    spec: "none",
    equations: &[],
    params: &[Param {
        name: "first-window",
        kind: ValueKind::Count { min: 1, max: 9 },
        default: DefaultValue::Is("3"),
        doc: "Segments.",
        source: "this test",
    }],
    declared: DeclaredProperties {
        reacts_to: &[],
        floor_segments: 2,
        proportional: false,
        rate_based: false,
        exemptions: &[],
    },
    requires: Requirements { ecn: false, host_stamps: false, rate_samples: false },
    build,
};

fn build(values: &Values, setup: &CcSetup) -> Box<dyn CongestionControl> {
    let first = values.count("first-window");
    let path = CcSetup { initial_window: first * u64::from(setup.mss), ..*setup };
    (cc::newreno::ENTRY.build)(&defaults(cc::newreno::ENTRY.params), &path)
}

/// The values of a part that is not configured.
fn defaults(params: &'static [Param]) -> Values {
    Values::parse(params, &[]).expect("every parameter has a default")
}

static POLICY: ack::AckPolicyEntry = ack::AckPolicyEntry {
    name: "own-policy",
    summary: "for this test",
    spec: "none",
    params: &[],
    build: |_, setup| {
        let values = defaults(ack::rfc3168::ENTRY.params);
        (ack::rfc3168::ENTRY.build)(&values, &ack::AckSetup { segments: 1, ..*setup })
    },
};

static DECODER: feedback::FeedbackEntry = feedback::FeedbackEntry {
    name: "own-decoder",
    summary: "for this test",
    spec: "none",
    params: &[],
    ack_policies: &["own-policy"],
    build: feedback::rfc3168::ENTRY.build,
};

/// The window right after the handshake, and whether a single segment is acknowledged at once.
fn opened(config: Config) -> (u64, bool) {
    let now = Instant::ZERO;
    let mut conn = Connection::connect(Arc::new(config), 1, 2, SeqNum::new(0), 0);
    conn.poll_transmit(now).expect("a SYN");
    let seg = |flags, seq, payload_len| Segment {
        src_port: 2,
        dst_port: 1,
        seq: SeqNum::new(seq),
        ack: SeqNum::new(1),
        flags,
        window: 65_535,
        payload_len,
        ..Segment::default()
    };
    conn.handle_segment(now, &seg(Flags::SYN | Flags::ACK, 0, 0)).expect("it opens");
    while conn.poll_transmit(now).is_some() {}
    conn.handle_segment(now, &seg(Flags::ACK, 1, 100)).expect("data");
    (conn.info().snd_cwnd / u64::from(conn.info().mss), conn.poll_transmit(now).is_some())
}

/// A single test, because registration is per process.
#[test]
fn registered_entries_are_found_listed_set_and_used() {
    let unknown = switches::set_text(&mut Config::default(), "cc", "own-control");
    assert!(unknown.expect_err("not yet").to_string().contains("unknown"));

    let built_in = cc::REGISTRY.all().count();
    assert_eq!(cc::REGISTRY.register(&CONTROL), Ok(()));
    let first = line!() - 1;
    assert_eq!(ack::REGISTRY.register(&POLICY), Ok(()));
    assert_eq!(feedback::REGISTRY.register(&DECODER), Ok(()));
    let twice = cc::REGISTRY.register(&CONTROL).expect_err("a second one of that name");
    assert_eq!((twice.first.line(), twice.second.line()), (first, line!() - 1));
    let twice = ack::REGISTRY.register(&ack::rfc3168::ENTRY).expect_err("built in").to_string();
    for part in ["acknowledgement policy `rfc3168`", "ack/mod.rs", file!()] {
        assert!(twice.contains(part), "{twice}");
    }

    assert_eq!(cc::REGISTRY.names().last(), Some(&"own-control"));
    assert_eq!(cc::REGISTRY.all().count(), built_in + 1);
    assert!(ack::REGISTRY.find("own-policy").is_some());
    assert!(feedback::REGISTRY.find("own-decoder").is_some());
    let mut config = Config { timestamps: false, ..Config::default() };
    for (name, value) in [
        ("cc", "own-control"),
        ("ack", "own-policy"),
        ("feedback", "own-decoder"),
        ("own-control.first-window", "7"),
    ] {
        switches::set_text(&mut config, name, value).unwrap_or_else(|e| panic!("{e}"));
    }
    let wrong = switches::set_text(&mut config, "own-control.first-window", "10");
    assert!(wrong.expect_err("out of range").to_string().contains("1 to 9"));
    assert_eq!(opened(config), (7, true));
    let usual = Config { timestamps: false, ..Config::default() };
    assert_eq!(opened(usual), (10, false));
}
