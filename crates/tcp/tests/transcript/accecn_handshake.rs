//! Negotiation of Accurate ECN by SYN, SYN-ACK and the last ACK (RFC 9768 §3.1, §3.2.2.1).

use lowtide_tcp::{Config, EcnMode, EcnNegotiation, EctClass, State};

use crate::common::{LinkAction, Pair, Script, Side, at_every_origin, ms, plain};

fn negotiation(ecn: EcnNegotiation) -> Config {
    Config { ecn, ..plain() }
}

fn accurate() -> Config {
    negotiation(EcnNegotiation::AccEcn)
}

/// AE, CWR and ECE as the letters of a packet.
fn ace(bits: u8) -> String {
    let set = [('A', 4), ('W', 2), ('E', 1)];
    set.iter().filter(|(_, bit)| bits & bit > 0).map(|(letter, _)| *letter).collect()
}

/// ECN fields and their handshake encoding (RFC 9768 table 3).
const FIELDS: [(&str, u8); 4] = [("noecn", 0b010), ("ect1", 0b011), ("ect0", 0b100), ("ce", 0b110)];

#[test]
fn table_2_client_mode_after_each_syn_ack() {
    at_every_origin(|o| {
        for (answer, mode, ect) in [
            (0b000, "Off", false),
            (0b001, "Classic", true),
            (0b010, "AccEcn", true),
            // Our SYN was not ECT: the path changed its ECN field (§3.2.2.3).
            (0b011, "AccEcn", false),
            (0b100, "AccEcn", false),
            // Reserved: as if the SYN had arrived unchanged (§3.1.3).
            (0b101, "AccEcn", true),
            (0b110, "AccEcn", false),
            // A stack that copies reserved bits.
            (0b111, "Off", false),
        ] {
            for (field, encoded) in FIELDS {
                let counts = mode == "AccEcn";
                let first = if counts { ace(encoded) } else { String::new() };
                let then = u8::from(field == "ce") + 5;
                let then = if counts { ace(then) } else { String::new() };
                let data = if ect { "ect0" } else { "noecn" };
                Script::active(o, &accurate()).run(&format!(
                    "> [noecn] SEWA 0:0(0) <mss 1000>
                     +10ms < [{field}] S.{} 0:0(0) ack 1 <mss 1460>
                     > [noecn] .{first} 1:1(0) ack 1
                     is ecn {mode}
                     is ect {ect}
                     send 1000
                     > [{data}] P.{then} 1:1001(1000) ack 1",
                    ace(answer)
                ));
            }
        }
    });
}

#[test]
fn table_2_an_ect_syn_may_arrive_as_it_was_or_marked_and_not_without_ect() {
    at_every_origin(|o| {
        let all = Config { ect: EctClass::All, ..accurate() };
        // A network may change one ECT into the other; CE makes the window one segment.
        for (answer, ect, cwnd) in [
            (0b010, "noecn", 10_000),
            (0b011, "ect0", 10_000),
            (0b100, "ect0", 10_000),
            (0b101, "ect0", 10_000),
            (0b110, "ect0", 1_000),
        ] {
            Script::active(o, &all).run(&format!(
                "> [ect0] SEWA 0:0(0) <mss 1000>
                 +10ms < [noecn] S.{} 0:0(0) ack 1 <mss 1460>
                 > [{ect}] .W 1:1(0) ack 1
                 is ecn AccEcn
                 is cwnd {cwnd}
                 send 1000
                 > [{ect}] P.AE 1:1001(1000) ack 1",
                ace(answer)
            ));
        }
    });
}

#[test]
fn table_2_server_answer_to_each_syn() {
    at_every_origin(|o| {
        for ecn in [EcnNegotiation::AccEcn, EcnNegotiation::AccEcnPassive] {
            for syn in 0..8 {
                for (field, encoded) in FIELDS {
                    let (answer, mode, ack) = match syn {
                        0b000 => (0b000, "Off", 0),
                        0b011 => (0b001, "Classic", 0),
                        // All other patterns request AccECN (§3.1.3).
                        _ => (encoded, "AccEcn", 0b010),
                    };
                    let syn = format!("[{field}] S{} 0:0(0) <mss 1460>", ace(syn));
                    Script::passive(o, &negotiation(ecn), &syn).run(&format!(
                        "> [noecn] S.{} 0:0(0) ack 1 <mss 1000>
                         +10ms < .{} 1:1(0) ack 1
                         is ecn {mode}
                         is ce-in 0",
                        ace(answer),
                        ace(ack),
                    ));
                }
            }
        }
    });
}

#[test]
fn table_4_server_state_after_the_last_ack() {
    at_every_origin(|o| {
        for class in [EctClass::Data, EctClass::All] {
            let config = Config { ect: class, ..accurate() };
            for bits in 0..8_u8 {
                // Patterns that report the ECN field of the SYN-ACK, and whether a network can
                // produce it.
                let possible = match (bits, class) {
                    (0b000, _) => false,
                    (0b010, _) => class == EctClass::Data,
                    (0b011 | 0b100 | 0b110, _) => class == EctClass::All,
                    _ => true,
                };
                let syn_ack = if class == EctClass::All { "ect0" } else { "noecn" };
                let data = if possible { "ect0" } else { "noecn" };
                let first = if bits == 0b110 { 6 } else { 5 };
                // If the field is zeroed, no later counter is used (note 1).
                let marks = u8::from(bits != 0);
                Script::passive(o, &config, "[noecn] SEWA 0:0(0) <mss 1460>").run(&format!(
                    "> [{syn_ack}] S.W 0:0(0) ack 1 <mss 1000>
                     +10ms < .{} 1:1(0) ack 1
                     is ecn AccEcn
                     is ect {possible}
                     is cwnd {}
                     is ce-segs 0
                     send 1000
                     > [{data}] P.AE 1:1001(1000) ack 1
                     +10ms < .{} 1:1(0) ack 1001
                     is ce-segs {marks}",
                    ace(bits),
                    if bits == 0b110 { 1000 } else { 10_000 },
                    ace(first + 1),
                ));
            }
        }
    });
}

#[test]
fn table_4_is_for_pure_acks_only() {
    at_every_origin(|o| {
        // The last ACK was lost: data with the counter arrives first and includes CE on the
        // SYN-ACK.
        Script::passive(o, &accurate(), "SEWA 0:0(0) <mss 1460>").run(
            "> S.W 0:0(0) ack 1 <mss 1000>
             +10ms < P.AW 1:101(100) ack 1
             is ect true
             is ce-segs 0
             > .AE 1:1(0) ack 101
             send 1000
             > [ect0] P.AE 1:1001(1000) ack 101
             +10ms < .AW 101:101(0) ack 1001
             is ce-segs 1",
        );
        // Zero in the first counter: the path zeroes it, or the peer does not count (§3.2.2.4).
        Script::passive(o, &accurate(), "SEWA 0:0(0) <mss 1460>").run(
            "> S.W 0:0(0) ack 1 <mss 1000>
             +10ms < P. 1:101(100) ack 1
             is ect false
             is ecn AccEcn
             > .AE 1:1(0) ack 101
             send 1000
             > [noecn] P.AE 1:1001(1000) ack 101
             +10ms < .AW 101:101(0) ack 1001
             is ce-segs 0",
        );
        // The client does so too, unless the acknowledged data can have brought it to zero.
        for (acked, ect) in [(1001, false), (2001, true)] {
            Script::active(o, &accurate()).run(&format!(
                "> SEWA 0:0(0) <mss 1000>
                 +10ms < S.W 0:0(0) ack 1 <mss 1460>
                 > .W 1:1(0) ack 1
                 send 3000
                 > .AE 1:1001(1000) ack 1
                 > .AE 1001:2001(1000) ack 1
                 > P.AE 2001:3001(1000) ack 1
                 +10ms < . 1:1(0) ack {acked}
                 is ect {ect}"
            ));
        }
    });
}

#[test]
fn the_pure_ack_goes_before_data_that_waits() {
    at_every_origin(|o| {
        let mut t = Script::active(o, &accurate());
        t.run(
            "> SEWA 0:0(0) <mss 1000>
             send 1000
             +10ms < [ect0] S.W 0:0(0) ack 1 <mss 1460>
             > .A 1:1(0) ack 1
             > [ect0] P.AE 1:1001(1000) ack 1",
        );
    });
}

#[test]
fn a_syn_ack_that_comes_again_is_answered_by_how_it_came_this_time() {
    at_every_origin(|o| {
        Script::active(o, &accurate()).run(
            "> SEWA 0:0(0) <mss 1000>
             +10ms < [noecn] S.W 0:0(0) ack 1 <mss 1460>
             > .W 1:1(0) ack 1
             +1s < [ce] S.W 0:0(0) ack 1 <mss 1460> -> UnexpectedSyn
             > .AW 1:1(0) ack 1
             // Counted once for any number of copies.
             +1s < [ce] S.W 0:0(0) ack 1 <mss 1460> -> UnexpectedSyn
             > .AW 1:1(0) ack 1
             is ce-in 1
             // Flags with another meaning now are ignored.
             +1s < S.E 0:0(0) ack 1 <mss 1460> -> UnexpectedSyn
             > .AW 1:1(0) ack 1
             is ecn AccEcn
             send 1000
             > P.AW 1:1001(1000) ack 1",
        );
    });
}

#[test]
fn a_lost_syn_asks_once_more_and_then_does_without() {
    at_every_origin(|o| {
        Script::active(o, &Config { ect: EctClass::All, ..accurate() }).run(
            "> [ect0] SEWA 0:0(0) <mss 1000>
             +1s > [ect0] SEWA 0:0(0) <mss 1000>
             +2s > [noecn] S 0:0(0) <mss 1000>
             // The answer to one of the first SYNs: it decides, and ECT may be set (§3.1.4.1).
             +10ms < S.A 0:0(0) ack 1 <mss 1460>
             > [ect0] .W 1:1(0) ack 1
             is ecn AccEcn
             is ect true",
        );
        Script::active(o, &accurate()).run(
            "> SEWA 0:0(0) <mss 1000>
             +1s > SEWA 0:0(0) <mss 1000>
             +2s > S 0:0(0) <mss 1000>
             +10ms < S. 0:0(0) ack 1 <mss 1460>
             > . 1:1(0) ack 1
             is ecn Off",
        );
        Script::active(o, &Config { ecn_fallback: false, ..accurate() }).run(
            "> SEWA 0:0(0) <mss 1000>
             +1s > SEWA 0:0(0) <mss 1000>
             +2s > SEWA 0:0(0) <mss 1000>",
        );
    });
}

#[test]
fn a_lost_syn_ack_agrees_once_more_and_then_not_but_the_mode_stays() {
    at_every_origin(|o| {
        Script::passive(o, &accurate(), "[ect0] SEWA 0:0(0) <mss 1460>").run(
            "> S.A 0:0(0) ack 1 <mss 1000>
             +1s > S.A 0:0(0) ack 1 <mss 1000>
             +2s > S. 0:0(0) ack 1 <mss 1000>
             +10ms < .A 1:1(0) ack 1
             is ecn AccEcn
             is ect false
             < [ce] . 1:1001(1000) ack 1
             > [noecn] .AW 1:1(0) ack 1001",
        );
        Script::passive(o, &Config { ecn_fallback: false, ..accurate() }, "SEWA 0:0(0) <mss 1460>")
            .run(
                "> S.W 0:0(0) ack 1 <mss 1000>
                 +1s > S.W 0:0(0) ack 1 <mss 1000>
                 +2s > S.W 0:0(0) ack 1 <mss 1000>
                 +10ms < .W 1:1(0) ack 1
                 is ect true",
            );
    });
}

#[test]
fn the_first_syn_decides_and_the_last_one_is_fed_back() {
    at_every_origin(|o| {
        Script::passive(o, &accurate(), "[ect0] SEWA 0:0(0) <mss 1460>").run(
            "> S.A 0:0(0) ack 1 <mss 1000>
             +500ms < [ce] SEWA 0:0(0) <mss 1460> -> BadHandshake
             > S.AW 0:0(0) ack 1 <mss 1000>
             // A plain SYN is still answered, but forbids ECT (§3.1.5).
             +100ms < [noecn] S 0:0(0) <mss 1460> -> BadHandshake
             > S.W 0:0(0) ack 1 <mss 1000>
             +10ms < .W 1:1(0) ack 1
             is ecn AccEcn
             is ect false",
        );
        // A host that declined once does not accept later.
        Script::passive(o, &accurate(), "S 0:0(0) <mss 1460>").run(
            "> S. 0:0(0) ack 1 <mss 1000>
             +500ms < SEWA 0:0(0) <mss 1460> -> BadHandshake
             > S. 0:0(0) ack 1 <mss 1000>
             +10ms < . 1:1(0) ack 1
             is ecn Off",
        );
    });
}

#[test]
fn syns_of_both_kinds_are_reset() {
    at_every_origin(|o| {
        for (first, answer, second) in [("SEWA", "S.W", "SEW"), ("SEW", "S.E", "SA")] {
            Script::passive(o, &accurate(), &format!("{first} 0:0(0) <mss 1460>")).run(&format!(
                "> {answer} 0:0(0) ack 1 <mss 1000>
                 +500ms < {second} 0:0(0) <mss 1460> -> BadHandshake
                 > R 1:1(0)
                 is state Closed"
            ));
        }
        // A host without AccECN sees equal flags twice.
        Script::passive(o, &negotiation(EcnNegotiation::Rfc3168), "SEWA 0:0(0) <mss 1460>").run(
            "> S.E 0:0(0) ack 1 <mss 1000>
             +500ms < SEW 0:0(0) <mss 1460> -> BadHandshake
             > S.E 0:0(0) ack 1 <mss 1000>",
        );
    });
}

#[test]
fn simultaneous_open() {
    at_every_origin(|o| {
        for (ecn, syn, peer, answer, peer_answer, agreed, ack, ect) in [
            (EcnNegotiation::AccEcn, "SEWA", "SEWA", "S.W", "S.W", "AccEcn", ".AE", true),
            (EcnNegotiation::AccEcn, "SEWA", "SEW", "S.E", "S.E", "Classic", ".", true),
            (EcnNegotiation::AccEcn, "SEWA", "S", "S.", "S.", "Off", ".", false),
            // This end is in its mode; the peer may not be.
            (EcnNegotiation::AccEcn, "SEWA", "SEWA", "S.W", "S.", "AccEcn", ".AE", false),
            // A host that requested nothing has already declined.
            (EcnNegotiation::AccEcnPassive, "S", "SEWA", "S.", "S.", "Off", ".", false),
        ] {
            Script::active(o, &negotiation(ecn)).run(&format!(
                "> {syn} 0:0(0) <mss 1000>
                 +10ms < {peer} 0:0(0) <mss 1460>
                 > {answer} 0:0(0) ack 1 <mss 1000>
                 +10ms < {peer_answer} 0:0(0) ack 1 <mss 1460>
                 > {ack} 1:1(0) ack 1
                 is ecn {agreed}
                 is ect {ect}"
            ));
        }
    });
}

#[test]
fn every_pair_of_ecn_settings_agrees_on_a_mode() {
    use EcnNegotiation::{AccEcn, AccEcnPassive, AccEcnRfc3168, Off, Passive, Rfc3168};
    let all = [Off, Rfc3168, Passive, AccEcn, AccEcnPassive, AccEcnRfc3168];
    for client in all {
        for server in all {
            at_every_origin(|o| {
                let mut pair = Pair::new(o, &negotiation(client), &negotiation(server), ms(5));
                pair.a.send(10_000);
                pair.run_until(ms(20_000), |p| p.a.acked_upto() == 10_000);
                let (a, b) = (pair.a.info(), pair.conn(Side::B).info());
                let agreed = match (client, server) {
                    (Off | Passive | AccEcnPassive, _) | (_, Off) => EcnMode::Off,
                    (AccEcn, AccEcn | AccEcnPassive | AccEcnRfc3168) => EcnMode::AccEcn,
                    _ => EcnMode::Classic,
                };
                assert_eq!((a.ecn, b.ecn), (agreed, agreed), "{client:?} to {server:?}");
                assert_eq!([a.ect, b.ect], [agreed != EcnMode::Off; 2]);
            });
        }
    }
}

#[test]
fn ect_is_never_set_without_feedback_under_any_loss() {
    // Every pattern of losses among eight of the first twelve packets.
    for lost in 0..256_u32 {
        at_every_origin(|o| {
            let config = Config { ect: EctClass::All, ..accurate() };
            let mut pair = Pair::new(o, &config, &config, ms(5));
            let mut seen = 0;
            pair.link(move |_| {
                seen += 1;
                if seen <= 12 && seen % 3 != 0 && lost >> (seen - 1 - seen / 3) & 1 == 1 {
                    LinkAction::Drop
                } else {
                    LinkAction::Mark
                }
            });
            pair.a.send(20_000);
            pair.run_until(ms(200_000), |p| p.a.acked_upto() == 20_000);
            let (a, b) = (pair.a.info(), pair.conn(Side::B).info());
            assert_eq!(pair.conn(Side::B).state(), State::Established);
            let what = format!("{lost:08b}: {:?} {} {:?} {}", a.ecn, a.ect, b.ecn, b.ect);
            assert!(!a.ect || b.ecn == EcnMode::AccEcn, "{what}\n{}", pair.tail());
            assert!(!b.ect || a.ecn == EcnMode::AccEcn, "{what}\n{}", pair.tail());
            assert_eq!(a.ect, a.counters.ecn_reductions > 0, "{what}\n{}", pair.tail());
        });
    }
}
