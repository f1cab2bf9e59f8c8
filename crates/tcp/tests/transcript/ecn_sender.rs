//! ECN at the sender: ECT, cuts by an echo, and CWR (RFC 3168 §6.1.2 to §6.1.6).

use lowtide_tcp::{Config, CutRoundEnd, CutRule, CwrRule, EcnNegotiation, EctClass, FreezeGrowth};

use crate::common::{Origin, Script, at_every_origin, plain};

fn ecn() -> Config {
    Config { ecn: EcnNegotiation::Rfc3168, ..plain() }
}

/// Ten segments in flight, more waiting.
fn ten_in_flight(o: Origin, config: &Config) -> Script {
    let mut t = Script::established(o, config);
    t.run("send 40000\n> [ect0] . 1:1001(1000) ack 1 * 10");
    t
}

#[test]
fn rfc3168_6_1_2_one_cut_and_one_cwr_for_each_window_of_data() {
    at_every_origin(|o| {
        ten_in_flight(o, &ecn()).run(
            "< E. 1:1(0) ack 1001
             is cwnd 5000
             is ssthresh 5000
             is cuts 1
             < E. 1:1(0) ack 5001
             is cwnd 5000
             // Only the first new data carries CWR.
             < E. 1:1(0) ack 6001
             > [ect0] W. 10001:11001(1000) ack 1
             < E. 1:1(0) ack 7001
             > [ect0] . 11001:12001(1000) ack 1
             // The round began at 10001 as the next byte. The ACK that reaches it still belongs to
             // the old window (recut = past-point).
             < E. 1:1(0) ack 10001
             > [ect0] . 12001:13001(1000) ack 1 * 3
             is cuts 1
             < E. 1:1(0) ack 11001
             is cuts 2
             is cwnd 2500
             is ssthresh 2500
             < . 1:1(0) ack 13001
             is flight 2000",
        );
    });
}

#[test]
fn rfc3168_6_1_2_the_switches_of_the_cut() {
    at_every_origin(|o| {
        let cuts = |config: &Config| {
            let mut t = ten_in_flight(o, config);
            for ack in [1001, 2001, 10001] {
                t.inject(&format!("E. 1:1(0) ack {ack}")).expect("an ACK");
                while t.drop_sent() {}
            }
            t.fact("cuts")
        };
        assert_eq!(cuts(&ecn()), "1");
        assert_eq!(cuts(&Config { recut: CutRoundEnd::AtPoint, ..ecn() }), "2");
        assert_eq!(cuts(&Config { cut: CutRule::PerMarkedAck, ..ecn() }), "3");
    });
}

#[test]
fn rfc3168_6_1_2_the_window_does_not_grow_on_an_echo() {
    at_every_origin(|o| {
        // After the cut 5000 B are a window; each growth rule, with the echo on and off.
        for (freeze, marked, clean) in [
            (FreezeGrowth::Off, 6000, 6000),
            (FreezeGrowth::EceAcks, 5000, 6000),
            (FreezeGrowth::Round, 5000, 5000),
        ] {
            for (flags, cwnd) in [("E.", marked), (".", clean)] {
                let mut t = ten_in_flight(o, &Config { freeze_growth: freeze, ..ecn() });
                t.run("< E. 1:1(0) ack 1001\nis cwnd 5000");
                t.inject(&format!("{flags} 1:1(0) ack 6001")).expect("an ACK");
                assert_eq!(t.fact("cwnd"), cwnd.to_string(), "{freeze:?} {flags}");
                while t.drop_sent() {}
            }
        }
    });
}

#[test]
fn rfc3168_6_1_5_no_ect_and_no_cwr_on_a_retransmission() {
    at_every_origin(|o| {
        ten_in_flight(o, &ecn()).run(
            "< . 1:1(0) ack 1
             > [ect0] . 10001:11001(1000) ack 1
             < . 1:1(0) ack 1
             > [ect0] . 11001:12001(1000) ack 1
             < . 1:1(0) ack 1
             > [noecn] . 1:1001(1000) ack 1
             // A loss is also a reduction: CWR on the next new data.
             < . 1:1(0) ack 1 * 4
             < . 1:1(0) ack 1
             > [ect0] W. 12001:13001(1000) ack 1
             < . 1:1(0) ack 1
             > [ect0] . 13001:14001(1000) ack 1",
        );
        ten_in_flight(o, &ecn()).run(
            "+1s > [noecn] . 1:1001(1000) ack 1
             < . 1:1(0) ack 10001
             > [ect0] W. 10001:11001(1000) ack 1
             > [ect0] . 11001:12001(1000) ack 1",
        );
    });
}

#[test]
fn rfc3168_6_1_4_and_6_1_6_no_ect_on_acks_fin_and_probes() {
    at_every_origin(|o| {
        for (class, other) in
            [(EctClass::Data, "noecn"), (EctClass::AllButSyn, "ect0"), (EctClass::All, "ect0")]
        {
            Script::established(o, &Config { ect: class, ..ecn() }).run(&format!(
                "< [ect0] . 1:101(100) ack 1
                 > [{other}] . 1:1(0) ack 101
                 send 100
                 > [ect0] P. 1:101(100) ack 101
                 +1s > [{other}] P. 1:101(100) ack 101
                 < . 101:101(0) ack 101 win 0
                 send 100
                 +1s > [{other}] . 101:102(1) ack 101
                 < . 101:101(0) ack 101 win 9000
                 > [ect0] PW. 101:201(100) ack 101
                 close
                 > [{other}] F. 201:201(0) ack 101
                 abort
                 > [{other}] R. 202:202(0) ack 101"
            ));
        }
    });
}

#[test]
fn rfc3168_6_1_2_a_mark_and_a_loss_in_one_window_cut_once() {
    at_every_origin(|o| {
        // The mark first: the window is already cut when the loss is found.
        ten_in_flight(o, &ecn()).run(
            "< E. 1:1(0) ack 1001
             is cwnd 5000
             < . 1:1(0) ack 1001 * 2
             < . 1:1(0) ack 1001
             > [noecn] . 1001:2001(1000) ack 1
             is recovery true
             is cwnd 5000
             is ssthresh 5000",
        );
        // The loss first: echoes until the end of recovery have no effect.
        for config in [
            ecn(),
            Config { recut: CutRoundEnd::AtPoint, ..ecn() },
            Config { cut: CutRule::PerMarkedAck, ..ecn() },
        ] {
            ten_in_flight(o, &config).run(
                "< . 1:1(0) ack 1
             > . 10001:11001(1000) ack 1
             < . 1:1(0) ack 1
             > . 11001:12001(1000) ack 1
             < . 1:1(0) ack 1
             > . 1:1001(1000) ack 1
             < E. 1:1(0) ack 1
             is cuts 0
             is cwnd 5000
             < E. 1:1(0) ack 12001
             > [ect0] W. 12001:13001(1000) ack 1
             > [ect0] . 13001:14001(1000) ack 1
             is cuts 0",
            );
        }
    });
}

#[test]
fn rfc3168_6_1_2_no_cwr_if_the_switch_disables_it() {
    at_every_origin(|o| {
        ten_in_flight(o, &Config { cwr: CwrRule::Never, ..ecn() }).run(
            "< E. 1:1(0) ack 1001
             < E. 1:1(0) ack 6001
             > [ect0] . 10001:11001(1000) ack 1",
        );
    });
}

#[test]
fn rfc3168_6_1_2_an_echo_that_was_not_agreed_on_means_nothing() {
    at_every_origin(|o| {
        let mut t = Script::opened(o, &ecn(), "S. 0:0(0) ack 1 <mss 1460>");
        t.run(
            "send 5000
             > [noecn] . 1:1001(1000) ack 1 * 5
             < E. 1:1(0) ack 1001
             is cuts 0
             is ce 0
             is cwnd 10000
             // CE or CWR of such a peer means nothing either.
             < [ce] W. 1:101(100) ack 1001
             > [noecn] . 5001:5001(0) ack 101",
        );
    });
}

#[test]
fn rfc3168_6_1_2_cwr_waits_for_data_and_not_for_a_fin_alone() {
    at_every_origin(|o| {
        Script::established(o, &ecn()).run(
            "send 1000
             > [ect0] P. 1:1001(1000) ack 1
             < E. 1:1(0) ack 1001
             is cuts 1
             close
             > [noecn] F. 1001:1001(0) ack 1",
        );
    });
}
