//! Figures of captures of any size: the curves match the packets, from the first to the last.

use lowtide_analysis::{Analysis, AnalysisOptions, Page};
use lowtide_wire::Flags;

use crate::captures::{CLIENT, file, segment};

/// Payload of each packet, captured before segmentation.
const PAYLOAD: u32 = 60_000;
/// Time between two packets, microseconds.
const GAP: u64 = 50;

/// Returns a curve of a figure's CSV file: (time, value) in the units of its axes.
fn curve(csv: &str, plot: &str, name: &str) -> Vec<(f64, f64)> {
    let fields = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let own = fields.filter(|f| f[0] == plot && f[1] == name);
    own.map(|f| (f[2].parse().expect("a time"), f[3].parse().expect("a value"))).collect()
}

/// Value of the staircase `points` at `time`.
fn at(points: &[(f64, f64)], time: f64) -> f64 {
    let next = points.partition_point(|p| p.0 <= time);
    points.get(next.wrapping_sub(1)).map_or(0.0, |p| p.1)
}

#[test]
fn the_sequence_figure_is_accurate_for_any_number_of_packets() {
    for count in [200_u32, 5_000, 75_000] {
        let mut packets = Vec::new();
        for i in 0..count {
            let time = u64::from(i) * GAP;
            let seq = 100_u32.wrapping_add(i.wrapping_mul(PAYLOAD));
            packets.push((time, true, segment(CLIENT, true, seq, 500, Flags::ACK, PAYLOAD)));
            if i % 2 == 1 {
                let ack = seq.wrapping_add(PAYLOAD);
                packets.push((time + 20, false, segment(CLIENT, false, 500, ack, Flags::ACK, 0)));
            }
        }
        let bytes = file(&packets);
        let analysis =
            Analysis::of("large", &bytes[..], &AnalysisOptions::default()).expect("a capture");
        let page = Page::of(&analysis, &bytes[..]).expect("it is drawn");
        let [(_, svg), (_, csv)] = page.figures.as_slice() else {
            panic!("one figure, as SVG and CSV")
        };
        assert!(svg.len() < 2_000_000, "{} bytes", svg.len());
        let span = (u64::from(count) * GAP) as f64;
        // The axes are scaled: the last packet is at the end of both.
        let (data, acks) = (curve(csv, "Sequence", "data"), curve(csv, "Sequence", "ACK"));
        let scale = data.last().expect("data");
        let (x, y) = (scale.0 / (span - GAP as f64), scale.1);
        for curve in [&data, &acks] {
            for step in 0..=100 {
                let part = f64::from(step) / 100.0;
                let off = (at(curve, part * span * x) / y - part).abs();
                assert!(off < 0.02, "{count} packets: at {part} the curve is off by {off}");
            }
        }
        // At most two packets are in flight.
        let flight = curve(csv, "In flight", "sent and not acknowledged");
        assert!(flight.iter().all(|p| p.1 <= 2.0 * f64::from(PAYLOAD) / 1e3));
    }
}
