//! Negotiation of ECN by both ends (RFC 3168 §6.1.1), also with lost SYNs.

use lowtide_tcp::{Config, EcnMode, EcnNegotiation, EctClass, State};

use crate::common::{LinkAction, Pair, Script, Side, at_every_origin, ms, plain};

fn negotiation(ecn: EcnNegotiation) -> Config {
    Config { ecn, ..plain() }
}

#[test]
fn rfc3168_6_1_1_client_mode_after_each_syn_ack() {
    at_every_origin(|o| {
        for (ecn, syn, answer, agreed) in [
            (EcnNegotiation::Rfc3168, "SEW", "S.E", "Classic"),
            (EcnNegotiation::Rfc3168, "SEW", "S.", "Off"),
            // A stack that copies reserved bits.
            (EcnNegotiation::Rfc3168, "SEW", "S.EW", "Off"),
            (EcnNegotiation::Rfc3168, "SEW", "S.W", "Off"),
            // Nonce sum or AccECN bit: a classic client ignores it.
            (EcnNegotiation::Rfc3168, "SEW", "S.EA", "Classic"),
            (EcnNegotiation::Passive, "S", "S.E", "Off"),
            (EcnNegotiation::Off, "S", "S.E", "Off"),
            (EcnNegotiation::Off, "S", "S.EW", "Off"),
        ] {
            let mut t = Script::active(o, &negotiation(ecn));
            t.run(&format!(
                "> [noecn] {syn} 0:0(0) <mss 1000>
                 +10ms < {answer} 0:0(0) ack 1 <mss 1460>
                 > [noecn] . 1:1(0) ack 1
                 is ecn {agreed}"
            ));
        }
    });
}

#[test]
fn rfc3168_6_1_1_server_answer_to_each_syn() {
    at_every_origin(|o| {
        for (ecn, syn, answer, agreed) in [
            (EcnNegotiation::Rfc3168, "SEW", "S.E", "Classic"),
            (EcnNegotiation::Passive, "SEW", "S.E", "Classic"),
            (EcnNegotiation::Off, "SEW", "S.", "Off"),
            (EcnNegotiation::Rfc3168, "S", "S.", "Off"),
            (EcnNegotiation::Rfc3168, "SE", "S.", "Off"),
            (EcnNegotiation::Rfc3168, "SW", "S.", "Off"),
            // RFC 9768 §3.1.1: a server without AccECN answers its request as classic.
            (EcnNegotiation::Rfc3168, "SEWA", "S.E", "Classic"),
            (EcnNegotiation::Off, "SEWA", "S.", "Off"),
        ] {
            let mut t = Script::passive(o, &negotiation(ecn), &format!("{syn} 0:0(0) <mss 1460>"));
            t.run(&format!(
                "> [noecn] {answer} 0:0(0) ack 1 <mss 1000>
                 +10ms < . 1:1(0) ack 1
                 is ecn {agreed}"
            ));
        }
    });
}

#[test]
fn rfc3168_6_1_1_1_a_lost_syn_is_sent_again_without_ecn() {
    at_every_origin(|o| {
        let mut t = Script::active(o, &negotiation(EcnNegotiation::Rfc3168));
        t.run(
            "> SEW 0:0(0) <mss 1000>
             +1s > S 0:0(0) <mss 1000>
             +2s > S 0:0(0) <mss 1000>
             +10ms < S. 0:0(0) ack 1 <mss 1460>
             > . 1:1(0) ack 1
             is ecn Off",
        );
        let stubborn = Config { ecn_fallback: false, ..negotiation(EcnNegotiation::Rfc3168) };
        Script::active(o, &stubborn).run(
            "> SEW 0:0(0) <mss 1000>
             +1s > SEW 0:0(0) <mss 1000>
             +10ms < S.E 0:0(0) ack 1 <mss 1460>
             > . 1:1(0) ack 1
             is ecn Classic",
        );
    });
}

#[test]
fn rfc3168_6_1_1_a_client_with_both_kinds_of_syn_sets_no_ect_but_echoes() {
    at_every_origin(|o| {
        // The answer to the first SYN was only late; the peer uses ECN and marks may arrive.
        let mut t = Script::active(o, &negotiation(EcnNegotiation::Rfc3168));
        t.run(
            "> SEW 0:0(0) <mss 1000>
             +1s > S 0:0(0) <mss 1000>
             +10ms < S.E 0:0(0) ack 1 <mss 1460>
             > . 1:1(0) ack 1
             is ecn Off
             send 1000
             > [noecn] P. 1:1001(1000) ack 1
             < [ce] . 1:1001(1000) ack 1001
             > [noecn] .E 1001:1001(0) ack 1001",
        );
    });
}

#[test]
fn rfc3168_6_1_1_a_server_that_also_gets_a_plain_syn_uses_no_ecn() {
    at_every_origin(|o| {
        Script::passive(o, &negotiation(EcnNegotiation::Rfc3168), "SEW 0:0(0) <mss 1460>").run(
            "> S.E 0:0(0) ack 1 <mss 1000>
             +500ms < S 0:0(0) <mss 1460> -> BadHandshake
             > S. 0:0(0) ack 1 <mss 1000>
             +10ms < . 1:1(0) ack 1
             is ecn Off",
        );
        // The other order: a host that declined once does not accept later.
        Script::passive(o, &negotiation(EcnNegotiation::Rfc3168), "S 0:0(0) <mss 1460>").run(
            "> S. 0:0(0) ack 1 <mss 1000>
             +500ms < SEW 0:0(0) <mss 1460> -> BadHandshake
             > S. 0:0(0) ack 1 <mss 1000>
             +10ms < . 1:1(0) ack 1
             is ecn Off",
        );
    });
}

#[test]
fn rfc3168_6_1_1_simultaneous_open() {
    at_every_origin(|o| {
        for (ecn, syn, peer, answer, peer_answer, agreed) in [
            (EcnNegotiation::Rfc3168, "SEW", "SEW", "S.E", "S.E", "Classic"),
            (EcnNegotiation::Rfc3168, "SEW", "S", "S.", "S.E", "Off"),
            (EcnNegotiation::Rfc3168, "SEW", "SEW", "S.E", "S.", "Off"),
            // A host that sent a SYN without ECN must not set ECT afterwards.
            (EcnNegotiation::Passive, "S", "SEW", "S.", "S.", "Off"),
        ] {
            Script::active(o, &negotiation(ecn)).run(&format!(
                "> {syn} 0:0(0) <mss 1000>
                 +10ms < {peer} 0:0(0) <mss 1460>
                 > {answer} 0:0(0) ack 1 <mss 1000>
                 +10ms < {peer_answer} 0:0(0) ack 1 <mss 1460>
                 > . 1:1(0) ack 1
                 is ecn {agreed}"
            ));
        }
    });
}

#[test]
fn rfc8257_3_6_ect_on_syn_follows_its_flags() {
    at_every_origin(|o| {
        let all = Config { ect: EctClass::All, ..negotiation(EcnNegotiation::Rfc3168) };
        Script::active(o, &all).run(
            "> [ect0] SEW 0:0(0) <mss 1000>
             +1s > [noecn] S 0:0(0) <mss 1000>",
        );
        Script::passive(o, &all, "[ce] SEW 0:0(0) <mss 1460>").run(
            "> [ect0] S.E 0:0(0) ack 1 <mss 1000>
             < [ect0] . 1:1(0) ack 1
             // CE on the SYN is not echoed.
             < [ect0] . 1:1001(1000) ack 1
             > [ect0] . 1:1(0) ack 1001",
        );
        Script::passive(o, &all, "S 0:0(0) <mss 1460>").run("> [noecn] S. 0:0(0) ack 1 <mss 1000>");
    });
}

#[test]
fn rfc3168_6_1_1_both_ends_agree_under_any_loss() {
    // Each of the first four packets is lost, with fallback: no end sets ECT without the other's
    // echo.
    for lost in 0..4 {
        at_every_origin(|o| {
            let config = negotiation(EcnNegotiation::Rfc3168);
            let mut pair = Pair::new(o, &config, &config, ms(5));
            let mut seen = 0;
            pair.link(move |_| {
                seen += 1;
                if seen == lost + 1 { LinkAction::Drop } else { LinkAction::Pass }
            });
            pair.a.send(10_000);
            pair.run_until(ms(20_000), |p| p.a.acked_upto() == 10_000);
            let (a, b) = (pair.a.info().ecn, pair.conn(Side::B).info().ecn);
            assert_eq!(pair.conn(Side::B).state(), State::Established);
            // Only the loss of the first SYN makes A retry without ECN before B has accepted.
            let agreed = if lost < 2 { EcnMode::Off } else { EcnMode::Classic };
            assert_eq!((a, b), (agreed, agreed), "packet {lost} lost\n{}", pair.tail());
        });
    }
}
