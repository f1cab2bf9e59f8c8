//! `analyze` on handmade captures: selection of connections, skipped packets, damage, and arbitrary
//! segments.

use core::net::Ipv4Addr;

use lowtide_analysis::AnalysisError;
use lowtide_analysis::{Analysis, AnalysisOptions, Condition, Page};
use lowtide_units::Instant;
use lowtide_wire::pcapng::PcapngWriter;
use lowtide_wire::{Addresses, Ecn, Flags, Segment, SeqNum, Timestamps, packet};
use proptest::prelude::*;
use serde_json::Value;

/// A packet: time in microseconds, whether from the client, segment.
pub(crate) type Packet = (u64, bool, Segment);

pub(crate) const CLIENT: u16 = 40_000;

pub(crate) fn segment(
    client: u16,
    up: bool,
    seq: u32,
    ack: u32,
    flags: Flags,
    payload_len: u32,
) -> Segment {
    let (src_port, dst_port) = if up { (client, 80) } else { (80, client) };
    let (seq, ack) = (SeqNum::new(seq), SeqNum::new(ack));
    Segment { src_port, dst_port, seq, ack, flags, window: 500, payload_len, ..Segment::default() }
}

pub(crate) fn file(packets: &[Packet]) -> Vec<u8> {
    let mut writer = PcapngWriter::new("test");
    let interface = writer.interface("eth0");
    for (us, up, segment) in packets {
        let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let (src, dst) = if *up { (a, b) } else { (b, a) };
        let mut bytes = [0; packet::MAX_HEADERS_LEN];
        let len = packet::emit_headers(&Addresses::V4 { src, dst }, segment, &mut bytes)
            .expect("it fits");
        let at = Instant::from_ps(us * 1_000_000);
        writer.packet(interface, at, &bytes[..len], len as u32 + segment.payload_len, "");
    }
    writer.take()
}

pub(crate) fn analyze(bytes: &[u8], flows: &[&str]) -> Result<Value, AnalysisError> {
    let flows = flows.iter().map(|f| (*f).to_owned()).collect();
    let analysis =
        Analysis::of("test", bytes, &AnalysisOptions { flows, ..AnalysisOptions::default() })?;
    Ok(serde_json::to_value(&analysis).expect("as JSON"))
}

/// Packets of a connection with a handshake, a request and an answer.
pub(crate) fn exchange(client: u16, at: u64) -> Vec<Packet> {
    let s = |up, seq, ack, flags, len| segment(client, up, seq, ack, flags, len);
    let ack = Flags::ACK;
    vec![
        (at, true, s(true, 99, 0, Flags::SYN, 0)),
        (at + 200, false, s(false, 499, 100, Flags::SYN | ack, 0)),
        (at + 210, true, s(true, 100, 500, ack, 0)),
        (at + 220, true, s(true, 100, 500, ack, 300)),
        (at + 440, false, s(false, 500, 400, ack, 1000)),
        (at + 450, true, s(true, 400, 1500, ack, 0)),
    ]
}

#[test]
fn connections_are_numbered_and_named() {
    let mut packets = exchange(CLIENT, 0);
    packets.extend(exchange(CLIENT + 1, 1000));
    // Reusing the ports with another ISN makes a third connection.
    packets.extend(exchange(CLIENT, 9000).into_iter().map(|(at, up, s)| {
        let later = |n: SeqNum| n.add(5_000_000);
        (at, up, Segment { seq: later(s.seq), ack: later(s.ack), ..s })
    }));
    let file = file(&packets);
    let numbers = |asked: &[&str]| -> Vec<u64> {
        let report = analyze(&file, asked).expect("there are some");
        let flows = report["flows"].as_array().expect("flows");
        let mut numbers: Vec<u64> = flows.iter().filter_map(|f| f["flow"].as_u64()).collect();
        numbers.sort_unstable();
        numbers
    };
    assert_eq!(numbers(&[]), [0, 1, 2]);
    assert_eq!(numbers(&["1"]), [1]);
    assert_eq!(numbers(&[":40000"]), [0, 2]);
    assert_eq!(numbers(&["10.0.0.1:40001", "0"]), [0, 1]);
    assert_eq!(numbers(&["10.0.0.2"]), [0, 1, 2]);
    let Err(AnalysisError::NotFound { message, help }) = analyze(&file, &["10.0.0.9", ":22"])
    else {
        panic!("no connection matches")
    };
    assert_eq!(message, "no connection of the capture is 10.0.0.9 or :22");
    assert!(help.is_some_and(|h| h.contains("it has 3, numbered from 0")));
}

#[test]
fn conditions_and_top_select_connections() {
    let mut packets: Vec<Packet> = (0..3).flat_map(|i| exchange(CLIENT + i, 0)).collect();
    // The last one waits for its application.
    let late = |up, seq, ack, len| segment(CLIENT + 2, up, seq, ack, Flags::ACK, len);
    packets.push((900_000, true, late(true, 400, 1500, 300)));
    packets.push((900_200, false, late(false, 1500, 700, 0)));
    let file = file(&packets);
    let report = |conditions: &[&str], top, series| {
        let conditions = conditions.iter().map(|c| c.parse().expect("a condition")).collect();
        let options = AnalysisOptions { conditions, top, series, ..AnalysisOptions::default() };
        let analysis = Analysis::of("test", &file[..], &options)?;
        Ok::<Value, AnalysisError>(serde_json::to_value(&analysis).expect("as JSON"))
    };
    let numbers = |conditions: &[&str]| -> Vec<u64> {
        let report = report(conditions, None, false).expect("there are some");
        let flows = report["flows"].as_array().expect("flows");
        flows.iter().filter_map(|f| f["flow"].as_u64()).collect()
    };
    assert_eq!(numbers(&["port=40001"]), [1]);
    assert_eq!(numbers(&["host=10.0.0.2", "port=40002"]), [2]);
    assert_eq!(numbers(&["cause=no data offered"]), [2]);
    assert_eq!(numbers(&["verdict=limited"]), [2]);
    let Err(AnalysisError::NotFound { message, .. }) =
        report(&["host=10.0.0.2", "cause=timeouts"], None, false)
    else {
        panic!("none of them times out")
    };
    assert_eq!(message, "no connection of the capture is host=10.0.0.2 and cause=timeouts");
    for (text, reason) in [
        ("port", "expected KEY=VALUE"),
        ("port=99999", "`99999` is no port"),
        ("host=example.org", "`example.org` is no address"),
        ("verdict=slow", "`slow` is no verdict"),
        ("size=3", "`size` is none of host, port, cause, verdict, finding"),
    ] {
        let refused = text.parse::<Condition>().expect_err(text);
        assert!(refused.starts_with(reason), "{refused}");
    }
    // The causes are those of all.
    let (all, one) = (report(&[], None, true), report(&[], Some(1), false));
    let (all, one) = (all.expect("a report"), one.expect("a report"));
    assert_eq!((&one["selected"], &one["causes"]), (&3.into(), &all["causes"]));
    assert_eq!(one["flows"].as_array().map(Vec::len), Some(1));
    assert_eq!(one["answer"], all["answer"]);
    assert_eq!(one["flows"][0]["answer"], all["flows"][0]["answer"]);
    let series = |report: &Value| report["flows"][0]["directions"][0]["over_time"].clone();
    assert!(series(&all)["goodput_mbps"].as_array().is_some_and(|s| !s.is_empty()));
    assert!(series(&one).is_null());
}

#[test]
fn directions_and_the_capture_point() {
    let report = analyze(&file(&exchange(CLIENT, 0)), &[]).expect("one connection");
    let flow = &report["flows"][0];
    assert_eq!(flow["client"], "10.0.0.1:40000");
    assert_eq!(flow["capture_location"], "client", "the client answers at once");
    assert_eq!((&flow["handshake_ns"], &flow["to_server_ns"]), (&210_000.into(), &200_000.into()));
    let bytes: Vec<u64> = flow["directions"]
        .as_array()
        .expect("two")
        .iter()
        .filter_map(|d| d["acked_bytes"].as_u64())
        .collect();
    assert_eq!(bytes, [1000, 300], "the one with more data first");
    assert_eq!(flow["findings"].as_array().map(Vec::len), Some(0));
}

fn kinds(packets: &[Packet]) -> Vec<String> {
    let report = analyze(&file(packets), &[]).expect("a capture");
    let findings = report["flows"][0]["findings"].as_array().expect("findings").clone();
    findings.iter().filter_map(|f| f["kind"].as_str()).map(str::to_owned).collect()
}

#[test]
fn connections_that_are_never_established_are_reported() {
    let s = |up, seq, ack, flags, len| segment(CLIENT, up, seq, ack, flags, len);
    let syn = (0, true, s(true, 99, 0, Flags::SYN, 0));
    let again = (1_000_000, true, syn.2);
    assert_eq!(kinds(&[syn, again]), ["no-answer"]);
    let refused = (100, false, s(false, 0, 100, Flags::RST | Flags::ACK, 0));
    assert_eq!(kinds(&[syn, refused]), ["refused"]);
    let answer = (100, false, s(false, 499, 100, Flags::SYN | Flags::ACK, 0));
    assert_eq!(kinds(&[syn, answer, (1_000_000, false, answer.2)]), ["half-open"]);
    let mut reset = exchange(CLIENT, 0);
    reset.push((900, false, s(false, 1500, 400, Flags::RST, 0)));
    assert_eq!(kinds(&reset), ["reset"]);
}

#[test]
fn refused_and_unechoed_ecn_is_reported() {
    let mut refused = exchange(CLIENT, 0);
    refused[0].2.flags = Flags::SYN.with_ace(0b011);
    assert_eq!(kinds(&refused), ["ecn-refused"]);
    let mut rewritten = exchange(CLIENT, 0);
    rewritten[3].2.ecn = Ecn::Ect0;
    assert_eq!(kinds(&rewritten), ["ect-without-ecn"]);
    // Marked data, and ACKs without ECE.
    let mut packets = exchange(CLIENT, 0);
    packets[0].2.flags = Flags::SYN.with_ace(0b011);
    packets[1].2.flags = (Flags::SYN | Flags::ACK).with_ace(0b001);
    for i in 0..20 {
        let mut data = segment(CLIENT, true, 400 + 1000 * i, 1500, Flags::ACK, 1000);
        data.ecn = Ecn::Ce;
        let at = 1000 + 100 * u64::from(i);
        packets.push((at, true, data));
        packets.push((at + 1, false, segment(CLIENT, false, 1500, 1400 + 1000 * i, Flags::ACK, 0)));
    }
    assert_eq!(kinds(&packets), ["ce-on-all", "marks-not-echoed"]);
}

#[test]
fn packets_captured_twice_count_once() {
    let once = exchange(CLIENT, 0);
    let plain = file(&once);
    let with_id = |bytes: &[u8], copies: bool| -> Vec<u8> {
        // The packets of a file with identifications, each twice if requested.
        let mut writer = PcapngWriter::new("test");
        let interface = writer.interface("any");
        let mut reader = lowtide_analysis::capture::Reader::new(bytes).expect("a capture");
        let mut id = 0_u16;
        while let Some(frame) = reader.next_frame().expect("whole") {
            id += 1;
            let mut data = frame.data.to_vec();
            data[4..6].copy_from_slice(&id.to_be_bytes());
            for copy in 0..=u64::from(copies) {
                let at = Instant::from_ps((frame.time_ns + copy * 3_000) * 1_000);
                writer.packet(interface, at, &data, frame.original_len, "");
            }
        }
        writer.take()
    };
    let (once, twice) = (with_id(&plain, false), with_id(&plain, true));
    let [a, b] = [once, twice].map(|f| analyze(&f, &[]).expect("a capture"));
    let (a, b) = (&a["flows"][0]["directions"], &b["flows"][0]["directions"]);
    for key in ["packets", "bytes", "acked_bytes", "retransmitted_segments", "duplicate_acks"] {
        assert_eq!((&a[0][key], &a[1][key]), (&b[0][key], &b[1][key]), "{key}");
    }
    assert_eq!((&a[0]["captured_twice"], &b[0]["captured_twice"]), (&0.into(), &2.into()));
}

#[test]
fn a_damaged_capture_is_analyzed_up_to_the_damage() {
    let whole = file(&exchange(CLIENT, 0));
    let cut = &whole[..whole.len() - 10];
    let analysis =
        Analysis::of("cut.pcapng", cut, &AnalysisOptions::default()).expect("most of it");
    let broken = analysis.broken().expect("it is cut").to_owned();
    assert!(broken.starts_with("the file is cut short: the block at offset "), "{broken}");
    let text = analysis.text(false);
    assert!(text.contains("Not read to its end") && text.contains("flow 0"), "{text}");
    let report = serde_json::to_value(&analysis).unwrap();
    assert_eq!(
        (&report["contents"]["packets"], &report["contents"]["broken"]),
        (&5.into(), &broken.into())
    );
    assert!(Page::of(&analysis, cut).is_ok(), "the second pass ends at the same offset");
    assert!(matches!(analyze(b"text", &[]), Err(AnalysisError::Capture(_))));
    let empty = analyze(&file(&[]), &[]).expect("an empty capture is valid");
    assert_eq!(empty["flows"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_short_connection_long_after_the_first_one_can_be_drawn() {
    // A connection of half a millisecond, two hundred days later.
    let late = exchange(CLIENT + 1, 18_000_000_000_000);
    let file = file(&[exchange(CLIENT, 0), late].concat());
    let analysis = Analysis::of("long", &file[..], &AnalysisOptions::default()).expect("a capture");
    let page = Page::of(&analysis, &file[..]).expect("it is drawn");
    assert_eq!(page.html.matches("<figure").count(), 4, "both directions of both");
}

fn any_segment() -> impl Strategy<Value = (u64, bool, Segment)> {
    let near = prop_oneof![4 => 0_u32..20_000, 1 => any::<u32>()];
    let len = prop_oneof![2 => Just(0), 2 => Just(1000), 1 => 0_u32..60_000];
    let stamps = prop::option::of((0_u32..50, 0_u32..50));
    let sack = prop::collection::vec((0_u32..20_000, 0_u32..20_000), 0..3);
    let times = prop_oneof![8 => 0_u64..1_000, 1 => 0_u64..1_000_000_000];
    (
        times,
        any::<bool>(),
        near.clone(),
        near,
        any::<u16>(),
        len,
        0_u8..4,
        (stamps, sack, any::<u16>()),
    )
        .prop_map(|(at, up, seq, ack, flags, len, ecn, (stamps, sack, window))| {
            let mut s = segment(CLIENT, up, seq, ack, Flags::from_bits(flags), len);
            // Mostly data and ACKs; SYN and RST occasionally.
            if flags % 5 > 0 {
                s.flags = s.flags.without(Flags::SYN | Flags::RST).with(Flags::ACK);
            }
            s.ecn = Ecn::from_bits(ecn);
            s.window = if window % 7 == 0 { 0 } else { window };
            s.options.timestamps = stamps.map(|(value, echo)| Timestamps { value, echo });
            for (start, end) in sack {
                s.options.sack.push(SeqNum::new(start), SeqNum::new(end));
            }
            (at, up, s)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn arbitrary_segments_do_not_panic(packets in prop::collection::vec(any_segment(), 0..120)) {
        let mut time = 0;
        let mut packets = packets;
        for (at, ..) in &mut packets {
            time += *at;
            // Occasionally the clock goes back.
            *at = if time % 11 == 0 { time / 2 } else { time };
        }
        let file = file(&packets);
        let analysis = Analysis::of("any", &file[..], &AnalysisOptions::default()).expect("a capture");
        let report = serde_json::to_value(&analysis).expect("as JSON");
        prop_assert_eq!(&report["contents"]["segments"], packets.len());
        for d in report["flows"].as_array().into_iter().flatten().flat_map(|f| f["directions"].as_array().into_iter().flatten()) {
            let number = |key: &str| d[key].as_u64().unwrap_or(u64::MAX);
            prop_assert!(number("retransmitted_bytes") <= number("bytes"));
            prop_assert!(number("retransmitted_segments") <= number("segments"));
            prop_assert!(d["marks"]["ece_acks"].as_u64() <= d["marks"]["acks"].as_u64());
            let fraction = d["alpha"]["marked_fraction"].as_f64().unwrap_or(0.0);
            prop_assert!((0.0..=1.0).contains(&fraction));
        }
        prop_assert!(!analysis.text(true).is_empty());
        prop_assert!(Page::of(&analysis, &file[..]).is_ok());
    }

    #[test]
    fn captures_with_changed_bytes_do_not_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut file = file(&[exchange(CLIENT, 0), exchange(CLIENT + 1, 300)].concat());
        for (at, value) in changes {
            let at = at.index(file.len());
            file[at] = value;
        }
        if let Ok(analysis) = Analysis::of("any", &file[..], &AnalysisOptions::default()) {
            prop_assert!(!analysis.text(true).is_empty());
            prop_assert!(Page::of(&analysis, &file[..]).is_ok());
        }
    }
}
