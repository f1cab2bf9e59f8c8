//! Mechanisms that explain the verdict of a pair, with the numbers that show them.
//!
//! Contract: a mechanism is named only if the counters show it; otherwise the verdict is
//! `unexplained`. With Accurate ECN, ECE and CWR are bits of a counter: only the decoder's counts
//! are used, never these bits. The numbers that decided are listed with the mechanism, under the
//! same names for every mechanism.

use lowtide_tcp::cc::{self, Signal};
use serde::Serialize;

use super::cell::{FlowStats, MatrixCell};
use super::thresholds::Thresholds;

/// A mechanism.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// The receiver latches ECE until CWR, and the sender sends none (RFC 3168 §6.1.3).
    EceNeverCleared,
    /// ECE stays set on nearly every ACK although CWR is sent and few packets are marked.
    EceLatched,
    /// Nearly every packet is CE-marked, at any window.
    AlwaysMarked,
    /// The window is reduced for every ACK with ECE, not once per window.
    CutsOnEveryMark,
    /// The echo reports many more bytes than were marked, and the reduction follows the echo.
    EchoOverstates,
    /// Retransmission timeouts.
    Timeouts,
    /// The sender's packets are not ECN-capable.
    NoEct,
    /// Marked packets arrive, but ACKs do not echo them.
    NoEcho,
    /// ACKs echo marks, but the sender's decoder does not recognise them.
    EchoNotUnderstood,
    /// The sender receives marks and does not reduce.
    MarksIgnored,
    /// One side is not ECN-capable and holds the queue above K; all packets of the other one are
    /// marked.
    UnmarkedHoldsQueue,
    /// One side does not receive its marks and holds the queue above K.
    UnheardHoldsQueue,
    /// One side yields to the queueing delay that the other builds.
    YieldsToDelay,
    /// Both receive the same marks; one reduces less for them.
    CutsLess,
    /// The marker drops the packets of the side that is not ECN-capable.
    DroppedNotMarked,
    /// One side is marked more often than the other.
    MarkedMore,
    /// Both fill the buffer; one regains more of it after a loss.
    OutgrowsAfterLoss,
    /// None of the known mechanisms.
    Unexplained,
}

impl Mechanism {
    /// Description of the mechanism.
    pub const fn text(self) -> &'static str {
        match self {
            Self::EceNeverCleared => "ECE never cleared: sender does not send CWR",
            Self::EceLatched => "ECE stays latched: CWR is sent and does not clear it",
            Self::AlwaysMarked => {
                "every packet is marked: the queue stays above K even at the least window"
            }
            Self::CutsOnEveryMark => "the window is cut on every marked ACK, not once per window",
            Self::EchoOverstates => {
                "the echo overstates: far more bytes are reported than were marked"
            }
            Self::Timeouts => "retransmission timeouts",
            Self::NoEct => "no ECT: the switch drops instead of marking",
            Self::NoEcho => "marks never reach the sender: receiver does not echo",
            Self::EchoNotUnderstood => {
                "marks never reach the sender: its decoder does not understand the echo"
            }
            Self::MarksIgnored => "the sender hears of marks and does not reduce",
            Self::UnmarkedHoldsQueue => {
                "no ECT on one side: it holds the queue above K, and the other is marked all the time"
            }
            Self::UnheardHoldsQueue => {
                "marks do not reach one side: it holds the queue above K, and the other yields"
            }
            Self::YieldsToDelay => {
                "one side yields to the delay of the queue that the other builds"
            }
            Self::CutsLess => "the same marks, cut less: one side's reductions are smaller",
            Self::DroppedNotMarked => "no ECT on the starved side: the marker drops its packets",
            Self::MarkedMore => "one side is marked more often than the other",
            Self::OutgrowsAfterLoss => "both fill the buffer: one regains more of it after a loss",
            Self::Unexplained => "none of the known mechanisms",
        }
    }
}

/// Numbers by name, in a fixed order.
pub type VerdictEvidence = Vec<(&'static str, f64)>;

/// Appends `value` if there is one.
fn note(evidence: &mut VerdictEvidence, name: &'static str, value: Option<f64>) {
    evidence.extend(value.map(|v| (name, v)));
}

fn above(value: Option<f64>, least: f64) -> bool {
    value.is_some_and(|v| v >= least)
}

fn below(value: Option<f64>, most: f64) -> bool {
    value.is_some_and(|v| v < most)
}

/// The receiver's ECE latch is never cleared.
fn never_cleared(class: &FlowStats, t: &Thresholds) -> bool {
    above(class.ece, t.mechanism.ece) && class.cwr_segments() == Some(0)
}

fn receives_feedback(class: &FlowStats, t: &Thresholds) -> bool {
    above(class.echo_ratio, t.blind_to_congestion.echo_ratio)
}

/// Explains why the window of the pair is at its minimum.
pub(crate) fn explain_collapse(cell: &MatrixCell, t: &Thresholds) -> (Mechanism, VerdictEvidence) {
    let pair = &cell.pair;
    let cuts = pair.signals.ecn_reductions as f64;
    let again = pair.ece_acks().filter(|acks| *acks > 0).map(|acks| cuts / acks as f64);
    let mechanism = if never_cleared(pair, t) {
        Mechanism::EceNeverCleared
    } else if above(pair.marked, t.mechanism.marked) {
        Mechanism::AlwaysMarked
    } else if above(pair.ece, t.mechanism.ece) {
        Mechanism::EceLatched
    } else if pair.rto_count > pair.signals.ecn_reductions {
        Mechanism::Timeouts
    } else if above(again, t.mechanism.cuts_per_ece_ack) {
        Mechanism::CutsOnEveryMark
    } else if above(pair.echo_ratio, t.mechanism.overstated) {
        Mechanism::EchoOverstates
    } else {
        Mechanism::Unexplained
    };
    let mut evidence = VerdictEvidence::new();
    note(&mut evidence, "window_segments", pair.window_segments);
    note(&mut evidence, "fair_share_ratio", pair.fair_share_ratio);
    note(&mut evidence, "ece_ack_share", pair.ece);
    note(&mut evidence, "cwr_segments", pair.cwr_segments().map(|n| n as f64));
    note(&mut evidence, "marked_share", pair.marked);
    note(&mut evidence, "echo_ratio", pair.echo_ratio);
    note(&mut evidence, "ecn_reductions", Some(cuts));
    note(&mut evidence, "rto_count", Some(pair.rto_count as f64));
    (mechanism, evidence)
}

/// Explains why marks do not slow the pair; `None` if they do.
pub(crate) fn explain_blindness(
    cell: &MatrixCell,
    t: &Thresholds,
) -> Option<(Mechanism, VerdictEvidence)> {
    let pair = &cell.pair;
    let signals = &pair.signals;
    let mechanism = if below(pair.ect, t.mechanism.ect) {
        Mechanism::NoEct
    } else if signals.received_ce_bytes == 0 {
        return None;
    } else if !receives_feedback(pair, t) {
        match pair.ece_acks() {
            Some(0) => Mechanism::NoEcho,
            Some(_) => Mechanism::EchoNotUnderstood,
            None => Mechanism::Unexplained,
        }
    } else if signals.ecn_reductions == 0 {
        Mechanism::MarksIgnored
    } else {
        return None;
    };
    let mut evidence = VerdictEvidence::new();
    note(&mut evidence, "queue_p50_packets", cell.queue.p50_packets);
    note(&mut evidence, "ect_share", pair.ect);
    note(&mut evidence, "ecn_flows", Some(signals.ecn_flows as f64));
    note(&mut evidence, "marked_share", pair.marked);
    note(&mut evidence, "echo_ratio", pair.echo_ratio);
    note(&mut evidence, "ece_ack_share", pair.ece);
    note(&mut evidence, "ecn_reductions", Some(signals.ecn_reductions as f64));
    note(&mut evidence, "drops", Some(cell.queue.drops as f64));
    Some((mechanism, evidence))
}

/// A delay-based congestion control was in use; one that fell back to another does not count.
fn reacts_to_delay(class: &FlowStats) -> bool {
    let entry = class.signals.cc_used.as_deref().and_then(|name| cc::REGISTRY.find(name));
    entry.is_some_and(|e| e.declared.reacts_to.contains(&Signal::Delay))
}

/// Explains why `winner` leaves `loser` less than its share.
pub(crate) fn explain_starvation(
    cell: &MatrixCell,
    winner: &FlowStats,
    loser: &FlowStats,
    t: &Thresholds,
) -> (Mechanism, VerdictEvidence) {
    let unmarked = |class: &FlowStats| below(class.ect, t.mechanism.ect);
    let alike = winner.marked.zip(loser.marked).is_some_and(|(w, l)| {
        w > 0.0 && l > 0.0 && w / l < t.mechanism.marked_ratio && l / w < t.mechanism.marked_ratio
    });
    let mechanism = if never_cleared(loser, t) {
        Mechanism::EceNeverCleared
    } else if unmarked(winner) && above(loser.marked, t.mechanism.marked) {
        Mechanism::UnmarkedHoldsQueue
    } else if winner.signals.received_ce_bytes > 0 && !receives_feedback(winner, t) {
        Mechanism::UnheardHoldsQueue
    } else if reacts_to_delay(loser) && !reacts_to_delay(winner) {
        Mechanism::YieldsToDelay
    } else if unmarked(loser) && cell.queue.aqm_drops > 0 {
        Mechanism::DroppedNotMarked
    } else if alike && receives_feedback(winner, t) && receives_feedback(loser, t) {
        Mechanism::CutsLess
    } else if winner.marked.zip(loser.marked).is_some_and(|(w, l)| l > w * t.mechanism.marked_ratio)
    {
        Mechanism::MarkedMore
    } else if loser.rto_count > winner.rto_count || loser.signals.data_segments == 0 {
        // A side that sends nothing after the warm-up waits for a timer that exceeds the run.
        Mechanism::Timeouts
    } else if unmarked(winner) && unmarked(loser) && cell.queue.overflow_drops > 0 {
        Mechanism::OutgrowsAfterLoss
    } else {
        Mechanism::Unexplained
    };
    let mut evidence = VerdictEvidence::new();
    note(&mut evidence, "starved_goodput_share", loser.goodput_share);
    note(&mut evidence, "queue_p50_packets", cell.queue.p50_packets);
    note(&mut evidence, "starved_window_segments", loser.window_segments);
    note(&mut evidence, "other_window_segments", winner.window_segments);
    note(&mut evidence, "starved_marked_share", loser.marked);
    note(&mut evidence, "other_marked_share", winner.marked);
    note(&mut evidence, "starved_ect_share", loser.ect);
    note(&mut evidence, "other_ect_share", winner.ect);
    note(&mut evidence, "starved_ecn_reductions", Some(loser.signals.ecn_reductions as f64));
    note(&mut evidence, "other_ecn_reductions", Some(winner.signals.ecn_reductions as f64));
    note(&mut evidence, "starved_ece_ack_share", loser.ece);
    note(&mut evidence, "starved_cwr_segments", loser.cwr_segments().map(|n| n as f64));
    note(&mut evidence, "starved_rto_count", Some(loser.rto_count as f64));
    note(&mut evidence, "other_rto_count", Some(winner.rto_count as f64));
    note(&mut evidence, "drops", Some(cell.queue.drops as f64));
    (mechanism, evidence)
}
