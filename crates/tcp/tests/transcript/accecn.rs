//! The Accurate ECN counter after negotiation: sent, acknowledged in time, decoded.

use lowtide_tcp::{
    AccEcnOptionRule, Config, EcnMode, EcnNegotiation, EctClass, UndoRule, switches,
};
use lowtide_units::Duration;

use crate::common::{LinkAction, Origin, Pair, Script, Side, at_every_origin, ms, plain};

fn accurate() -> Config {
    Config { ecn: EcnNegotiation::AccEcn, ack: "accecn", feedback: "accecn", sack: true, ..plain() }
}

/// Opened actively: the peer counts from 5.
fn client(o: Origin, config: &Config) -> Script {
    Script::opened(o, config, "S.W 0:0(0) ack 1 <mss 1000,sackOK>")
}

#[test]
fn the_counter_wraps() {
    at_every_origin(|o| {
        let one = Config { delack_segments: 1, ..accurate() };
        let mut t = client(o, &one);
        let letters = ["AW", "AWE", "", "E", "W", "WE", "A", "AE", "AW"];
        for (i, letters) in letters.into_iter().enumerate() {
            let (at, end) = (1 + 1000 * i, 1001 + 1000 * i);
            t.run(&format!(
                "+10ms < [ce] .AE {at}:{end}(1000) ack 1
                 > .{letters} 1:1(0) ack {end}"
            ));
        }
        t.run("is ce-in 9");
    });
}

#[test]
fn the_counter_is_on_every_segment_and_there_is_no_cwr() {
    at_every_origin(|o| {
        let mut t = client(o, &Config { nagle: false, ..accurate() });
        t.run(
            "< [ce] .AE 1:1001(1000) ack 1
             > .AW 1:1(0) ack 1001
             send 2500
             > [ect0] .AW 1:1001(1000) ack 1001
             > [ect0] .AW 1001:2001(1000) ack 1001
             > [ect0] P.AW 2001:2501(500) ack 1001
             // One mark: the window is halved, and new data carries the counter, no CWR.
             +10ms < .AW 1001:1001(0) ack 2501
             is cuts 1
             is ce-segs 1
             send 1000
             > [ect0] P.AW 2501:3501(1000) ack 1001
             // A retransmission carries the current counter (§3.2).
             +10ms < [ce] .AE 1001:2001(1000) ack 2501
             > .AWE 3501:3501(0) ack 2001",
        );
    });
}

#[test]
fn marks_outside_the_window_are_not_counted() {
    at_every_origin(|o| {
        let mut t = client(o, &Config { dsack: false, ..accurate() });
        t.run(
            "< [ce] .AE 1:1001(1000) ack 1
             > .AW 1:1(0) ack 1001
             // Old data, data beyond the window, an ACK of unsent data, a RST that is not exact.
             < [ce] .AE 1:1001(1000) ack 1 -> OutOfWindow
             > .AW 1:1(0) ack 1001
             < [ce] .AE 90001:91001(1000) ack 1 -> OutOfWindow
             > .AW 1:1(0) ack 1001
             < [ce] .AE 1001:1001(0) ack 5001 -> AckOfUnsent
             > .AW 1:1(0) ack 1001
             < [ce] R.AE 1002:1002(0) ack 1 -> BadReset
             > .AW 1:1(0) ack 1001
             is ce-in 1
             // A pure ACK, a FIN without data, out-of-order data and a duplicate.
             < [ce] .AE 2001:3001(1000) ack 1
             > .AWE 1:1(0) ack 1001 <sack 2001:3001>
             < [ce] .AE 2001:3001(1000) ack 1
             > . 1:1(0) ack 1001 <sack 2001:3001>
             < [ce] .AE 1001:2001(1000) ack 1
             > .E 1:1(0) ack 3001
             < [ce] .AE 3001:3001(0) ack 1
             < [ce] F.AE 3001:3001(0) ack 1
             > .WE 1:1(0) ack 3002
             is ce-in 6",
        );
    });
}

#[test]
fn every_third_marked_ack_is_answered_and_only_with_sack() {
    at_every_origin(|o| {
        let mut t = client(o, &accurate());
        t.run(
            "< [ce] .AE 1:1(0) ack 1
             +1ms < [ce] .AE 1:1(0) ack 1
             +1ms < [ce] .AE 1:1(0) ack 1
             > . 1:1(0) ack 1
             +1ms < [ce] .AE 1:1(0) ack 1
             is ce-in 4",
        );
        let mut t =
            Script::opened(o, &Config { sack: false, ..accurate() }, "S.W 0:0(0) ack 1 <mss 1000>");
        t.run(
            "< [ce] .AE 1:1(0) ack 1 * 7
             is ce-in 7
             is recovery false",
        );
    });
}

#[test]
fn an_answer_to_acks_has_no_sack_blocks() {
    at_every_origin(|o| {
        let mut t = client(o, &accurate());
        t.run(
            "< .AE 1001:2001(1000) ack 1
             > .AE 1:1(0) ack 1 <sack 1001:2001>
             < [ce] .AE 2001:2001(0) ack 1 * 3
             > . 1:1(0) ack 1",
        );
    });
}

#[test]
fn offloaded_segments_keep_the_counter() {
    at_every_origin(|o| {
        let mut t = client(o, &Config { tso_segments: 4, ..accurate() });
        t.run(
            "< [ce] .AE 1:1001(1000) ack 1
             > .AW 1:1(0) ack 1001
             send 4000
             > .AW 1:1001(1000) ack 1001
             > .AW 1001:2001(1000) ack 1001
             > .AW 2001:3001(1000) ack 1001
             > P.AW 3001:4001(1000) ack 1001",
        );
    });
}

#[test]
fn over_a_classic_peer_the_sender_obeys_the_latch() {
    at_every_origin(|o| {
        let config = Config { cc: "dctcp", ect: EctClass::All, ..accurate() };
        let mut t = Script::opened(o, &config, "[ect0] S.E 0:0(0) ack 1 <mss 1000,sackOK>");
        t.run(
            "is ecn Classic
             send 2000
             > [ect0] .  1:1001(1000) ack 1
             > [ect0] P. 1001:2001(1000) ack 1
             +10ms < .E 1:1(0) ack 2001
             is cuts 1
             is ce-segs 2
             send 1000
             > [ect0] P.W 2001:3001(1000) ack 1
             // Its receiver latches until CWR.
             < [ce] . 1:1001(1000) ack 2001
             > .E 3001:3001(0) ack 1001
             < [ect0] . 1001:2001(1000) ack 2001
             > .E 3001:3001(0) ack 2001
             < [ect0] .W 2001:3001(1000) ack 2001
             > . 3001:3001(0) ack 3001",
        );
    });
}

/// The test's own generator: xorshift.
fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 16) % below
    }
}

/// Random marks, and ACKs that are lost, delayed or duplicated: the sender's count is exact if all
/// ACKs arrive. Otherwise, with the safest assumption, it is never less and equal modulo 8.
#[test]
fn the_count_is_never_below_the_truth() {
    let mut exact = 0;
    let mut above = 0;
    for seed in 0..150 {
        at_every_origin(|o| {
            let mut draw = random(seed);
            let (marked, lost) =
                ([0, 30, 300, 1000][draw(4) as usize], [0, 0, 300, 700][draw(4) as usize]);
            let config = Config {
                tail_loss_probe: false,
                initial_window: lowtide_tcp::InitialWindow::Segments(40),
                rto_min: ms(500),
                accecn_option: AccEcnOptionRule::Disabled,
                ..accurate()
            };
            let mut sender = config.clone();
            switches::set_text(&mut sender, "accecn.wrap", "safest").expect("a value of it");
            let mut pair = Pair::new(o, &sender, &config, ms(5));
            let mut dice = random(seed + 1000);
            pair.link(move |t| {
                if t.has_data() && t.from == Side::A {
                    return if dice(1000) < marked { LinkAction::Mark } else { LinkAction::Pass };
                }
                // The handshake and the last packets arrive.
                let roll = if (2..60).contains(&t.index) { dice(1000) } else { 1000 };
                match roll {
                    f if f < lost => LinkAction::Drop,
                    f if f < lost + lost / 10 => LinkAction::Delay(Duration::from_ms(3)),
                    f if f < lost + lost / 5 => LinkAction::Duplicate,
                    _ => LinkAction::Pass,
                }
            });
            pair.a.send(300_000);
            pair.run_until(ms(600_000), |p| p.a.acked_upto() == 300_000);
            let (a, b) = (pair.a.info(), pair.conn(Side::B).info());
            assert_eq!([a.ecn, b.ecn], [EcnMode::AccEcn; 2]);
            let (seen, truth) = (a.counters.delivered_ce_segs, b.received_ce_pkts);
            let what = format!("seed {seed}: {seen} for {truth}\n{}", pair.tail());
            assert!(seen >= truth && (seen - truth).is_multiple_of(8), "{what}");
            assert!(lost > 0 || seen == truth, "{what}");
            assert!(seen <= a.counters.data_segs_out, "{what}");
            exact += u32::from(seen == truth && truth > 0);
            above += u32::from(seen > truth);
        });
    }
    assert!(exact > 100 && above > 10, "{exact} exact, {above} above");
}

#[test]
fn rfc4015_3_step_8_marks_that_are_assumed_are_reason_enough_to_undo_nothing() {
    at_every_origin(|o| {
        let mut config = Config {
            timestamps: true,
            undo: UndoRule::Eifel,
            mtu: 1052,
            limited_transmit: false,
            ..accurate()
        };
        let (repair, go_on) = ("9001:10001(1000) ack 1", "10001:11001(1000) ack 1 * 9");
        for (wrap, undos, next) in [("safest", 0, repair), ("least", 1, go_on)] {
            switches::set_text(&mut config, "accecn.wrap", wrap).expect("a value of it");
            let mut t = Script::opened(o, &config, "S.W 0:0(0) ack 1 <mss 1460,sackOK>");
            // The counter is unchanged, but nine packets may have wrapped it.
            t.run(&format!(
                "send 50000
                 > .AE 1:1001(1000) ack 1 * 10
                 +1s > .AE 1:1001(1000) ack 1
                 +5ms < .AE 1:1(0) ack 9001 <TS val 900 ecr 10>
                 > .AE {next}
                 is undos {undos}
                 is cuts 0"
            ));
        }
    });
}
