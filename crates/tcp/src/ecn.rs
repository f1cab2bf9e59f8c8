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
    SynAck,
    NewData,
    Retransmission,
    /// Pure ACK, window probe, RST.
    Control,
}

#[expect(clippy::struct_excessive_bools, reason = "independent facts of the handshake")]
#[derive(Clone, Debug)]
pub(crate) struct EcnState {
    mode: EcnMode,
    wish: EcnWish,
    /// Our SYN asks for ECN: the wish, until a lost SYN ends it.
    asks: bool,
    fallback: bool,
    /// SYN or SYN-ACK that set ECN up, and such that did not; sent and heard.
    sent_setup: bool,
    sent_plain: bool,
    heard_setup: bool,
    heard_plain: bool,
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
            asks: config.ecn == EcnWish::Rfc3168,
            fallback: config.ecn_fallback,
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
        }
    }

    pub(crate) const fn mode(&self) -> EcnMode {
        self.mode
    }

    /// We may set ECT, and the peer's echo means something.
    pub(crate) fn is_on(&self) -> bool {
        self.mode == EcnMode::Classic
    }

    /// CE on the peer's data must be echoed (RFC 3168 §6.1.1). Wider than [`Self::is_on`]: a host that
    /// asked twice, with ECN and without, may set no ECT, but the peer may have heard the first.
    pub(crate) const fn must_echo(&self) -> bool {
        self.sent_setup && !self.heard_plain
    }

    /// ECN is on when both sides set it up and neither ever said otherwise (RFC 3168 §6.1.1).
    fn settle(&mut self) {
        let on = self.sent_setup && self.heard_setup && !self.sent_plain && !self.heard_plain;
        self.mode = if on { EcnMode::Classic } else { EcnMode::Off };
    }

    /// Flags of the SYN that goes out now: an ECN-setup SYN has ECE and CWR (RFC 3168 §6.1.1).
    pub(crate) fn syn_flags(&mut self) -> Flags {
        self.sent_setup |= self.asks;
        self.sent_plain |= !self.asks;
        if self.asks { Flags::ECE | Flags::CWR } else { Flags::NONE }
    }

    /// No answer to our SYN: something on the path may drop SYNs that ask for ECN, so the next ones
    /// do not (RFC 3168 §6.1.1.1).
    pub(crate) const fn syn_lost(&mut self) {
        self.asks &= !self.fallback;
    }

    /// The peer's SYN arrived, maybe again. AE must be clear, else it is an AccECN request, which a
    /// classic server answers as classic (RFC 9768 §3.1.1, last row).
    pub(crate) fn on_syn(&mut self, flags: Flags) {
        self.hear(flags.contains(Flags::ECE | Flags::CWR));
    }

    /// We can say yes to the peer's SYN.
    const fn agrees(&self) -> bool {
        !matches!(self.wish, EcnWish::Off)
            && self.heard_setup
            && !self.heard_plain
            && !self.sent_plain
    }

    /// Flags of the SYN-ACK that goes out now: an ECN-setup SYN-ACK has ECE and not CWR.
    pub(crate) fn syn_ack_flags(&mut self) -> Flags {
        let yes = self.agrees();
        self.sent_setup |= yes;
        self.sent_plain |= !yes;
        self.settle();
        if yes { Flags::ECE } else { Flags::NONE }
    }

    /// The peer's SYN-ACK arrived. One that reflects our two flags comes from a stack that copies
    /// reserved bits, not from one that speaks ECN (RFC 3168 §6.1.1).
    pub(crate) fn on_syn_ack(&mut self, flags: Flags) {
        self.hear(flags.contains(Flags::ECE) && !flags.intersects(Flags::CWR));
    }

    fn hear(&mut self, setup: bool) {
        self.heard_setup |= setup;
        self.heard_plain |= !setup;
        self.settle();
    }

    /// The codepoint of an outgoing packet. That of a SYN must be asked for before its flags.
    pub(crate) fn codepoint(&self, class: PacketClass) -> Codepoint {
        let ect = match (self.ect, class) {
            // Before anything is agreed: where the flags of the packet speak of ECN.
            (EctClass::All, PacketClass::Syn) => self.asks,
            (EctClass::All, PacketClass::SynAck) => self.agrees(),
            (_, PacketClass::Syn | PacketClass::SynAck) => false,
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
        self.cwr_owed = self.is_on() && self.cwr_rule == CwrRule::AfterReduction;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn state(wish: EcnWish, ect: EctClass) -> EcnState {
        EcnState::new(&Config { ecn: wish, ect, ..Config::default() })
    }

    /// Both sides said yes.
    fn agreed(config: &Config) -> EcnState {
        let mut ecn = EcnState::new(&Config { ecn: EcnWish::Rfc3168, ..config.clone() });
        ecn.syn_flags();
        ecn.on_syn_ack(Flags::SYN | Flags::ACK | Flags::ECE);
        assert!(ecn.is_on());
        ecn
    }

    /// RFC 3168 §6.1.1: what was sent and heard, and what follows for ECT and for the echo.
    #[test]
    fn one_plain_syn_on_either_side_forbids_ect() {
        for (sent, heard, on, echo) in [
            ("s", "s", true, true),
            ("s", "p", false, false),
            ("p", "s", false, false),
            ("p", "p", false, false),
            ("sp", "s", false, true),
            ("s", "sp", false, false),
            ("sp", "sp", false, false),
        ] {
            let mut ecn = state(EcnWish::Rfc3168, EctClass::Data);
            for c in sent.chars() {
                ecn.asks = c == 's';
                ecn.syn_flags();
            }
            for c in heard.chars() {
                ecn.on_syn_ack(if c == 's' { Flags::ECE } else { Flags::NONE });
            }
            assert_eq!((ecn.is_on(), ecn.must_echo()), (on, echo), "sent {sent} heard {heard}");
        }
    }

    #[test]
    fn ect_classes() {
        use PacketClass::{Control, NewData, Retransmission, Syn, SynAck};
        for (ect, expected) in [
            (EctClass::Data, [false, true, false, false]),
            (EctClass::AllButSyn, [false, true, true, true]),
            (EctClass::All, [true, true, true, true]),
        ] {
            let ecn = agreed(&Config { ect, ..Config::default() });
            let got =
                [Syn, NewData, Retransmission, Control].map(|c| ecn.codepoint(c).is_capable());
            assert_eq!(got, expected, "{ect:?}");
        }
        let mut off = state(EcnWish::Rfc3168, EctClass::All);
        assert!(!off.codepoint(NewData).is_capable(), "not agreed");
        assert!(!off.codepoint(SynAck).is_capable(), "not asked");
        off.on_syn(Flags::ECE | Flags::CWR);
        assert!(off.codepoint(SynAck).is_capable(), "asked, so its flags agree");
    }

    #[test]
    fn one_cut_per_window_at_or_past_the_point() {
        for (recut, at_point) in [(Recut::AtPoint, true), (Recut::PastPoint, false)] {
            let mut ecn = agreed(&Config { recut, ..Config::default() });
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
        let mut ecn = agreed(&Config::default());
        ecn.on_reduced(2);
        assert!(ecn.take_cwr());
        assert!(!ecn.take_cwr());
    }

    #[test]
    fn growth_freezes_as_the_switch_says() {
        let make = |freeze_growth| {
            let mut e = agreed(&Config { freeze_growth, ..Config::default() });
            e.on_cut(100);
            e
        };
        assert!(!make(FreezeGrowth::Off).frozen(50, true));
        assert!(make(FreezeGrowth::EceAcks).frozen(50, true));
        assert!(!make(FreezeGrowth::EceAcks).frozen(50, false));
        assert!(make(FreezeGrowth::Round).frozen(50, false));
        // To the end of the round, which is where the next cut may come.
        assert!(make(FreezeGrowth::Round).frozen(100, false));
        assert!(!make(FreezeGrowth::Round).frozen(101, false));
        let mut at_point = agreed(&Config {
            freeze_growth: FreezeGrowth::Round,
            recut: Recut::AtPoint,
            ..Config::default()
        });
        at_point.on_cut(100);
        assert!(!at_point.frozen(100, false));
        let mut lost =
            EcnState::new(&Config { freeze_growth: FreezeGrowth::Round, ..Config::default() });
        lost.on_reduced(100);
        assert!(!lost.frozen(50, false), "a timeout must not stop slow start");
    }
}
