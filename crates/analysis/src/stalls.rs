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
    rto_min: u64,
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

    /// Processes a retransmission of the first unacknowledged byte after `silence`. It is a timeout
    /// if no incoming packet can have caused it. The timer was armed at `armed`, or by the previous
    /// timeout (RFC 6298 §5). One RTO passes between the two at any capture location.
    pub(super) fn on_head_retransmit(
        &mut self,
        time: u64,
        silence: u64,
        threshold: u64,
        armed: u64,
    ) -> bool {
        let fired = silence >= threshold;
        let since = time.saturating_sub(armed.max(self.last_fired));
        if fired {
            self.last_fired = time;
        }
        if fired && since < self.rto_min / 10 * PLAUSIBLE_TENTHS {
            self.implausible.add(since);
            self.first_implausible.get_or_insert((time - since, time));
        } else if fired {
            self.timeouts += 1;
            self.timeout_ns += silence;
            if self.listed.len() < MAX_LISTED {
                let (from, to, backoff) = (time - silence, time, self.backoff);
                self.listed.push(Timeout { from, to, backoff });
            }
            self.most_backoff = self.most_backoff.max(self.backoff);
            self.backoff += 1;
        }
        fired
    }

    pub(super) fn on_tail_retransmit(&mut self, silence: u64, threshold: u64) {
        self.tail_probes += u64::from(silence >= threshold);
    }

    /// Processes an ACK that advances.
    pub(super) fn on_advance(&mut self) {
        self.backoff = 0;
    }

    /// Processes an ACK that leaves nothing in flight, `rtt` after the newest data and `owed` after
    /// the oldest, from which the timer runs. `least` is the usual round trip.
    pub(super) fn on_full_ack(&mut self, rtt: u64, owed: u64, least: u64) {
        if rtt.saturating_sub(least) >= MIN_ACK_DELAY_NS.max(least) {
            self.delayed_acks.add(owed.saturating_sub(least));
        }
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

    #[test]
    fn timeouts_back_off_until_an_ack_advances() {
        let mut s = Stalls::default();
        assert!(!s.on_head_retransmit(1_000, 10, 500, 0), "an ACK was there just before");
        assert!(s.on_head_retransmit(2_000, 900, 500, 0));
        assert!(s.on_head_retransmit(4_000, 1_800, 500, 0));
        s.on_advance();
        assert!(s.on_head_retransmit(9_000, 900, 500, 0));
        assert_eq!((s.timeouts, s.timeout_ns, s.most_backoff), (3, 3_600, 1));
        assert_eq!(s.listed[1], Timeout { from: 2_200, to: 4_000, backoff: 1 });
        s.on_tail_retransmit(600, 500);
        assert_eq!((s.timeouts, s.tail_probes), (3, 1));
    }

    #[test]
    fn a_silence_below_any_minimum_rto_is_no_timeout() {
        let mut s = Stalls::new(RTO_MIN_NS);
        assert!(s.on_head_retransmit(50_000_000, 4_000_000, 1_000, 46_000_000));
        assert_eq!((s.timeouts, s.implausible.count()), (0, 1));
        assert_eq!(s.first_implausible, Some((46_000_000, 50_000_000)));
        // Duplicate ACKs shorten the silence but do not restart the timer.
        assert!(s.on_head_retransmit(99_000_000, 4_000_000, 1_000, 89_000_000));
        assert_eq!((s.timeouts, s.implausible.count()), (1, 1));
        // Without an ACK in between, the previous timeout armed the timer.
        assert!(s.on_head_retransmit(103_000_000, 4_000_000, 1_000, 89_000_000));
        assert_eq!((s.timeouts, s.implausible.count()), (1, 2));
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
