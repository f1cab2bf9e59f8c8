//! ECN on one connection: negotiation, ECT, the reaction round and CWR (RFC 3168 §6.1, RFC 9768
//! §3.1).
//!
//! The congestion control decides the reaction, the decoder interprets the bits of an ACK, and the
//! acknowledgement policy decides the echo. This file does everything else; `accecn` does what is
//! specific to AccECN.
//!
//! The decoder and the policy depend on the negotiated mode ([`EcnMode::feedback`],
//! [`EcnMode::ack`]). AccECN uses its own, because the bits have another meaning there. RFC 3168
//! uses the configured ones, with the standard ones in place of those of AccECN.

mod accecn;
mod option;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;

use lowtide_wire::{Ecn as Codepoint, Flags};

use crate::settings::config::{
    AccEcnRules, Config, CutRoundEnd, CutRule, CwrRule, EcnNegotiation, EctClass, FreezeGrowth,
};
use crate::{ack, feedback};
use accecn::{AccEcnState, SynAckEcnReply, SynEcnRequest};
pub(crate) use option::OptionBytes;

/// SYNs or SYN-ACKs that request AccECN, or accept it, before one is sent without (RFC 9768
/// §3.1.4.1, §3.2.3.2.2).
const ACCECN_SYN_TRIES: u32 = 2;

lowtide_units::named_enum! {
    /// The negotiated ECN mode.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    #[non_exhaustive]
    pub enum EcnMode {
        /// No ECN on this connection.
        #[default]
        Off = "off",
        /// The ECE and CWR flags of RFC 3168.
        Classic = "rfc3168",
        /// The counter of RFC 9768 in AE, CWR and ECE.
        AccEcn = "accecn",
    }
}

impl EcnMode {
    /// The feedback decoder in use if `configured` is set; none without ECN.
    pub fn feedback(self, configured: &'static str) -> Option<&'static str> {
        let accecn = feedback::accecn::ENTRY.name;
        match self {
            Self::Off => None,
            Self::Classic if configured == accecn => Some(feedback::rfc3168::ENTRY.name),
            Self::Classic => Some(configured),
            Self::AccEcn => Some(accecn),
        }
    }

    /// The acknowledgement policy in use if `configured` is set.
    pub fn ack(self, configured: &'static str) -> &'static str {
        let accecn = ack::accecn::ENTRY.name;
        match self {
            Self::AccEcn => accecn,
            Self::Off | Self::Classic if configured == accecn => ack::rfc3168::ENTRY.name,
            Self::Off | Self::Classic => configured,
        }
    }
}

/// Kind of packet, as relevant for ECT.
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
    // Ordered by use: the fields that every segment touches share cache lines; rare ones come last.
    /// Present if AccECN is accepted.
    accecn: Option<Box<AccEcnState>>,
    mode: EcnMode,
    ect: EctClass,
    cwr_pending: bool,
    freeze: FreezeGrowth,
    cut: CutRule,
    recut: CutRoundEnd,
    /// SND.NXT at the last reduction for ECN. Only an ECN reduction freezes growth, never a loss.
    cut_at: Option<u64>,
    /// SND.NXT at the last reduction, ECN or loss.
    reduced_at: Option<u64>,
    configured: EcnNegotiation,
    /// ECN request of our SYN: as configured, until lost SYNs end it.
    requested: SynEcnRequest,
    fallback: bool,
    /// Number of lost SYNs or SYN-ACKs.
    syns_lost: u32,
    /// ECN-setup and non-ECN-setup SYNs or SYN-ACKs, sent and received.
    sent_setup: bool,
    sent_non_setup: bool,
    received_setup: bool,
    received_non_setup: bool,
    cwr_rule: CwrRule,
}

impl EcnState {
    /// We requested AccECN and the peer accepted.
    pub(crate) fn is_accecn_client(&self) -> bool {
        self.negotiated_accecn().is_some_and(AccEcnState::is_client)
    }

    pub(crate) fn new(config: &Config) -> Self {
        Self {
            mode: EcnMode::Off,
            configured: config.ecn,
            requested: match config.ecn {
                EcnNegotiation::Off | EcnNegotiation::Passive | EcnNegotiation::AccEcnPassive => {
                    SynEcnRequest::Nothing
                }
                EcnNegotiation::Rfc3168 | EcnNegotiation::AccEcnRfc3168 => SynEcnRequest::Classic,
                EcnNegotiation::AccEcn => SynEcnRequest::Accurate,
            },
            fallback: config.ecn_fallback,
            syns_lost: 0,
            sent_setup: false,
            sent_non_setup: false,
            received_setup: false,
            received_non_setup: false,
            ect: config.ect,
            cwr_rule: config.cwr,
            cut: config.cut,
            recut: config.recut,
            freeze: config.freeze_growth,
            cwr_pending: false,
            reduced_at: None,
            cut_at: None,
            accecn: config.ecn.accepts_accecn().then(|| Box::new(AccEcnState::new(config))),
        }
    }

    pub(crate) const fn mode(&self) -> EcnMode {
        self.mode
    }

    /// ECN was negotiated, so the peer's feedback is valid.
    pub(crate) fn is_on(&self) -> bool {
        self.mode != EcnMode::Off
    }

    /// AccECN was negotiated.
    pub(crate) fn is_accecn(&self) -> bool {
        self.mode == EcnMode::AccEcn
    }

    /// The state of AccECN, if it was negotiated.
    fn negotiated_accecn(&self) -> Option<&AccEcnState> {
        self.accecn.as_deref().filter(|_| self.mode == EcnMode::AccEcn)
    }

    fn negotiated_accecn_mut(&mut self) -> Option<&mut AccEcnState> {
        self.accecn.as_deref_mut().filter(|_| self.mode == EcnMode::AccEcn)
    }

    /// We may set ECT.
    pub(crate) fn may_set_ect(&self) -> bool {
        self.is_on() && self.negotiated_accecn().is_none_or(|a| !a.ect_disabled)
    }

    /// True if CE on the peer's data must be echoed (RFC 3168 §6.1.1). Wider than [`Self::is_on`]:
    /// a host that sent SYNs both with and without ECN may set no ECT, but the peer may have seen
    /// the first.
    pub(crate) const fn must_echo(&self) -> bool {
        self.sent_setup && !self.received_non_setup
    }

    /// Sets the mode: classic ECN is on if both sides set it up and neither sent a non-setup packet
    /// (RFC 3168 §6.1.1).
    fn update_mode(&mut self) {
        let on = self.sent_setup
            && self.received_setup
            && !self.sent_non_setup
            && !self.received_non_setup;
        self.mode = if on { EcnMode::Classic } else { EcnMode::Off };
    }

    /// Flags of the next SYN: an ECN-setup SYN has ECE and CWR (RFC 3168 §6.1.1), one that requests
    /// AccECN also AE (RFC 9768 §3.1.1).
    pub(crate) fn syn_flags(&mut self) -> Flags {
        let field = self.codepoint(PacketClass::Syn);
        if let Some(accecn) = &mut self.accecn {
            accecn.sent(field);
        }
        let asks = self.requested != SynEcnRequest::Nothing;
        self.sent_setup |= asks;
        self.sent_non_setup |= !asks;
        self.requested.flags()
    }

    /// Our SYN or SYN-ACK got no answer: the path may drop ECN packets, so the next ones are sent
    /// without. A classic request ends after one SYN (RFC 3168 §6.1.1.1), one for AccECN after two
    /// (RFC 9768 §3.1.4.1). A SYN-ACK does so with AccECN only (§3.2.3.2.2).
    pub(crate) fn syn_lost(&mut self) {
        self.syns_lost += 1;
        if self.fallback
            && (self.requested == SynEcnRequest::Classic || self.syns_lost >= ACCECN_SYN_TRIES)
        {
            self.requested = SynEcnRequest::Nothing;
        }
    }

    /// The peer's SYN arrived, possibly again, with this ECN field. False if the connection must be
    /// reset ([`AccEcnState::on_syn`]).
    ///
    /// Without AccECN on this host AE is ignored: the request is answered as a classic one (RFC
    /// 9768 §3.1.2). The first SYN decides the mode (§3.1.5).
    #[must_use]
    pub(crate) fn on_syn(&mut self, flags: Flags, field: Codepoint) -> bool {
        let ask = SynEcnRequest::of_syn(flags);
        let first = !self.received_setup && !self.received_non_setup;
        // In a simultaneous open, an end whose SYN requested nothing has already declined.
        let willing =
            self.requested == SynEcnRequest::Accurate || self.sent_setup || !self.sent_non_setup;
        if let Some(accecn) = &mut self.accecn {
            if !accecn.on_syn(ask, field) {
                return false;
            }
            if first && ask == SynEcnRequest::Accurate && willing {
                self.mode = EcnMode::AccEcn;
                self.received_setup = true;
                accecn.ect_disabled = self.sent_non_setup;
            }
            if self.mode == EcnMode::AccEcn {
                accecn.ect_disabled |= ask == SynEcnRequest::Nothing;
                return true;
            }
        }
        self.on_peer_setup(flags.contains(Flags::ECE | Flags::CWR));
        true
    }

    /// We can accept the peer's classic request.
    const fn accepts_classic(&self) -> bool {
        !matches!(self.configured, EcnNegotiation::Off)
            && self.received_setup
            && !self.received_non_setup
            && !self.sent_non_setup
    }

    /// Our SYN-ACKs that accept AccECN got no answer, so this one does not (RFC 9768 §3.2.3.2.2).
    const fn accecn_fell_back(&self) -> bool {
        self.fallback && self.syns_lost >= ACCECN_SYN_TRIES
    }

    /// Flags of the next SYN-ACK: an ECN-setup SYN-ACK has ECE and not CWR; one that accepts AccECN
    /// reports the ECN field of the SYN.
    pub(crate) fn syn_ack_flags(&mut self) -> Flags {
        let field = self.codepoint(PacketClass::SynAck);
        let plain = self.accecn_fell_back();
        if let Some(accecn) = self.negotiated_accecn_mut() {
            accecn.sent(field);
            // This end stays in its mode, but the peer may not (RFC 9768 §3.1.5).
            accecn.ect_disabled |= plain;
            return if plain { Flags::NONE } else { accecn.syn_ack_flags() };
        }
        let yes = self.accepts_classic();
        self.sent_setup |= yes;
        self.sent_non_setup |= !yes;
        self.update_mode();
        if yes { Flags::ECE } else { Flags::NONE }
    }

    /// The peer's SYN-ACK arrived with this ECN field. One that reflects our flags is from a stack
    /// that copies reserved bits, not from one with ECN (RFC 3168 §6.1.1, RFC 9768 table 2).
    pub(crate) fn on_syn_ack(&mut self, flags: Flags, field: Codepoint) {
        let unheard = !self.received_setup && !self.received_non_setup;
        if let Some(accecn) = &mut self.accecn {
            let answer = SynAckEcnReply::of_syn_ack(flags);
            if self.mode == EcnMode::AccEcn {
                // Simultaneous open: the peer's SYN has decided.
                accecn.ect_disabled |= flags.ace() == 0;
                let reported =
                    if let SynAckEcnReply::Accurate(reported) = answer { reported } else { None };
                accecn.on_syn_ack(reported, field);
                return;
            }
            if unheard && self.sent_setup && self.configured == EcnNegotiation::AccEcn {
                // The answer to a SYN that requested AccECN, though maybe not to the last one.
                if let SynAckEcnReply::Accurate(reported) = answer {
                    self.mode = EcnMode::AccEcn;
                    self.received_setup = true;
                    accecn.on_syn_ack(reported, field);
                    accecn.schedule_handshake_ack();
                } else {
                    self.on_peer_setup(answer == SynAckEcnReply::Classic);
                }
                return;
            }
        }
        self.on_peer_setup(flags.contains(Flags::ECE) && !flags.intersects(Flags::CWR));
    }

    fn on_peer_setup(&mut self, setup: bool) {
        self.received_setup |= setup;
        self.received_non_setup |= !setup;
        self.update_mode();
    }

    /// The codepoint of an outgoing packet. For a SYN or SYN-ACK, call this before its flags.
    pub(crate) fn codepoint(&self, class: PacketClass) -> Codepoint {
        let ect = match (self.ect, class) {
            // Before the negotiation is over: only if the flags of the packet set ECN up.
            (EctClass::All, PacketClass::Syn) => self.requested != SynEcnRequest::Nothing,
            (EctClass::All, PacketClass::SynAck) if self.is_accecn() => {
                self.may_set_ect() && !self.accecn_fell_back()
            }
            (EctClass::All, PacketClass::SynAck) => self.accepts_classic(),
            (_, PacketClass::Syn | PacketClass::SynAck) => false,
            (_, PacketClass::NewData) | (EctClass::All | EctClass::AllButSyn, _) => {
                self.may_set_ect()
            }
            (EctClass::DataOrAccEcn, _) => self.is_accecn() && self.may_set_ect(),
            (EctClass::Data, _) => false,
        };
        if ect { Codepoint::Ect0 } else { Codepoint::NotEct }
    }

    /// A pure ACK without SACK blocks ends the handshake: its ACE field is not a counter.
    pub(crate) fn on_handshake_ack(&mut self, flags: Flags) {
        if let Some(accecn) = self.negotiated_accecn_mut() {
            accecn.on_handshake_ack(flags.ace());
        }
    }

    /// A retransmitted SYN-ACK arrived and is being answered.
    pub(crate) fn on_syn_ack_retransmitted(&mut self, flags: Flags, field: Codepoint) {
        if let Some(accecn) = self.negotiated_accecn_mut() {
            accecn.on_syn_ack_retransmitted(flags, field);
        }
    }

    /// Our SYN or SYN-ACK was marked CE.
    pub(crate) fn handshake_was_marked(&self) -> bool {
        self.negotiated_accecn().is_some_and(|a| a.handshake_marked)
    }

    /// Rules of Linux where they differ from those of RFC 9768.
    pub(crate) fn has_linux_rules(&self) -> bool {
        self.negotiated_accecn().is_some_and(|a| a.rules == AccEcnRules::Linux)
    }

    /// The current ACE field of segments without SYN, if AccECN was negotiated.
    pub(crate) fn ace(&self) -> Option<u8> {
        self.negotiated_accecn().map(AccEcnState::ace)
    }

    /// CE packets received; zero without AccECN.
    pub(crate) fn received_ce(&self) -> u64 {
        self.negotiated_accecn().map_or(0, AccEcnState::received)
    }

    /// Counts `marks` CE packets of an accepted segment.
    pub(crate) fn on_ce_packets(&mut self, marks: u32) {
        if let Some(accecn) = self.negotiated_accecn_mut() {
            accecn.on_ce_packets(marks);
        }
    }

    /// Schedules an ACK that only answers marked ACKs.
    pub(crate) fn schedule_ack_without_sack(&mut self) {
        if let Some(accecn) = self.negotiated_accecn_mut() {
            accecn.schedule_ack_without_sack();
        }
    }

    /// True if the next ACK is a pure ACK without SACK blocks.
    pub(crate) fn ack_without_sack_due(&self) -> bool {
        self.negotiated_accecn().is_some_and(AccEcnState::ack_without_sack_due)
    }

    /// Takes the scheduled ACK; returns the ACE field of the handshake's last ACK.
    pub(crate) fn take_ack_without_sack(&mut self) -> Option<u8> {
        self.negotiated_accecn_mut().and_then(AccEcnState::take_ack_without_sack)
    }

    /// Minimum number of CE packets that the flags report ([`AccEcnState::ace_delta`]).
    pub(crate) fn ace_delta(&mut self, flags: Flags, fresh: bool, delivered: u32) -> u8 {
        if self.mode != EcnMode::AccEcn {
            return 0;
        }
        self.negotiated_accecn_mut().map_or(0, |a| a.ace_delta(flags, fresh, delivered))
    }

    /// True if the cut rule allows a reduction at this SND.UNA.
    pub(crate) fn may_reduce(&self, snd_una: u64) -> bool {
        if self.cut == CutRule::PerMarkedAck {
            return true;
        }
        self.reduced_at.is_none_or(|point| self.cut_round_over(point, snd_una))
    }

    /// True if the round of a cut at SND.NXT `point` is over.
    const fn cut_round_over(&self, point: u64, snd_una: u64) -> bool {
        match self.recut {
            CutRoundEnd::AtPoint => snd_una >= point,
            CutRoundEnd::PastPoint => snd_una > point,
        }
    }

    /// True if data sent before the last reduction is not all acknowledged.
    pub(crate) fn in_reaction(&self, snd_una: u64) -> bool {
        self.reduced_at.is_some_and(|point| snd_una < point)
    }

    /// True if ECN forbids window growth on this ACK; `last_ece`: the ACK before had ECE.
    pub(crate) fn frozen(&self, snd_una: u64, ece: bool, last_ece: bool) -> bool {
        match self.freeze {
            FreezeGrowth::Off => false,
            FreezeGrowth::FirstEce => ece && !last_ece,
            FreezeGrowth::EceAcks => ece,
            FreezeGrowth::Round => {
                ece || self.cut_at.is_some_and(|point| !self.cut_round_over(point, snd_una))
            }
        }
    }

    /// The control reduced its window because of ECN.
    pub(crate) fn on_cut(&mut self, snd_nxt: u64) {
        self.cut_at = Some(snd_nxt);
        self.on_reduced(snd_nxt);
    }

    /// The window was reduced for any reason: CWR is due (RFC 3168 §6.1.2), and ECN must not cut
    /// again for this window of data.
    pub(crate) fn on_reduced(&mut self, snd_nxt: u64) {
        self.reduced_at = Some(snd_nxt);
        // AccECN has no CWR (RFC 9768 §3.1.5).
        self.cwr_pending =
            self.mode == EcnMode::Classic && self.cwr_rule == CwrRule::AfterReduction;
    }

    /// The last reduction was undone as spurious: only an earlier cut for ECN still counts.
    pub(crate) const fn on_undone(&mut self) {
        self.reduced_at = self.cut_at;
        self.cwr_pending = false;
    }

    /// The next segment with new data carries CWR.
    pub(crate) const fn cwr_is_due(&self) -> bool {
        self.cwr_pending
    }

    /// CWR flag of a segment with new data; true once per reduction.
    pub(crate) const fn take_cwr(&mut self) -> bool {
        let owed = self.cwr_pending;
        self.cwr_pending = false;
        owed
    }
}
