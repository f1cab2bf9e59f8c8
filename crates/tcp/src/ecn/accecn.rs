//! Accurate ECN on one connection (RFC 9768): what SYN and SYN-ACK say, and the counters behind the
//! ACE field. Which mode follows from the handshake is decided in `ecn.rs`; when an ACK goes is the
//! acknowledgement policy's, how often the field has wrapped is the decoder's.
//!
//! Contract: lives only on a host that accepts AccECN, whatever the peer turns out to be.

use lowtide_wire::{Ecn as Codepoint, Flags};

/// What r.cep and s.cep begin with (RFC 9768 §3.2.1).
const INITIAL_CEP: u8 = 5;
/// Packets of data that can bring a counter from [`INITIAL_CEP`] to zero modulo 8, if a packet of the
/// handshake was marked as well.
const MARKS_TO_ZERO: u32 = 2;

/// What AE, CWR and ECE of a SYN ask for (RFC 9768 table 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SynEcnRequest {
    Nothing,
    Classic,
    Accurate,
}

impl SynEcnRequest {
    /// Five patterns that nobody sends today count as AccECN (RFC 9768 §3.1.3).
    pub(super) const fn of_syn(flags: Flags) -> Self {
        match flags.ace() {
            0b000 => Self::Nothing,
            0b011 => Self::Classic,
            _ => Self::Accurate,
        }
    }

    /// The flags of a SYN that asks for it.
    pub(super) const fn flags(self) -> Flags {
        Flags::NONE.with_ace(match self {
            Self::Nothing => 0b000,
            Self::Classic => 0b011,
            Self::Accurate => 0b111,
        })
    }
}

/// What a SYN-ACK answers to a SYN that asked for AccECN (RFC 9768 table 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SynAckEcnReply {
    /// None, or the flags come from a stack that copies reserved bits.
    Nothing,
    Classic,
    /// With the ECN field of our SYN as it arrived; none in the pattern kept for the future, which
    /// counts as "unchanged" (RFC 9768 §3.1.3).
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

/// A pure ACK without SACK blocks that must go first.
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
    /// The ECN field of the last SYN or SYN-ACK that arrived.
    handshake_ecn: Codepoint,
    /// A SYN arrived that asks for classic ECN, and one that asks for this.
    classic_syn: bool,
    accecn_syn: bool,
    /// Our SYN or SYN-ACK left with ECT, and without.
    sent_ect: bool,
    sent_not_ect: bool,
    /// Our SYN or SYN-ACK met CE.
    pub(super) handshake_marked: bool,
    /// A SYN-ACK with CE was counted.
    syn_ack_counted: bool,
    /// The next ACE field has the handshake encoding and was read already.
    handshake_ace_read: bool,
    /// An ACE counter has come.
    ace_seen: bool,
    /// We asked and the peer answered, so we are the one with the handshake encoding.
    client: bool,
    /// No ECT any more.
    pub(super) ect_disabled: bool,
    /// What the peer reports means nothing.
    feedback_disabled: bool,
    ack_without_sack: AckWithoutSack,
}

impl AccEcnState {
    pub(super) const fn new() -> Self {
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
        }
    }

    /// Our SYN or SYN-ACK leaves with this ECN field.
    pub(super) const fn sent(&mut self, field: Codepoint) {
        self.sent_ect |= field.is_capable();
        self.sent_not_ect |= !field.is_capable();
    }

    /// A SYN arrived. False when SYNs of this handshake asked for both kinds of ECN, so that nobody can
    /// know what the other believes: it must be reset (RFC 9768 §3.1.5).
    pub(super) fn on_syn(&mut self, ask: SynEcnRequest, field: Codepoint) -> bool {
        self.handshake_ecn = field;
        self.classic_syn |= ask == SynEcnRequest::Classic;
        self.accecn_syn |= ask == SynEcnRequest::Accurate;
        !(self.classic_syn && self.accecn_syn)
    }

    /// Flags of a SYN-ACK that agrees: the ECN field of the last SYN.
    pub(super) const fn syn_ack_flags(&self) -> Flags {
        Flags::NONE.with_ace(encode(self.handshake_ecn))
    }

    /// The SYN-ACK that agrees arrived, maybe again.
    pub(super) fn on_syn_ack(&mut self, reported: Option<Codepoint>, field: Codepoint) {
        self.handshake_ecn = field;
        // Once however often it comes, because the peer can count it only once (§3.2.2.2).
        if field == Codepoint::Ce && !self.syn_ack_counted {
            self.syn_ack_counted = true;
            self.r_cep += 1;
        }
        if let Some(reported) = reported {
            self.check_ecn_mangling(reported);
        }
    }

    /// We asked and were answered: the ACK says how the SYN-ACK arrived (RFC 9768 §3.2.2.1).
    pub(super) const fn schedule_handshake_ack(&mut self) {
        self.client = true;
        self.ack_without_sack = AckWithoutSack::Handshake;
    }

    /// The SYN-ACK came again, and an ACK goes in answer.
    pub(super) fn on_syn_ack_retransmitted(&mut self, flags: Flags, field: Codepoint) {
        if self.client && matches!(SynAckEcnReply::of_syn_ack(flags), SynAckEcnReply::Accurate(_)) {
            // Its flags were read the first time (RFC 9768 §3.1.5).
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

    /// The ECN field of our SYN or SYN-ACK arrived so. A change that no queue makes (RFC 3168 §18, RFC
    /// 9768 §3.2.2.3) ends ECT; marks that are reported still count.
    fn check_ecn_mangling(&mut self, arrived: Codepoint) {
        let possible = if arrived.is_capable() { self.sent_ect } else { self.sent_not_ect };
        self.ect_disabled |= !possible;
        self.handshake_marked |= arrived == Codepoint::Ce;
    }

    /// The field is zeroed on its way, or the peer does not count.
    const fn disable_feedback(&mut self) {
        self.ect_disabled = true;
        self.feedback_disabled = true;
    }

    /// That many packets with CE arrived.
    pub(super) fn on_ce_packets(&mut self, marks: u32) {
        self.r_cep += u64::from(marks);
    }

    /// CE packets that arrived, the SYN apart.
    pub(super) const fn received(&self) -> u64 {
        self.r_cep - INITIAL_CEP as u64
    }

    /// The counter as it goes on the wire.
    pub(super) const fn ace(&self) -> u8 {
        (self.r_cep & 7) as u8
    }

    /// How far the peer's counter is ahead of what it said last, modulo 8.
    pub(super) const fn raw_ace_delta(&self, flags: Flags) -> u8 {
        if self.feedback_disabled { 0 } else { flags.ace().wrapping_sub(self.s_cep) & 7 }
    }

    /// Takes the counter of a segment in. `fresh`: no later one has been read (RFC 9768 appendix A.1).
    ///
    /// The first one must not be zero (§3.2.2.4), unless so many packets are delivered by it that their
    /// marks can have brought it there.
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

    /// An ACK that answers ACKs goes without SACK blocks (RFC 9768 §3.2.2.5.1).
    pub(super) fn schedule_ack_without_sack(&mut self) {
        if self.ack_without_sack == AckWithoutSack::No {
            self.ack_without_sack = AckWithoutSack::Counter;
        }
    }

    pub(super) fn ack_without_sack_due(&self) -> bool {
        self.ack_without_sack != AckWithoutSack::No
    }

    /// The ACE field of the bare ACK that goes out, where it is not the counter.
    pub(super) fn take_ack_without_sack(&mut self) -> Option<u8> {
        match core::mem::replace(&mut self.ack_without_sack, AckWithoutSack::No) {
            AckWithoutSack::Handshake => Some(encode(self.handshake_ecn)),
            AckWithoutSack::No | AckWithoutSack::Counter => None,
        }
    }
}
