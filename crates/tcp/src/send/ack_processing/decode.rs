//! Decode step: the fields of an ACK, before anything acts on them.

use lowtide_units::Instant;
use lowtide_wire::{Flags, Segment};

use crate::connection::Connection;
use crate::ecn::OptionBytes;
use crate::feedback::{AckView, CeFeedback};
use crate::loss::recovery::Acked;

/// The fields of an ACK that is not older than the last one.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of one ACK")]
#[derive(Clone, Copy, Debug)]
pub(super) struct DecodedAck {
    /// Time of its arrival.
    pub(super) at: Instant,
    /// SND.UNA after it.
    pub(super) upto: u64,
    /// It acknowledges new data.
    pub(super) advanced: bool,
    /// It changed the peer's window.
    pub(super) window_changed: bool,
    /// Its timestamp is newer than all before.
    pub(super) newer_timestamp: bool,
    /// It carries SACK blocks.
    pub(super) has_sack: bool,
    /// Its ECE flag.
    pub(super) ece: bool,
    /// Duplicates before it that count as delivered segments, because there is no SACK.
    pub(super) duplicates: u32,
}

impl DecodedAck {
    /// Decodes an ACK of all data below `upto`, with SND.UNA at `una` before it.
    #[inline]
    pub(super) fn new(
        at: Instant,
        seg: &Segment,
        una: u64,
        upto: u64,
        newer_timestamp: bool,
        window_changed: bool,
    ) -> Self {
        Self {
            at,
            upto,
            advanced: upto > una,
            window_changed,
            newer_timestamp,
            has_sack: !seg.options.sack.is_empty(),
            ece: seg.flags.contains(Flags::ECE),
            duplicates: 0,
        }
    }
}

impl Connection {
    /// Updates SND.WND from a segment that is not older than the last one used. True if it changed.
    ///
    /// RFC 9293 §3.10.7.4 calls a segment newer by its sequence number. By that rule a
    /// retransmission could acknowledge new data without updating the window. The old window would
    /// then count from the new SND.UNA, beyond the peer's offer. Therefore an ACK of new data is
    /// always newer, as in Linux (`tcp_may_update_window`).
    #[expect(clippy::inline_always, reason = "every segment takes this path")]
    #[inline(always)]
    pub(crate) fn update_window(&mut self, seg: &Segment, advances: bool) -> bool {
        if !advances && !self.snd.window_is_newer(seg) {
            return false;
        }
        let moved = self.snd.on_window(seg);
        if moved {
            // An opened window ends probing; a window that is still closed was an answer to the
            // probe.
            self.timers.stop_persist();
        }
        self.retries.on_answer();
        moved
    }

    /// [`DecodedAck::duplicates`].
    #[inline]
    pub(super) fn counted_duplicates(&self) -> u32 {
        if self.sack_ok { 0 } else { self.snd.episode.dup_acks() }
    }

    /// Decodes the ECN flags of an ACK that delivered `acked`.
    #[inline]
    pub(super) fn decode_feedback(
        &mut self,
        seg: &Segment,
        ack: DecodedAck,
        acked: &Acked,
    ) -> CeFeedback {
        if self.ecn.is_accecn() {
            return self.decode_accecn(seg, ack, acked);
        }
        let Some(decoder) = self.decoder.as_mut() else { return CeFeedback::default() };
        decoder.on_ack(&AckView {
            ece: ack.ece,
            delivered_bytes: acked.delivered_bytes,
            delivered_segments: acked.delivered_segments,
            acked_bytes: acked.acked_bytes,
            mss: self.snd.mss,
            ..AckView::default()
        })
    }

    /// Decodes the ACE field and the AccECN option of an ACK that delivered `acked`.
    #[inline(never)]
    fn decode_accecn(&mut self, seg: &Segment, ack: DecodedAck, acked: &Acked) -> CeFeedback {
        // The ACK cannot have been sent before one already processed.
        let newest = ack.advanced || ack.newer_timestamp || acked.delivered_segments > 0;
        let ace_delta = self.ecn.ace_delta(seg.flags, newest, acked.delivered_segments);
        let sent = self.snd.nxt + self.counters.bytes_retrans;
        // Linux counts all that an ACK acknowledges, SACKed before or not (`tcp_clean_rtx_queue`).
        let delivered_bytes = if acked.acked_bytes > 0 && self.ecn.has_linux_rules() {
            acked.acked_bytes
        } else {
            acked.delivered_bytes
        };
        let option = if newest {
            let before = self.ecn.option_reserve();
            let bytes = self.ecn.on_ack_option(seg.options.accecn(), delivered_bytes, sent);
            // The first option of the peer: from now on our segments carry one.
            if self.ecn.option_reserve() > before {
                let mss = self.snd.mss.saturating_sub(self.ecn.option_reserve()).max(1);
                self.snd.set_mss(mss, &self.config);
                self.snd.reset_quota();
            }
            let certain = self.sack_ok && (1..8).contains(&acked.delivered_segments);
            self.ecn.check_consistency(bytes, ace_delta, certain);
            bytes
        } else {
            OptionBytes::default()
        };
        let Some(decoder) = self.decoder.as_mut() else { return CeFeedback::default() };
        let feedback = decoder.on_ack(&AckView {
            ece: ack.ece,
            ace_delta,
            delivered_bytes: option.delta.map_or(acked.delivered_bytes, |_| delivered_bytes),
            delivered_segments: acked.delivered_segments,
            acked_bytes: acked.acked_bytes,
            mss: self.snd.mss + self.ecn.option_reserve(),
            option_ce_bytes: option.counted,
            option_delta: option.delta,
            delivery_exact: self.sack_ok || !self.snd.episode.in_recovery(),
        });
        if option.counted.is_none() && feedback.ce_bytes > 0 {
            self.ecn.on_estimated(feedback.ce_bytes);
        }
        feedback
    }

    /// The SYN-ACK acknowledged the SYN: an ACK of one packet.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_acked_syn(&mut self) {
        if let Some(decoder) = self.decoder.as_mut() {
            let _ = decoder.on_ack(&AckView { delivered_segments: 1, ..AckView::default() });
        }
    }
}
