//! Accurate ECN on one connection (RFC 9768): handshake encoding of SYN and SYN-ACK, and the
//! counters behind the ACE field. `ecn.rs` decides the mode, the acknowledgement policy when to
//! send an ACK, and the decoder how often the field has wrapped.
//!
//! Contract: exists only on a host that accepts AccECN, for any peer.

use lowtide_wire::{Ecn as Codepoint, Flags};

use super::option::OptionState;
use crate::settings::config::{AccEcnRules, Config};

/// Initial value of r.cep and s.cep (RFC 9768 §3.2.1).
const INITIAL_CEP: u8 = 5;
/// Data packets that can bring a counter from [`INITIAL_CEP`] to zero modulo 8 if a packet of the
/// handshake was also marked.
const MARKS_TO_ZERO: u32 = 2;

/// ECN request in AE, CWR and ECE of a SYN (RFC 9768 table 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SynEcnRequest {
    Nothing,
    Classic,
    Accurate,
}

impl SynEcnRequest {
    /// Five currently unused patterns count as AccECN (RFC 9768 §3.1.3).
    pub(super) const fn of_syn(flags: Flags) -> Self {
        match flags.ace() {
            0b000 => Self::Nothing,
            0b011 => Self::Classic,
            _ => Self::Accurate,
        }
    }

    /// The flags of a SYN with this request.
    pub(super) const fn flags(self) -> Flags {
        Flags::NONE.with_ace(match self {
            Self::Nothing => 0b000,
            Self::Classic => 0b011,
            Self::Accurate => 0b111,
        })
    }
}

/// Reply of a SYN-ACK to a SYN that requested AccECN (RFC 9768 table 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SynAckEcnReply {
    /// No ECN, or the flags are from a stack that copies reserved bits.
    Nothing,
    Classic,
    /// With the received ECN field of our SYN; none for the reserved pattern, which counts as
    /// "unchanged" (RFC 9768 §3.1.3).
    Accurate(Option<Codepoint>),
}

impl SynAckEcnReply {
    pub(super) const fn of_syn_ack(flags: Flags) -> Self {
        match flags.ace() {
            0b000 | 0b111 => Self::Nothing,
            0b001 => Self::Classic,
            other => Self::Accurate(decode(other)),
        }
    }
}

/// The handshake encoding of an ECN field (RFC 9768 tables 2 and 3).
const fn encode(field: Codepoint) -> u8 {
    match field {
        Codepoint::NotEct => 0b010,
        Codepoint::Ect1 => 0b011,
        Codepoint::Ect0 => 0b100,
        Codepoint::Ce => 0b110,
    }
}

const fn decode(ace: u8) -> Option<Codepoint> {
    match ace {
        0b010 => Some(Codepoint::NotEct),
        0b011 => Some(Codepoint::Ect1),
        0b100 => Some(Codepoint::Ect0),
        0b110 => Some(Codepoint::Ce),
        _ => None,
    }
}

/// A pending pure ACK without SACK blocks, sent before other segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AckWithoutSack {
    No,
    /// With the counter: it answers marked ACKs only (RFC 9768 §3.2.2.5.1).
    Counter,
    /// With the ECN field of the SYN-ACK (RFC 9768 §3.2.2.1).
    Handshake,
}

#[expect(clippy::struct_excessive_bools, reason = "independent facts of the handshake")]
#[derive(Clone, Debug)]
pub(super) struct AccEcnState {
    /// r.cep.
    r_cep: u64,
    /// s.cep modulo 8.
    s_cep: u8,
    /// The ECN field of the last received SYN or SYN-ACK.
    handshake_ecn: Codepoint,
    /// A SYN that requests classic ECN was received, and one that requests AccECN.
    classic_syn: bool,
    accecn_syn: bool,
    /// Our SYN or SYN-ACK was sent with ECT, and without.
    sent_ect: bool,
    sent_not_ect: bool,
    /// Our SYN or SYN-ACK was marked CE.
    pub(super) handshake_marked: bool,
    /// A SYN-ACK with CE was counted.
    syn_ack_counted: bool,
    /// The next ACE field has the handshake encoding and was already read.
    handshake_ace_read: bool,
    /// An ACE counter was received.
    ace_seen: bool,
    /// We requested AccECN and the peer accepted, so our ACK has the handshake encoding.
    client: bool,
    /// ECT is no longer set.
    pub(super) ect_disabled: bool,
    /// The peer's feedback is ignored.
    feedback_disabled: bool,
    ack_without_sack: AckWithoutSack,
    pub(super) rules: AccEcnRules,
    pub(super) option: OptionState,
}

impl AccEcnState {
    pub(super) const fn new(config: &Config) -> Self {
        Self {
            r_cep: INITIAL_CEP as u64,
            s_cep: INITIAL_CEP,
            handshake_ecn: Codepoint::NotEct,
            classic_syn: false,
            accecn_syn: false,
            sent_ect: false,
            sent_not_ect: false,
            handshake_marked: false,
            syn_ack_counted: false,
            handshake_ace_read: false,
            ace_seen: false,
            client: false,
            ect_disabled: false,
            feedback_disabled: false,
            ack_without_sack: AckWithoutSack::No,
            rules: config.accecn_rules,
            option: OptionState::new(config.accecn_option),
        }
    }

    /// We requested AccECN and the peer accepted.
    pub(super) const fn is_client(&self) -> bool {
        self.client
    }

    /// The ECN field of the last received SYN or SYN-ACK.
    pub(super) const fn handshake_field(&self) -> Codepoint {
        self.handshake_ecn
    }

    /// Records that our SYN or SYN-ACK is sent with this ECN field.
    pub(super) const fn sent(&mut self, field: Codepoint) {
        self.sent_ect |= field.is_capable();
        self.sent_not_ect |= !field.is_capable();
    }

    /// A SYN arrived. False if SYNs of this handshake requested both kinds of ECN: the ends may
    /// disagree on the mode, so the connection must be reset (RFC 9768 §3.1.5).
    pub(super) fn on_syn(&mut self, ask: SynEcnRequest, field: Codepoint) -> bool {
        self.handshake_ecn = field;
        self.classic_syn |= ask == SynEcnRequest::Classic;
        self.accecn_syn |= ask == SynEcnRequest::Accurate;
        !(self.classic_syn && self.accecn_syn)
    }

    /// Flags of a SYN-ACK that accepts AccECN: the ECN field of the last SYN.
    pub(super) const fn syn_ack_flags(&self) -> Flags {
        Flags::NONE.with_ace(encode(self.handshake_ecn))
    }

    /// The SYN-ACK that accepts AccECN arrived, possibly again.
    pub(super) fn on_syn_ack(&mut self, reported: Option<Codepoint>, field: Codepoint) {
        self.handshake_ecn = field;
        // Counted once for any number of copies, because the peer can count it only once
        // (§3.2.2.2).
        if field == Codepoint::Ce && !self.syn_ack_counted {
            self.syn_ack_counted = true;
            self.r_cep += 1;
        }
        if let Some(reported) = reported {
            self.check_ecn_mangling(reported);
        }
    }

    /// We requested AccECN and got an answer: the ACK reports the ECN field of the SYN-ACK (RFC
    /// 9768 §3.2.2.1).
    pub(super) const fn schedule_handshake_ack(&mut self) {
        self.client = true;
        self.ack_without_sack = AckWithoutSack::Handshake;
    }

    /// A retransmitted SYN-ACK arrived, and an ACK answers it.
    pub(super) fn on_syn_ack_retransmitted(&mut self, flags: Flags, field: Codepoint) {
        // Linux answers every SYN so (`tcp_validate_incoming`).
        let confirms = matches!(SynAckEcnReply::of_syn_ack(flags), SynAckEcnReply::Accurate(_));
        if self.client && (confirms || self.rules == AccEcnRules::Linux) {
            // Its flags were already read the first time (RFC 9768 §3.1.5).
            self.on_syn_ack(None, field);
            self.ack_without_sack = AckWithoutSack::Handshake;
        }
    }

    /// The ACE field of a pure ACK without SACK blocks in SYN-RECEIVED (RFC 9768 table 4).
    pub(super) fn on_handshake_ack(&mut self, ace: u8) {
        self.handshake_ace_read = true;
        match decode(ace) {
            Some(field) => self.check_ecn_mangling(field),
            None if ace == 0 => self.disable_feedback(),
            None => {}
        }
        self.s_cep = INITIAL_CEP + u8::from(ace == encode(Codepoint::Ce));
    }

    /// Checks the received ECN field of our SYN or SYN-ACK. A change that no queue makes (RFC 3168
    /// §18, RFC 9768 §3.2.2.3) disables ECT; reported marks still count.
    fn check_ecn_mangling(&mut self, arrived: Codepoint) {
        let possible = if arrived.is_capable() { self.sent_ect } else { self.sent_not_ect };
        self.ect_disabled |= !possible;
        self.handshake_marked |= arrived == Codepoint::Ce;
    }

    /// Disables the feedback: the path zeroes the field, or the peer does not count.
    const fn disable_feedback(&mut self) {
        self.ect_disabled = true;
        self.feedback_disabled = true;
    }

    /// Counts `marks` received CE packets.
    pub(super) fn on_ce_packets(&mut self, marks: u32) {
        self.r_cep += u64::from(marks);
    }

    /// CE packets received, except the SYN.
    pub(super) const fn received(&self) -> u64 {
        self.r_cep - INITIAL_CEP as u64
    }

    /// The counter as sent in the ACE field.
    pub(super) const fn ace(&self) -> u8 {
        (self.r_cep & 7) as u8
    }

    /// Increase of the peer's counter since its last report, modulo 8.
    pub(super) const fn raw_ace_delta(&self, flags: Flags) -> u8 {
        if self.feedback_disabled { 0 } else { flags.ace().wrapping_sub(self.s_cep) & 7 }
    }

    /// Processes the counter of a segment. `fresh`: no later one was processed (RFC 9768 appendix
    /// A.1).
    ///
    /// The first counter must not be zero (§3.2.2.4), unless the segment delivers enough packets
    /// whose marks could have produced it.
    #[inline(never)]
    pub(super) fn ace_delta(&mut self, flags: Flags, fresh: bool, delivered: u32) -> u8 {
        if core::mem::take(&mut self.handshake_ace_read) {
            return 0;
        }
        if !core::mem::replace(&mut self.ace_seen, true)
            && flags.ace() == 0
            && delivered < MARKS_TO_ZERO
        {
            self.disable_feedback();
        }
        if !fresh {
            return 0;
        }
        let ahead = self.raw_ace_delta(flags);
        self.s_cep = flags.ace();
        ahead
    }

    /// CE bytes were reported, of at most seven packets, without one of the packets: the feedback
    /// was mangled, so ECT is no longer set (§3.2.3.2.5).
    pub(super) const fn on_inconsistent_feedback(&mut self) {
        self.ect_disabled = true;
    }

    /// An ACK that answers ACKs carries no SACK blocks (RFC 9768 §3.2.2.5.1).
    pub(super) fn schedule_ack_without_sack(&mut self) {
        if self.ack_without_sack == AckWithoutSack::No {
            self.ack_without_sack = AckWithoutSack::Counter;
        }
    }

    pub(super) fn ack_without_sack_due(&self) -> bool {
        self.ack_without_sack != AckWithoutSack::No
    }

    /// Takes the pending ACK; returns its ACE field if that is not the counter.
    pub(super) fn take_ack_without_sack(&mut self) -> Option<u8> {
        match core::mem::replace(&mut self.ack_without_sack, AckWithoutSack::No) {
            AckWithoutSack::Handshake => Some(encode(self.handshake_ecn)),
            AckWithoutSack::No | AckWithoutSack::Counter => None,
        }
    }
}
