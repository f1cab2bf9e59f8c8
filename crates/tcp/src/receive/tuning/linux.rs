//! The receive buffer of Linux: dynamic right-sizing, as in 6.18 (`net/ipv4/tcp_input.c`).
//!
//! *Algorithm* (`tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`): when the application reads, and the
//! receiver's round trip has passed since the last measurement, `copied` is what it read since
//! then, less what still waits. If that is more than ever before (`space`), the window may become
//! `2 copied + 4 copied (copied - space) / space`, plus the extent of data beyond a gap. A reader
//! that falls behind does not make the buffer grow. The window follows by two bytes for each that
//! arrives (`tcp_grow_window`), since the kernel expects the sender to need it only then.
//!
//! The round trip (`tcp_rcv_rtt_update`) is measured by echoed timestamps, smoothed by 1/8, and by
//! the time that a window of data takes, which only lowers it. A lower sample counts at once; a
//! higher one does not count while data waits for the reader.
//!
//! *Constants*: `tcp_rmem` has 131072 B of memory at the start. Half of the memory counts as window
//! (`TCP_DEFAULT_SCALING_RATIO`), so the window is 65535 B, the largest without scaling.
//!
//! Deviations: the share of memory that counts as window stays one half; the kernel measures it
//! from the buffers of the network driver. The reads since the last segment are judged when the
//! next one arrives, with the time of the last; so does the kernel, which caches that time
//! (`tcp_mstamp`). There is no limit for small round trips (`tcp_rcvbuf_low_rtt`, after 6.18).

use lowtide_units::Instant;

use super::{AfterArrival, Arrival};

/// The window before the first adjustment, bytes.
pub(super) const START: u64 = 65_535;
/// `TCP_INIT_CWND`, segments.
const INITIAL_SEGMENTS: u64 = 10;
/// Payload from which a segment opens the window, bytes (`tcp_event_data_recv`).
const LEAST_PAYLOAD: u32 = 128;

/// The window for `copied` bytes per round trip after `before`, which is not more, and `beyond`
/// bytes that wait for a gap.
pub(super) fn wanted(copied: u64, before: u64, beyond: u64) -> u64 {
    let window = 2 * copied;
    let rise = window.saturating_mul(copied.saturating_sub(before)) / before.max(1);
    window.saturating_add(rise.saturating_mul(2)).saturating_add(beyond)
}

#[derive(Debug)]
pub(super) struct Linux {
    /// `tcp_rmem[2]` as a window: `receive-buffer`, bytes.
    most: u64,
    /// `window_clamp`: the size that the window may reach, bytes.
    clamp: u64,
    mss: u32,
    /// `rcv_rtt_est.rtt_us`: eight times the round trip in microseconds; zero without a sample.
    rtt_us_8: u64,
    /// `rcv_rtt_est.seq` and `.time`: the end and the start of a window of data.
    window: Option<(u64, Instant)>,
    /// The echo of the last sample.
    last_echo: Option<u32>,
    /// `rcvq_space.space`: the most that was read in a round trip, bytes.
    space: u64,
    /// `rcvq_space.seq` and `.time`: what was read at the last measurement, and its time.
    measured: (u64, Instant),
    /// `tcp_mstamp`: the time of the last segment, and what was read before it.
    last: (Instant, u64),
}

impl Linux {
    pub(super) const fn new(most: u64) -> Self {
        Self {
            most,
            clamp: 0,
            mss: 536,
            rtt_us_8: 0,
            window: None,
            last_echo: None,
            space: 1,
            measured: (0, Instant::ZERO),
            last: (Instant::ZERO, 0),
        }
    }

    pub(super) fn on_established(&mut self, now: Instant, size: u64, mss: u32) {
        self.mss = mss;
        self.clamp = size;
        self.space = size.min(INITIAL_SEGMENTS * u64::from(mss)).max(1);
        self.measured = (0, now);
        self.last = (now, 0);
    }

    /// Returns the new window.
    pub(super) fn on_data(&mut self, size: u64, arrival: &Arrival, after: &AfterArrival) -> u64 {
        if arrival.consumed > self.last.1 {
            self.adjust(arrival);
        }
        self.last = (arrival.now, arrival.consumed);
        self.measure_by_echo(arrival);
        if after.nxt > arrival.nxt {
            self.measure_by_window(arrival.now, after);
        }
        if let Some(top) = after.top {
            self.grow(self.space, top.saturating_sub(after.nxt));
        }
        let unread = after.nxt.saturating_sub(arrival.consumed);
        let room = self.clamp.saturating_sub(unread).saturating_sub(size);
        let opens = arrival.payload >= LEAST_PAYLOAD;
        let step = 2 * u64::from(self.mss.max(arrival.payload));
        if opens { size + room.min(step) } else { size }
    }

    /// `tcp_rcv_space_adjust`, for the reads after the last segment.
    fn adjust(&mut self, arrival: &Arrival) {
        let (seen, (before, since)) = (self.last.0, self.measured);
        let due = self.rtt_us_8 > 0 && seen.saturating_since(since).as_us() >= self.rtt_us_8 >> 3;
        if !due {
            return;
        }
        let waits = arrival.nxt.saturating_sub(arrival.consumed);
        let copied = (arrival.consumed - before).saturating_sub(waits);
        if copied > self.space {
            self.grow(copied, 0);
        }
        self.measured = (arrival.consumed, seen);
    }

    /// `tcp_rcvbuf_grow`: `copied` bytes were read in a round trip, `beyond` bytes wait for a gap.
    fn grow(&mut self, copied: u64, beyond: u64) {
        let before = core::mem::replace(&mut self.space, copied);
        self.clamp = self.clamp.max(wanted(copied, before, beyond).min(self.most));
    }

    /// `tcp_rcv_rtt_measure_ts`.
    fn measure_by_echo(&mut self, arrival: &Arrival) {
        let Some((ts, echo)) = arrival.echo else { return };
        if self.last_echo.replace(echo) == Some(echo) || arrival.payload < self.mss {
            return;
        }
        // Within one tick there is no sample.
        if let Some(rtt) = ts.rtt(arrival.now, echo) {
            self.update_rtt(rtt.as_us(), Some(arrival.nxt == arrival.consumed));
        }
    }

    /// `tcp_rcv_rtt_measure`.
    fn measure_by_window(&mut self, now: Instant, after: &AfterArrival) {
        if let Some((end, since)) = self.window {
            if after.nxt < end {
                return;
            }
            self.update_rtt(now.saturating_since(since).as_us().max(1), None);
        }
        self.window = Some((after.nxt + after.window, now));
    }

    /// `tcp_rcv_rtt_update`: `all_read` only for a sample by an echo.
    fn update_rtt(&mut self, sample_us: u64, all_read: Option<bool>) {
        let old = self.rtt_us_8;
        if old == 0 || sample_us * 8 < old {
            self.rtt_us_8 = sample_us * 8;
        } else if all_read == Some(true) {
            self.rtt_us_8 = old - old / 8 + sample_us;
        }
    }
}
