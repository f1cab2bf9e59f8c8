//! The path between two captures.

use lowtide_units::LogHistogram;
use lowtide_wire::{Ecn, Flags};
use serde::Serialize;

use super::clock::ClockFit;
use super::matches::Matches;
use super::observations::{Direction, Observation, Observations, Path, Syn};
use super::sides;
use crate::value_summary::ValueSummary;

/// Result of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct PairReport {
    pub(super) files: [String; 2],
    /// Start of capture 2 less that of capture 1 by their clocks, nanoseconds.
    pub(super) starts_differ_ns: i64,
    /// The clocks, with times from the starts of the captures.
    pub(super) clock: ClockFit,
    /// Packets that each capture lost, if it states them.
    pub(super) dropped: [Option<u64>; 2],
    /// The reason why a capture was not read to its end.
    pub(super) broken: [Option<String>; 2],
    /// Directions of connections that only one capture has.
    pub(super) only_in: [usize; 2],
    pub(super) directions: Vec<DirectionPair>,
}

/// One direction of a connection at both points.
#[derive(Clone, Debug, Serialize)]
pub struct DirectionPair {
    pub(super) from: String,
    pub(super) to: String,
    /// The point that its packets pass first: 1 or 2.
    pub(super) first_point: u8,
    /// Segments at both points.
    pub(super) segments: u64,
    /// Segments that passed the first point and not the second, and their payload.
    pub(super) lost: u64,
    pub(super) lost_bytes: u64,
    /// Segments of the first point that would have passed the second before or after all that was
    /// captured there: lost, or not captured.
    pub(super) outside: u64,
    /// Segments at the second point that the capture at the first one does not have.
    pub(super) not_at_first: u64,
    /// Copies that look alike, of which one point has more: which one was lost is not known.
    pub(super) alike: u64,
    /// Payload that was sent again although its first copy had passed the second point.
    pub(super) resent_after_second_bytes: u64,
    /// Delay between the points, nanoseconds, with half of the least round trip for each way.
    pub(super) delay_ns: Option<ValueSummary>,
    /// Delay above the least one, which no asymmetry of the path changes.
    pub(super) queue_ns: Option<ValueSummary>,
    /// Segments that offload had merged, whose delay includes the wait for the others.
    pub(super) of_offload: u64,
    /// Segments that overtook others between the points.
    pub(super) reordered: u64,
    /// Segments with CE at the first point, and ECN-capable ones that got it between the points.
    pub(super) ce_before: u64,
    pub(super) ce_between: u64,
    /// Segments whose CE was cleared, and whose ECN field was cleared.
    pub(super) ce_cleared: u64,
    pub(super) bleached: u64,
    /// Routers between the points, if TTL or hop limit fell by the same number on all.
    pub(super) routers: Option<u8>,
    /// Differences of the SYN between the points.
    pub(super) syn_changes: Vec<String>,
}

impl PairReport {
    pub(super) fn of<'a>(
        files: [String; 2],
        captures: &[Observations; 2],
        clock: ClockFit,
        paths: impl Iterator<Item = ((&'a Path, &'a Matches), &'a bool)>,
    ) -> Self {
        let directions: Vec<DirectionPair> = paths
            .map(|((path, found), toward)| {
                DirectionPair::of(captures, &clock, path, found, *toward)
            })
            .collect();
        let mut out = Self {
            files,
            starts_differ_ns: captures[1].start.wrapping_sub(captures[0].start).cast_signed(),
            clock,
            dropped: [captures[0].dropped, captures[1].dropped],
            broken: [captures[0].broken.clone(), captures[1].broken.clone()],
            only_in: [0, 1].map(|i| captures[i].directions.len() - directions.len()),
            directions,
        };
        // The most lost first, then the most delayed.
        out.directions.sort_by_key(|d| {
            let queue = d.queue_ns.map_or(0, |q| q.p99.unwrap_or(q.max));
            std::cmp::Reverse((d.lost, queue, d.segments))
        });
        out
    }
}

impl DirectionPair {
    fn of(
        captures: &[Observations; 2],
        clock: &ClockFit,
        path: &Path,
        found: &Matches,
        toward: bool,
    ) -> Self {
        let both = sides(captures, path);
        let order = |(i, j)| if toward { (i, j) } else { (j, i) };
        let [first, second] = if toward { both } else { [both[1], both[0]] };
        let mut out = Self {
            from: path.0.to_string(),
            to: path.1.to_string(),
            first_point: if toward { 1 } else { 2 },
            segments: found.both.len() as u64,
            alike: found.alike,
            syn_changes: syn_changes(first.syn, second.syn),
            ..Self::none()
        };
        let (mut delays, mut hops) = (Vec::new(), Vec::new());
        let mut passed: Vec<(usize, usize)> = found.both.iter().map(|pair| order(*pair)).collect();
        passed.sort_unstable();
        for &(i, j) in &passed {
            let (a, b) = (&first.segments[i], &second.segments[j]);
            delays.push(delay(clock, toward, a, b));
            out.of_offload += u64::from(a.split || b.split);
            out.count_ecn(a.ecn, b.ecn);
            hops.push(a.hop_limit.wrapping_sub(b.hop_limit));
        }
        out.routers = hops.first().copied().filter(|n| *n < 128 && hops.iter().all(|m| m == n));
        let least = delays.iter().copied().fold(f64::INFINITY, f64::min);
        out.delay_ns = summary(delays.iter().map(|d| d.max(0.0)));
        out.queue_ns = summary(delays.iter().map(|d| d - least));
        let mut newest = 0;
        for &(_, j) in &passed {
            out.reordered += u64::from(j < newest);
            newest = newest.max(j);
        }
        out.count_alone(captures, clock, toward, found, [first, second], &delays);
        out.count_resent(first, &passed);
        out
    }

    fn none() -> Self {
        Self {
            from: String::new(),
            to: String::new(),
            first_point: 1,
            segments: 0,
            lost: 0,
            lost_bytes: 0,
            outside: 0,
            not_at_first: 0,
            alike: 0,
            resent_after_second_bytes: 0,
            delay_ns: None,
            queue_ns: None,
            of_offload: 0,
            reordered: 0,
            ce_before: 0,
            ce_between: 0,
            ce_cleared: 0,
            bleached: 0,
            routers: None,
            syn_changes: Vec::new(),
        }
    }

    fn count_ecn(&mut self, before: Ecn, after: Ecn) {
        self.ce_before += u64::from(before == Ecn::Ce);
        match (before, after) {
            (Ecn::Ect0 | Ecn::Ect1, Ecn::Ce) => self.ce_between += 1,
            (Ecn::Ce, Ecn::Ect0 | Ecn::Ect1) => self.ce_cleared += 1,
            (Ecn::Ect0 | Ecn::Ect1 | Ecn::Ce, Ecn::NotEct) => self.bleached += 1,
            _ => {}
        }
    }

    /// Counts segments without a counterpart that the other capture would have had.
    fn count_alone(
        &mut self,
        captures: &[Observations; 2],
        clock: &ClockFit,
        toward: bool,
        found: &Matches,
        [first, second]: [&Direction; 2],
        delays: &[f64],
    ) {
        let longest = delays.iter().copied().fold(0.0, f64::max);
        let (there, back) = if toward { (0, 1) } else { (1, 0) };
        // The time of one capture when the clock of the other one reads `time`.
        let across = |from: usize, time: f64| {
            if from == 0 {
                time + clock.offset_at(time)
            } else {
                time - clock.offset_at(time - clock.offset_at(time))
            }
        };
        for segment in found.alone[there].iter().map(|i| &first.segments[*i]) {
            let at = across(there, segment.time as f64);
            if at >= 0.0 && at + longest <= captures[back].end as f64 {
                self.lost += 1;
                self.lost_bytes += u64::from(segment.identity.payload);
            } else {
                self.outside += 1;
            }
        }
        for segment in found.alone[back].iter().map(|j| &second.segments[*j]) {
            let at = across(back, segment.time as f64);
            self.not_at_first += u64::from(at - longest >= 0.0 && at <= captures[there].end as f64);
        }
    }

    /// Counts payload whose earlier copy had passed the second point.
    fn count_resent(&mut self, first: &Direction, passed: &[(usize, usize)]) {
        let mut copies: std::collections::HashMap<u32, usize> = std::collections::HashMap::new();
        for &(i, _) in passed {
            let identity = &first.segments[i].identity;
            if identity.payload > 0 {
                copies.entry(identity.seq).or_insert(i);
            }
        }
        for (i, segment) in first.segments.iter().enumerate() {
            let identity = &segment.identity;
            let earlier = copies.get(&identity.seq).is_some_and(|first| *first < i);
            if identity.payload > 0 && earlier {
                self.resent_after_second_bytes += u64::from(identity.payload);
            }
        }
    }
}

/// Delay of a packet from the first point to the second one, nanoseconds.
fn delay(clock: &ClockFit, toward: bool, a: &Observation, b: &Observation) -> f64 {
    let (a, b) = (a.time as f64, b.time as f64);
    if toward { b - a - clock.offset_at(a) } else { b - a + clock.offset_at(b) }
}

fn summary(values: impl Iterator<Item = f64>) -> Option<ValueSummary> {
    let mut histogram = LogHistogram::default();
    for value in values {
        histogram.add(value.round() as u64);
    }
    ValueSummary::of(&histogram)
}

/// Differences between the SYN at the first point and at the second.
fn syn_changes(first: Option<Syn>, second: Option<Syn>) -> Vec<String> {
    let (Some(first), Some(second)) = (first, second) else { return Vec::new() };
    let mut out = Vec::new();
    let mut differs = |name: &str, a: Option<u32>, b: Option<u32>| {
        let word = |n: Option<u32>| n.map_or("absent".to_owned(), |n| n.to_string());
        if a != b {
            out.push(format!("{name} {} -> {}", word(a), word(b)));
        }
    };
    let (a, b) = (&first.options, &second.options);
    differs("MSS", a.mss.map(u32::from), b.mss.map(u32::from));
    differs("window scale", a.window_scale.map(u32::from), b.window_scale.map(u32::from));
    differs("SACK permitted", a.sack_permitted.then_some(1), b.sack_permitted.then_some(1));
    let times = |o: &lowtide_wire::Options| o.timestamps.map(|_| 1);
    differs("timestamps", times(a), times(b));
    for (name, flag) in [("ECE", Flags::ECE), ("CWR", Flags::CWR), ("AE", Flags::AE)] {
        let set = |flags: Flags| Some(u32::from(flags.contains(flag)));
        differs(name, set(first.flags), set(second.flags));
    }
    differs("ECN field", Some(first.ecn as u32), Some(second.ecn as u32));
    out
}
