//! ECN on one connection: negotiation, ECT, the reaction round and CWR (RFC 3168 §6.1, RFC 9768 §3.1).
//!
//! Who reacts how is the congestion control's; what the bits of an ACK mean is the decoder's; what to
//! echo is the acknowledgement policy's. This file owns everything else; `accurate` has what only
//! AccECN knows.
//!
//! Whatever was wished, what is used follows from the mode ([`EcnMode::feedback`], [`EcnMode::ack`]):
//! with AccECN its own decoder and policy, because the bits mean nothing else there; over RFC 3168 what
//! was wished, the standard ones in the place of AccECN's.

mod accurate;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;

use lowtide_wire::{Ecn as Codepoint, Flags};

use crate::config::{Config, CutRule, CwrRule, EcnWish, EctClass, FreezeGrowth, Recut};
use crate::{ack, feedback};
use accurate::{Accurate, Answer, Ask};

/// SYNs or SYN-ACKs that ask for AccECN, or agree to it, before one goes without (RFC 9768 §3.1.4.1,
/// §3.2.3.2.2).
const ACCURATE_TRIES: u32 = 2;

/// What was agreed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EcnMode {
    /// No ECN on this connection.
    #[default]
    Off,
    /// The ECE and CWR flags of RFC 3168.
    Classic,
    /// The counter of RFC 9768 in AE, CWR and ECE.
    AccEcn,
}

impl EcnMode {
    /// The mode in tables: the value of the switch `ecn` that asks for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Classic => "rfc3168",
            Self::AccEcn => "accecn",
        }
    }

    /// The feedback decoder that is used where `wish` is set; none without ECN.
    pub fn feedback(self, wish: &'static str) -> Option<&'static str> {
        let accurate = feedback::accecn::ENTRY.name;
        match self {
            Self::Off => None,
            Self::Classic if wish == accurate => Some(feedback::rfc3168::ENTRY.name),
            Self::Classic => Some(wish),
            Self::AccEcn => Some(accurate),
        }
    }

    /// The acknowledgement policy that is used where `wish` is set.
    pub fn ack(self, wish: &'static str) -> &'static str {
        let accurate = ack::accecn::ENTRY.name;
        match self {
            Self::AccEcn => accurate,
            Self::Off | Self::Classic if wish == accurate => ack::rfc3168::ENTRY.name,
            Self::Off | Self::Classic => wish,
        }
    }
}

/// What a packet is, as far as ECT cares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PacketClass {
    Syn,
    SynAck,
    NewData,
    Retransmission,
    /// Pure ACK, window probe, RST.
    Control,
}

#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct EcnState {
    // In the order of use: what every segment touches stands together, what few do comes last.
    /// Where AccECN is accepted.
    accurate: Option<Box<Accurate>>,
    mode: EcnMode,
    ect: EctClass,
    cwr_owed: bool,
    freeze: FreezeGrowth,
    cut: CutRule,
    recut: Recut,
    /// SND.NXT at the last reduction for ECN: only that freezes growth, never a loss.
    cut_at: Option<u64>,
    /// SND.NXT at the last reduction, ECN or loss.
    reduced_at: Option<u64>,
    wish: EcnWish,
    /// What our SYN asks for: the wish, until lost SYNs end it.
    asks: Ask,
    fallback: bool,
    /// SYNs or SYN-ACKs that got lost.
    lost: u32,
    /// SYN or SYN-ACK that set ECN up, and such that did not; sent and heard.
    sent_setup: bool,
    sent_plain: bool,
    heard_setup: bool,
    heard_plain: bool,
    cwr_rule: CwrRule,
}

impl EcnState {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            mode: EcnMode::Off,
            wish: config.ecn,
            asks: match config.ecn {
                EcnWish::Off | EcnWish::Passive | EcnWish::AccEcnPassive => Ask::Nothing,
                EcnWish::Rfc3168 => Ask::Classic,
                EcnWish::AccEcn => Ask::Accurate,
            },
            fallback: config.ecn_fallback,
            lost: 0,
            sent_setup: false,
            sent_plain: false,
            heard_setup: false,
            heard_plain: false,
            ect: config.ect,
            cwr_rule: config.cwr,
            cut: config.cut,
            recut: config.recut,
            freeze: config.freeze_growth,
            cwr_owed: false,
            reduced_at: None,
            cut_at: None,
            accurate: config.ecn.is_accurate().then(|| Box::new(Accurate::new())),
        }
    }

    pub(crate) const fn mode(&self) -> EcnMode {
        self.mode
    }

    /// The peer's feedback means something.
    pub(crate) fn is_on(&self) -> bool {
        self.mode != EcnMode::Off
    }

    /// AccECN was agreed.
    pub(crate) fn is_accurate(&self) -> bool {
        self.mode == EcnMode::AccEcn
    }

    /// What AccECN keeps, where it was agreed.
    fn counting(&self) -> Option<&Accurate> {
        self.accurate.as_deref().filter(|_| self.mode == EcnMode::AccEcn)
    }

    fn counting_mut(&mut self) -> Option<&mut Accurate> {
        self.accurate.as_deref_mut().filter(|_| self.mode == EcnMode::AccEcn)
    }

    /// We may set ECT.
    pub(crate) fn may_set_ect(&self) -> bool {
        self.is_on() && self.counting().is_none_or(|a| !a.mute)
    }

    /// CE on the peer's data must be echoed (RFC 3168 §6.1.1). Wider than [`Self::is_on`]: a host that
    /// asked twice, with ECN and without, may set no ECT, but the peer may have heard the first.
    pub(crate) const fn must_echo(&self) -> bool {
        self.sent_setup && !self.heard_plain
    }

    /// Classic ECN is on when both sides set it up and neither ever said otherwise (RFC 3168 §6.1.1).
    fn settle(&mut self) {
        let on = self.sent_setup && self.heard_setup && !self.sent_plain && !self.heard_plain;
        self.mode = if on { EcnMode::Classic } else { EcnMode::Off };
    }

    /// Flags of the SYN that goes out now: an ECN-setup SYN has ECE and CWR (RFC 3168 §6.1.1), one
    /// that asks for AccECN also AE (RFC 9768 §3.1.1).
    pub(crate) fn syn_flags(&mut self) -> Flags {
        let field = self.codepoint(PacketClass::Syn);
        if let Some(accurate) = &mut self.accurate {
            accurate.sent(field);
        }
        let asks = self.asks != Ask::Nothing;
        self.sent_setup |= asks;
        self.sent_plain |= !asks;
        self.asks.flags()
    }

    /// No answer to our SYN or SYN-ACK: something on the path may drop those that speak of ECN, so the
    /// next ones do not. One SYN is enough for that (RFC 3168 §6.1.1.1), of AccECN it takes two
    /// (RFC 9768 §3.1.4.1); a SYN-ACK does so with AccECN only (§3.2.3.2.2).
    pub(crate) fn syn_lost(&mut self) {
        self.lost += 1;
        if self.fallback && (self.asks == Ask::Classic || self.lost >= ACCURATE_TRIES) {
            self.asks = Ask::Nothing;
        }
    }

    /// The peer's SYN arrived, maybe again, with that ECN field. False when the connection must be
    /// reset ([`Accurate::hear_syn`]).
    ///
    /// Without AccECN on this host AE does not count: its request is answered as a classic one
    /// (RFC 9768 §3.1.2). The first SYN decides the mode (§3.1.5).
    #[must_use]
    pub(crate) fn on_syn(&mut self, flags: Flags, field: Codepoint) -> bool {
        let ask = Ask::of_syn(flags);
        let first = !self.heard_setup && !self.heard_plain;
        // Who asked for nothing and meets a SYN gave its answer already.
        let willing = self.asks == Ask::Accurate || self.sent_setup || !self.sent_plain;
        if let Some(accurate) = &mut self.accurate {
            if !accurate.hear_syn(ask, field) {
                return false;
            }
            if first && ask == Ask::Accurate && willing {
                self.mode = EcnMode::AccEcn;
                self.heard_setup = true;
                accurate.mute = self.sent_plain;
            }
            if self.mode == EcnMode::AccEcn {
                accurate.mute |= ask == Ask::Nothing;
                return true;
            }
        }
        self.hear(flags.contains(Flags::ECE | Flags::CWR));
        true
    }

    /// We can say yes to the peer's classic SYN.
    const fn agrees(&self) -> bool {
        !matches!(self.wish, EcnWish::Off)
            && self.heard_setup
            && !self.heard_plain
            && !self.sent_plain
    }

    /// Our SYN-ACKs that agree to AccECN got no answer, so this one does not (RFC 9768 §3.2.3.2.2).
    const fn gives_up_answering(&self) -> bool {
        self.fallback && self.lost >= ACCURATE_TRIES
    }

    /// Flags of the SYN-ACK that goes out now: an ECN-setup SYN-ACK has ECE and not CWR; one that
    /// agrees to AccECN tells how the SYN arrived.
    pub(crate) fn syn_ack_flags(&mut self) -> Flags {
        let field = self.codepoint(PacketClass::SynAck);
        let plain = self.gives_up_answering();
        if let Some(accurate) = self.counting_mut() {
            accurate.sent(field);
            // It stays in its mode, but the peer may not (RFC 9768 §3.1.5).
            accurate.mute |= plain;
            return if plain { Flags::NONE } else { accurate.syn_ack_flags() };
        }
        let yes = self.agrees();
        self.sent_setup |= yes;
        self.sent_plain |= !yes;
        self.settle();
        if yes { Flags::ECE } else { Flags::NONE }
    }

    /// The peer's SYN-ACK arrived, with that ECN field. One that reflects our flags comes from a stack
    /// that copies reserved bits, not from one that speaks ECN (RFC 3168 §6.1.1, RFC 9768 table 2).
    pub(crate) fn on_syn_ack(&mut self, flags: Flags, field: Codepoint) {
        let unheard = !self.heard_setup && !self.heard_plain;
        if let Some(accurate) = &mut self.accurate {
            let answer = Answer::of_syn_ack(flags);
            if self.mode == EcnMode::AccEcn {
                // Both opened, and the peer's SYN has decided.
                accurate.mute |= flags.ace() == 0;
                let reported =
                    if let Answer::Accurate(reported) = answer { reported } else { None };
                accurate.hear_syn_ack(reported, field);
                return;
            }
            if unheard && self.sent_setup {
                // To a SYN that asked for AccECN, be it not the last one.
                if let Answer::Accurate(reported) = answer {
                    self.mode = EcnMode::AccEcn;
                    self.heard_setup = true;
                    accurate.hear_syn_ack(reported, field);
                    accurate.answer_as_client();
                } else {
                    self.hear(answer == Answer::Classic);
                }
                return;
            }
        }
        self.hear(flags.contains(Flags::ECE) && !flags.intersects(Flags::CWR));
    }

    fn hear(&mut self, setup: bool) {
        self.heard_setup |= setup;
        self.heard_plain |= !setup;
        self.settle();
    }

    /// The codepoint of an outgoing packet. That of a SYN or SYN-ACK must be asked for before its flags.
    pub(crate) fn codepoint(&self, class: PacketClass) -> Codepoint {
        let ect = match (self.ect, class) {
            // Before anything is agreed: where the flags of the packet speak of ECN.
            (EctClass::All, PacketClass::Syn) => self.asks != Ask::Nothing,
            (EctClass::All, PacketClass::SynAck) if self.is_accurate() => {
                self.may_set_ect() && !self.gives_up_answering()
            }
            (EctClass::All, PacketClass::SynAck) => self.agrees(),
            (_, PacketClass::Syn | PacketClass::SynAck) => false,
            (_, PacketClass::NewData) | (EctClass::All | EctClass::AllButSyn, _) => {
                self.may_set_ect()
            }
            (EctClass::Data, _) => false,
        };
        if ect { Codepoint::Ect0 } else { Codepoint::NotEct }
    }

    /// A pure ACK without SACK blocks ends the handshake: its ACE field is no counter.
    pub(crate) fn on_handshake_ack(&mut self, flags: Flags) {
        if let Some(accurate) = self.counting_mut() {
            accurate.hear_handshake_ack(flags.ace());
        }
    }

    /// The SYN-ACK came again and is being answered.
    pub(crate) fn on_syn_ack_again(&mut self, flags: Flags, field: Codepoint) {
        if let Some(accurate) = self.counting_mut() {
            accurate.hear_syn_ack_again(flags, field);
        }
    }

    /// Our SYN or SYN-ACK met CE.
    pub(crate) fn handshake_was_marked(&self) -> bool {
        self.counting().is_some_and(|a| a.handshake_marked)
    }

    /// The ACE field that each segment without SYN carries now, where AccECN was agreed.
    pub(crate) fn ace(&self) -> Option<u8> {
        self.counting().map(Accurate::ace)
    }

    /// CE packets that arrived; zero without AccECN.
    pub(crate) fn received_ce(&self) -> u64 {
        self.counting().map_or(0, Accurate::received)
    }

    /// That many packets with CE arrived on a segment that was accepted.
    pub(crate) fn on_marks(&mut self, marks: u32) {
        if let Some(accurate) = self.counting_mut() {
            accurate.receive(marks);
        }
    }

    /// An ACK is owed to marked ACKs only.
    pub(crate) fn owe_bare_ack(&mut self) {
        if let Some(accurate) = self.counting_mut() {
            accurate.owe_bare();
        }
    }

    /// The next ACK goes alone and without SACK blocks.
    pub(crate) fn owes_bare_ack(&self) -> bool {
        self.counting().is_some_and(Accurate::owes_bare)
    }

    /// It goes out; the ACE field of the handshake's last ACK.
    pub(crate) fn take_bare_ack(&mut self) -> Option<u8> {
        self.counting_mut().and_then(Accurate::take_bare)
    }

    /// How many packets with CE the flags report at least ([`Accurate::take`]).
    pub(crate) fn take_ace(&mut self, flags: Flags, fresh: bool, delivered: u32) -> u8 {
        if self.mode != EcnMode::AccEcn {
            return 0;
        }
        self.counting_mut().map_or(0, |a| a.take(flags, fresh, delivered))
    }

    /// The cut rule allows a reduction at this SND.UNA.
    pub(crate) fn may_reduce(&self, snd_una: u64) -> bool {
        if self.cut == CutRule::PerMarkedAck {
            return true;
        }
        self.reduced_at.is_none_or(|point| self.is_over(point, snd_una))
    }

    /// The round of a cut at which SND.NXT was `point` is over.
    const fn is_over(&self, point: u64, snd_una: u64) -> bool {
        match self.recut {
            Recut::AtPoint => snd_una >= point,
            Recut::PastPoint => snd_una > point,
        }
    }

    /// A reduction happened and its window of data is not acknowledged yet.
    pub(crate) fn in_reaction(&self, snd_una: u64) -> bool {
        self.reduced_at.is_some_and(|point| snd_una < point)
    }

    /// The window may not grow on this ACK because of ECN.
    pub(crate) fn frozen(&self, snd_una: u64, ece: bool) -> bool {
        match self.freeze {
            FreezeGrowth::Off => false,
            FreezeGrowth::EceAcks => ece,
            FreezeGrowth::Round => {
                ece || self.cut_at.is_some_and(|point| !self.is_over(point, snd_una))
            }
        }
    }

    /// The control cut its window because of ECN.
    pub(crate) fn on_cut(&mut self, snd_nxt: u64) {
        self.cut_at = Some(snd_nxt);
        self.on_reduced(snd_nxt);
    }

    /// The window was reduced for whatever reason: CWR is owed (RFC 3168 §6.1.2), and ECN must not
    /// cut again for the same window of data.
    pub(crate) fn on_reduced(&mut self, snd_nxt: u64) {
        self.reduced_at = Some(snd_nxt);
        // AccECN has no CWR (RFC 9768 §3.1.5).
        self.cwr_owed = self.mode == EcnMode::Classic && self.cwr_rule == CwrRule::AfterReduction;
    }

    /// The last reduction was for a loss that was none: only a cut for ECN before it still counts.
    pub(crate) const fn on_undone(&mut self) {
        self.reduced_at = self.cut_at;
        self.cwr_owed = false;
    }

    /// CWR of a segment with new data; true once per reduction.
    pub(crate) const fn take_cwr(&mut self) -> bool {
        let owed = self.cwr_owed;
        self.cwr_owed = false;
        owed
    }
}
