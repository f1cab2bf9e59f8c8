//! Time-sequence trace of one direction.

use super::series::{DRAWN_BINS, DownsampledSeries};
use super::stream::PayloadKind;

/// Times in nanoseconds since the capture began, offsets in bytes.
#[derive(Clone, Debug)]
pub(super) struct TimeSequenceTrace {
    pub(super) data: DownsampledSeries,
    pub(super) retransmissions: DownsampledSeries,
    pub(super) reordered: DownsampledSeries,
    pub(super) acks: DownsampledSeries,
    pub(super) sacked: DownsampledSeries,
    pub(super) ece: DownsampledSeries,
    pub(super) cwr: DownsampledSeries,
    pub(super) ce: DownsampledSeries,
}

impl Default for TimeSequenceTrace {
    fn default() -> Self {
        let [data, again, late, acks, sacked, ece, cwr, ce] =
            [(); 8].map(|()| DownsampledSeries::of(DRAWN_BINS));
        Self { data, retransmissions: again, reordered: late, acks, sacked, ece, cwr, ce }
    }
}

impl TimeSequenceTrace {
    pub(super) fn on_data(&mut self, time: u64, end: u64, sent: PayloadKind, ce: bool, cwr: bool) {
        let at = end as f64;
        match sent {
            PayloadKind::New => self.data.push(time, at),
            PayloadKind::Retransmission { .. } => self.retransmissions.push(time, at),
            PayloadKind::Reordered => self.reordered.push(time, at),
            PayloadKind::NoData => return,
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
