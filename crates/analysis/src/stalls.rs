//! Stalls: retransmission timeouts, delayed ACKs, zero windows.

use lowtide_units::LogHistogram;

/// Stalls of each kind that are listed; all are counted.
const MAX_LISTED: usize = 256;
/// Shortest ACK delay that is attributed to a timer instead of a queue.
const MIN_ACK_DELAY_NS: u64 = 5_000_000;

/// Smallest RTO of a stack in general use, nanoseconds: 10 ms (smoltcp up to 0.12; the DCTCP
/// testbed, SIGCOMM 2010 §4). Other minima are larger: Windows 20 ms in a data centre (`MinRto`),
/// FreeBSD 30 ms and 200 ms of slop (`net.inet.tcp.rexmit_min`, `rexmit_slop`), Linux 200 ms
/// (`net.ipv4.tcp_rto_min_us`). A Linux route or socket can lower it to one jiffy.
pub(super) const RTO_MIN_NS: u64 = 10_000_000;
/// Tenths of the minimum RTO that a timeout lasts at least. Clocks tick, and queues below TCP delay
/// the packet that armed the timer.
const PLAUSIBLE_TENTHS: u64 = 9;

/// Slack of a RACK timer beyond SRTT: two ticks of a slow clock.
const RACK_SLACK_NS: u64 = 10_000_000;
/// Least time after which a stack probes a sole segment: the worst delayed ACK (RFC 8985 §7.2).
const SOLE_PTO_NS: u64 = 200_000_000;

/// A retransmission, and the times around it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Retransmit {
    pub(super) time: u64,
    /// Time since the connection's last packet, and the least one of a timer.
    pub(super) silence: u64,
    pub(super) threshold: u64,
    /// The timer was armed by this transmission of the first unacknowledged byte, or this ACK.
    pub(super) armed: u64,
    pub(super) srtt: u64,
    /// It begins with the first unacknowledged byte; it ends with the last byte sent.
    pub(super) head: bool,
    pub(super) tail: bool,
    /// Whether data above the first unacknowledged byte has been SACKed, if SACK was agreed, which
    /// tail loss probes need.
    pub(super) sack: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RetransmitCause {
    Timeout,
    Probe,
    Repair,
}

/// A retransmission timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Timeout {
    /// Start of the silence, and its end: the retransmission of the first unacknowledged byte.
    pub(super) from: u64,
    pub(super) to: u64,
    /// Consecutive timeouts before this one, without an ACK in between.
    pub(super) backoff: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Stalls {
    /// Minimum RTO of the sender's stack, nanoseconds.
    pub(super) rto_min: u64,
    /// Silences that ended after packets had been lost before the capture.
    pub(super) hidden_timeouts: u64,
    /// Times from arming the timer to an apparent timeout that are shorter than the minimum RTO.
    pub(super) implausible: LogHistogram,
    pub(super) first_implausible: Option<(u64, u64)>,
    /// Last time the first unacknowledged byte was retransmitted after a silence.
    last_fired: u64,
    pub(super) timeouts: u64,
    pub(super) listed: Vec<Timeout>,
    pub(super) timeout_ns: u64,
    pub(super) most_backoff: u32,
    backoff: u32,
    /// Age of a sole segment that was sent again, perhaps as a probe.
    sole_probe: Option<u64>,
    /// Retransmissions by RACK's reordering timer.
    pub(super) reordering_timer: u64,
    /// Segments retransmitted from the tail of the flight after a silence.
    pub(super) tail_probes: u64,
    /// Extra delay of ACKs that left nothing in flight.
    pub(super) delayed_acks: LogHistogram,
    zero_since: Option<u64>,
    pub(super) zero_windows: LogHistogram,
    pub(super) zero_window_spans: Vec<(u64, u64)>,
}

impl Stalls {
    /// `rto_min` is the minimum RTO of the sender's stack, nanoseconds.
    pub(super) fn new(rto_min: u64) -> Self {
        Self { rto_min, ..Self::default() }
    }

    /// Decides what caused a retransmission.
    pub(super) fn on_retransmit(&mut self, r: &Retransmit) -> RetransmitCause {
        let least = self.rto_min.max(r.srtt) / 10 * PLAUSIBLE_TENTHS;
        let since = r.time.saturating_sub(r.armed.max(self.last_fired));
        if r.silence < r.threshold {
            return RetransmitCause::Repair;
        }
        if r.sack == Some(true)
            && r.silence < self.rto_min.max(r.srtt.saturating_add(RACK_SLACK_NS))
        {
            // RFC 8985 §6.2: the reordering window is at most SRTT after the last SACK.
            self.reordering_timer += 1;
            return RetransmitCause::Repair;
        }
        if !r.head {
            self.tail_probes += u64::from(r.tail);
            return if r.tail { RetransmitCause::Probe } else { RetransmitCause::Repair };
        }
        self.last_fired = r.time;
        if since < least {
            self.implausible.add(since);
            self.first_implausible.get_or_insert((r.time - since, r.time));
            return RetransmitCause::Repair;
        }
        if r.tail
            && r.sack.is_some()
            && self.backoff == 0
            && self.sole_probe.is_none()
            && since >= SOLE_PTO_NS
        {
            self.tail_probes += 1;
            self.sole_probe = Some(since);
            return RetransmitCause::Probe;
        }
        if self.sole_probe.take().is_some_and(|first| since >= first / 2 * 3) {
            // A probe does not double the timeout (RFC 8985 §7.3): the first one was a timeout.
            self.tail_probes -= 1;
            self.add_timeout(r.armed, r.time - since);
        }
        self.add_timeout(r.time - r.silence.min(since), r.time);
        RetransmitCause::Timeout
    }

    fn add_timeout(&mut self, from: u64, to: u64) {
        self.timeouts += 1;
        self.timeout_ns += to.saturating_sub(from);
        if self.listed.len() < MAX_LISTED {
            self.listed.push(Timeout { from, to, backoff: self.backoff });
        }
        self.most_backoff = self.most_backoff.max(self.backoff);
        self.backoff += 1;
    }

    /// Processes an ACK that advances.
    pub(super) fn on_advance(&mut self) {
        self.backoff = 0;
        self.sole_probe = None;
    }

    /// Processes an ACK that leaves nothing in flight, `rtt` after the newest data and `owed` after
    /// the oldest, from which the timer runs. `least` is the usual round trip. Returns the extra
    /// delay.
    pub(super) fn on_full_ack(&mut self, rtt: u64, owed: u64, least: u64) -> u64 {
        if rtt.saturating_sub(least) < MIN_ACK_DELAY_NS.max(least) {
            return 0;
        }
        let delay = owed.saturating_sub(least);
        self.delayed_acks.add(delay);
        delay
    }

    /// Processes the receiver's window.
    pub(super) fn on_window(&mut self, time: u64, window: u16) {
        match self.zero_since {
            None if window == 0 => self.zero_since = Some(time),
            Some(since) if window > 0 => {
                self.zero_since = None;
                self.zero_windows.add(time.saturating_sub(since));
                if self.zero_window_spans.len() < MAX_LISTED {
                    self.zero_window_spans.push((since, time));
                }
            }
            _ => {}
        }
    }

    /// Returns the start of a zero window that is still closed.
    pub(super) fn zero_window_since(&self) -> Option<u64> {
        self.zero_since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(time: u64, silence: u64, armed: u64) -> Retransmit {
        Retransmit { time, silence, threshold: 500, armed, head: true, ..Retransmit::default() }
    }

    #[test]
    fn timeouts_back_off_until_an_ack_advances() {
        let mut s = Stalls::default();
        assert_eq!(s.on_retransmit(&head(1_000, 10, 0)), RetransmitCause::Repair);
        assert_eq!(s.on_retransmit(&head(2_000, 900, 0)), RetransmitCause::Timeout);
        assert_eq!(s.on_retransmit(&head(4_000, 1_800, 0)), RetransmitCause::Timeout);
        s.on_advance();
        assert_eq!(s.on_retransmit(&head(9_000, 900, 0)), RetransmitCause::Timeout);
        assert_eq!((s.timeouts, s.timeout_ns, s.most_backoff), (3, 3_600, 1));
        assert_eq!(s.listed[1], Timeout { from: 2_200, to: 4_000, backoff: 1 });
        let tail = Retransmit { head: false, tail: true, ..head(9_900, 600, 0) };
        assert_eq!(s.on_retransmit(&tail), RetransmitCause::Probe);
        assert_eq!((s.timeouts, s.tail_probes), (3, 1));
    }

    #[test]
    fn a_silence_below_any_rto_is_no_timeout() {
        const MS: u64 = 1_000_000;
        let mut s = Stalls::new(RTO_MIN_NS);
        s.on_retransmit(&head(50 * MS, 4 * MS, 46 * MS));
        assert_eq!((s.timeouts, s.implausible.count()), (0, 1));
        assert_eq!(s.first_implausible, Some((46 * MS, 50 * MS)));
        // Duplicate ACKs shorten the silence but do not restart the timer.
        s.on_retransmit(&head(99 * MS, 4 * MS, 89 * MS));
        assert_eq!((s.timeouts, s.implausible.count()), (1, 1));
        // Without an ACK in between, the previous timeout armed the timer.
        s.on_retransmit(&head(103 * MS, 4 * MS, 89 * MS));
        assert_eq!((s.timeouts, s.implausible.count()), (1, 2));
        // RACK's timer, within SRTT after a SACK; a timeout lasts longer than SRTT.
        let rack =
            Retransmit { srtt: 40 * MS, sack: Some(true), ..head(300 * MS, 30 * MS, 200 * MS) };
        assert_eq!(s.on_retransmit(&rack), RetransmitCause::Repair);
        let short = Retransmit { srtt: 40 * MS, ..head(400 * MS, 30 * MS, 370 * MS) };
        assert_eq!(s.on_retransmit(&short), RetransmitCause::Repair);
        assert_eq!((s.timeouts, s.reordering_timer, s.implausible.count()), (1, 1, 3));
    }

    #[test]
    fn a_sole_segment_is_probed_before_it_times_out() {
        const MS: u64 = 1_000_000;
        let sole = |time, since| Retransmit {
            tail: true,
            sack: Some(false),
            ..head(time * MS, since * MS, (time - since) * MS)
        };
        let mut s = Stalls::new(RTO_MIN_NS);
        s.on_retransmit(&sole(1_000, 220));
        s.on_retransmit(&sole(1_220, 220));
        s.on_retransmit(&sole(1_660, 440));
        assert_eq!((s.tail_probes, s.timeouts, s.most_backoff), (1, 2, 1));
        // The second one came after twice the time: no probe.
        let mut s = Stalls::new(RTO_MIN_NS);
        s.on_retransmit(&sole(1_000, 220));
        s.on_retransmit(&sole(1_440, 440));
        assert_eq!((s.tail_probes, s.timeouts), (0, 2));
    }

    #[test]
    fn a_closed_window_lasts_until_it_opens() {
        let mut s = Stalls::default();
        for (time, window) in [(1, 9), (5, 0), (7, 0), (11, 3), (20, 0)] {
            s.on_window(time, window);
        }
        assert_eq!(
            (s.zero_window_spans.as_slice(), s.zero_window_since()),
            (&[(5, 11)][..], Some(20))
        );
    }
}
