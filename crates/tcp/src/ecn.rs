//! ECN on one connection: negotiation, ECT, the reaction round and CWR (RFC 3168 §6.1).
//!
//! Who reacts how is the congestion control's; what the bits of an ACK mean is the decoder's; what to
//! echo is the acknowledgement policy's. This file owns everything else.

use lowtide_wire::{Ecn as Codepoint, Flags};

use crate::config::{Config, CutRule, CwrRule, EcnWish, EctClass, FreezeGrowth, Recut};

/// What was agreed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EcnMode {
    /// No ECN on this connection.
    #[default]
    Off,
    /// The ECE and CWR flags of RFC 3168.
    Classic,
}

/// What a packet is, as far as ECT cares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PacketClass {
    Syn,
    NewData,
    Retransmission,
    /// Pure ACK, window probe, RST.
    Control,
}

#[derive(Clone, Debug)]
pub(crate) struct EcnState {
    mode: EcnMode,
    wish: EcnWish,
    ect: EctClass,
    cwr_rule: CwrRule,
    cut: CutRule,
    recut: Recut,
    freeze: FreezeGrowth,
    cwr_owed: bool,
    /// SND.NXT at the last reduction, ECN or loss.
    reduced_at: Option<u64>,
    /// SND.NXT at the last reduction for ECN: only that freezes growth, never a loss.
    cut_at: Option<u64>,
}

impl EcnState {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            mode: EcnMode::Off,
            wish: config.ecn,
            ect: config.ect,
            cwr_rule: config.cwr,
            cut: config.cut,
            recut: config.recut,
            freeze: config.freeze_growth,
            cwr_owed: false,
            reduced_at: None,
            cut_at: None,
        }
    }

    pub(crate) const fn mode(&self) -> EcnMode {
        self.mode
    }

    pub(crate) fn is_on(&self) -> bool {
        self.mode == EcnMode::Classic
    }

    /// Flags of our SYN: an ECN-setup SYN has ECE and CWR (RFC 3168 §6.1.1).
    pub(crate) const fn syn_flags(&self) -> Flags {
        match self.wish {
            EcnWish::Rfc3168 => Flags::ECE.with(Flags::CWR),
            EcnWish::Off | EcnWish::Passive => Flags::NONE,
        }
    }

    /// The peer's SYN arrived; decides the mode. AE must be clear, else it is an AccECN request,
    /// which a classic server answers as classic (RFC 9768 §3.1.1, last row).
    pub(crate) fn on_syn(&mut self, flags: Flags) {
        let setup = flags.contains(Flags::ECE | Flags::CWR);
        self.mode =
            if setup && self.wish != EcnWish::Off { EcnMode::Classic } else { EcnMode::Off };
    }

    /// Flags of our SYN-ACK: an ECN-setup SYN-ACK has ECE and not CWR.
    pub(crate) fn syn_ack_flags(&self) -> Flags {
        if self.is_on() { Flags::ECE } else { Flags::NONE }
    }

    /// The peer's SYN-ACK arrived. One that reflects our two flags comes from a stack that copies
    /// reserved bits, not from one that speaks ECN (RFC 3168 §6.1.1).
    pub(crate) fn on_syn_ack(&mut self, flags: Flags) {
        let setup = flags.contains(Flags::ECE) && !flags.intersects(Flags::CWR);
        let asked = self.wish == EcnWish::Rfc3168;
        self.mode = if setup && asked { EcnMode::Classic } else { EcnMode::Off };
    }

    /// The codepoint of an outgoing packet.
    pub(crate) fn codepoint(&self, class: PacketClass) -> Codepoint {
        let ect = match (self.ect, class) {
            // A SYN goes out before anything was agreed: the wish decides.
            (EctClass::All, PacketClass::Syn) => self.wish == EcnWish::Rfc3168 || self.is_on(),
            (_, PacketClass::Syn) => false,
            (_, PacketClass::NewData) | (EctClass::All | EctClass::AllButSyn, _) => self.is_on(),
            (EctClass::Data, _) => false,
        };
        if ect { Codepoint::Ect0 } else { Codepoint::NotEct }
    }

    /// The cut rule allows a reduction at this SND.UNA.
    pub(crate) fn may_reduce(&self, snd_una: u64) -> bool {
        if self.cut == CutRule::PerMarkedAck {
            return true;
        }
        match (self.reduced_at, self.recut) {
            (None, _) => true,
            (Some(point), Recut::AtPoint) => snd_una >= point,
            (Some(point), Recut::PastPoint) => snd_una > point,
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
            FreezeGrowth::Round => ece || self.cut_at.is_some_and(|point| snd_una < point),
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
        self.cwr_owed = self.is_on() && self.cwr_rule == CwrRule::AfterReduction;
    }

    /// CWR of a segment with new data; true once per reduction.
    pub(crate) const fn take_cwr(&mut self) -> bool {
        let owed = self.cwr_owed;
        self.cwr_owed = false;
        owed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(wish: EcnWish, ect: EctClass) -> EcnState {
        EcnState::new(&Config { ecn: wish, ect, ..Config::default() })
    }

    #[test]
    fn syn_ack_that_copies_both_flags_is_not_ecn() {
        let mut ecn = state(EcnWish::Rfc3168, EctClass::Data);
        ecn.on_syn_ack(Flags::SYN | Flags::ACK | Flags::ECE | Flags::CWR);
        assert!(!ecn.is_on());
        ecn.on_syn_ack(Flags::SYN | Flags::ACK | Flags::ECE);
        assert!(ecn.is_on());
    }

    #[test]
    fn unasked_ecn_syn_ack_is_ignored() {
        let mut ecn = state(EcnWish::Passive, EctClass::Data);
        assert_eq!(ecn.syn_flags(), Flags::NONE);
        ecn.on_syn_ack(Flags::SYN | Flags::ACK | Flags::ECE);
        assert!(!ecn.is_on());
    }

    #[test]
    fn passive_accepts_and_off_refuses() {
        for (wish, on) in
            [(EcnWish::Off, false), (EcnWish::Passive, true), (EcnWish::Rfc3168, true)]
        {
            let mut ecn = state(wish, EctClass::Data);
            ecn.on_syn(Flags::SYN | Flags::ECE | Flags::CWR);
            assert_eq!(ecn.is_on(), on, "{wish:?}");
            assert_eq!(ecn.syn_ack_flags() == Flags::ECE, on);
            ecn.on_syn(Flags::SYN | Flags::ECE);
            assert!(!ecn.is_on(), "ECE alone asks for nothing");
        }
    }

    #[test]
    fn ect_classes() {
        use PacketClass::{Control, NewData, Retransmission, Syn};
        for (ect, expected) in [
            (EctClass::Data, [false, true, false, false]),
            (EctClass::AllButSyn, [false, true, true, true]),
            (EctClass::All, [true, true, true, true]),
        ] {
            let mut ecn = state(EcnWish::Rfc3168, ect);
            ecn.on_syn_ack(Flags::SYN | Flags::ACK | Flags::ECE);
            let got =
                [Syn, NewData, Retransmission, Control].map(|c| ecn.codepoint(c).is_capable());
            assert_eq!(got, expected, "{ect:?}");
        }
        let off = state(EcnWish::Rfc3168, EctClass::All);
        assert!(!off.codepoint(NewData).is_capable(), "not agreed");
    }

    #[test]
    fn one_cut_per_window_at_or_past_the_point() {
        for (recut, at_point) in [(Recut::AtPoint, true), (Recut::PastPoint, false)] {
            let mut ecn =
                EcnState::new(&Config { recut, ecn: EcnWish::Rfc3168, ..Config::default() });
            assert!(ecn.may_reduce(0));
            ecn.on_reduced(10_000);
            assert!(!ecn.may_reduce(9_999));
            assert_eq!(ecn.may_reduce(10_000), at_point);
            assert!(ecn.may_reduce(10_001));
        }
    }

    #[test]
    fn cwr_is_owed_once_and_only_where_agreed() {
        let mut ecn = state(EcnWish::Rfc3168, EctClass::Data);
        ecn.on_reduced(1);
        assert!(!ecn.take_cwr(), "no ECN agreed");
        ecn.on_syn_ack(Flags::SYN | Flags::ACK | Flags::ECE);
        ecn.on_reduced(2);
        assert!(ecn.take_cwr());
        assert!(!ecn.take_cwr());
    }

    #[test]
    fn growth_freezes_as_the_switch_says() {
        let make = |freeze_growth| {
            let mut e = EcnState::new(&Config {
                freeze_growth,
                ecn: EcnWish::Rfc3168,
                ..Config::default()
            });
            e.on_cut(100);
            e
        };
        assert!(!make(FreezeGrowth::Off).frozen(50, true));
        assert!(make(FreezeGrowth::EceAcks).frozen(50, true));
        assert!(!make(FreezeGrowth::EceAcks).frozen(50, false));
        assert!(make(FreezeGrowth::Round).frozen(50, false));
        assert!(!make(FreezeGrowth::Round).frozen(100, false));
        let mut lost =
            EcnState::new(&Config { freeze_growth: FreezeGrowth::Round, ..Config::default() });
        lost.on_reduced(100);
        assert!(!lost.frozen(50, false), "a timeout must not stop slow start");
    }
}
