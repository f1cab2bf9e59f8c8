//! Interface of the feedback decoders.

use alloc::boxed::Box;
use core::fmt;

use lowtide_schema::{Param, Part, Values};

/// The part of one ACK that carries ECN feedback.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckView {
    /// The ECE flag.
    pub ece: bool,
    /// With Accurate ECN: increase of the peer's count of CE packets since its last report, 0 to 7.
    pub ace_delta: u8,
    /// Bytes newly delivered with this ACK, including SACKed ones.
    pub delivered_bytes: u64,
    /// Segments newly delivered with this ACK.
    pub delivered_segments: u32,
    /// Bytes newly acknowledged cumulatively.
    pub acked_bytes: u64,
    /// Payload bytes of a full segment; with Accurate ECN without its option.
    pub mss: u32,
    /// With Accurate ECN: payload bytes with CE that the option reports, without those that were
    /// estimated before; none without an option.
    pub option_ce_bytes: Option<u64>,
    /// With Accurate ECN: increase of the counter of CE bytes, if it is unambiguous which counter
    /// grew.
    pub option_delta: Option<u32>,
    /// The delivered segments are known exactly: with SACK, or without loss recovery.
    pub delivery_exact: bool,
}

/// Decoded ECN feedback.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CeFeedback {
    /// Bytes that carried CE.
    pub ce_bytes: u64,
    /// Segments that carried CE.
    pub ce_segments: u32,
    /// The ACK reports congestion.
    pub congested: bool,
}

impl CeFeedback {
    /// Feedback in which ECE applies to all data that its ACK delivers, and to nothing else.
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
    /// Name as users type it.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The specification.
    pub spec: &'static str,
    /// Its parameters. A connection panics at ESTABLISHED if a required one was not set.
    pub params: &'static [Param],
    /// The acknowledgement policies whose echo it can decode; empty means any.
    pub ack_policies: &'static [&'static str],
    /// Creates a decoder for a connection with ECN.
    pub build: fn(&Values) -> Box<dyn FeedbackDecoder>,
}

impl Part for FeedbackEntry {
    const WHAT: &'static str = "feedback decoder";

    fn name(&self) -> &'static str {
        self.name
    }
}

/// Converts echoed bits into bytes and segments that carried CE.
pub trait FeedbackDecoder: fmt::Debug + Send {
    /// Decodes one ACK on an ECN connection.
    fn on_ack(&mut self, ack: &AckView) -> CeFeedback;
    /// A segment with CWR was sent; `snd_nxt` is the payload offset after it.
    fn on_cwr_sent(&mut self, snd_nxt: u64) {
        let _ = snd_nxt;
    }
}
