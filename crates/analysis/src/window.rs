//! Bytes in flight over time, and periods in which they are stuck at two segments under ECE.

use lowtide_charts::BoundedSeries;
use lowtide_units::LogHistogram;

use super::stream::AckCoverage;

/// The window floor of most stacks (RFC 8257 §3.3 needs more than one for the ACK clock).
const FLOOR_SEGMENTS: u64 = 2;
/// A period with fewer ACKs or round trips than these is an ordinary reduction.
const MIN_ACKS: u64 = 10;
const MIN_ROUND_TRIPS: u64 = 10;
/// Periods that are remembered.
const MAX_COLLAPSES: usize = 64;

/// A period in which the window was at its floor. Times are in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WindowCollapse {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) acks: u64,
}

#[derive(Clone, Debug, Default)]
struct Tracker {
    now: Option<WindowCollapse>,
    found: Vec<WindowCollapse>,
}

impl Tracker {
    fn note(&mut self, time: u64, holds: bool) {
        match &mut self.now {
            Some(stretch) if holds => {
                stretch.to = time;
                stretch.acks += 1;
            }
            None if holds => self.now = Some(WindowCollapse { from: time, to: time, acks: 1 }),
            _ => {
                if let Some(stretch) = self.now.take().filter(|s| s.acks >= MIN_ACKS)
                    && self.found.len() < MAX_COLLAPSES
                {
                    self.found.push(stretch);
                }
            }
        }
    }

    fn all(&self, round_trip: u64) -> Vec<WindowCollapse> {
        let long = |s: &&WindowCollapse| {
            s.acks >= MIN_ACKS && s.to - s.from >= round_trip.saturating_mul(MIN_ROUND_TRIPS)
        };
        self.found.iter().chain(&self.now).filter(long).copied().collect()
    }
}

#[derive(Clone, Debug)]
pub(super) struct FlightTracker {
    pub(super) flight: LogHistogram,
    pub(super) over_time: BoundedSeries,
    /// By bytes in flight, which are visible only near the sender.
    by_flight: Tracker,
    /// By the gaps between ACKs: at most two segments per round trip.
    by_gaps: Tracker,
    last_ack: Option<u64>,
}

impl FlightTracker {
    /// Creates a tracker with at most `bins` bins over time.
    pub(super) fn new(bins: usize) -> Self {
        Self {
            flight: LogHistogram::default(),
            over_time: BoundedSeries::new(bins),
            by_flight: Tracker::default(),
            by_gaps: Tracker::default(),
            last_ack: None,
        }
    }

    /// Processes data.
    pub(super) fn on_data(&mut self, time: u64, flight: u64) {
        self.over_time.push(time, flight as f64);
    }

    /// Processes an ACK that advanced; `echo` if it has ECE. `round_trip` is the minimum of the
    /// whole path.
    pub(super) fn on_ack(
        &mut self,
        time: u64,
        covered: &AckCoverage,
        echo: bool,
        mss: u32,
        round_trip: Option<u64>,
    ) {
        self.flight.add(covered.flight);
        self.over_time
            .push(time, (covered.flight - covered.newly_acked().min(covered.flight)) as f64);
        let floor = FLOOR_SEGMENTS * u64::from(mss);
        self.by_flight.note(time, echo && covered.flight <= floor);
        let gap = self.last_ack.map(|last| time.saturating_sub(last));
        let slow = gap.zip(round_trip).is_some_and(|(gap, rtt)| gap > rtt / 2);
        self.by_gaps.note(time, echo && slow && covered.newly_acked() <= floor);
        self.last_ack = Some(time);
    }

    /// Returns the periods in which the window was stuck at its floor under ECE.
    pub(super) fn collapses(&self, at_sender: bool, round_trip: u64) -> Vec<WindowCollapse> {
        if at_sender { self.by_flight.all(round_trip) } else { self.by_gaps.all(round_trip) }
    }
}
