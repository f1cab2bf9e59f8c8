//! Tests of record and replay.

use std::io::BufReader;
use std::sync::Arc;

use lowtide_tcp::{Config, profile, scheme};
use lowtide_wire::{Experimental, Flags, Segment, SeqNum, Timestamps};
use proptest::prelude::*;

use super::call::EndpointCall;
use super::{config, replay, segment};

#[test]
fn every_profile_and_scheme_round_trips() {
    for p in profile::REGISTRY.all() {
        for s in scheme::REGISTRY.all() {
            let mut expected = p.config().unwrap();
            s.apply(&mut expected).unwrap();
            let text = config::write(&expected);
            let got = config::read(&text).unwrap();
            assert_eq!(profile::diff(&expected, &got), [], "{} + {}", p.name, s.name);
            assert!(!text.contains('\n') && !text.contains(" > "), "{text}");
        }
    }
    assert!(config::read("nonsense=1").is_err() && config::read("cc").is_err());
}

#[test]
fn calls_with_addresses_and_settings_round_trip() {
    for text in [
        "connect 10.0.0.1 10.0.0.2 80 ",
        "connect 10.0.0.1:4000 10.0.0.2 80 ",
        "connect [fd77::1]:4000 fd77::2 80 cc=dctcp",
        "reconfigure 80 cc=dctcp",
        "next-isn 4294967295",
        "nagle 3 false",
    ] {
        let call = EndpointCall::parse(text).map(|call| call.to_string());
        assert_eq!(call.as_deref(), Some(text));
    }
}

proptest! {
    #[test]
    fn every_segment_round_trips(
        (src_port, dst_port, seq, ack, bits) in any::<(u16, u16, u32, u32, u16)>(),
        (window, ecn, len, stamp) in any::<(u16, u8, u16, Option<u64>)>(),
        ts in any::<Option<(u32, u32)>>(),
        sacks in prop::collection::vec(any::<(u32, u32)>(), 0..5),
        (mss, scale, sackok) in any::<(Option<u16>, Option<u8>, bool)>(),
        exp in any::<Option<(u16, [u8; 5])>>(),
    ) {
        let mut expected = Segment {
            src_port,
            dst_port,
            seq: SeqNum::new(seq),
            ack: SeqNum::new(ack),
            flags: Flags::from_bits(bits),
            window,
            urgent: bits,
            ecn: lowtide_wire::Ecn::from_bits(ecn),
            payload_len: u32::from(len),
            ..Segment::default()
        };
        expected.rx.stamp = stamp.map(lowtide_units::HostStamp);
        expected.options.timestamps = ts.map(|(value, echo)| Timestamps { value, echo });
        for (start, end) in sacks {
            expected.options.sack.push(SeqNum::new(start), SeqNum::new(end));
        }
        expected.options.mss = mss;
        expected.options.window_scale = scale;
        expected.options.sack_permitted = sackok;
        expected.options.experimental = exp.and_then(|(exid, data)| Experimental::new(exid, &data));
        let text = segment::write(&expected);
        prop_assert_eq!(segment::read(&mut text.split(' ')), Some(expected), "{}", text);
    }

    #[test]
    fn no_line_makes_the_reader_panic(text in "[a-z]{1,8}( [0-9a-f.:=,-]{0,12}){0,12}") {
        if let Some(call) = EndpointCall::parse(&text) {
            // A parsed call can be formatted and parsed again.
            prop_assert!(EndpointCall::parse(&call.to_string()).is_some());
        }
    }
}

#[test]
fn invalid_recordings_are_rejected_with_their_line() {
    let error = |text: &str| replay(&mut text.as_bytes()).unwrap_err().to_string();
    assert!(error("").starts_with("line 1 "));
    assert!(error("lowtide-live-recording 1\nseed x\n").starts_with("line 2 "));
    assert!(error("lowtide-live-recording 1\nseed 1\n5 dance > -\n").starts_with("line 3 "));
    // A file without line ends is not read to its end.
    let mut endless = BufReader::new(std::io::repeat(0));
    let error = replay(&mut endless).unwrap_err().to_string();
    assert!(error.starts_with("line 1 ") && error.len() < 1_000 && !error.contains('\0'));
}

#[test]
fn a_differing_result_is_shown() {
    let head = "lowtide-live-recording 1\nseed 1\n";
    let listen = EndpointCall::Listen { port: 80, backlog: 1, config: Arc::new(Config::default()) };
    let fine = format!("{head}0 {listen} > ok\n0 {listen} > no\n7 unlisten 80 > -\n9 unlis");
    let summary = replay(&mut fine.as_bytes()).unwrap();
    assert_eq!((summary.calls, summary.end.as_ps()), (3, 7), "the incomplete line does not count");
    let differing = format!("{head}0 {listen} > no\n");
    let error = replay(&mut differing.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("line 3") && error.contains("then: no\n  now:  ok"), "{error}");
}
