//! `analyze` and the location of a capture: several interfaces, one direction, the middle of a
//! connection.

use lowtide_analysis::{Analysis, AnalysisOptions, Page};
use lowtide_units::Instant;
use lowtide_wire::pcapng::PcapngWriter;
use lowtide_wire::{Ecn, Flags};
use serde_json::Value;

use crate::captures::{CLIENT, analyze, file, segment};
use crate::transfer::{CapturePointPacket, GAP, MSS, ONE_WAY, Transfer, headers, sll2};

/// Returns the only connection of a capture.
fn flow(bytes: &[u8]) -> Value {
    let report = analyze(bytes, &[]).expect("a capture");
    let [flow] = report["flows"].as_array().expect("flows").as_slice() else {
        panic!("one connection, not {}", report["flows"])
    };
    flow.clone()
}

fn text(bytes: &[u8]) -> String {
    let analysis = Analysis::of("test", bytes, &AnalysisOptions::default()).expect("a capture");
    let page = Page::of(&analysis, bytes).expect("it is drawn");
    let text = analysis.text(true);
    // The page has the same answer.
    let first = text.lines().next().expect("an answer");
    assert!(page.html.contains(&first.replace('\'', "&#x27;")), "{text}");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn kinds(flow: &Value) -> Vec<&str> {
    flow["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .filter_map(|f| f["kind"].as_str())
        .collect()
}

/// Packets of one point as a pcapng file with one interface.
fn plain(packets: &[CapturePointPacket]) -> Vec<u8> {
    let packets: Vec<_> = packets.iter().map(|p| (p.at, p.from_client, p.segment)).collect();
    file(&packets)
}

/// Packets of a router, each at its incoming and its outgoing interface, in order of time: time,
/// interface number, routers passed, index of the packet. A queue before the second interface
/// delays up to 40 ms.
fn router(packets: &[CapturePointPacket]) -> Vec<(u64, u32, u8, usize)> {
    let mut out = Vec::new();
    for (i, p) in packets.iter().enumerate() {
        let queue = 300 + (i as u64 * 7919) % 40_000;
        if p.from_client {
            out.push((p.at + 50, 2, 0, i));
            if !p.lost {
                out.push((p.at + 50 + queue, 3, 1, i));
            }
        } else {
            out.push((p.at - 60, 3, 0, i));
            out.push((p.at - 50, 2, 1, i));
        }
    }
    // A queue preserves the order.
    let mut last = 0;
    for record in &mut out {
        if record.1 == 3 && record.2 == 1 {
            last = record.0.max(last + 1);
            record.0 = last;
        }
    }
    out.sort_by_key(|r| r.0);
    out
}

const LOST: [u32; 3] = [40, 41, 90];

#[test]
fn copies_of_all_interfaces_of_a_router_are_no_retransmissions() {
    for (v6, timestamps, lost) in
        [(true, false, &LOST[..]), (true, true, &[]), (false, false, &LOST), (false, true, &[])]
    {
        let transfer = Transfer { segments: 300, lost, timestamps, ecn: false };
        let packets = transfer.at_client();
        let records = router(&packets);
        // Identification 0, as a host may send with DF set: only the interface distinguishes
        // copies.
        let frames: Vec<_> = records
            .iter()
            .map(|(at, device, routers, i)| {
                let (bytes, len) = headers(&packets[*i], v6, *routers, 0);
                (*at, *device, bytes, len)
            })
            .collect();
        let mut writer = PcapngWriter::new("test");
        let ids = [writer.interface("lan"), writer.interface("wan")];
        for (at, device, bytes, len) in &frames {
            let at = Instant::from_ps(at * 1_000_000);
            writer.packet(ids[*device as usize - 2], at, bytes, *len, "");
        }
        for (bytes, name) in [(sll2(&frames), "interface index 2"), (writer.take(), "lan")] {
            let report = flow(&bytes);
            let d = &report["directions"][0];
            let place = format!("{name}, v6 {v6}, timestamps {timestamps}: {report:#}");
            assert_eq!(d["segments"], 300 + lost.len(), "{place}");
            assert_eq!(d["retransmitted_segments"], lost.len(), "{place}");
            assert_eq!(d["timeouts"]["count"], 0, "{place}");
            assert!(d["timeouts"]["implausible_ns"].is_null(), "{place}");
            let visible = &report["visible"];
            assert_eq!(visible["merged"], false, "{place}");
            let reported_at: Vec<_> = visible["interfaces"]
                .as_array()
                .expect("interfaces")
                .iter()
                .map(|i| (i["name"].as_str().expect("a name"), i["selected"] == true))
                .collect();
            assert_eq!(reported_at.len(), 2, "{place}");
            assert!(reported_at.contains(&(name, true)), "the sender's side: {place}");
            assert_eq!(visible["packets_elsewhere"], packets.len() - lost.len(), "{place}");
            let verdict = if lost.is_empty() { "healthy" } else { "limited" };
            assert_eq!(report["answer"]["verdict"], verdict, "{place}");
            assert!(kinds(&report).contains(&"several-interfaces"), "{place}");
            text(&bytes);
        }
    }
}

#[test]
fn an_interface_that_splits_packets_is_no_second_sender() {
    // A container's veth shows packets before segmentation, the NIC those on the wire.
    let packets = Transfer { segments: 200, ..Transfer::default() }.at_client();
    let mut frames = Vec::new();
    for (i, p) in packets.iter().enumerate() {
        let (bytes, len) = headers(p, false, 0, i as u16);
        let data = p.from_client && p.segment.payload_len > 0;
        let number = (p.segment.seq.raw().wrapping_sub(100)) / MSS;
        if data && number.is_multiple_of(10) {
            let mut large = *p;
            large.segment.payload_len = 10 * MSS;
            let (bytes, len) = headers(&large, false, 0, i as u16);
            frames.push((p.at - 20, 2, bytes, len));
        } else if !data {
            frames.push((p.at + 20, 2, bytes.clone(), len));
        }
        frames.push((p.at, 3, bytes, len));
    }
    frames.sort_by_key(|f| f.0);
    let report = flow(&sll2(&frames));
    let d = &report["directions"][0];
    assert_eq!(
        (&d["segments"], &d["retransmitted_segments"]),
        (&200.into(), &0.into()),
        "{report:#}"
    );
    assert_eq!(report["answer"]["verdict"], "healthy", "{}", report["answer"]);
}

#[test]
fn packets_spread_over_interfaces_are_merged() {
    // A bond: data and ACKs alternate, and no interface shows all.
    let lost = [20];
    let transfer = Transfer { segments: 120, lost: &lost, timestamps: true, ecn: false };
    let packets = transfer.at_client();
    let frames: Vec<_> = packets
        .iter()
        .enumerate()
        .map(|(i, p)| {
            let (bytes, len) = headers(p, true, 0, 0);
            (p.at, 2 + i as u32 % 2, bytes, len)
        })
        .collect();
    let report = flow(&sll2(&frames));
    let d = &report["directions"][0];
    assert_eq!(report["visible"]["merged"], true, "{report:#}");
    assert_eq!((&d["retransmitted_segments"], &d["unseen_bytes"]), (&1.into(), &0.into()));
    assert_eq!(report["visible"]["packets_elsewhere"], 0);
    assert!(kinds(&report).contains(&"merged-interfaces"));
}

#[test]
fn a_router_on_one_interface_is_recognised_by_the_hop_limit() {
    let packets = Transfer { segments: 100, ..Transfer::default() }.at_client();
    let mut frames = Vec::new();
    for p in &packets {
        for routers in [0, 1] {
            let (bytes, len) = headers(p, true, routers, 0);
            frames.push((p.at + u64::from(routers) * 4_000, 2, bytes, len));
        }
    }
    frames.sort_by_key(|f| f.0);
    let report = flow(&sll2(&frames));
    let d = &report["directions"][0];
    assert_eq!((&d["retransmitted_segments"], &d["captured_twice"]), (&0.into(), &102.into()));
    assert_eq!(
        (&report["visible"]["routers_to_client"], &report["visible"]["routers_to_server"]),
        (&0.into(), &0.into())
    );
}

/// Data packets twice, 4 ms apart, without evidence of copies.
fn repeated() -> Vec<u8> {
    let mut packets = Vec::new();
    for i in 0..20_u32 {
        let at = 20_000 * u64::from(i);
        let data = segment(CLIENT, true, 100 + 1000 * i, 500, Flags::ACK, 1000);
        packets.extend([(at, true, data), (at + 4_000, true, data)]);
        let ack = segment(CLIENT, false, 500, 1100 + 1000 * i, Flags::ACK, 0);
        packets.push((at + 5_000, false, ack));
    }
    let first = segment(CLIENT, false, 500, 100, Flags::ACK, 0);
    packets.insert(0, (0, false, first));
    for p in &mut packets[1..] {
        p.0 += 1_000;
    }
    // Round trips of 1 ms make a silence of 4 ms long.
    for i in 0..30_u32 {
        let at = 420_000 + 3_000 * u64::from(i);
        let seq = 20_100 + 1000 * i;
        packets.push((at, true, segment(CLIENT, true, seq, 500, Flags::ACK, 1000)));
        packets.push((at + 1_000, false, segment(CLIENT, false, 500, seq + 1000, Flags::ACK, 0)));
        if i >= 20 {
            // Retransmitted before its ACK arrives, after 2.4 ms of silence.
            packets.pop();
            packets.push((at + 2_400, true, segment(CLIENT, true, seq, 500, Flags::ACK, 1000)));
            packets.push((
                at + 2_900,
                false,
                segment(CLIENT, false, 500, seq + 1000, Flags::ACK, 0),
            ));
        }
    }
    file(&packets)
}

#[test]
fn timeouts_below_any_minimum_rto_are_implausible() {
    let bytes = repeated();
    let report = flow(&bytes);
    let timeouts = &report["directions"][0]["timeouts"];
    assert_eq!(timeouts["count"], 0, "{report:#}");
    let most = timeouts["implausible_ns"]["max"].as_u64().expect("some are questioned");
    assert!((1_000_000..5_000_000).contains(&most), "{timeouts}");
    assert!(
        kinds(&report).contains(&"early-retransmissions") && !kinds(&report).contains(&"timeouts")
    );
    // The minimum RTO of a stack with such a timer can be given.
    let question = AnalysisOptions { rto_min_ns: 1_000_000, ..AnalysisOptions::default() };
    let analysis = Analysis::of("test", &bytes[..], &question).expect("a capture");
    let report = serde_json::to_value(&analysis).expect("as JSON")["flows"][0].clone();
    assert!(report["directions"][0]["timeouts"]["count"].as_u64() > Some(5), "{report:#}");
    assert!(!kinds(&report).contains(&"early-retransmissions"));
}

#[test]
fn one_direction_is_neither_a_flood_nor_faultless() {
    let transfer = Transfer { segments: 60, lost: &[7], timestamps: true, ecn: false };
    let whole = transfer.at_client();
    let of = |up: bool| whole.iter().filter(|p| p.from_client == up).copied().collect::<Vec<_>>();
    // The data without its ACKs.
    let report = flow(&plain(&of(true)));
    let d = &report["directions"][0];
    assert_eq!(
        (&report["opened"], &report["visible"]["packets_of"]),
        (&"handshake".into(), &"client".into())
    );
    assert_eq!((&d["data_seen"], &d["acks_seen"]), (&true.into(), &false.into()));
    assert_eq!((&d["retransmitted_segments"], &d["flight_bytes"]), (&1.into(), &Value::Null));
    assert!(kinds(&report).contains(&"one-direction"), "{report:#}");
    // The ACKs without the data.
    let bytes = plain(&of(false));
    let report = flow(&bytes);
    let d = &report["directions"][0];
    assert_eq!(
        (&report["opened"], &report["visible"]["packets_of"]),
        (&"handshake".into(), &"server".into())
    );
    assert_eq!((&d["data_seen"], &d["acks_seen"]), (&false.into(), &true.into()));
    assert_eq!((&d["acked_bytes"], &d["segments"]), (&(60 * MSS).into(), &0.into()));
    assert_eq!(d["feedback"]["kind"], "none", "the SYN-ACK refuses ECN");
    assert_eq!(kinds(&report), ["sacked-gaps", "one-direction"], "{report:#}");
    assert!(text(&bytes).contains("the data is not in the capture"));
    // Without a loss: still undetermined.
    let clean = Transfer { lost: &[], ..transfer }.at_client();
    for up in [true, false] {
        let part: Vec<_> = clean.iter().filter(|p| p.from_client == up).copied().collect();
        for from in [0, 3] {
            let bytes = plain(&part[from..]);
            let report = flow(&bytes);
            assert_eq!(report["answer"]["verdict"], "undetermined", "{report:#}");
            assert_eq!(kinds(&report), ["one-direction"], "{report:#}");
            let said = text(&bytes);
            assert!(!said.contains("no losses") && said.contains("not visible"), "{said}");
        }
    }
    assert_eq!(flow(&plain(&clean))["answer"]["verdict"], "healthy");
}

#[test]
fn marks_are_not_missing_where_no_ack_is_captured() {
    let mut data: Vec<_> = Transfer { segments: 60, ecn: true, ..Transfer::default() }
        .at_client()
        .into_iter()
        .filter(|p| p.from_client)
        .collect();
    for p in data.iter_mut().skip(4) {
        p.segment.ecn = Ecn::Ce;
    }
    let report = flow(&plain(&data));
    assert!(!kinds(&report).contains(&"marks-not-echoed"), "{report:#}");
    assert_eq!(report["directions"][0]["feedback"]["kind"], "undecided");
}

#[test]
fn a_handshake_is_stuck_only_if_its_end_would_be_captured() {
    let s = |up, seq, ack, flags| segment(CLIENT, up, seq, ack, flags, 0);
    let syn = (0, true, s(true, 99, 0, Flags::SYN));
    let answer = (10_000, false, s(false, 499, 100, Flags::SYN | Flags::ACK));
    let later = |p: (u64, bool, _), us: u64| (p.0 + us, p.1, p.2);
    // Another connection of both ends, ten seconds later: the capture continues and sees both.
    let other = |client: u16| {
        let s = |up, seq, ack, flags, len| segment(client, up, seq, ack, flags, len);
        vec![
            (10_000_000, true, s(true, 99, 0, Flags::SYN, 0)),
            (10_010_000, false, s(false, 499, 100, Flags::SYN | Flags::ACK, 0)),
            (10_010_100, true, s(true, 100, 500, Flags::ACK, 0)),
        ]
    };
    let first = |packets: Vec<_>| {
        let report = analyze(&file(&packets), &["0"]).expect("a capture");
        let flow = &report["flows"][0];
        (flow["opened"].as_str().expect("text").to_owned(), kinds(flow).join(" "))
    };
    let expected = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    // Only the server's direction, once and repeated.
    assert_eq!(first(vec![answer]), expected("unknown", "handshake-unknown"));
    assert_eq!(
        first(vec![answer, later(answer, 1_000_000)]),
        expected("unknown", "handshake-again")
    );
    // Both directions: truncated, and stuck.
    assert_eq!(first(vec![syn, answer]), expected("unknown", "handshake-unknown"));
    assert_eq!(
        first([vec![syn, answer], other(CLIENT + 1)].concat()),
        expected("half-open", "half-open")
    );
    // A filter that passes only SYNs.
    let syns = [vec![syn, answer], other(CLIENT + 1)[..2].to_vec()].concat();
    assert_eq!(first(syns), expected("unknown", "handshake-unknown"));
    // A single SYN is unanswered if answers to others are captured, otherwise unknown.
    assert_eq!(first(vec![syn]), expected("syn-only", "answer-unknown"));
    assert_eq!(first([vec![syn], other(CLIENT + 1)].concat()), expected("syn-only", "no-answer"));
    let client_only = [vec![syn], other(CLIENT + 1).into_iter().filter(|p| p.1).collect()].concat();
    assert_eq!(first(client_only), expected("syn-only", "answer-unknown"));
    // A client that sends more has received its answer.
    let goes_on = vec![syn, (20_000, true, s(true, 100, 500, Flags::ACK))];
    assert_eq!(first(goes_on).0, "handshake");
}

#[test]
fn losses_without_marks_blame_the_bottleneck() {
    let lost = [30, 31, 32, 70];
    let transfer = Transfer { segments: 150, lost: &lost, timestamps: true, ecn: true };
    let packets = transfer.at_client();
    let bytes = plain(&packets);
    let report = flow(&bytes);
    let found = report["findings"].as_array().expect("findings");
    let found = found.iter().find(|f| f["kind"] == "losses-without-marks").expect("it is found");
    assert_eq!(found["severity"], "notable");
    let what = found["what"].as_str().expect("text");
    assert!(what.starts_with("4 segments lost, and not one of 154 "), "{what}");
    // With one mark echoed, without ECN, without ECT, without loss: no such finding.
    let mut marked = packets.clone();
    marked.iter_mut().filter(|p| !p.from_client).nth(20).expect("an ACK").segment.flags |=
        Flags::ECE;
    let mut blind = packets;
    for p in &mut blind {
        p.segment.ecn = Ecn::NotEct;
    }
    let without = Transfer { ecn: false, ..transfer }.at_client();
    let clean = Transfer { lost: &[], ..transfer }.at_client();
    for packets in [marked, blind, without, clean] {
        let report = flow(&plain(&packets));
        assert!(!kinds(&report).contains(&"losses-without-marks"), "{report:#}");
    }
}

#[test]
fn each_capture_point_reports_its_limits() {
    let whole = Transfer { segments: 60, timestamps: true, ..Transfer::default() }.at_client();
    let says = |packets: &[CapturePointPacket], part: &str| {
        let report = flow(&plain(packets));
        let lines = report["visible"]["cannot_tell"].as_array().expect("sentences").clone();
        let found = lines.iter().filter_map(Value::as_str).any(|l| l.contains(part));
        assert!(found, "{part}: {lines:#?}");
    };
    says(&whole, "Captured at the sender 10.0.0.1:40000: CE shows only as ECE or ACE");
    // At the receiver ACKs follow the data at once.
    let mut there = whole.clone();
    for p in &mut there {
        p.at = if p.from_client { p.at + ONE_WAY } else { p.at - ONE_WAY + GAP / 2 };
    }
    there.sort_by_key(|p| p.at);
    says(&there, "Captured at the receiver 10.0.0.2:80: bytes in flight");
    let mut middle = whole.clone();
    for p in &mut middle {
        p.at = if p.from_client { p.at + ONE_WAY / 2 } else { p.at - ONE_WAY / 2 };
    }
    middle.sort_by_key(|p| p.at);
    says(&middle, "Captured between the ends");
    says(&whole[3..], "The capture begins after the handshake: ECN negotiation, window scale");
    // The capture lost every tenth packet.
    let kept: Vec<_> =
        whole.iter().enumerate().filter(|(i, _)| i % 10 != 9).map(|(_, p)| *p).collect();
    says(&kept, "were acknowledged and not captured: counts of segments");
    let mut large = whole;
    large
        .iter_mut()
        .filter(|p| p.from_client)
        .for_each(|p| p.segment.options.mss = p.segment.options.mss.map(|_| 500));
    says(&large, "before segmentation or after aggregation (GSO, GRO)");
}
