//! Two captures of one transfer, with losses, marks and clocks that are put in.

use lowtide_analysis::AnalysisError;
use lowtide_analysis::pair::{Observations, PairReport, compare};
use lowtide_wire::{Ecn, Flags, Timestamps};
use serde_json::Value;

use crate::captures::{CLIENT, Packet, file, segment};

/// Microseconds.
const ASKEW: u64 = 5_000_000;
const THERE: u64 = 3_000;
const BACK: u64 = 1_000;
/// Parts per million.
const DRIFT: u64 = 80;

/// A transfer of 4,000 segments, a millisecond apart, at its sender and at its receiver.
fn transfer() -> [Vec<Packet>; 2] {
    let (mut sender, mut receiver) = (Vec::new(), Vec::new());
    let clock = |us: u64| us + ASKEW + us * DRIFT / 1_000_000;
    let mut up = |at: u64, here: lowtide_wire::Segment, there: Option<lowtide_wire::Segment>| {
        sender.push((at, true, here));
        // A queue that comes and goes.
        let queue = at / 1_000 % 40 * 50;
        if let Some(there) = there {
            receiver.push((clock(at + THERE + queue), true, there));
        }
    };
    let mut syn = segment(CLIENT, true, 99, 0, Flags::SYN, 0);
    syn.options.mss = Some(1460);
    let mut clamped = syn;
    clamped.options.mss = Some(1400);
    up(1_000, syn, Some(clamped));
    for i in 0..4_000_u32 {
        let at = 10_000 + u64::from(i) * 1_000;
        let mut data = segment(CLIENT, true, 100 + i * 1000, 500, Flags::ACK, 1000);
        data.ecn = Ecn::Ect0;
        data.options.timestamps = Some(Timestamps { value: i, echo: 1 });
        let mut marked = data;
        marked.ecn = if i % 10 == 3 { Ecn::Ce } else { Ecn::Ect0 };
        // Every hundredth is lost, and sent again 20 ms later.
        up(at, data, (i % 100 != 50).then_some(marked));
        if i % 100 == 50 {
            data.options.timestamps = Some(Timestamps { value: i + 20, echo: 1 });
            up(at + 20_500, data, Some(data));
        }
    }
    for i in 0..4_000_u32 {
        let at = 20_000 + u64::from(i) * 1_000;
        let ack = segment(CLIENT, false, 500, 100 + i * 1000, Flags::ACK, 0);
        receiver.push((clock(at), false, ack));
        sender.push((at + BACK + u64::from(i) % 7 * 30, false, ack));
    }
    sender.sort_by_key(|p| p.0);
    receiver.sort_by_key(|p| p.0);
    [sender, receiver]
}

fn of(first: &[Packet], second: &[Packet]) -> Result<PairReport, AnalysisError> {
    let read = |packets: &[Packet]| Observations::read(file(packets).as_slice());
    compare(["a.pcapng".to_owned(), "b.pcapng".to_owned()], &[read(first)?, read(second)?])
}

fn report(first: &[Packet], second: &[Packet]) -> Value {
    let report = of(first, second).expect("they have connections in common");
    let text = report.text(20);
    assert!(text.starts_with("clocks: b.pcapng is"), "{text}");
    serde_json::to_value(&report).expect("as JSON")
}

#[test]
fn clocks_losses_and_marks_are_those_put_in() {
    let [sender, receiver] = transfer();
    let found = report(&sender, &receiver);
    let clock = &found["clock"];
    let f = |v: &Value| v.as_f64().unwrap();
    let offset = f(&found["starts_differ_ns"]) + f(&clock["offset_ns"]);
    let asymmetry = (THERE - BACK) as f64 * 1e3;
    let wrong = (offset - ASKEW as f64 * 1e3).abs();
    assert!(wrong <= asymmetry / 2.0 + 10e3, "{clock}");
    assert!((f(&clock["drift_ppm"]) - DRIFT as f64).abs() < 3.0, "{clock}");
    assert!((f(&clock["round_trip_ns"]) - (THERE + BACK) as f64 * 1e3).abs() < 20e3, "{clock}");
    let directions = found["directions"].as_array().unwrap();
    let data = &directions[0];
    assert_eq!(
        (&data["first_point"], &data["lost"], &data["lost_bytes"]),
        (&1.into(), &40.into(), &40_000.into())
    );
    assert_eq!(
        (&data["ce_between"], &data["ce_before"], &data["alike"]),
        (&400.into(), &0.into(), &0.into())
    );
    assert_eq!(data["syn_changes"][0], "MSS 1460 -> 1400");
    let queue = data["queue_ns"]["max"].as_u64().unwrap();
    assert!(queue.abs_diff(39 * 50_000) < 30_000, "{data}");
    let acks = &directions[1];
    assert_eq!(
        (&acks["first_point"], &acks["lost"], &acks["segments"]),
        (&2.into(), &0.into(), &4_000.into())
    );
}

#[test]
fn the_order_of_the_captures_makes_no_difference() {
    let [sender, receiver] = transfer();
    let (one, other) = (report(&sender, &receiver), report(&receiver, &sender));
    for key in ["lost", "ce_between", "segments", "from", "reordered"] {
        assert_eq!(one["directions"][0][key], other["directions"][0][key], "{key}");
    }
    assert_eq!(other["directions"][0]["first_point"], 2);
}

#[test]
fn captures_without_a_common_connection_are_refused() {
    let [sender, _] = transfer();
    let other = [(0, true, segment(9, true, 1, 0, Flags::SYN, 0))];
    let one_way: Vec<Packet> = sender.iter().filter(|p| p.1).copied().collect();
    for second in [&other[..], &one_way] {
        let refused = of(&sender, second).unwrap_err();
        assert!(refused.to_string().contains("in both directions in common"), "{refused}");
    }
    assert!(Observations::read(&b"no capture"[..]).is_err());
}
