//! Accurate ECN on one connection (RFC 9768): what SYN and SYN-ACK say, and the counters behind the
//! ACE field. Which mode follows from the handshake is decided in `ecn.rs`; when an ACK goes is the
//! acknowledgement policy's, how often the field has wrapped is the decoder's.
//!
//! Contract: lives only on a host that accepts AccECN, whatever the peer turns out to be.

use lowtide_wire::{Ecn as Codepoint, Flags};

/// What r.cep and s.cep begin with (RFC 9768 §3.2.1).
const INITIAL: u8 = 5;
/// Packets of data that can bring a counter from [`INITIAL`] to zero modulo 8, if a packet of the
/// handshake was marked as well.
const MARKS_TO_ZERO: u32 = 2;

/// What AE, CWR and ECE of a SYN ask for (RFC 9768 table 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ask {
    Nothing,
    Classic,
    Accurate,
}

impl Ask {
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
pub(super) enum Answer {
    /// None, or the flags come from a stack that copies reserved bits.
    Nothing,
    Classic,
    /// With the ECN field of our SYN as it arrived; none in the pattern kept for the future, which
    /// counts as "unchanged" (RFC 9768 §3.1.3).
    Accurate(Option<Codepoint>),
}

impl Answer {
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
enum Bare {
    No,
    /// With the counter: it answers marked ACKs only (RFC 9768 §3.2.2.5.1).
    Counter,
    /// With the ECN field of the SYN-ACK (RFC 9768 §3.2.2.1).
    Handshake,
}

#[expect(clippy::struct_excessive_bools, reason = "independent facts of the handshake")]
#[derive(Clone, Debug)]
pub(super) struct Accurate {
    /// r.cep.
    received: u64,
    /// s.cep modulo 8.
    reported: u8,
    /// The ECN field of the last SYN or SYN-ACK that arrived.
    arrived: Codepoint,
    /// A SYN arrived that asks for classic ECN, and one that asks for this.
    classic_syn: bool,
    own_syn: bool,
    /// Our SYN or SYN-ACK left with ECT, and without.
    sent_ect: bool,
    sent_not_ect: bool,
    /// Our SYN or SYN-ACK met CE.
    pub(super) handshake_marked: bool,
    /// A SYN-ACK with CE was counted.
    syn_ack_counted: bool,
    /// The next ACE field has the handshake encoding and was read already.
    read: bool,
    /// An ACE counter has come.
    begun: bool,
    /// We asked and the peer answered, so we are the one with the handshake encoding.
    client: bool,
    /// No ECT any more.
    pub(super) mute: bool,
    /// What the peer reports means nothing.
    deaf: bool,
    bare: Bare,
}

impl Accurate {
    pub(super) const fn new() -> Self {
        Self {
            received: INITIAL as u64,
            reported: INITIAL,
            arrived: Codepoint::NotEct,
            classic_syn: false,
            own_syn: false,
            sent_ect: false,
            sent_not_ect: false,
            handshake_marked: false,
            syn_ack_counted: false,
            read: false,
            begun: false,
            client: false,
            mute: false,
            deaf: false,
            bare: Bare::No,
        }
    }

    /// Our SYN or SYN-ACK leaves with this ECN field.
    pub(super) const fn sent(&mut self, field: Codepoint) {
        self.sent_ect |= field.is_capable();
        self.sent_not_ect |= !field.is_capable();
    }

    /// A SYN arrived. False when SYNs of this handshake asked for both kinds of ECN, so that nobody can
    /// know what the other believes: it must be reset (RFC 9768 §3.1.5).
    pub(super) fn hear_syn(&mut self, ask: Ask, field: Codepoint) -> bool {
        self.arrived = field;
        self.classic_syn |= ask == Ask::Classic;
        self.own_syn |= ask == Ask::Accurate;
        !(self.classic_syn && self.own_syn)
    }

    /// Flags of a SYN-ACK that agrees: the ECN field of the last SYN.
    pub(super) const fn syn_ack_flags(&self) -> Flags {
        Flags::NONE.with_ace(encode(self.arrived))
    }

    /// The SYN-ACK that agrees arrived, maybe again.
    pub(super) fn hear_syn_ack(&mut self, reported: Option<Codepoint>, field: Codepoint) {
        self.arrived = field;
        // Once however often it comes, because the peer can count it only once (§3.2.2.2).
        if field == Codepoint::Ce && !self.syn_ack_counted {
            self.syn_ack_counted = true;
            self.received += 1;
        }
        if let Some(reported) = reported {
            self.compare(reported);
        }
    }

    /// We asked and were answered: the ACK says how the SYN-ACK arrived (RFC 9768 §3.2.2.1).
    pub(super) const fn answer_as_client(&mut self) {
        self.client = true;
        self.bare = Bare::Handshake;
    }

    /// The SYN-ACK came again, and an ACK goes in answer.
    pub(super) fn hear_syn_ack_again(&mut self, flags: Flags, field: Codepoint) {
        if self.client && matches!(Answer::of_syn_ack(flags), Answer::Accurate(_)) {
            // Its flags were read the first time (RFC 9768 §3.1.5).
            self.hear_syn_ack(None, field);
            self.bare = Bare::Handshake;
        }
    }

    /// The ACE field of a pure ACK without SACK blocks in SYN-RECEIVED (RFC 9768 table 4).
    pub(super) fn hear_handshake_ack(&mut self, ace: u8) {
        self.read = true;
        match decode(ace) {
            Some(field) => self.compare(field),
            None if ace == 0 => self.distrust(),
            None => {}
        }
        self.reported = INITIAL + u8::from(ace == encode(Codepoint::Ce));
    }

    /// The ECN field of our SYN or SYN-ACK arrived so. A change that no queue makes (RFC 3168 §18, RFC
    /// 9768 §3.2.2.3) ends ECT; marks that are reported still count.
    fn compare(&mut self, arrived: Codepoint) {
        let possible = if arrived.is_capable() { self.sent_ect } else { self.sent_not_ect };
        self.mute |= !possible;
        self.handshake_marked |= arrived == Codepoint::Ce;
    }

    /// The field is zeroed on its way, or the peer does not count.
    const fn distrust(&mut self) {
        self.mute = true;
        self.deaf = true;
    }

    /// That many packets with CE arrived.
    pub(super) fn receive(&mut self, marks: u32) {
        self.received += u64::from(marks);
    }

    /// CE packets that arrived, the SYN apart.
    pub(super) const fn received(&self) -> u64 {
        self.received - INITIAL as u64
    }

    /// The counter as it goes on the wire.
    pub(super) const fn ace(&self) -> u8 {
        (self.received & 7) as u8
    }

    /// How far the peer's counter is ahead of what it said last, modulo 8.
    pub(super) const fn ahead(&self, flags: Flags) -> u8 {
        if self.deaf { 0 } else { flags.ace().wrapping_sub(self.reported) & 7 }
    }

    /// Takes the counter of a segment in. `fresh`: no later one has been read (RFC 9768 appendix A.1).
    ///
    /// The first one must not be zero (§3.2.2.4), unless so many packets are delivered by it that their
    /// marks can have brought it there.
    #[inline(never)]
    pub(super) fn take(&mut self, flags: Flags, fresh: bool, delivered: u32) -> u8 {
        if core::mem::take(&mut self.read) {
            return 0;
        }
        if !core::mem::replace(&mut self.begun, true)
            && flags.ace() == 0
            && delivered < MARKS_TO_ZERO
        {
            self.distrust();
        }
        if !fresh {
            return 0;
        }
        let ahead = self.ahead(flags);
        self.reported = flags.ace();
        ahead
    }

    /// An ACK that answers ACKs goes without SACK blocks (RFC 9768 §3.2.2.5.1).
    pub(super) fn owe_bare(&mut self) {
        if self.bare == Bare::No {
            self.bare = Bare::Counter;
        }
    }

    pub(super) fn owes_bare(&self) -> bool {
        self.bare != Bare::No
    }

    /// The ACE field of the bare ACK that goes out, where it is not the counter.
    pub(super) fn take_bare(&mut self) -> Option<u8> {
        match core::mem::replace(&mut self.bare, Bare::No) {
            Bare::Handshake => Some(encode(self.arrived)),
            Bare::No | Bare::Counter => None,
        }
    }
}
