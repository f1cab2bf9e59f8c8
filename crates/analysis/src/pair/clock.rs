//! Offset and drift between the clocks of two captures, from the least delays.
//!
//! A packet that passes point 1 at `t1` of clock 1 and point 2 at `t2` of clock 2 was on its way
//! for `t2 - t1` less the offset between the clocks. Queues only add to this. So the least
//! differences of both directions are lines, of opposite slopes if the clocks drift, at a
//! distance of the least round trip between the points (Moon, Skelly and Towsley, INFOCOM 1999,
//! for the line under one direction). A queue that grows looks like a drift in one direction, but
//! not in both: of the slopes of lines under the points that one is taken which has packets near
//! it at most times, in both directions. No clock tells how the least round trip divides into two
//! ways: half of it is taken for each, and the offset is wrong by half of the real difference.

use serde::Serialize;

/// Greatest drift that is considered: clocks of computers stay below 1000 ppm.
const MAX_DRIFT: f64 = 1e-3;
/// Parts of the time in which packets without queueing are looked for.
const WINDOWS: usize = 50;
/// Distance from a line, nanoseconds, below which nearer is hardly better.
const NEAR: f64 = 10e3;

/// A drift is told from none if packets are nearer to its lines by this, as the mean logarithm.
const BETTER: f64 = 0.1;

/// A packet at both points: its time at point 1, and the time at point 2 less that at point 1, both
/// in nanoseconds and each by its own clock.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Passage {
    pub(super) time: f64,
    pub(super) difference: f64,
}

/// The clock of capture 2 beside that of capture 1.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ClockFit {
    /// Clock 2 less clock 1 at the start of capture 1, nanoseconds.
    pub offset_ns: f64,
    /// Change of the offset, parts per million.
    pub drift_ppm: f64,
    /// The offset is wrong by at most this: half of the least round trip between the points.
    pub offset_bound_ns: f64,
    /// Least round trip between the points, nanoseconds.
    pub round_trip_ns: f64,
}

impl ClockFit {
    /// Fits the clocks to the packets from point 1 to point 2 and back, in this order. `None`
    /// without a packet each way.
    pub(super) fn of(ways: [&[Passage]; 2]) -> Option<Self> {
        let hulls = [hull(ways[0], 1.0), hull(ways[1], -1.0)];
        if hulls.iter().any(Vec::is_empty) {
            return None;
        }
        // The line of slope `drift` under the points of a way, where clock 1 reads zero.
        let level = |i: usize, drift: f64| under(&hulls[i], drift);
        let windows = [windows(ways[0], 1.0), windows(ways[1], -1.0)];
        let distance = |drift: f64| -> f64 {
            let of = |i: usize, drift: f64| {
                let level = level(i, drift);
                let above = |hull: &Vec<(f64, f64)>| (under(hull, drift) - level + NEAR).ln();
                windows[i].iter().map(above).sum::<f64>()
            };
            of(0, drift) + of(1, -drift)
        };
        let edges = |i: usize, sign: f64| {
            hulls[i].windows(2).map(move |p| sign * (p[1].1 - p[0].1) / (p[1].0 - p[0].0))
        };
        let candidates = edges(0, 1.0).chain(edges(1, -1.0)).filter(|d| d.abs() <= MAX_DRIFT);
        let all = candidates.map(|drift| (distance(drift), drift));
        let (nearest, best) = all.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default();
        let parts = (windows[0].len() + windows[1].len()) as f64;
        let drift = if distance(0.0) - nearest > BETTER * parts { best } else { 0.0 };
        let (there, back) = (level(0, drift), level(1, -drift));
        Some(Self {
            offset_ns: (there - back) / 2.0,
            drift_ppm: drift * 1e6,
            offset_bound_ns: (there + back).abs() / 2.0,
            round_trip_ns: there + back,
        })
    }

    /// The time of clock 2 when clock 1 reads `time`, less `time`.
    pub(super) fn offset_at(&self, time: f64) -> f64 {
        self.offset_ns + self.drift_ppm * 1e-6 * time
    }
}

/// The level of a line of slope `slope` under the points, at time zero.
fn under(points: &[(f64, f64)], slope: f64) -> f64 {
    points.iter().map(|(t, d)| d - slope * t).fold(f64::INFINITY, f64::min)
}

/// The lower hulls of the points in equal parts of the time, without empty ones.
fn windows(way: &[Passage], sign: f64) -> Vec<Vec<(f64, f64)>> {
    let times = || way.iter().map(|p| p.time);
    let (first, last) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    let width = ((last - first) / WINDOWS as f64).max(1.0);
    let mut parts = vec![Vec::new(); WINDOWS + 1];
    for passage in way {
        parts[((passage.time - first) / width) as usize].push(*passage);
    }
    parts.iter().filter(|part| !part.is_empty()).map(|part| hull(part, sign)).collect()
}

/// Corners of the lower convex hull of the points (time, `sign` x difference).
fn hull(way: &[Passage], sign: f64) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = way.iter().map(|p| (p.time, sign * p.difference)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for point in points {
        while let [.., a, b] = hull.as_slice()
            && (b.0 - a.0) * (point.1 - a.1) <= (b.1 - a.1) * (point.0 - a.0)
        {
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets every millisecond for 20 s with queues of up to 3 ms.
    fn ways(offset: f64, drift: f64, there: f64, back: f64) -> [Vec<Passage>; 2] {
        let mut state = 1_u64;
        let mut queue = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // One packet in sixteen meets no queue.
            if state >> 60 == 0 { 0.0 } else { (state >> 40) as f64 / (1 << 24) as f64 * 3e6 }
        };
        let way = |sign: f64, delay: f64, queue: &mut dyn FnMut() -> f64| {
            (0..20_000)
                .map(|i| {
                    let time = f64::from(i) * 1e6;
                    let difference = offset + drift * time + sign * (delay + queue());
                    Passage { time, difference }
                })
                .collect()
        };
        [way(1.0, there, &mut queue), way(-1.0, back, &mut queue)]
    }

    #[test]
    fn offset_and_drift_are_found_under_queues() {
        for (offset, drift, there, back) in [
            (5e9, 40e-6, 100e3, 100e3),
            (-3e6, -150e-6, 5e6, 5e6),
            (0.0, 0.0, 20e3, 20e3),
            (1e12, 500e-6, 1e6, 3e6),
        ] {
            let made = ways(offset, drift, there, back);
            let fit = ClockFit::of([&made[0], &made[1]]).unwrap();
            let wrong = (fit.offset_ns - offset).abs();
            assert!(wrong <= (there - back).abs() / 2.0 + 10e3, "{fit:?} is wrong by {wrong} ns");
            assert!((fit.drift_ppm - drift * 1e6).abs() < 1.0, "{fit:?}");
            assert!(wrong <= fit.offset_bound_ns + 10e3, "{fit:?}");
            assert!((fit.round_trip_ns - there - back).abs() < 20e3, "{fit:?}");
        }
    }

    #[test]
    fn a_queue_that_grows_is_no_drift() {
        let [mut there, back] = ways(7e6, 0.0, 50e3, 50e3);
        for passage in &mut there {
            passage.difference += passage.time * 900e-6;
        }
        let fit = ClockFit::of([&there, &back]).unwrap();
        assert!(fit.drift_ppm.abs() < 1.0 && (fit.offset_ns - 7e6).abs() < 20e3, "{fit:?}");
    }

    #[test]
    fn one_way_alone_fits_nothing() {
        let made = ways(0.0, 0.0, 1.0, 1.0);
        assert_eq!(ClockFit::of([&made[0], &[]]), None);
    }
}
