//! What both sides agree on about ECN (RFC 3168 §6.1.1), and what they do when SYNs get lost.

use lowtide_tcp::{Config, EcnMode, EcnWish, EctClass, State};

use crate::common::{Fate, Pair, Script, Side, everywhere, ms, plain};

fn wish(ecn: EcnWish) -> Config {
    Config { ecn, ..plain() }
}

#[test]
fn rfc3168_6_1_1_what_the_client_makes_of_each_syn_ack() {
    everywhere(|o| {
        for (ecn, syn, answer, agreed) in [
            (EcnWish::Rfc3168, "SEW", "S.E", "Classic"),
            (EcnWish::Rfc3168, "SEW", "S.", "Off"),
            // A stack that copies reserved bits.
            (EcnWish::Rfc3168, "SEW", "S.EW", "Off"),
            (EcnWish::Rfc3168, "SEW", "S.W", "Off"),
            // Nonce sum or AccECN bit: a classic client does not look at it.
            (EcnWish::Rfc3168, "SEW", "S.EA", "Classic"),
            (EcnWish::Passive, "S", "S.E", "Off"),
            (EcnWish::Off, "S", "S.E", "Off"),
            (EcnWish::Off, "S", "S.EW", "Off"),
        ] {
            let mut t = Script::active(o, &wish(ecn));
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
fn rfc3168_6_1_1_what_the_server_answers_to_each_syn() {
    everywhere(|o| {
        for (ecn, syn, answer, agreed) in [
            (EcnWish::Rfc3168, "SEW", "S.E", "Classic"),
            (EcnWish::Passive, "SEW", "S.E", "Classic"),
            (EcnWish::Off, "SEW", "S.", "Off"),
            (EcnWish::Rfc3168, "S", "S.", "Off"),
            (EcnWish::Rfc3168, "SE", "S.", "Off"),
            (EcnWish::Rfc3168, "SW", "S.", "Off"),
            // RFC 9768 §3.1.1: a server without AccECN answers its request as classic.
            (EcnWish::Rfc3168, "SEWA", "S.E", "Classic"),
            (EcnWish::Off, "SEWA", "S.", "Off"),
        ] {
            let mut t = Script::passive(o, &wish(ecn), &format!("{syn} 0:0(0) <mss 1460>"));
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
    everywhere(|o| {
        let mut t = Script::active(o, &wish(EcnWish::Rfc3168));
        t.run(
            "> SEW 0:0(0) <mss 1000>
             +1s > S 0:0(0) <mss 1000>
             +2s > S 0:0(0) <mss 1000>
             +10ms < S. 0:0(0) ack 1 <mss 1460>
             > . 1:1(0) ack 1
             is ecn Off",
        );
        let stubborn = Config { ecn_fallback: false, ..wish(EcnWish::Rfc3168) };
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
fn rfc3168_6_1_1_who_asked_both_ways_sets_no_ect_but_echoes() {
    everywhere(|o| {
        // The answer to the first SYN was only late; the peer believes in ECN and marks may come.
        let mut t = Script::active(o, &wish(EcnWish::Rfc3168));
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
fn rfc3168_6_1_1_a_server_that_hears_a_plain_syn_as_well_does_without() {
    everywhere(|o| {
        Script::passive(o, &wish(EcnWish::Rfc3168), "SEW 0:0(0) <mss 1460>").run(
            "> S.E 0:0(0) ack 1 <mss 1000>
             +500ms < S 0:0(0) <mss 1460> -> BadHandshake
             > S. 0:0(0) ack 1 <mss 1000>
             +10ms < . 1:1(0) ack 1
             is ecn Off",
        );
        // The other order: what said no once does not say yes later.
        Script::passive(o, &wish(EcnWish::Rfc3168), "S 0:0(0) <mss 1460>").run(
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
    everywhere(|o| {
        for (ecn, syn, peer, answer, peer_answer, agreed) in [
            (EcnWish::Rfc3168, "SEW", "SEW", "S.E", "S.E", "Classic"),
            (EcnWish::Rfc3168, "SEW", "S", "S.", "S.E", "Off"),
            (EcnWish::Rfc3168, "SEW", "SEW", "S.E", "S.", "Off"),
            // A host that sent a SYN without ECN must not set ECT afterwards.
            (EcnWish::Passive, "S", "SEW", "S.", "S.", "Off"),
        ] {
            Script::active(o, &wish(ecn)).run(&format!(
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
    everywhere(|o| {
        let all = Config { ect: EctClass::All, ..wish(EcnWish::Rfc3168) };
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
fn rfc3168_6_1_1_both_ends_agree_whatever_is_lost() {
    // Each of the first four packets lost, with fallback: nobody marks what the other does not echo.
    for lost in 0..4 {
        everywhere(|o| {
            let config = wish(EcnWish::Rfc3168);
            let mut pair = Pair::new(o, &config, &config, ms(5));
            let mut seen = 0;
            pair.link(move |_| {
                seen += 1;
                if seen == lost + 1 { Fate::Drop } else { Fate::Pass }
            });
            pair.a.send(10_000);
            pair.run_until(ms(20_000), |p| p.a.acked_upto() == 10_000);
            let (a, b) = (pair.a.info().ecn, pair.conn(Side::B).info().ecn);
            assert_eq!(pair.conn(Side::B).state(), State::Established);
            // Only the first SYN makes A ask again without ECN before B has said yes.
            let agreed = if lost < 2 { EcnMode::Off } else { EcnMode::Classic };
            assert_eq!((a, b), (agreed, agreed), "packet {lost} lost\n{}", pair.tail());
        });
    }
}
