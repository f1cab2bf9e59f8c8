//! What a feedback decoder sees and what it answers.

use alloc::boxed::Box;
use core::fmt;

use crate::params::{Param, Params};

/// The part of one ACK that carries ECN feedback.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct AckView {
    /// The ECE flag.
    pub ece: bool,
    /// With Accurate ECN: how far the peer's count of CE packets is ahead of what it said last, 0 to 7.
    pub ace_delta: u8,
    /// Bytes newly delivered with this ACK, SACKed ones included.
    pub delivered_bytes: u64,
    /// Segments newly delivered with this ACK.
    pub delivered_segments: u32,
    /// Bytes newly acknowledged cumulatively.
    pub acked_bytes: u64,
    /// Payload bytes of a full segment.
    pub mss: u32,
}

/// What the echoed bits mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CeFeedback {
    /// Bytes that met CE.
    pub ce_bytes: u64,
    /// Segments that met CE.
    pub ce_segments: u32,
    /// The ACK reports congestion at all.
    pub congested: bool,
}

impl CeFeedback {
    /// ECE speaks for all that its ACK delivers, and for nothing else.
    pub(crate) fn from_whole_ack(ack: &AckView) -> Self {
        if !ack.ece {
            return Self::default();
        }
        Self { ce_bytes: ack.delivered_bytes, ce_segments: ack.delivered_segments, congested: true }
    }
}

/// One registered decoder.
#[derive(Debug)]
pub struct FeedbackEntry {
    /// Name as people write it.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The specification.
    pub spec: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// The acknowledgement policies whose echo it understands; empty means any.
    pub ack_policies: &'static [&'static str],
    /// Makes one for a connection on which ECN was agreed.
    pub build: fn(&Params) -> Box<dyn FeedbackDecoder>,
}

/// Turns echoed bits into the bytes and segments that met CE.
pub trait FeedbackDecoder: fmt::Debug + Send {
    /// One ACK on an ECN connection.
    fn on_ack(&mut self, ack: &AckView) -> CeFeedback;
    /// A segment with CWR went out; `snd_nxt` is the payload offset after it.
    fn on_cwr_sent(&mut self, snd_nxt: u64) {
        let _ = snd_nxt;
    }
}
