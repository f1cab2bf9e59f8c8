//! What the time-sequence plot shows of one direction.

use super::series::{DRAWN_BINS, Series};
use super::stream::Sent;

/// Times in nanoseconds since the capture began, offsets in bytes.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    pub(super) data: Series,
    pub(super) again: Series,
    pub(super) late: Series,
    pub(super) acks: Series,
    pub(super) sacked: Series,
    pub(super) ece: Series,
    pub(super) cwr: Series,
    pub(super) ce: Series,
}

impl Default for Trace {
    fn default() -> Self {
        let [data, again, late, acks, sacked, ece, cwr, ce] =
            [(); 8].map(|()| Series::of(DRAWN_BINS));
        Self { data, again, late, acks, sacked, ece, cwr, ce }
    }
}

impl Trace {
    pub(super) fn on_data(&mut self, time: u64, end: u64, sent: Sent, ce: bool, cwr: bool) {
        let at = end as f64;
        match sent {
            Sent::New => self.data.push(time, at),
            Sent::Again { .. } => self.again.push(time, at),
            Sent::Late => self.late.push(time, at),
            Sent::Nothing => return,
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
