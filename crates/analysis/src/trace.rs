//! Time-sequence trace of one direction.

use lowtide_charts::BoundedSeries;

use super::series::DRAWN_COLUMNS;
use super::stream::PayloadKind;

/// Times in nanoseconds since the capture began, offsets in bytes.
#[derive(Clone, Debug)]
pub(super) struct TimeSequenceTrace {
    pub(super) data: BoundedSeries,
    pub(super) retransmissions: BoundedSeries,
    pub(super) reordered: BoundedSeries,
    pub(super) acks: BoundedSeries,
    pub(super) sacked: BoundedSeries,
    pub(super) ece: BoundedSeries,
    pub(super) cwr: BoundedSeries,
    pub(super) ce: BoundedSeries,
    /// Round trips between the capture and the receiver, nanoseconds.
    pub(super) rtt: BoundedSeries,
    /// Bytes that the receiver's window offers.
    pub(super) window: BoundedSeries,
}

impl Default for TimeSequenceTrace {
    fn default() -> Self {
        let [data, again, late, acks, sacked, ece, cwr, ce, rtt, window] =
            [(); 10].map(|()| BoundedSeries::new(DRAWN_COLUMNS));
        Self {
            data,
            retransmissions: again,
            reordered: late,
            acks,
            sacked,
            ece,
            cwr,
            ce,
            rtt,
            window,
        }
    }
}

impl TimeSequenceTrace {
    pub(super) fn on_data(&mut self, time: u64, end: u64, sent: PayloadKind, ce: bool, cwr: bool) {
        let at = end as f64;
        match sent {
            PayloadKind::New => self.data.push(time, at),
            PayloadKind::Retransmission { .. } => self.retransmissions.push(time, at),
            PayloadKind::Reordered => self.reordered.push(time, at),
            PayloadKind::WindowProbe | PayloadKind::NoData => return,
        }
        if ce {
            self.ce.push(time, at);
        }
        if cwr {
            self.cwr.push(time, at);
        }
    }

    pub(super) fn on_ack(&mut self, time: u64, ack: u64, echo: bool, sacked: &[u64]) {
        self.acks.push(time, ack as f64);
        if echo {
            self.ece.push(time, ack as f64);
        }
        for edge in sacked {
            self.sacked.push(time, *edge as f64);
        }
    }
}
