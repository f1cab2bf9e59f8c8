use super::*;

fn state(configured: EcnNegotiation, ect: EctClass) -> EcnState {
    EcnState::new(&Config { ecn: configured, ect, ..Config::default() })
}

/// A state in which both ends negotiated ECN.
fn agreed(config: &Config) -> EcnState {
    let mut ecn = EcnState::new(&Config { ecn: EcnNegotiation::Rfc3168, ..config.clone() });
    ecn.syn_flags();
    ecn.on_syn_ack(Flags::SYN | Flags::ACK | Flags::ECE, Codepoint::NotEct);
    assert!(ecn.is_on());
    ecn
}

/// RFC 3168 §6.1.1: the SYNs sent and received decide ECT and the echo.
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
        let mut ecn = state(EcnNegotiation::Rfc3168, EctClass::Data);
        for c in sent.chars() {
            ecn.requested = if c == 's' { SynEcnRequest::Classic } else { SynEcnRequest::Nothing };
            ecn.syn_flags();
        }
        for c in heard.chars() {
            ecn.on_syn_ack(if c == 's' { Flags::ECE } else { Flags::NONE }, Codepoint::NotEct);
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
        let got = [Syn, NewData, Retransmission, Control].map(|c| ecn.codepoint(c).is_capable());
        assert_eq!(got, expected, "{ect:?}");
    }
    let mut off = state(EcnNegotiation::Rfc3168, EctClass::All);
    assert!(!off.codepoint(NewData).is_capable(), "not agreed");
    assert!(!off.codepoint(SynAck).is_capable(), "not asked");
    assert!(off.on_syn(Flags::ECE | Flags::CWR, Codepoint::NotEct));
    assert!(off.codepoint(SynAck).is_capable(), "asked, so its flags agree");
}

#[test]
fn one_cut_per_window_at_or_past_the_point() {
    for (recut, at_point) in [(CutRoundEnd::AtPoint, true), (CutRoundEnd::PastPoint, false)] {
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
    let mut ecn = state(EcnNegotiation::Rfc3168, EctClass::Data);
    ecn.on_reduced(1);
    assert!(!ecn.take_cwr(), "no ECN agreed");
    let mut ecn = agreed(&Config::default());
    ecn.on_reduced(2);
    assert!(ecn.take_cwr());
    assert!(!ecn.take_cwr());
}

#[test]
fn growth_freezes_by_the_switch() {
    let make = |freeze_growth| {
        let mut e = agreed(&Config { freeze_growth, ..Config::default() });
        e.on_cut(100);
        e
    };
    assert!(!make(FreezeGrowth::Off).frozen(50, true, false));
    // The first ACK of a run with ECE only.
    assert!(make(FreezeGrowth::FirstEce).frozen(50, true, false));
    assert!(!make(FreezeGrowth::FirstEce).frozen(50, true, true));
    assert!(!make(FreezeGrowth::FirstEce).frozen(50, false, true));
    assert!(make(FreezeGrowth::EceAcks).frozen(50, true, true));
    assert!(!make(FreezeGrowth::EceAcks).frozen(50, false, false));
    assert!(make(FreezeGrowth::Round).frozen(50, false, false));
    // Until the end of the round, where the next cut may come.
    assert!(make(FreezeGrowth::Round).frozen(100, false, false));
    assert!(!make(FreezeGrowth::Round).frozen(101, false, false));
    let mut at_point = agreed(&Config {
        freeze_growth: FreezeGrowth::Round,
        recut: CutRoundEnd::AtPoint,
        ..Config::default()
    });
    at_point.on_cut(100);
    assert!(!at_point.frozen(100, false, false));
    let mut lost =
        EcnState::new(&Config { freeze_growth: FreezeGrowth::Round, ..Config::default() });
    lost.on_reduced(100);
    assert!(!lost.frozen(50, false, false), "a timeout must not stop slow start");
}
