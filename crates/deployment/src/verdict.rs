//! Verdict of a cell, by thresholds that are data.
//!
//! Contract: one verdict per cell, the first that applies: `collapsed-window` if the pair itself is
//! the cause, `starves-neighbour`, `starved-by-neighbour`, `blind-to-congestion`, `healthy`.

use serde::Serialize;

use super::cell::MatrixCell;
use super::mechanism::{self, Mechanism, VerdictEvidence};
use super::thresholds::Thresholds;

lowtide_units::named_enum! {
    /// A verdict.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum PairVerdict ALL {
        /// None of the others.
        Healthy = "healthy",
        /// The window is at its minimum, and the link is therefore not full.
        CollapsedWindow = "collapsed-window",
        /// The queue is far above K, and marks do not slow the sender.
        BlindToCongestion = "blind-to-congestion",
        /// The neighbour gets far less than its share.
        StarvesNeighbour = "starves-neighbour",
        /// The pair gets far less than its share, and the neighbour has it.
        StarvedByNeighbour = "starved-by-neighbour",
    }
}

impl PairVerdict {
    /// Short form for a cell of a table.
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

/// A verdict with its cause and evidence.
#[derive(Clone, PartialEq, Debug)]
pub struct PairFinding {
    /// The verdict.
    pub verdict: PairVerdict,
    /// The cause; `None` for a healthy pair.
    pub mechanism: Option<Mechanism>,
    /// The numbers that decided.
    pub evidence: VerdictEvidence,
}

/// Judges a cell. `k` is the marking threshold in packets, if the switch has one.
pub fn judge(cell: &MatrixCell, k: Option<f64>, t: &Thresholds) -> PairFinding {
    let found = |verdict, (mechanism, evidence)| PairFinding {
        verdict,
        mechanism: Some(mechanism),
        evidence,
    };
    if collapsed(cell, t) {
        let why = mechanism::explain_collapse(cell, t);
        // Next to a neighbour, the neighbour may cause a small window.
        let own = [Mechanism::EceNeverCleared, Mechanism::EceLatched];
        if cell.neighbour_flows.is_none() || own.contains(&why.0) {
            return found(PairVerdict::CollapsedWindow, why);
        }
    }
    if let Some(beside) = &cell.neighbour_flows {
        // With two sides, half of all goodput is fair.
        let starved = t.starves_neighbour.share / 2.0;
        let is_starved = |share: Option<f64>| share.is_some_and(|s| s < starved);
        if is_starved(beside.goodput_share) {
            let why = mechanism::explain_starvation(cell, &cell.pair, beside, t);
            return found(PairVerdict::StarvesNeighbour, why);
        }
        if is_starved(cell.pair.goodput_share) {
            let why = mechanism::explain_starvation(cell, beside, &cell.pair, t);
            return found(PairVerdict::StarvedByNeighbour, why);
        }
    }
    let high =
        |k: f64| cell.queue.p50_packets.is_some_and(|q| q >= k * t.blind_to_congestion.queue);
    if k.is_some_and(high)
        && let Some(why) = mechanism::explain_blindness(cell, t)
    {
        return found(PairVerdict::BlindToCongestion, why);
    }
    let mut evidence = VerdictEvidence::new();
    let numbers = [
        ("fair_share_ratio", cell.pair.fair_share_ratio),
        ("window_segments", cell.pair.window_segments),
        ("queue_p50_packets", cell.queue.p50_packets),
        ("marked_share", cell.pair.marked),
    ];
    evidence.extend(numbers.into_iter().filter_map(|(name, v)| Some((name, v?))));
    PairFinding { verdict: PairVerdict::Healthy, mechanism: None, evidence }
}

fn collapsed(cell: &MatrixCell, t: &Thresholds) -> bool {
    let small = |w: f64| w <= t.collapsed_window.window;
    cell.pair.window_segments.is_some_and(small)
        && cell.pair.fair_share_ratio.is_some_and(|g| g < t.collapsed_window.goodput)
}

#[cfg(test)]
mod tests {
    use super::super::cell::{BottleneckStats, FlowStats};
    use super::*;
    use lowtide_lab::SignalFacts;

    /// A side with half of the link that is sometimes marked, receives the marks and reduces.
    fn class() -> FlowStats {
        FlowStats {
            goodput_mbps: Some(470.0),
            goodput_share: Some(0.5),
            fair_share_ratio: Some(1.0),
            window_segments: Some(8.0),
            ect: Some(1.0),
            marked: Some(0.2),
            echo_ratio: Some(1.0),
            ece: Some(0.2),
            signals: SignalFacts {
                cc: Some("dctcp".into()),
                data_segments: 9000,
                cwr_segments: 900,
                received_ce_bytes: 1_000_000,
                ece_acks: 3000,
                ecn_reductions: 900,
                ..SignalFacts::default()
            },
            ..FlowStats::default()
        }
    }

    fn cell(pair: FlowStats, beside: Option<FlowStats>, queue: f64) -> MatrixCell {
        MatrixCell {
            sender: "a".into(),
            receiver: "b".into(),
            neighbour: beside.as_ref().map(|_| "c".into()),
            queue: BottleneckStats {
                p50_packets: Some(queue),
                drops: 5,
                overflow_drops: 5,
                ..BottleneckStats::default()
            },
            pair,
            neighbour_flows: beside,
        }
    }

    fn found(cell: &MatrixCell) -> (PairVerdict, Option<Mechanism>) {
        let finding = judge(cell, Some(20.0), &Thresholds::built_in().unwrap());
        assert_eq!(finding.mechanism.is_none(), finding.verdict == PairVerdict::Healthy);
        assert!(!finding.evidence.is_empty() && finding.evidence.iter().all(|e| e.1.is_finite()));
        (finding.verdict, finding.mechanism)
    }

    fn collapsed(change: fn(&mut FlowStats)) -> Mechanism {
        let mut pair = FlowStats {
            fair_share_ratio: Some(0.4),
            window_segments: Some(2.0),
            goodput_share: Some(1.0),
            ..class()
        };
        pair.signals.ece_acks = 300_000;
        change(&mut pair);
        let (verdict, why) = found(&cell(pair, None, 0.0));
        assert_eq!(verdict, PairVerdict::CollapsedWindow);
        why.unwrap()
    }

    #[test]
    fn a_collapse_is_explained_by_what_keeps_the_window_down() {
        let never = collapsed(|p| (p.ece, p.signals.cwr_segments) = (Some(0.99), 0));
        assert_eq!(never, Mechanism::EceNeverCleared);
        assert_eq!(collapsed(|p| p.ece = Some(0.99)), Mechanism::EceLatched);
        let always = collapsed(|p| (p.ece, p.marked) = (Some(0.99), Some(0.95)));
        assert_eq!(always, Mechanism::AlwaysMarked);
        assert_eq!(collapsed(|p| p.rto_count = 1000), Mechanism::Timeouts);
        assert_eq!(collapsed(|p| p.signals.ece_acks = 1000), Mechanism::CutsOnEveryMark);
        assert_eq!(collapsed(|p| p.echo_ratio = Some(10.0)), Mechanism::EchoOverstates);
        assert_eq!(collapsed(|_| {}), Mechanism::Unexplained);
    }

    #[test]
    fn a_small_window_on_a_full_link_is_no_collapse() {
        let pair = FlowStats { window_segments: Some(2.0), goodput_share: Some(1.0), ..class() };
        assert_eq!(found(&cell(pair, None, 10.0)), (PairVerdict::Healthy, None));
    }

    fn blind(change: fn(&mut FlowStats)) -> Option<Mechanism> {
        let mut pair = FlowStats { goodput_share: Some(1.0), ..class() };
        change(&mut pair);
        let (verdict, why) = found(&cell(pair, None, 190.0));
        assert_eq!(verdict == PairVerdict::BlindToCongestion, why.is_some());
        why
    }

    #[test]
    fn blindness_is_explained_by_where_the_mark_is_lost() {
        assert_eq!(blind(|p| p.ect = Some(0.0)), Some(Mechanism::NoEct));
        let no_echo = |p: &mut FlowStats| (p.echo_ratio, p.signals.ece_acks) = (Some(0.0), 0);
        assert_eq!(blind(no_echo), Some(Mechanism::NoEcho));
        assert_eq!(blind(|p| p.echo_ratio = Some(0.0)), Some(Mechanism::EchoNotUnderstood));
        assert_eq!(blind(|p| p.signals.ecn_reductions = 0), Some(Mechanism::MarksIgnored));
        assert_eq!(blind(|_| {}), None, "it receives marks and reduces: others build the queue");
        let low =
            cell(FlowStats { ect: Some(0.0), goodput_share: Some(1.0), ..class() }, None, 30.0);
        assert_eq!(found(&low).0, PairVerdict::Healthy, "no ECT and a short queue: delay, perhaps");
    }

    /// The mechanism for a pair with 90 % of the goodput, checked from both sides.
    fn starved(change: fn(&mut FlowStats, &mut FlowStats)) -> Mechanism {
        let mut winner =
            FlowStats { goodput_share: Some(0.9), fair_share_ratio: Some(1.8), ..class() };
        let mut loser =
            FlowStats { goodput_share: Some(0.1), fair_share_ratio: Some(0.2), ..class() };
        change(&mut winner, &mut loser);
        let (verdict, why) = found(&cell(winner.clone(), Some(loser.clone()), 100.0));
        assert_eq!(verdict, PairVerdict::StarvesNeighbour);
        let (mirrored, same) = found(&cell(loser, Some(winner), 100.0));
        assert_eq!((mirrored, same), (PairVerdict::StarvedByNeighbour, why));
        why.unwrap()
    }

    #[test]
    fn starvation_is_explained_from_both_sides() {
        let unmarked =
            starved(|w, l| (w.ect, w.marked, l.marked) = (Some(0.0), Some(0.0), Some(1.0)));
        assert_eq!(unmarked, Mechanism::UnmarkedHoldsQueue);
        assert_eq!(starved(|w, _| w.echo_ratio = Some(0.0)), Mechanism::UnheardHoldsQueue);
        assert_eq!(starved(|_, _| {}), Mechanism::CutsLess);
        assert_eq!(starved(|_, l| l.marked = Some(0.6)), Mechanism::MarkedMore);
        assert_eq!(starved(|w, l| (w.marked, l.rto_count) = (Some(0.6), 2)), Mechanism::Timeouts);
        let none = |c: &mut FlowStats| {
            (c.ect, c.marked, c.echo_ratio) = (Some(0.0), Some(0.0), None);
            c.signals.received_ce_bytes = 0;
        };
        let losses = starved(|w, l| {
            for c in [w, l] {
                (c.ect, c.marked, c.echo_ratio) = (Some(0.0), Some(0.0), None);
                c.signals.received_ce_bytes = 0;
            }
        });
        assert_eq!(losses, Mechanism::OutgrowsAfterLoss);
        let mut winner = FlowStats { goodput_share: Some(0.9), ..class() };
        let mut loser = FlowStats { goodput_share: Some(0.1), ..class() };
        none(&mut loser);
        let mut dropped = cell(winner.clone(), Some(loser.clone()), 20.0);
        dropped.queue.aqm_drops = 100;
        assert_eq!(found(&dropped).1, Some(Mechanism::DroppedNotMarked));
        none(&mut winner);
        let mut idle = cell(winner, Some(loser), 20.0);
        (idle.queue.drops, idle.queue.overflow_drops) = (0, 0);
        assert_eq!(found(&idle).1, Some(Mechanism::Unexplained));
    }

    /// With Accurate ECN, the ECE and CWR bits of RFC 3168 are part of a counter: ECE is set on
    /// half of all ACKs, and CWR on none or many, regardless of the echo.
    #[test]
    fn no_echo_is_read_from_the_bits_of_a_counter() {
        let with = |change: fn(&mut FlowStats)| {
            let mut pair =
                FlowStats { fair_share_ratio: Some(0.4), window_segments: Some(2.0), ..class() };
            change(&mut pair);
            (pair.ece, pair.signals.accecn_flows) = (None, 1);
            judge(&cell(pair, None, 0.0), Some(20.0), &Thresholds::built_in().unwrap())
        };
        let never = with(|p| p.signals.cwr_segments = 0);
        assert_eq!(never.mechanism, Some(Mechanism::Unexplained));
        let unread = ["ece_ack_share", "cwr_segments"];
        assert!(never.evidence.iter().all(|(name, _)| !unread.contains(name)));
        let per_ack = with(|p| p.signals.ece_acks = 1000);
        assert_eq!(per_ack.mechanism, Some(Mechanism::Unexplained), "not a cut per ACK with ECE");
        let overstated = with(|p| p.echo_ratio = Some(10.0));
        assert_eq!(
            overstated.mechanism,
            Some(Mechanism::EchoOverstates),
            "the decoder's own count"
        );
        let deaf = |p: &mut FlowStats| {
            (p.echo_ratio, p.ece) = (Some(0.0), None);
            (p.signals.ece_acks, p.signals.accecn_flows) = (0, 1);
        };
        assert_eq!(blind(deaf), Some(Mechanism::Unexplained), "the counter may have said so");
    }

    /// A delay-based side loses to one that fills the queue, unless that one is delay-based too.
    #[test]
    fn yielding_to_delay_follows_from_the_declared_signals() {
        let yields = starved(|_, l| l.signals.cc_used = Some("vegas".into()));
        assert_eq!(yields, Mechanism::YieldsToDelay);
        assert_eq!(starved(|_, l| l.signals.cc_used = Some("dx".into())), Mechanism::YieldsToDelay);
        let both = starved(|w, l| {
            for class in [w, l] {
                class.signals.cc_used = Some("vegas".into());
            }
        });
        assert_eq!(both, Mechanism::CutsLess, "then it explains nothing");
        let (mut winner, mut loser) = (class(), class());
        winner.signals.cc_used = Some("vegas".into());
        (winner.goodput_share, loser.goodput_share) = (Some(0.9), Some(0.1));
        let other =
            judge(&cell(winner, Some(loser), 100.0), Some(20.0), &Thresholds::built_in().unwrap());
        assert_eq!(other.mechanism, Some(Mechanism::CutsLess), "the delay-based side did not lose");
    }

    #[test]
    fn a_window_limited_by_the_neighbour_is_not_a_collapse() {
        let victim = FlowStats {
            goodput_share: Some(0.02),
            fair_share_ratio: Some(0.04),
            window_segments: Some(2.0),
            marked: Some(1.0),
            ece: Some(1.0),
            ..class()
        };
        let sack =
            FlowStats { ect: Some(0.0), marked: Some(0.0), goodput_share: Some(0.98), ..class() };
        let (verdict, why) = found(&cell(victim.clone(), Some(sack.clone()), 190.0));
        assert_eq!(
            (verdict, why),
            (PairVerdict::StarvedByNeighbour, Some(Mechanism::UnmarkedHoldsQueue))
        );
        let mut own = victim;
        own.signals.cwr_segments = 0;
        let (verdict, why) = found(&cell(own, Some(sack), 190.0));
        assert_eq!(
            (verdict, why),
            (PairVerdict::CollapsedWindow, Some(Mechanism::EceNeverCleared))
        );
    }
}
