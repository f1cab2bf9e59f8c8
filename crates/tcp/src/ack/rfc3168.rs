//! The standard ECN receiver: echo CE until the sender says CWR.
//!
//! ## What it does
//! Sets ECE on every ACK from the first CE until a segment with CWR arrives; delays ACKs as usual.
//!
//! ## Spec
//! RFC 3168 §6.1.3; RFC 5681 §4.2 for the delay.
//!
//! ## Deviations
//! None. A segment with both CWR and CE clears the latch and sets it again (erratum 3639).

use alloc::boxed::Box;

use lowtide_units::Instant;

use super::{AckAction, AckPolicy, DelayedAck, Entry, RxSample, Setup};
use crate::params::Params;

/// Registration.
pub static ENTRY: Entry = Entry {
    name: "rfc3168",
    summary: "standard ECN receiver: ECE from CE until CWR, delayed ACKs",
    spec: "RFC 3168 §6.1.3",
    params: &[],
    build,
};

fn build(_: &Params, setup: &Setup) -> Box<dyn AckPolicy> {
    Box::new(Rfc3168 { delayed: DelayedAck::new(setup), ecn: setup.ecn, ece: false })
}

/// The latch.
#[derive(Debug)]
struct Rfc3168 {
    delayed: DelayedAck,
    ecn: bool,
    ece: bool,
}

impl AckPolicy for Rfc3168 {
    fn on_data(&mut self, rx: &RxSample) -> AckAction {
        // CWR before CE: a segment may carry both (RFC 3168 erratum 3639).
        if rx.cwr {
            self.ece = false;
        }
        if rx.ce && self.ecn {
            self.ece = true;
        }
        self.delayed.on_data(rx)
    }
    fn on_ack_sent(&mut self, _now: Instant) {
        self.delayed.on_ack_sent();
    }
    fn echo(&self) -> bool {
        self.ece
    }
}
