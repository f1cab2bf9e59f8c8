//! Counts of marks and of their echo, and evidence that distinguishes the kinds of receivers.
//!
//! Contract: this module only counts; `feedback` decides.

use std::collections::VecDeque;

use lowtide_units::LogHistogram;
use lowtide_wire::{Ecn, Flags, Segment};

use super::stream::{AckCoverage, SequenceTracker};

/// Limits on the CWR segments in flight and on the arrivals without an ACK that are remembered.
const MAX_CWR: usize = 256;
const MAX_ARRIVALS: usize = 8192;
/// Initial value of r.cep (RFC 9768 §3.2.1).
const FIRST_ACE: u8 = 5;

/// A run of consecutive ACKs with ECE. Times are in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EceRun {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) acks: u64,
    pub(super) bytes: u64,
    /// Segments with CWR covered by the run's ACKs.
    pub(super) cwr: u64,
}

/// ECE that a receiver of RFC 3168 and one of DCTCP would send.
#[derive(Clone, Copy, Debug, Default)]
struct ExpectedEce {
    rfc3168: bool,
    dctcp: bool,
}

/// Number of observations that fit each kind of receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub(super) struct EchoEvidence {
    /// Runs of ECE that ended with the ACK that first covers a segment with CWR, and other runs.
    pub(super) ended_at_cwr: u64,
    pub(super) ended_elsewhere: u64,
    /// First ACKs of a run that cover one segment, and those that cover several.
    pub(super) onset_of_one: u64,
    pub(super) onset_of_more: u64,
    /// ACKs with which an echo ended at CWR: for that segment alone; for later ones too, or sent by
    /// a timer; for earlier ones too.
    pub(super) cwr_alone: u64,
    pub(super) cwr_and_later: u64,
    pub(super) cwr_and_earlier: u64,
    /// ACKs for which the two kinds of receivers would send different ECE, and those that fit RFC
    /// 3168 and DCTCP.
    pub(super) distinguishing_acks: u64,
    pub(super) as_rfc3168: u64,
    pub(super) as_dctcp: u64,
    /// ACKs of marked data on which both would have sent ECE, and those without it.
    pub(super) marked_acks: u64,
    pub(super) unechoed_acks: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct EcnTracker {
    pub(super) ect0: u64,
    pub(super) ect1: u64,
    pub(super) not_ect: u64,
    pub(super) ce: u64,
    pub(super) ce_bytes: u64,
    pub(super) cwr: u64,
    cwr_run: u64,
    pub(super) cwr_runs: LogHistogram,
    pub(super) acks: u64,
    pub(super) ece_acks: u64,
    pub(super) ece_bytes: u64,
    pub(super) open_run: Option<EceRun>,
    pub(super) runs: LogHistogram,
    pub(super) run_times: LogHistogram,
    pub(super) longest: Option<EceRun>,
    cwr_in_flight: VecDeque<(u64, u64)>,
    pub(super) evidence: EchoEvidence,
    /// Data in flight: its end, and the ECE that each receiver sends from then on.
    arrivals: VecDeque<(u64, ExpectedEce)>,
    expected: ExpectedEce,
    expected_on_ack: Option<ExpectedEce>,
    /// An echo ended with an ACK for the segment with CWR alone. It counts unless the next ACK has
    /// ECE again: then a new mark triggered the ACK.
    cwr_alone_pending: bool,
    ace: Option<u8>,
    skip_ace: bool,
    /// Packets with CE counted by the ACE field.
    pub(super) ce_by_ace: u64,
    pub(super) ace_changes: u64,
    /// ACKs with the AccECN option, its last CE counter, and the bytes with CE that it counted.
    pub(super) option_acks: u64,
    option_ce: u32,
    pub(super) option_ce_bytes: u64,
}

impl EcnTracker {
    /// Marks the next segment, if it is a pure ACK, as one with the handshake encoding in its ACE
    /// field (RFC 9768 §3.2.2.1).
    pub(super) fn skip_handshake_ack(&mut self) {
        self.skip_ace = true;
    }

    /// Processes a segment with payload from `start` on; `fresh` if it was not seen before.
    pub(super) fn on_data(
        &mut self,
        segment: &Segment,
        start: u64,
        mss: u32,
        fresh: bool,
        accurate: bool,
    ) {
        let bytes = u64::from(segment.payload_len);
        let count = SequenceTracker::count(bytes, mss);
        match segment.ecn {
            Ecn::NotEct => self.not_ect += count,
            Ecn::Ect0 => self.ect0 += count,
            Ecn::Ect1 => self.ect1 += count,
            Ecn::Ce => {
                self.ce += count;
                self.ce_bytes += bytes;
            }
        }
        if accurate {
            return;
        }
        let (cwr, end) = (segment.flags.contains(Flags::CWR), start + bytes);
        if cwr {
            self.cwr += 1;
            self.cwr_run += 1;
            if self.cwr_in_flight.len() >= MAX_CWR {
                self.cwr_in_flight.pop_front();
            }
            self.cwr_in_flight.push_back((start, start + bytes.min(u64::from(mss))));
        } else if self.cwr_run > 0 {
            self.cwr_runs.add(std::mem::take(&mut self.cwr_run));
        }
        if fresh {
            // CWR before CE: a segment may carry both (RFC 3168 erratum 3639).
            self.expected.rfc3168 = (self.expected.rfc3168 && !cwr) || segment.ecn == Ecn::Ce;
            if segment.ecn.is_capable() {
                self.expected.dctcp = segment.ecn == Ecn::Ce;
            }
            if self.arrivals.len() >= MAX_ARRIVALS {
                self.arrivals.pop_front();
            }
            self.arrivals.push_back((end, self.expected));
        }
    }

    /// Processes an ACK with the feedback of RFC 3168; `lone` if a timer seems to have sent it.
    pub(super) fn on_classic_ack(
        &mut self,
        time: u64,
        ack: &Segment,
        covered: &AckCoverage,
        mss: u32,
        lone: bool,
    ) {
        let echo = ack.flags.contains(Flags::ECE);
        self.acks += 1;
        self.ece_acks += u64::from(echo);
        let newly = covered.newly_acked();
        self.ece_bytes += if echo { newly } else { 0 };
        let advance = newly > 0;
        let clear = advance && !covered.has_hole && ack.options.sack.is_empty();
        if std::mem::take(&mut self.cwr_alone_pending) && !echo {
            self.evidence.cwr_alone += 1;
        }
        let mut cwr = None;
        let mut cwr_count = 0;
        while let Some(&(start, end)) = self.cwr_in_flight.front() {
            if !advance || start >= covered.ack {
                break;
            }
            self.cwr_in_flight.pop_front();
            cwr = Some(end);
            cwr_count += 1;
        }
        self.compare(covered, echo, clear);
        match (&mut self.open_run, echo) {
            (None, true) => {
                self.open_run =
                    Some(EceRun { from: time, to: time, acks: 1, bytes: newly, cwr: cwr_count });
                if clear {
                    let one = newly <= u64::from(mss);
                    *(if one {
                        &mut self.evidence.onset_of_one
                    } else {
                        &mut self.evidence.onset_of_more
                    }) += 1;
                }
            }
            (Some(run), true) => {
                (run.to, run.acks) = (time, run.acks + 1);
                run.bytes += newly;
                run.cwr += cwr_count;
            }
            (Some(_), false) => {
                if clear {
                    self.end_at(covered, cwr, mss, lone);
                }
                self.close_run();
            }
            (None, false) => {}
        }
    }

    fn end_at(&mut self, covered: &AckCoverage, cwr: Option<u64>, mss: u32, lone: bool) {
        let Some(end) = cwr else {
            self.evidence.ended_elsewhere += 1;
            return;
        };
        self.evidence.ended_at_cwr += 1;
        let alone = covered.newly_acked() <= u64::from(mss);
        if covered.ack > end || (alone && lone) {
            self.evidence.cwr_and_later += 1;
        } else if alone {
            self.cwr_alone_pending = true;
        } else {
            self.evidence.cwr_and_earlier += 1;
        }
    }

    fn close_run(&mut self) {
        if let Some(run) = self.open_run.take() {
            self.runs.add(run.acks);
            self.run_times.add(run.to - run.from);
            if self.longest.is_none_or(|l| l.acks < run.acks) {
                self.longest = Some(run);
            }
        }
    }

    /// Compares this ACK with those that the two receivers would have sent.
    fn compare(&mut self, covered: &AckCoverage, echo: bool, clear: bool) {
        while let Some((_, echoes)) = self.arrivals.front().filter(|a| a.0 <= covered.ack) {
            self.expected_on_ack = Some(*echoes);
            self.arrivals.pop_front();
        }
        if self.expected_on_ack.is_some_and(|e| clear && e.rfc3168 && e.dctcp) {
            self.evidence.marked_acks += 1;
            self.evidence.unechoed_acks += u64::from(!echo);
        }
        if let Some(echoes) = self.expected_on_ack.filter(|e| clear && e.rfc3168 != e.dctcp) {
            self.evidence.distinguishing_acks += 1;
            self.evidence.as_rfc3168 += u64::from(echo == echoes.rfc3168);
            self.evidence.as_dctcp += u64::from(echo == echoes.dctcp);
        }
    }

    /// Processes an ACK of Accurate ECN. Returns the number of packets with CE that it adds.
    pub(super) fn on_accecn_ack(&mut self, ack: &Segment, covered: &AckCoverage) -> u64 {
        self.acks += 1;
        let pure = ack.payload_len == 0 && ack.options.sack.is_empty();
        if std::mem::take(&mut self.skip_ace) && pure {
            self.ace = Some(FIRST_ACE);
            return 0;
        }
        if covered.stale {
            return 0;
        }
        if let Some(option) = ack.options.accecn() {
            self.option_acks += 1;
            // 24 bits, 0 at first (RFC 9768 §3.2.3); an older value is that of a reordered ACK.
            let counter = option.counters().find(|(field, _)| *field == Ecn::Ce);
            let newer = |value: u32| value.wrapping_sub(self.option_ce) & 0xff_ffff;
            if let Some((_, value)) = counter.filter(|(_, value)| newer(*value) < 1 << 23) {
                self.option_ce_bytes += u64::from(newer(value));
                self.option_ce = value;
            }
        }
        let ace = ack.flags.ace();
        let ahead = u64::from(ace.wrapping_sub(self.ace.unwrap_or(FIRST_ACE)) & 7);
        self.ace = Some(ace);
        self.ce_by_ace += ahead;
        self.ace_changes += u64::from(ahead > 0);
        ahead
    }

    /// Ends the capture: open runs are counted as they are.
    pub(super) fn finish(&mut self) {
        self.evidence.cwr_alone += u64::from(std::mem::take(&mut self.cwr_alone_pending));
        let open = self.open_run;
        self.close_run();
        self.open_run = open;
        if self.cwr_run > 0 {
            self.cwr_runs.add(std::mem::take(&mut self.cwr_run));
        }
    }
}
