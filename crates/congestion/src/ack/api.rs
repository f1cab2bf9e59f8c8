//! Interface of the acknowledgement policies.

use alloc::boxed::Box;
use core::fmt;

use lowtide_schema::{Param, Part, Values};
use lowtide_units::{Duration, Instant};

/// Parameters of a policy at ESTABLISHED.
#[derive(Clone, Copy, Debug)]
pub struct AckSetup {
    /// Acknowledge at least every `segments` segments (m).
    pub segments: u32,
    /// Maximum delay of an ACK.
    pub timer: Duration,
    /// Payload bytes of a full segment, estimated as this end's own.
    pub mss: u32,
    /// ECN was negotiated; without it the echo is always off.
    pub ecn: bool,
}

/// One arriving segment with payload (or FIN): in order, out of order, or a duplicate.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of one segment")]
#[derive(Clone, Copy, Debug)]
pub struct RxSample {
    /// Time of arrival.
    pub now: Instant,
    /// It advanced RCV.NXT.
    pub in_order: bool,
    /// It carried no new data.
    pub duplicate: bool,
    /// Wire segments that it represents (receive aggregation), at least one.
    pub segments: u32,
    /// Payload bytes.
    pub payload: u32,
    /// It carried an ECN-capable codepoint or CE.
    pub ect: bool,
    /// It carried CE.
    pub ce: bool,
    /// It carried the CWR flag.
    pub cwr: bool,
    /// An ACK is pending for earlier data.
    pub ack_pending: bool,
    /// RCV.NXT before this segment, as a payload offset.
    pub prior_rcv_nxt: u64,
}

/// With Accurate ECN: an accepted segment, with or without payload, after [`AckPolicy::on_data`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CeSample {
    /// Wire segments with CE that it represents.
    pub ce: u32,
    /// It carried payload.
    pub data: bool,
    /// An ACK is pending for data, this segment's included.
    pub ack_pending: bool,
}

/// Decision about an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum AckAction {
    /// Wait for more segments, at most this long from now.
    Delay(Duration),
    /// Acknowledge at once.
    Now,
    /// First acknowledge up to `prior_rcv_nxt` with the echo before this segment, then everything
    /// at once with the new echo (RFC 8257 §3.2). With no ACK pending it equals [`Self::Now`].
    SplitAt {
        /// RCV.NXT before the segment, as a payload offset.
        prior_rcv_nxt: u64,
    },
    /// Acknowledge up to `prior_rcv_nxt` with the echo before this segment, and delay the ACK of
    /// this segment (DCTCP figure 10). With no ACK pending it equals [`Self::Now`].
    OldEcho {
        /// RCV.NXT before the segment, as a payload offset.
        prior_rcv_nxt: u64,
        /// Maximum delay of this segment's ACK.
        wait: Duration,
    },
}

/// One registered policy.
#[derive(Debug)]
pub struct AckPolicyEntry {
    /// Name as users type it.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The specification.
    pub spec: &'static str,
    /// Its parameters. A connection panics at ESTABLISHED if a required one was not set.
    pub params: &'static [Param],
    /// Creates a policy for a connection.
    pub build: fn(&Values, &AckSetup) -> Box<dyn AckPolicy>,
}

impl Part for AckPolicyEntry {
    const WHAT: &'static str = "acknowledgement policy";

    fn name(&self) -> &'static str {
        self.name
    }
}

/// Decides when to acknowledge and which ECE flag to send.
pub trait AckPolicy: fmt::Debug + Send {
    /// A segment with payload arrived and was processed.
    fn on_data(&mut self, rx: &RxSample) -> AckAction;
    /// A segment was accepted on a connection with Accurate ECN; true requests an immediate ACK.
    fn on_ce_sample(&mut self, rx: &CeSample) -> bool {
        let _ = rx;
        false
    }

    /// An ACK for all received data is being sent, alone or with data. Not called for each segment
    /// while nothing has been received.
    fn on_ack_sent(&mut self, now: Instant);
    /// This end begins or ceases to answer data with its own, which carries the ACKs; with it no
    /// ACK is early for the start of the connection.
    fn on_pingpong(&mut self, answers: bool) {
        let _ = answers;
    }

    /// The ECE flag of the next ACK.
    fn echo(&self) -> bool;
}
