//! The marked fraction as a DCTCP sender estimates it from the ACKs (RFC 8257 §3.3).
//!
//! Contract: a window ends with the ACK that covers the data sent before it began. Its fraction is
//! the bytes acknowledged with a mark over the bytes acknowledged. Alpha follows with gain g and
//! begins at 1. Far from the sender an ACK covers data that has just passed, so a window also lasts
//! at least one round trip.

use lowtide_charts::BoundedSeries;

/// g, unless the caller sets it: RFC 8257 §4.2.
pub(super) const GAIN: f64 = 1.0 / 16.0;

#[derive(Clone, Debug)]
pub(super) struct AlphaEstimator {
    gain: f64,
    estimate: f64,
    end: Option<u64>,
    began: u64,
    acked: u64,
    marked: u64,
    pub(super) windows: u64,
    pub(super) marked_windows: u64,
    pub(super) fractions: BoundedSeries,
    pub(super) alphas: BoundedSeries,
}

impl AlphaEstimator {
    pub(super) fn new(gain: f64, bins: usize) -> Self {
        Self {
            gain,
            estimate: 1.0,
            end: None,
            began: 0,
            acked: 0,
            marked: 0,
            windows: 0,
            marked_windows: 0,
            fractions: BoundedSeries::new(bins),
            alphas: BoundedSeries::new(bins),
        }
    }

    /// Processes an ACK up to `ack` for `acked` bytes, `marked` of them with a mark. `sent` is the
    /// end of the data sent; `round_trip` is the minimum of the whole path, nanoseconds.
    pub(super) fn on_ack(
        &mut self,
        (time, round_trip): (u64, u64),
        ack: u64,
        (acked, marked): (u64, u64),
        sent: u64,
    ) {
        self.acked += acked;
        self.marked += marked.min(acked);
        // RFC 8257 §3.3: "when the acknowledgment covers the window".
        let end = *self.end.get_or_insert(ack);
        let early = self.windows > 0 && time.saturating_sub(self.began) < round_trip;
        if ack < end || self.acked == 0 || early {
            return;
        }
        let fraction = self.marked as f64 / self.acked as f64;
        self.estimate += self.gain * (fraction - self.estimate);
        self.windows += 1;
        self.marked_windows += u64::from(self.marked > 0);
        self.fractions.push(time, fraction);
        self.alphas.push(time, self.estimate);
        (self.acked, self.marked, self.end, self.began) = (0, 0, Some(sent), time);
    }

    /// Returns the last estimate, after at least one window.
    pub(super) fn last(&self) -> Option<f64> {
        (self.windows > 0).then_some(self.estimate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_is_an_average_of_fractions_per_window() {
        let mut a = AlphaEstimator::new(0.5, 16);
        a.on_ack((1, 2), 10, (10, 0), 30);
        assert_eq!(a.last(), Some(0.5), "from 1, halfway to 0");
        a.on_ack((2, 2), 20, (10, 10), 40);
        assert_eq!(a.windows, 1, "30 were in flight");
        a.on_ack((3, 2), 30, (10, 0), 50);
        assert_eq!((a.windows, a.marked_windows, a.last()), (2, 1, Some(0.5)));
        let fractions = a.fractions.listed(10);
        assert_eq!(fractions, [(1, 0.0), (3, 0.5)]);
        a.on_ack((4, 2), 50, (20, 20), 50);
        assert_eq!(a.windows, 2, "shorter than a round trip");
    }
}
