//! The answer of `analyze` on handmade transfers of known causes, and the sentences of every report
//! against its numbers.

use lowtide_wire::{Ecn, Flags, Segment, SeqNum};
use serde_json::Value;

use crate::captures::{CLIENT, Packet, analyze, file, segment};
use crate::transfer::{CapturePointPacket, MSS, ONE_WAY, Transfer, headers, sll2};

const RTT: u64 = 2 * ONE_WAY;

/// Packets at the client, which sends the data.
struct Client {
    packets: Vec<Packet>,
    window: u16,
}

impl Client {
    fn new(window: u16) -> Self {
        let mut out = Self { packets: Vec::new(), window };
        out.handshake(0, 0b000, 0);
        out
    }

    fn handshake(&mut self, at: u64, syn: u8, answer: u8) {
        let mut s = segment(CLIENT, true, 99, 0, Flags::SYN.with_ace(syn), 0);
        let syn_ack = (Flags::SYN | Flags::ACK).with_ace(answer);
        let mut a = segment(CLIENT, false, 499, 100, syn_ack, 0);
        for s in [&mut s, &mut a] {
            s.options.mss = Some(MSS as u16);
            s.options.sack_permitted = true;
            s.window = self.window;
        }
        self.packets.extend([(at, true, s), (at + RTT, false, a)]);
        self.packets.push((at + RTT + 10, true, segment(CLIENT, true, 100, 500, Flags::ACK, 0)));
    }

    fn data(&mut self, at: u64, offset: u32, len: u32) -> &mut Segment {
        let data = segment(CLIENT, true, 100 + offset, 500, Flags::ACK, len);
        self.packets.push((at, true, data));
        &mut self.packets.last_mut().expect("it is there").2
    }

    fn ack(&mut self, at: u64, offset: u32) -> &mut Segment {
        let mut ack = segment(CLIENT, false, 500, 100 + offset, Flags::ACK, 0);
        ack.window = self.window;
        self.packets.push((at, false, ack));
        &mut self.packets.last_mut().expect("it is there").2
    }

    fn report(mut self) -> Value {
        self.packets.sort_by_key(|p| p.0);
        let report = analyze(&file(&self.packets), &[]).expect("a capture");
        let flow = report["flows"][0].clone();
        agrees(&flow, self.packets.len() as u64);
        assert!(report["answer"].as_str().is_some_and(|a| a == flow["answer"]["text"]));
        flow
    }
}

/// A sender of `window` segments per round trip over a bottleneck of one segment in `gap`; an ACK
/// triggers each.
fn rounds(client: &mut Client, window: u32, rounds: u32, gap: u64) {
    let begin = RTT + 100;
    for n in 0..rounds * window {
        let (round, i) = (u64::from(n / window), u64::from(n % window));
        let acked = begin + (round + 1) * (RTT + gap) + i * gap;
        let sent = if round == 0 { begin + i } else { acked - RTT - gap + 5 };
        client.data(sent, n * MSS, MSS);
        client.ack(acked, (n + 1) * MSS);
    }
}

/// Returns kind and share of the first cause.
fn first(flow: &Value) -> (String, f64) {
    let cause = &flow["answer"]["causes"][0];
    (cause["kind"].as_str().unwrap_or("none").to_owned(), cause["percent"].as_f64().unwrap_or(0.0))
}

/// Returns the number before `phrase`.
fn number_before(text: &str, phrase: &str) -> Option<u64> {
    let before = text.split(phrase).next().filter(|part| part.len() < text.len())?;
    let digits: String = before
        .chars()
        .rev()
        .skip_while(|c| *c == ' ')
        .take_while(|c| c.is_ascii_digit() || *c == '\u{202f}')
        .filter(char::is_ascii_digit)
        .collect();
    digits.chars().rev().collect::<String>().parse().ok()
}

/// Reads the sentences of a report against its numbers.
pub(crate) fn agrees(flow: &Value, packets: u64) {
    for d in flow["directions"].as_array().expect("directions") {
        let shares = d["budget"].as_array().expect("a budget");
        let number = |v: &Value, key: &str| v[key].as_f64().expect("a number");
        let sum: f64 = shares.iter().map(|s| number(s, "percent")).sum();
        assert!((sum - 100.0).abs() < 1e-6, "{shares:?}");
        for s in shares {
            let [low, value, high] =
                ["certain_percent", "percent", "possible_percent"].map(|key| number(s, key));
            assert!(low <= value + 1e-9 && value <= high + 1e-9, "{s}");
        }
    }
    let findings = flow["findings"].as_array().expect("findings");
    for f in findings {
        let frames: Vec<u64> =
            f["frames"].as_array().expect("a list").iter().filter_map(Value::as_u64).collect();
        assert!(frames.iter().all(|n| (1..=packets).contains(n)), "{f}");
        let filter = f["filter"].as_str().expect("a filter");
        assert!(frames.iter().all(|n| filter.contains(&n.to_string())), "{f}");
    }
    let Some(d) = flow["directions"].get(0) else { return };
    let count = |path: &str| d.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let own = |f: &&Value| f["from"] == d["from"];
    let said = findings.iter().filter(own).flat_map(|f| [f["what"].as_str(), f["means"].as_str()]);
    for text in said.flatten().chain(flow["answer"]["text"].as_str()) {
        for (phrase, path) in [
            (" segments sent again", "/retransmitted_segments"),
            (" segment sent again", "/retransmitted_segments"),
            (" segments with CWR", "/marks/cwr"),
            (" retransmission timeout", "/timeouts/count"),
            (" window probe", "/window_probes"),
            (" needlessly by DSACK", "/dsacks"),
        ] {
            if let Some(n) = number_before(text, phrase) {
                // "9 of 80 segments sent again" names both.
                let all = text.contains(&format!("of {n} "));
                assert!(n == count(if all { "/segments" } else { path }), "{text}: {path} {d:#}");
            }
        }
        let queue = count("/mean_rtt_ns").saturating_sub(count("/base_rtt_ns"));
        let has_queue = queue > count("/base_rtt_ns") / 8;
        assert!(!text.contains("there is no queue") || !has_queue, "{text}");
        assert!(!text.contains("there is a queue") || has_queue, "{text}");
        assert!(!text.contains("sends no CWR") || count("/marks/cwr") == 0, "{text}");
        assert!(!text.contains("sends CWR") || count("/marks/cwr") > 0, "{text}");
        assert!(!text.contains("no duplicate or selective") || count("/duplicate_acks") == 0);
    }
}

#[test]
fn a_receive_window_below_the_path_is_named_with_both_sizes() {
    // Eight segments per 10 ms over a path of ten a millisecond.
    let mut client = Client::new(8 * MSS as u16);
    rounds(&mut client, 8, 100, 100);
    let flow = client.report();
    let (kind, share) = first(&flow);
    assert!(kind == "receive window" && share > 90.0, "{flow:#}");
    let text = flow["answer"]["text"].as_str().expect("text");
    assert!(text.contains("(8000 B of 100"), "{text}");
}

#[test]
fn a_full_line_is_healthy_and_a_long_queue_is_not() {
    // One segment in 1 ms: 40 in flight wait for 30 ms in the queue of a path of 10 ms.
    let bulk = |window: u32, gap: u64| {
        let mut client = Client::new(60_000);
        for i in 0..600 + window {
            let sent = if i < window {
                RTT + 100
            } else {
                RTT + 100 + RTT + u64::from(i - window + 1) * gap
            };
            client.data(sent + u64::from(i % 7), i * MSS, MSS);
            client.ack(RTT + 100 + RTT + u64::from(i + 1) * gap, (i + 1) * MSS);
        }
        client.report()
    };
    let full = bulk(40, 1_000);
    assert_eq!(full["answer"]["verdict"], "healthy", "{}", full["answer"]);
    let text = full["answer"]["text"].as_str().expect("a line");
    assert!(text.contains("the line is full (59 % of its rate or more)"), "{text}");
    // A segment per millisecond.
    let line = full["directions"][0]["window_limits"]["line_bytes_per_second"].as_u64();
    assert!(line.is_some_and(|r| r.abs_diff(u64::from(MSS) * 1_000) < 2_000), "{line:?}");
    let long = bulk(50, 4_000);
    assert_eq!(first(&long).0, "queue", "{}", long["answer"]);
}

#[test]
fn silence_before_a_retransmission_is_waiting_for_its_timer() {
    let mut client = Client::new(60_000);
    rounds(&mut client, 8, 2, 100);
    // The last four of ten are lost, and twice the first of them.
    let (at, from) = (50_000, 16 * MSS);
    for i in 0..10 {
        client.data(at + u64::from(i) * 10, from + i * MSS, MSS);
    }
    client.ack(at + RTT + 100, from + 6 * MSS);
    for (when, last) in
        [(400_000, 6), (1_100_000, 6), (1_110_100, 7), (1_120_200, 8), (1_130_300, 9)]
    {
        client.data(when, from + last * MSS, MSS);
    }
    for i in 6..10 {
        client.ack(1_110_050 + u64::from(i - 6) * 10_100, from + (i + 1) * MSS);
    }
    let flow = client.report();
    let d = &flow["directions"][0];
    let (kind, share) = first(&flow);
    assert!(kind == "timeouts" && (90.0..99.0).contains(&share), "{flow:#}");
    assert_eq!((&d["timeouts"]["count"], &d["retransmitted_segments"]), (&2.into(), &5.into()));
    assert_eq!(flow["findings"][0]["frames"].as_array().map(Vec::len), Some(2));
}

#[test]
fn probes_of_a_closed_window_are_neither_losses_nor_timeouts() {
    let mut client = Client::new(4 * MSS as u16);
    rounds(&mut client, 4, 3, 100);
    let (from, closed) = (12 * MSS, 45_000);
    client.ack(closed, from).window = 0;
    for at in [250_000, 650_000, 1_450_000] {
        // Linux repeats the last byte's number without a byte, others send the next byte.
        client.data(at, from - 1, 0);
        client.data(at + 20_000, from, 1);
        client.ack(at + RTT, from).window = 0;
    }
    client.ack(1_600_000, from);
    client.data(1_600_050, from, MSS);
    client.ack(1_600_050 + RTT, from + MSS);
    let flow = client.report();
    let d = &flow["directions"][0];
    assert_eq!(d["window_probes"], 6, "{d:#}");
    for key in ["retransmitted_segments", "keep_alives", "unseen_bytes"] {
        assert_eq!(d[key], 0, "{key}");
    }
    assert_eq!(d["timeouts"]["count"], 0);
    let (kind, share) = first(&flow);
    assert!(kind == "zero window" && share > 90.0, "{}", flow["answer"]);
}

#[test]
fn an_idle_application_and_small_writes_are_told_apart() {
    let mut idle = Client::new(60_000);
    for burst in 0..20_u32 {
        let at = 20_000 + u64::from(burst) * 100_000;
        for i in 0..5 {
            idle.data(at + u64::from(i) * 10, (burst * 5 + i) * MSS, MSS);
        }
        idle.ack(at + RTT, (burst + 1) * 5 * MSS);
    }
    let flow = idle.report();
    let (kind, share) = first(&flow);
    assert!(kind == "no data offered" && share > 85.0, "{}", flow["answer"]);
    let mut nagle = Client::new(60_000);
    for i in 0..20_u32 {
        let at = 20_000 + u64::from(i) * 60_000;
        nagle.data(at, i * 200, 100);
        nagle.ack(at + RTT + 40_000, i * 200 + 100);
        nagle.data(at + RTT + 40_020, i * 200 + 100, 100);
        // The answer has the ACK with it.
        let answer = nagle.ack(at + 2 * RTT + 40_000, i * 200 + 200);
        (answer.payload_len, answer.seq) = (20, SeqNum::new(500 + i * 20));
    }
    let flow = nagle.report();
    let (kind, share) = first(&flow);
    assert!(kind == "delayed ACKs" && share > 75.0, "{}", flow["answer"]);
    assert!(flow["answer"]["text"].as_str().is_some_and(|t| t.contains("Nagle")));
}

#[test]
fn treatment_of_ecn_on_the_path_is_named() {
    // SYNs that ask for ECN are dropped, the plain one is answered.
    let mut client = Client::new(60_000);
    client.packets.clear();
    client.handshake(1_000_000, 0b000, 0);
    let mut ecn = client.packets[0];
    ecn.0 = 0;
    ecn.2.flags = Flags::SYN.with_ace(0b011);
    client.packets.insert(0, ecn);
    client.data(1_020_000, 0, MSS);
    client.ack(1_020_000 + RTT, MSS);
    let flow = client.report();
    assert_eq!(flow["findings"][0]["kind"], "ecn-syn-dropped", "{flow:#}");
    assert_eq!(first(&flow).0, "handshake");
    // CE on every segment, and a window of two segments although every cut is announced.
    let mut client = Client::new(60_000);
    client.packets.clear();
    client.handshake(0, 0b011, 0b001);
    for i in 0..120_u32 {
        let at = 20_000 + u64::from(i / 2) * (RTT + 100);
        let data = client.data(at, i * MSS, MSS);
        data.ecn = Ecn::Ce;
        data.flags = if i % 2 == 0 { Flags::ACK | Flags::CWR } else { Flags::ACK };
        client.ack(at + RTT, (i + 1) * MSS).flags |= Flags::ECE;
    }
    let flow = client.report();
    let kinds: Vec<_> =
        flow["findings"].as_array().expect("findings").iter().map(|f| &f["kind"]).collect();
    assert_eq!(kinds, ["ce-on-all"], "{flow:#}");
    assert_eq!(first(&flow).0, "ECN reductions");
}

#[test]
fn reordering_behind_the_capture_is_no_loss() {
    let mut client = Client::new(60_000);
    rounds(&mut client, 8, 2, 100);
    for i in 0..40_u32 {
        let (at, from) = (50_000 + u64::from(i) * RTT, (16 + i * 4) * MSS);
        for n in 0..4 {
            client.data(at + u64::from(n) * 10, from + n * MSS, MSS);
        }
        let seq = |n: u32| SeqNum::new(100 + from + n * MSS);
        client.ack(at + RTT - 500, from).options.sack.push(seq(1), seq(2));
        client.ack(at + RTT - 400, from + 4 * MSS);
    }
    let flow = client.report();
    let d = &flow["directions"][0];
    assert_eq!((&d["reordered_beyond"], &d["retransmitted_segments"]), (&40.into(), &0.into()));
    assert!(
        flow["answer"]["text"].as_str().is_some_and(|t| !t.contains("losses")),
        "{}",
        flow["answer"]
    );
}

#[test]
fn identifications_show_a_timeout_that_the_receiver_cannot_see() {
    // At the server: the last two of 20 segments are lost, and sent again 300 ms later.
    let mut packets = Transfer { segments: 20, ..Transfer::default() }.at_client();
    for p in &mut packets {
        p.at = if p.from_client { p.at + ONE_WAY } else { p.at - ONE_WAY + 50 };
    }
    packets.sort_by_key(|p| p.at);
    let capture = |counted: bool| {
        let (mut id, mut sent) = (0, 0);
        let mut frames = Vec::new();
        for p in &packets {
            let data = p.from_client && p.segment.payload_len > 0;
            sent += u32::from(data);
            id += u16::from(p.from_client && counted);
            let last = if data { p.segment.seq.raw() + 1 } else { p.segment.ack.raw() };
            let late = last > 100 + 18 * MSS;
            let shift = if late { 300_000 } else { 0 };
            // The lost transmissions have numbers too.
            id += if data && sent == 19 && counted { 2 } else { 0 };
            let (bytes, len) = headers(p, false, 0, id);
            frames.push((p.at + shift, 2, bytes, len));
        }
        frames.sort_by_key(|f| f.0);
        let report = analyze(&sll2(&frames), &[]).expect("a capture");
        agrees(&report["flows"][0], frames.len() as u64);
        report["flows"][0].clone()
    };
    let counted = capture(true);
    assert_eq!(first(&counted).0, "timeouts", "{counted:#}");
    assert_eq!(counted["directions"][0]["missing_packets"], 2);
    let unknown = capture(false);
    assert_eq!(unknown["answer"]["verdict"], "undetermined", "{}", unknown["answer"]);
    assert!(
        unknown["answer"]["text"].as_str().is_some_and(|t| t.contains("at the sender 10.0.0.1"))
    );
}

#[test]
fn sentences_of_transfers_with_losses_agree_with_their_numbers() {
    for (lost, timestamps, ecn) in
        [(&[][..], true, true), (&[40, 41, 90], true, false), (&[7], false, true)]
    {
        let transfer = Transfer { segments: 150, lost, timestamps, ecn };
        let packets: Vec<CapturePointPacket> = transfer.at_client();
        let plain: Vec<Packet> = packets.iter().map(|p| (p.at, p.from_client, p.segment)).collect();
        for part in [&plain[..], &plain[3..], &plain[..plain.len() / 2]] {
            let report = analyze(&file(part), &[]).expect("a capture");
            agrees(&report["flows"][0], part.len() as u64);
        }
    }
}

#[test]
fn full_segments_of_both_ends_are_no_question_and_answer() {
    // Windows that grow by a segment per round trip. The first one of a round of the client
    // acknowledges all of the round before.
    let mut both = Client::new(60_000);
    let (mut sent, begin) = (0, RTT + 100);
    for round in 0..30_u32 {
        let first = sent;
        for i in 0..4 + round {
            let at = begin + u64::from(round) * (RTT + 5_000) + u64::from(i);
            let queue = u64::from(round % 2) * 4_000;
            let ack = 500 + first * MSS;
            if round < 25 {
                both.data(at, sent * MSS, MSS).ack = SeqNum::new(ack);
            } else {
                let last = 100 + (25 * 4 + 24 * 25 / 2) * MSS;
                both.packets.push((at, true, segment(CLIENT, true, last, ack, Flags::ACK, 0)));
            }
            let mut answer = segment(CLIENT, false, 500 + sent * MSS, 100, Flags::ACK, MSS);
            answer.ack = SeqNum::new(100 + (sent + 1).min(25 * 4 + 24 * 25 / 2) * MSS);
            answer.window = 60_000;
            both.packets.push((at + RTT + queue, false, answer));
            sent += 1;
        }
    }
    let flow = both.report();
    let server = &flow["directions"][0];
    assert_eq!(server["from"], flow["server"]);
    // As answers they would be a tenth.
    let idle = |s: &&Value| s["state"] == "no-data";
    let share = server["budget"].as_array().expect("a budget").iter().find(idle);
    assert!(share.is_none_or(|s| s["percent"].as_f64() < Some(1.0)), "{server:#}");
    assert_eq!(flow["answer"]["verdict"], "healthy", "{:#}", flow["answer"]);
}
