//! Window reduction by PRR, after a loss and after a mark (RFC 9937).

use lowtide_tcp::{Config, EcnNegotiation, FreezeGrowth, InitialWindow, RecoveryRule, Reduction};

use crate::common::{Origin, Script, at_every_origin, plain};

fn prr() -> Config {
    Config { sack: true, reduction: Reduction::Prr, ..plain() }
}

/// The window of the examples of RFC 6937 §3.1: twenty segments in flight, more waiting.
fn twenty_in_flight(o: Origin, config: &Config) -> Script {
    let initial_window = InitialWindow::Segments(20);
    let mut t = Script::established(o, &Config { initial_window, ..config.clone() });
    t.run("send 60000\n> . 1:1001(1000) ack 1 * 20");
    t
}

#[test]
fn rfc6937_3_1_a_single_loss_sends_on_every_other_ack() {
    at_every_origin(|o| {
        twenty_in_flight(o, &prr()).run(
            "< . 1:1(0) ack 1 <sack 1001:2001>
             > . 20001:21001(1000) ack 1
             < . 1:1(0) ack 1 <sack 1001:3001>
             > . 21001:22001(1000) ack 1
             < . 1:1(0) ack 1 <sack 1001:4001>
             > . 1:1001(1000) ack 1
             is ssthresh 10000
             // Bytes in flight plus bytes that may be sent now.
             is flight 19000
             is cwnd 19000
             < . 1:1(0) ack 1 <sack 1001:5001>
             is cwnd 18000
             < . 1:1(0) ack 1 <sack 1001:6001>
             > . 22001:23001(1000) ack 1
             < . 1:1(0) ack 1 <sack 1001:7001>
             < . 1:1(0) ack 1 <sack 1001:8001>
             > . 23001:24001(1000) ack 1
             < . 1:1(0) ack 1 <sack 1001:9001>
             < . 1:1(0) ack 1 <sack 1001:10001>
             > . 24001:25001(1000) ack 1
             // One ACK for four segments releases two.
             < . 1:1(0) ack 1 <sack 1001:14001>
             > . 25001:26001(1000) ack 1 * 2
             < . 1:1(0) ack 1 <sack 1001:16001>
             > . 27001:28001(1000) ack 1
             < . 1:1(0) ack 1 <sack 1001:18001>
             > . 28001:29001(1000) ack 1
             < . 1:1(0) ack 1 <sack 1001:20001>
             is flight 10000
             // From here on one for one.
             < . 1:1(0) ack 1 <sack 1001:21001>
             > . 29001:30001(1000) ack 1
             < . 1:1(0) ack 1 <sack 1001:22001>
             > . 30001:31001(1000) ack 1
             // RFC 9937 §6.4: the end leaves ssthresh, and no burst is possible.
             < . 1:1(0) ack 22001
             > . 31001:32001(1000) ack 1
             is recovery false
             is cwnd 10000
             is flight 10000",
        );
    });
}

#[test]
fn rfc6937_3_1_a_burst_of_losses_is_repaired_segment_by_segment() {
    at_every_origin(|o| {
        twenty_in_flight(o, &prr()).run(
            "< . 1:1(0) ack 1 <sack 15001:16001>
             > . 20001:21001(1000) ack 1
             < . 1:1(0) ack 1 <sack 15001:17001>
             > . 21001:22001(1000) ack 1
             // Fifteen are lost, four in flight. Only as much as is delivered may be sent.
             < . 1:1(0) ack 1 <sack 15001:18001>
             > . 1:1001(1000) ack 1
             is flight 5000
             < . 1:1(0) ack 1 <sack 15001:19001>
             > . 1001:2001(1000) ack 1
             < . 1:1(0) ack 1 <sack 15001:20001>
             > . 2001:3001(1000) ack 1
             < . 1:1(0) ack 1 <sack 15001:21001>
             > . 3001:4001(1000) ack 1
             < . 1:1(0) ack 1 <sack 15001:22001>
             > . 4001:5001(1000) ack 1
             // SafeACK: SND.UNA advances and no further loss is found.
             < . 1:1(0) ack 1001 <sack 15001:22001>
             > . 5001:6001(1000) ack 1 * 2
             is flight 6000
             < . 1:1(0) ack 2001 <sack 15001:22001>
             > . 7001:8001(1000) ack 1 * 2
             < . 1:1(0) ack 3001 <sack 15001:22001>
             > . 9001:10001(1000) ack 1 * 2
             < . 1:1(0) ack 4001 <sack 15001:22001>
             > . 11001:12001(1000) ack 1 * 2
             < . 1:1(0) ack 5001 <sack 15001:22001>
             > . 13001:14001(1000) ack 1 * 2
             // Up to ssthresh.
             is flight 10000
             < . 1:1(0) ack 6001 <sack 15001:22001>
             > . 22001:23001(1000) ack 1
             is flight 10000",
        );
    });
}

#[test]
fn in_one_step_the_same_loss_stops_the_sender_for_half_a_round() {
    at_every_origin(|o| {
        twenty_in_flight(o, &Config { reduction: Reduction::OneStep, ..prr() }).run(
            "< . 1:1(0) ack 1 <sack 1001:2001>
             > . 20001:21001(1000) ack 1
             < . 1:1(0) ack 1 <sack 1001:3001>
             > . 21001:22001(1000) ack 1
             < . 1:1(0) ack 1 <sack 1001:4001>
             > . 1:1001(1000) ack 1
             is cwnd 10000
             < . 1:1(0) ack 1 <sack 1001:13001>
             < . 1:1(0) ack 1 <sack 1001:14001>
             > . 22001:23001(1000) ack 1",
        );
    });
}

#[test]
fn rfc9937_6_2_without_sack_duplicates_count_as_delivered() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &Config { sack: false, ..prr() });
        t.run(
            "send 30000
             > . 1:1001(1000) ack 1 * 10
             < . 1:1(0) ack 1
             > . 10001:11001(1000) ack 1
             < . 1:1(0) ack 1
             > . 11001:12001(1000) ack 1
             < . 1:1(0) ack 1
             > . 1:1001(1000) ack 1
             is ssthresh 5000
             < . 1:1(0) ack 1
             < . 1:1(0) ack 1
             > . 12001:13001(1000) ack 1
             < . 1:1(0) ack 1
             < . 1:1(0) ack 1
             > . 13001:14001(1000) ack 1
             < . 1:1(0) ack 1 * 2
             < . 1:1(0) ack 1
             > . 14001:15001(1000) ack 1
             < . 1:1(0) ack 1
             > . 15001:16001(1000) ack 1
             < . 1:1(0) ack 12001
             > . 16001:17001(1000) ack 1
             is recovery false
             is cwnd 5000
             is flight 5000",
        );
    });
}

#[test]
fn rfc9937_6_2_without_sack_a_partial_ack_repairs_the_next_hole() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &Config { sack: false, ..prr() });
        t.run(
            "send 10000
             > . 1:1001(1000) ack 1 * 9
             > P. 9001:10001(1000) ack 1
             < . 1:1(0) ack 1 * 2
             < . 1:1(0) ack 1
             > . 1:1001(1000) ack 1
             < . 1:1(0) ack 1 * 5
             // The first was delivered, the second is missing, eight of the rest were counted.
             < . 1:1(0) ack 1001
             > . 1001:2001(1000) ack 1
             < . 1:1(0) ack 10001
             is recovery false
             is cwnd 5000
             is rtos 0",
        );
    });
}

#[test]
fn a_cut_for_ecn_is_spread_over_the_round() {
    at_every_origin(|o| {
        let ecn = EcnNegotiation::Rfc3168;
        let config = Config { ecn, freeze_growth: FreezeGrowth::Off, ..prr() };
        let mut t = Script::established(o, &config);
        t.run(
            "send 40000
             > [ect0] . 1:1001(1000) ack 1 * 10
             < E. 1:1(0) ack 1001
             > [ect0] W. 10001:11001(1000) ack 1
             is cuts 1
             is ssthresh 5000
             is cwnd 10000
             < . 1:1(0) ack 2001
             < . 1:1(0) ack 3001
             > . 11001:12001(1000) ack 1
             < . 1:1(0) ack 4001
             < . 1:1(0) ack 5001
             > . 12001:13001(1000) ack 1
             is cwnd 8000
             < . 1:1(0) ack 6001
             < . 1:1(0) ack 7001
             > . 13001:14001(1000) ack 1
             < . 1:1(0) ack 9001
             is flight 5000
             // The window of data of the cut is acknowledged; there was no growth meanwhile.
             < . 1:1(0) ack 10001
             > . 14001:15001(1000) ack 1
             is cwnd 5000
             is limited Cwnd
             < . 1:1(0) ack 11001
             > . 15001:16001(1000) ack 1",
        );
    });
}

#[test]
fn a_cut_with_nothing_in_flight_does_not_stop_the_sender() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &Config { ecn: EcnNegotiation::Rfc3168, ..prr() });
        t.run(
            "send 3000
             > . 1:1001(1000) ack 1 * 2
             > P. 2001:3001(1000) ack 1
             < E. 1:1(0) ack 3001
             is cwnd 5000
             send 8000
             > W. 3001:4001(1000) ack 1
             > . 4001:5001(1000) ack 1 * 4",
        );
    });
}

#[test]
fn a_loss_in_the_round_of_a_mark_goes_on_to_the_same_target() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &Config { ecn: EcnNegotiation::Rfc3168, ..prr() });
        t.run(
            "send 40000
             > . 1:1001(1000) ack 1 * 10
             < E. 1:1(0) ack 1001
             > W. 10001:11001(1000) ack 1
             < . 1:1(0) ack 1001 <sack 2001:3001>
             < . 1:1(0) ack 1001 <sack 2001:4001>
             > . 11001:12001(1000) ack 1
             < . 1:1(0) ack 1001 <sack 2001:5001>
             > . 1001:2001(1000) ack 1
             is ssthresh 5000
             is retransmits 1
             < . 1:1(0) ack 1001 <sack 2001:10001>
             > W. 12001:13001(1000) ack 1
             > . 13001:14001(1000) ack 1
             is flight 5000
             < . 1:1(0) ack 12001
             > . 14001:15001(1000) ack 1 * 3
             is cwnd 5000",
        );
    });
}

#[test]
fn a_timeout_ends_the_reduction() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &Config { ecn: EcnNegotiation::Rfc3168, ..prr() });
        t.run(
            "send 20000
             > . 1:1001(1000) ack 1 * 10
             < E. 1:1(0) ack 1001
             > W. 10001:11001(1000) ack 1
             is cwnd 10000
             +1s > . 1001:2001(1000) ack 1
             is cwnd 1000
             < . 1:1(0) ack 2001
             > . 2001:3001(1000) ack 1 * 2
             is cwnd 2000",
        );
    });
}

#[test]
fn losses_found_by_the_clock_go_one_at_a_time() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &Config { recovery: RecoveryRule::Rack, ..prr() });
        t.run(
            "send 40000
             > . 1:1001(1000) ack 1 * 10
             // Two holes; no more ACKs arrive, and the reordering timer marks them lost.
             +10ms < . 1:1(0) ack 1 <sack 2001:4001>
             > . 10001:11001(1000) ack 1 * 2
             +2500us > . 1:1001(1000) ack 1
             is recovery true
             // Six of those in flight, two new, the retransmission.
             is flight 9000
             < . 1:1(0) ack 1 <sack 2001:5001>
             is flight 8000
             < . 1:1(0) ack 1 <sack 2001:6001>
             < . 1:1(0) ack 1 <sack 2001:7001>
             > . 1001:2001(1000) ack 1",
        );
    });
}

/// Found by the fault test: limited transmit took the bytes in flight of PRR for the whole window,
/// and sent one segment after the other on a single duplicate.
#[test]
fn rfc3042_2_duplicates_add_nothing_while_a_cut_for_a_mark_comes_down() {
    at_every_origin(|o| {
        let config = Config {
            sack: false,
            limited_transmit: true,
            ecn: EcnNegotiation::Rfc3168,
            freeze_growth: FreezeGrowth::Off,
            ..prr()
        };
        twenty_in_flight(o, &config).run(
            "< E. 1:1(0) ack 1001
             > W. 20001:21001(1000) ack 1
             is ssthresh 10000
             < . 1:1(0) ack 1001
             < . 1:1(0) ack 1001
             is flight 20000",
        );
    });
}

#[test]
fn rfc9937_6_2_with_sack_a_duplicate_delivers_its_newly_sacked_bytes() {
    at_every_origin(|o| {
        let mut t = twenty_in_flight(o, &Config { recovery: RecoveryRule::NewReno, ..prr() });
        t.run(
            "< . 1:1(0) ack 1 <sack 1001:2001>
             > . 20001:21001(1000) ack 1
             < . 1:1(0) ack 1 <sack 1001:3001>
             > . 21001:22001(1000) ack 1
             < . 1:1(0) ack 1 <sack 1001:4001>
             > . 1:1001(1000) ack 1
             is ssthresh 10000
             is flight 19000",
        );
        // The network duplicates an ACK: nothing was delivered, and nothing is sent.
        for _ in 0..12 {
            t.run("< . 1:1(0) ack 1 <sack 1001:4001>");
        }
        t.run(
            "is flight 19000
             < . 1:1(0) ack 1 <sack 1001:6001>
             > . 22001:23001(1000) ack 1
             is flight 18000",
        );
    });
}
