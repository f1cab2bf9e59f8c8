//! The DCTCP receiver: an echo that changes with the marks, exact to the segment.
//!
//! ## What it does
//! Keeps one bit, the CE state of the last ECN-capable data segment, and echoes it. When the bit
//! flips while an ACK is being delayed, the delayed segments are acknowledged first, with the old
//! echo, then everything with the new one; with nothing delayed the flip is acknowledged at once.
//! Otherwise ACKs are delayed as usual, so a run of marks costs no more ACKs than none.
//!
//! ## Spec
//! RFC 8257 §3.2; the DCTCP paper (SIGCOMM 2010) figure 10 for the ACK with the old echo.
//!
//! ## Deviations
//! RFC 8257 §3.2 asks for one immediate ACK at a flip and leaves the split open: with the split no
//! segment is reported under the wrong bit. A segment that is not ECN-capable (a retransmission,
//! where only new data carries ECT) says nothing about the queue and leaves the bit alone. CWR means
//! nothing to this receiver.
//!
//! ## Kernel twin
//! `tcp_dctcp.c` with the flip handling of `tcp_dctcp.h` in Linux 6.18: same states, same split.

use alloc::boxed::Box;

use lowtide_units::Instant;

use super::{AckAction, AckPolicy, DelayedAck, Entry, RxSample, Setup};
use crate::params::Params;

/// Registration.
pub static ENTRY: Entry = Entry {
    name: "dctcp",
    summary: "DCTCP receiver: ECE is the CE of the last segment, a flip is acknowledged at once",
    spec: "RFC 8257 §3.2",
    params: &[],
    build,
};

fn build(_: &Params, setup: &Setup) -> Box<dyn AckPolicy> {
    Box::new(Dctcp { delayed: DelayedAck::new(setup), ecn: setup.ecn, ce: false })
}

/// The two states.
#[derive(Debug)]
struct Dctcp {
    delayed: DelayedAck,
    ecn: bool,
    /// DCTCP.CE of RFC 8257 §3.2.
    ce: bool,
}

impl AckPolicy for Dctcp {
    fn on_data(&mut self, rx: &RxSample) -> AckAction {
        if self.ecn && rx.ect && rx.ce != self.ce {
            self.ce = rx.ce;
            return if rx.ack_pending {
                AckAction::SplitAt { prior: rx.rcv_nxt_before }
            } else {
                AckAction::Now
            };
        }
        self.delayed.on_data(rx)
    }
    fn on_ack_sent(&mut self, _now: Instant) {
        self.delayed.on_ack_sent();
    }
    fn echo(&self) -> bool {
        self.ce
    }
}
