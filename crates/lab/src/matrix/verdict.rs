//! What is said of a pair, by thresholds that are data.
//!
//! Contract: one verdict per cell, the first that holds: `collapsed-window` where the fault is the
//! pair's own, `starves-neighbour`, `starved-by-neighbour`, `blind-to-congestion`, `healthy`.

use serde::Serialize;

use super::cell::Cell;
use super::mechanism::{self, Evidence, Mechanism};
use super::thresholds::Thresholds;

/// A verdict.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// None of the others.
    Healthy,
    /// The window is as small as it may be, and the line is not full because of it.
    CollapsedWindow,
    /// The queue stands far above K, and marks do not slow the sender.
    BlindToCongestion,
    /// The neighbour gets far less than its part.
    StarvesNeighbour,
    /// The pair gets far less than its part, and the neighbour has it.
    StarvedByNeighbour,
}

impl Verdict {
    /// All of them, in the order of legends.
    pub const ALL: [Self; 5] = [
        Self::Healthy,
        Self::CollapsedWindow,
        Self::BlindToCongestion,
        Self::StarvesNeighbour,
        Self::StarvedByNeighbour,
    ];

    /// As it is written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::CollapsedWindow => "collapsed-window",
            Self::BlindToCongestion => "blind-to-congestion",
            Self::StarvesNeighbour => "starves-neighbour",
            Self::StarvedByNeighbour => "starved-by-neighbour",
        }
    }

    /// One word for a cell of a table.
    pub const fn short(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::CollapsedWindow => "collapsed",
            Self::BlindToCongestion => "blind",
            Self::StarvesNeighbour => "starves",
            Self::StarvedByNeighbour => "starved",
        }
    }
}

/// A verdict, why, and from which numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// What.
    pub verdict: Verdict,
    /// Why; `None` for a healthy pair.
    pub mechanism: Option<Mechanism>,
    /// The numbers that decided.
    pub evidence: Evidence,
}

/// Judges a cell. `k` is the marking threshold in packets, where the switch has one.
pub fn judge(cell: &Cell, k: Option<f64>, t: &Thresholds) -> Finding {
    let found =
        |verdict, (mechanism, evidence)| Finding { verdict, mechanism: Some(mechanism), evidence };
    if collapsed(cell, t) {
        let why = mechanism::of_collapse(cell, t);
        // Next to a neighbour a small window may be the neighbour's doing.
        let own = [Mechanism::EceNeverCleared, Mechanism::EceLatched];
        if cell.beside.is_none() || own.contains(&why.0) {
            return found(Verdict::CollapsedWindow, why);
        }
    }
    if let Some(beside) = &cell.beside {
        // Two classes: half of all goodput is fair.
        let starved = t.starves_neighbour.share / 2.0;
        let is_starved = |share: Option<f64>| share.is_some_and(|s| s < starved);
        if is_starved(beside.goodput_share) {
            let why = mechanism::of_starvation(cell, &cell.pair, beside, t);
            return found(Verdict::StarvesNeighbour, why);
        }
        if is_starved(cell.pair.goodput_share) {
            let why = mechanism::of_starvation(cell, beside, &cell.pair, t);
            return found(Verdict::StarvedByNeighbour, why);
        }
    }
    let high =
        |k: f64| cell.queue.p50_packets.is_some_and(|q| q >= k * t.blind_to_congestion.queue);
    if k.is_some_and(high)
        && let Some(why) = mechanism::of_blindness(cell, t)
    {
        return found(Verdict::BlindToCongestion, why);
    }
    let mut evidence = Evidence::new();
    let numbers = [
        ("goodput_of_fair", cell.pair.of_fair),
        ("window_segments", cell.pair.window_segments),
        ("queue_p50_packets", cell.queue.p50_packets),
        ("marked_share", cell.pair.marked),
    ];
    evidence.extend(numbers.into_iter().filter_map(|(name, v)| Some((name, v?))));
    Finding { verdict: Verdict::Healthy, mechanism: None, evidence }
}

fn collapsed(cell: &Cell, t: &Thresholds) -> bool {
    let small = |w: f64| w <= t.collapsed_window.window;
    cell.pair.window_segments.is_some_and(small)
        && cell.pair.of_fair.is_some_and(|g| g < t.collapsed_window.goodput)
}
