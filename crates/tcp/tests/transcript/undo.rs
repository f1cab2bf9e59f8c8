//! Spurious loss reactions, detected by timestamps (RFC 3522, RFC 4015) or by the ACKs after a
//! timeout (RFC 5682), and undone; switch `undo`.

use lowtide_tcp::{Config, EcnNegotiation, UndoRule};

use crate::common::{LinkAction, Origin, Pair, Script, at_every_origin, ms, plain};

/// Segments of 1000 B with timestamps.
fn eifel() -> Config {
    Config { timestamps: true, undo: UndoRule::Eifel, mtu: 1052, ..plain() }
}

/// Ten segments were sent at 10 ms, more are waiting.
fn ten_in_flight(o: Origin, config: &Config) -> Script {
    let mut t = Script::established(o, config);
    t.run("send 50000\n> . 1:1001(1000) ack 1 * 10");
    t
}

#[test]
fn rfc4015_3_a_timeout_that_only_waited_too_short() {
    at_every_origin(|o| {
        ten_in_flight(o, &eifel()).run(
            "+1s > . 1:1001(1000) ack 1 <TS val 1010 ecr 10>
             is cwnd 1000
             is ssthresh 5000
             // The ACK of the original arrives: nothing is lost, nothing is retransmitted.
             +5ms < . 1:1(0) ack 1001 <TS val 900 ecr 10>
             is recovery false
             is cwnd 10000
             is ssthresh none
             > . 10001:11001(1000) ack 1
             is flight 10000
             < . 1:1(0) ack 3001 <TS val 901 ecr 10>
             is cwnd 12000
             > . 11001:12001(1000) ack 1 * 4",
        );
    });
}

/// FreeBSD (`t_badrxtwin`): the same for a timeout, and nothing for a fast retransmission.
#[test]
fn freebsd_undoes_a_timeout_only() {
    at_every_origin(|o| {
        for (undo, undos) in [(UndoRule::Eifel, "1"), (UndoRule::EifelRto, "0")] {
            let config = Config { undo, ..eifel() };
            let mut t = ten_in_flight(o, &config);
            t.run(
                "+1s > . 1:1001(1000) ack 1
                 +5ms < . 1:1(0) ack 1001 <TS val 900 ecr 10>
                 is undos 1
                 is cwnd 10000
                 > . 10001:11001(1000) ack 1",
            );
            let mut t = ten_in_flight(o, &Config { limited_transmit: false, ..config });
            t.run(
                "+20ms < . 1:1(0) ack 1 * 2
                 < . 1:1(0) ack 1
                 > . 1:1001(1000) ack 1",
            );
            t.inject(". 1:1(0) ack 4001 <TS val 31 ecr 10>").expect("an ACK");
            while t.drop_sent() {}
            assert_eq!(t.fact("undos"), undos, "{undo:?}");
        }
    });
}

#[test]
fn rfc3522_3_2_a_real_loss_stays_one() {
    at_every_origin(|o| {
        let real = "+1s > . 1:1001(1000) ack 1
             +5ms < . 1:1(0) ack 1001 <TS val 1010 ecr 1010>
             is recovery true
             is cwnd 2000
             > . 1001:2001(1000) ack 1 * 2
             // Only the first ACK of new data decides.
             < . 1:1(0) ack 2001 <TS val 1010 ecr 10>
             is recovery true
             is ssthresh 5000
             > . 3001:4001(1000) ack 1 * 2";
        ten_in_flight(o, &eifel()).run(real);
        ten_in_flight(o, &Config { undo: UndoRule::Off, ..eifel() }).run(
            "+1s > . 1:1001(1000) ack 1
             +5ms < . 1:1(0) ack 1001 <TS val 900 ecr 10>
             is recovery true
             is cwnd 2000
             > . 1001:2001(1000) ack 1 * 2",
        );
    });
}

#[test]
fn rfc3522_3_2_step_5_all_at_once_may_be_lost_acks() {
    at_every_origin(|o| {
        let script = |before: &str| {
            let mut t = Script::established(o, &Config { sack: true, ..eifel() });
            t.run("send 1000\n> P. 1:1001(1000) ack 1");
            t.run(before);
            t.run("send 2000\n> . 1001:2001(1000) ack 1\n> P. 2001:3001(1000) ack 1");
            t.run("+1s > . 1001:2001(1000) ack 1");
            t
        };
        script("< . 1:1(0) ack 1001").run(
            "< . 1:1(0) ack 3001 <TS val 20 ecr 10>
             is cwnd 2000
             is ssthresh 2000",
        );
        // A peer that reports duplicates would have reported one.
        script("< . 1:1(0) ack 1001 <sack 1:1001>").run(
            "< . 1:1(0) ack 3001 <TS val 20 ecr 10>
             is cwnd 10000
             is ssthresh none",
        );
        script("< . 1:1(0) ack 1001 <sack 1:1001>").run(
            "< . 1:1(0) ack 3001 <TS val 20 ecr 10,sack 1001:2001>
             is ssthresh 2000",
        );
    });
}

#[test]
fn rfc4015_3_reordering_that_looked_like_a_loss() {
    at_every_origin(|o| {
        for sack in [false, true] {
            let blocks = |to| if sack { format!(",sack 1001:{to}") } else { String::new() };
            let mut t = ten_in_flight(o, &Config { sack, limited_transmit: false, ..eifel() });
            for to in [2001, 3001] {
                t.inject(&format!(". 1:1(0) ack 1 <TS val 11 ecr 10{}>", blocks(to))).expect("ok");
                while t.drop_sent() {}
            }
            t.advance(t.now + ms(10));
            t.inject(&format!(". 1:1(0) ack 1 <TS val 12 ecr 10{}>", blocks(4001))).expect("ok");
            t.run("> . 1:1001(1000) ack 1 <TS val 20 ecr 12>\nis recovery true\nis cwnd 5000");
            t.inject(". 1:1(0) ack 4001 <TS val 13 ecr 10>").expect("an ACK");
            while t.drop_sent() {}
            t.run("is recovery false\nis ssthresh none\nis undos 1");
        }
    });
}

#[test]
fn rfc3522_within_one_tick_nothing_is_known() {
    at_every_origin(|o| {
        ten_in_flight(o, &Config { limited_transmit: false, ..eifel() }).run(
            "< . 1:1(0) ack 1 * 2
             < . 1:1(0) ack 1
             > . 1:1001(1000) ack 1 <TS val 10 ecr 10>
             < . 1:1(0) ack 4001 <TS val 11 ecr 10>
             > . 4001:5001(1000) ack 1
             is recovery true
             is undos 0",
        );
    });
}

#[test]
fn rfc4015_3_step_8_not_when_the_ack_reports_congestion() {
    at_every_origin(|o| {
        ten_in_flight(o, &Config { ecn: EcnNegotiation::Rfc3168, ..eifel() }).run(
            "+1s > . 1:1001(1000) ack 1
             < E. 1:1(0) ack 1001 <TS val 900 ecr 10>
             is undos 0
             is ssthresh 5000
             > . 1001:2001(1000) ack 1",
        );
    });
}

#[test]
fn rfc4015_a_path_that_stops_for_a_while_costs_no_window() {
    at_every_origin(|o| {
        for (undo, undos) in [(UndoRule::Off, 0), (UndoRule::Eifel, 1)] {
            let config = Config { undo, sack: true, rto_min: ms(30), ..eifel() };
            let mut pair = Pair::new(o, &config, &config, ms(10));
            // Nothing is delivered from 100 ms to 300 ms, then everything in order.
            pair.link(|t| {
                let at = t.sent_at.since_start();
                let waits = ms(100) <= at && at < ms(300);
                if waits { LinkAction::Delay(ms(300) - at) } else { LinkAction::Pass }
            });
            pair.run(ms(100));
            pair.a.send(10_000);
            pair.run(ms(5));
            pair.a.send(30_000);
            pair.run_until(ms(5000), |p| p.a.acked_upto() == 40_000);
            let counters = pair.a.info().counters;
            assert_eq!(counters.undos, undos, "{}", pair.tail());
            assert!(counters.rto_count > 0);
        }
    });
}

#[test]
fn rfc3522_3_2_step_2_the_first_of_several_retransmissions_counts() {
    at_every_origin(|o| {
        // Sent at 10 ms, retransmitted at 1010 and 3010 ms.
        for (echo, undos) in [(10, 1), (1010, 0), (3010, 0)] {
            ten_in_flight(o, &eifel()).run(&format!(
                "+1s > . 1:1001(1000) ack 1
                 +2s > . 1:1001(1000) ack 1
                 < . 1:1(0) ack 1 <TS val 900 ecr {echo}>
                 is undos 0"
            ));
            let mut t = ten_in_flight(o, &eifel());
            t.run("+1s > . 1:1001(1000) ack 1\n+2s > . 1:1001(1000) ack 1");
            t.inject(&format!(". 1:1(0) ack 1001 <TS val 900 ecr {echo}>")).expect("an ACK");
            while t.drop_sent() {}
            t.run(&format!("is undos {undos}"));
        }
    });
}

#[test]
fn rfc4015_an_undone_reduction_does_not_prevent_an_ecn_cut() {
    at_every_origin(|o| {
        ten_in_flight(o, &Config { ecn: EcnNegotiation::Rfc3168, ..eifel() }).run(
            "+1s > . 1:1001(1000) ack 1
             < . 1:1(0) ack 1001 <TS val 900 ecr 10>
             is undos 1
             is cwnd 10000
             // No CWR is due for it either.
             > [ect0] . 10001:11001(1000) ack 1
             < E. 1:1(0) ack 2001 <TS val 901 ecr 10>
             is cuts 1
             is cwnd 5000",
        );
    });
}

#[test]
fn rfc4015_several_retransmissions_are_out_and_a_real_loss_follows() {
    at_every_origin(|o| {
        let mut t = ten_in_flight(o, &Config { sack: true, ..eifel() });
        t.advance(t.now + ms(10));
        t.run(
            "// Three are late and are marked lost.
             < . 1:1(0) ack 1 <TS val 11 ecr 10,sack 3001:6001>
             > . 1:1001(1000) ack 1
             < . 1:1(0) ack 1 <TS val 11 ecr 10,sack 3001:7001>
             > . 1001:2001(1000) ack 1
             is cwnd 5000
             // The first arrives late. A retransmission is in flight: nothing more is retransmitted.
             < . 1:1(0) ack 1001 <TS val 12 ecr 10,sack 3001:7001>
             is undos 0
             > . 10001:11001(1000) ack 1
             // So does the second.
             < . 1:1(0) ack 2001 <TS val 12 ecr 10,sack 3001:7001>
             is undos 1
             is cwnd 10000
             > . 11001:12001(1000) ack 1 * 5
             // All segments not SACKed are in flight, once.
             is flight 10000
             // The third is really lost.
             < . 1:1(0) ack 2001 <TS val 13 ecr 10,sack 3001:8001>
             > . 2001:3001(1000) ack 1
             is retransmits 2
             < . 1:1(0) ack 16001 <TS val 14 ecr 20>
             > . 16001:17001(1000) ack 1 * 2",
        );
    });
}

fn frto() -> Config {
    Config { undo: UndoRule::FRto, ..plain() }
}

#[test]
fn rfc5682_2_1_two_acks_of_new_data_undo_a_timeout_without_options() {
    at_every_origin(|o| {
        for sack in [false, true] {
            ten_in_flight(o, &Config { sack, ..frto() }).run(
                "+1s > . 1:1001(1000) ack 1
                 is cwnd 1000
                 is ssthresh 5000
                 // The ACKs of the originals were only late. Step 2 b: two new segments.
                 < . 1:1(0) ack 1001
                 is cwnd 2000
                 is recovery true
                 > . 10001:11001(1000) ack 1 * 2
                 // Step 3 b: nothing was lost.
                 < . 1:1(0) ack 2001
                 is recovery false
                 is undos 1
                 is ssthresh none
                 is cwnd 10000
                 is flight 10000",
            );
        }
    });
}

#[test]
fn rfc5682_2_1_a_duplicate_shows_a_real_loss() {
    at_every_origin(|o| {
        // Of the ten segments the first two were lost.
        ten_in_flight(o, &frto()).run(
            "+1s > . 1:1001(1000) ack 1
             < . 1:1(0) ack 1001
             > . 10001:11001(1000) ack 1 * 2
             < . 1:1(0) ack 1001
             is recovery true
             is ssthresh 5000
             is undos 0
             < . 1:1(0) ack 1001
             +1s > . 1001:2001(1000) ack 1
             < . 1:1(0) ack 12001
             is recovery false
             is undos 0
             > . 12001:13001(1000) ack 1 * 2",
        );
    });
}

#[test]
fn rfc5682_2_1_without_new_data_retransmissions_go_on() {
    at_every_origin(|o| {
        // The application has no more data, and then the peer no more window.
        let mut t = Script::established(o, &frto());
        t.run("send 3000\n> . 1:1001(1000) ack 1 * 2\n> P. 2001:3001(1000) ack 1");
        t.run(
            "+1s > . 1:1001(1000) ack 1
             < . 1:1(0) ack 1001
             > . 1001:2001(1000) ack 1
             > P. 2001:3001(1000) ack 1
             < . 1:1(0) ack 2001
             is undos 0",
        );
        let mut t = Script::opened(o, &frto(), "S. 0:0(0) ack 1 win 3000 <mss 1460>");
        t.window = 3000;
        t.run(
            "send 9000
             > . 1:1001(1000) ack 1 * 3
             +1s > . 1:1001(1000) ack 1
             < . 1:1(0) ack 1001 win 2000
             > . 1001:2001(1000) ack 1 * 2
             < . 1:1(0) ack 2001 win 1000
             is undos 0",
        );
    });
}

#[test]
fn rfc5682_2_1_an_ack_of_everything_or_a_second_timeout_decides_nothing() {
    at_every_origin(|o| {
        ten_in_flight(o, &frto()).run(
            "+1s > . 1:1001(1000) ack 1
             < . 1:1(0) ack 10001
             is recovery false
             is undos 0
             is ssthresh 5000
             > . 10001:11001(1000) ack 1 * 2",
        );
        ten_in_flight(o, &frto()).run(
            "+1s > . 1:1001(1000) ack 1
             +2s > . 1:1001(1000) ack 1
             < . 1:1(0) ack 1001
             > . 1001:2001(1000) ack 1 * 2
             < . 1:1(0) ack 2001
             is undos 0
             > . 3001:4001(1000) ack 1 * 2",
        );
    });
}

#[test]
fn rfc5682_marks_keep_the_reaction() {
    at_every_origin(|o| {
        let config = Config { ecn: EcnNegotiation::Rfc3168, ..frto() };
        let mut t = Script::established(o, &config);
        t.run("send 50000\n> [ect0] . 1:1001(1000) ack 1 * 10");
        t.run("+1s > [noecn] . 1:1001(1000) ack 1");
        for ack in [". 1:1(0) ack 1001", "E. 1:1(0) ack 2001"] {
            t.inject(ack).expect("an ACK");
            while t.drop_sent() {}
        }
        t.run("is undos 0\nis ssthresh 5000");
    });
}
