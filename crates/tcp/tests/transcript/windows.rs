//! Flow control: zero windows and probes, silly windows, limits of the sender (RFC 9293 §3.8.6).

use lowtide_tcp::{Config, State};
use lowtide_units::Bytes;

use crate::common::{LinkAction, Origin, Pair, Script, Side, at_every_origin, ms, plain};

/// Established, with `window` advertised by the peer.
fn offered(o: Origin, config: &Config, window: u16) -> Script {
    let mut t = Script::opened(o, config, &format!("S. 0:0(0) ack 1 win {window} <mss 1460>"));
    t.window = window;
    t
}

fn buffer(bytes: u64) -> Config {
    Config { receive_buffer: Bytes::new(bytes), ..plain() }
}

#[test]
fn rfc9293_3_8_6_1_zero_window_is_probed_with_backoff_and_without_limit() {
    at_every_origin(|o| {
        let mut t = offered(o, &Config { retries: 3, rto_max: ms(8_000), ..plain() }, 2000);
        t.run(
            "send 5000
             > . 1:1001(1000) ack 1 * 2
             is limited ReceiveWindow
             +10ms < . 1:1(0) ack 2001 win 0
             is timer 1s
             +1s > . 2001:2002(1) ack 1
             +10ms < . 1:1(0) ack 2001 win 0
             is timer 1990ms
             +1990ms > . 2001:2002(1) ack 1
             +10ms < . 1:1(0) ack 2001 win 0
             +3990ms > . 2001:2002(1) ack 1
             +10ms < . 1:1(0) ack 2001 win 0",
        );
        // Far beyond the limit of `retries` without an answer.
        for _ in 0..10 {
            t.run("+7990ms > . 2001:2002(1) ack 1\n+10ms < . 1:1(0) ack 2001 win 0");
        }
        t.run(
            "is state Established
             is rtos 0
             < . 1:1(0) ack 2001 win 2000
             > . 2001:3001(1000) ack 1 * 2
             // Probing is not congestion: timer and window are unchanged.
             is rto 1s
             is timer 1s
             is cwnd 10000",
        );
    });
}

#[test]
fn rfc9293_3_8_6_1_an_unanswered_probe_ends_the_connection() {
    at_every_origin(|o| {
        let mut t = offered(o, &Config { retries: 2, ..plain() }, 0);
        t.run(
            "send 100
             +1s > . 1:2(1) ack 1
             +2s > . 1:2(1) ack 1
             +4s > . 1:2(1) ack 1
             +8s is state Closed
             event established
             event timed-out",
        );
    });
}

#[test]
fn rfc9293_3_8_6_1_a_probe_byte_may_be_taken() {
    at_every_origin(|o| {
        let mut t = offered(o, &plain(), 0);
        t.run(
            "send 1500
             +1s > . 1:2(1) ack 1
             // Accepted, and the window is still closed: the next byte is probed.
             +10ms < . 1:1(0) ack 2 win 0
             is acked 1
             is state Established
             +1990ms > . 2:3(1) ack 1
             // Accepted together with a window; the round trip is not that of the probe (Karn).
             +10ms < . 1:1(0) ack 3 win 3000
             > . 3:1003(1000) ack 1
             > P. 1003:1501(498) ack 1
             is srtt 10ms
             is acked 2
             < . 1:1(0) ack 1501
             is acked 1500",
        );
    });
}

#[test]
fn rfc9293_3_8_6_1_a_lost_window_update_does_not_hang() {
    at_every_origin(|o| {
        let mut t = offered(o, &plain(), 1000);
        t.run(
            "send 3000
             > . 1:1001(1000) ack 1
             < . 1:1(0) ack 1001 win 0
             // The update was lost; the answer to the probe repeats it.
             +1s > . 1001:1002(1) ack 1
             < . 1:1(0) ack 1001 win 4000
             > . 1001:2001(1000) ack 1
             > P. 2001:3001(1000) ack 1",
        );
    });
}

#[test]
fn rfc9293_3_8_6_1_the_window_opens_while_a_probe_is_in_flight() {
    at_every_origin(|o| {
        let mut t = offered(o, &plain(), 0);
        t.run(
            "send 1000
             +1s > . 1:2(1) ack 1
             < . 1:1(0) ack 1 win 1000
             > P. 1:1001(1000) ack 1
             // The probe's byte was accepted; its ACK acknowledges no more than that.
             < . 1:1(0) ack 2 win 999
             is acked 1
             < . 1:1(0) ack 1001
             is acked 1000
             is timer none",
        );
    });
}

#[test]
fn rfc9293_3_8_6_1_a_fin_waits_for_a_window_and_an_empty_probe_asks_for_it() {
    at_every_origin(|o| {
        let mut t = offered(o, &Config { retries: 2, ..plain() }, 1000);
        t.run("send 1000\n> P. 1:1001(1000) ack 1\nclose\n< . 1:1(0) ack 1001 win 0\n+1s > . 1000:1000(0) ack 1");
        for wait in [2, 4, 8, 16] {
            t.run(&format!(
                "< . 1:1(0) ack 1001 win 0
                 is state FinWait1
                 +{wait}s > . 1000:1000(0) ack 1"
            ));
        }
        t.run(
            "is rtos 0
             < . 1:1(0) ack 1001 win 500
             > F. 1001:1001(0) ack 1
             is timer 1s
             < . 1:1(0) ack 1002
             is state FinWait2
             is timer none",
        );
    });
}

#[test]
fn rfc9293_3_8_6_a_window_that_shrinks_over_data_in_flight_does_not_time_out() {
    at_every_origin(|o| {
        let mut t = offered(o, &Config { retries: 2, rto_max: ms(4_000), ..plain() }, 3000);
        t.run(
            "send 3000
             > . 1:1001(1000) ack 1 * 3
             < . 1:1(0) ack 1001 win 0
             +1s > . 1001:2001(1000) ack 1
             < . 1:1(0) ack 1001 win 0
             +2s > . 1001:2001(1000) ack 1",
        );
        for _ in 0..6 {
            t.run("< . 1:1(0) ack 1001 win 0\n+4s > . 1001:2001(1000) ack 1");
        }
        t.run(
            "is state Established
             < . 1:1(0) ack 2001 win 5000
             > P. 2001:3001(1000) ack 1
             < . 1:1(0) ack 3001
             is acked 3000",
        );
        // The peer no longer answers: that ends it.
        let mut t = offered(o, &Config { retries: 2, ..plain() }, 1000);
        t.run(
            "send 1000
             > P. 1:1001(1000) ack 1
             < . 1:1(0) ack 1 win 0
             +1s > P. 1:1001(1000) ack 1
             +2s > P. 1:1001(1000) ack 1
             +4s is state Closed",
        );
    });
}

#[test]
fn rfc9293_3_8_6_2_1_the_sender_waits_for_more_than_a_silly_window() {
    at_every_origin(|o| {
        let mut t = offered(o, &plain(), 4000);
        t.run(
            "send 9000
             > . 1:1001(1000) ack 1 * 4
             // 900 of at most 4000 advertised: neither a segment nor half of it.
             < . 1:1(0) ack 4001 win 900
             is limited ReceiveWindow
             < . 1:1(0) ack 4001 win 1000
             > . 4001:5001(1000) ack 1
             < . 1:1(0) ack 5001 win 999
             // After a timeout as much as fits is sent.
             +1s > . 5001:6000(999) ack 1
             < . 1:1(0) ack 6000 win 1000
             > . 6000:7000(1000) ack 1",
        );
        // Half of the maximum window of a small receiver is sent at once.
        let mut t = offered(o, &plain(), 600);
        t.run(
            "send 2000
             > . 1:601(600) ack 1
             < . 1:1(0) ack 601 win 299
             < . 1:1(0) ack 601 win 300
             > . 601:901(300) ack 1
             // Rule 3 in brackets: only Nagle requires that nothing is in flight.
             < . 1:1(0) ack 601 win 600
             > . 901:1201(300) ack 1",
        );
        let mut t = offered(o, &Config { nagle: true, ..plain() }, 600);
        t.run(
            "send 2000
             > . 1:601(600) ack 1
             < . 1:1(0) ack 301 win 600
             < . 1:1(0) ack 601 win 600
             > . 601:1201(600) ack 1",
        );
    });
}

#[test]
fn rfc9293_3_8_6_2_2_the_receiver_moves_the_edge_by_a_segment_or_half_the_buffer() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &buffer(3000));
        t.run(
            "< . 1:1001(1000) ack 1 * 1
             > . 1:1(0) ack 1001 win 2000
             < . 1001:2001(1000) ack 1
             > . 1:1(0) ack 2001 win 1000
             < . 2001:3001(1000) ack 1
             > . 1:1(0) ack 3001 win 0
             read 999
             read 1
             > . 1:1(0) ack 3001 win 1000
             read 500
             // On an ACK sent for another reason the edge stays until it can move by a segment.
             < . 3001:3501(500) ack 1
             > . 1:1(0) ack 3501 win 500
             // The window was below a segment, so one more full segment is worth a separate ACK.
             read 500
             > . 1:1(0) ack 3501 win 1500
             is unread 1500",
        );
        // A buffer below two segments: half of it.
        let mut t = Script::established(o, &buffer(800));
        t.run(
            "< . 1:801(800) ack 1
             > . 1:1(0) ack 801 win 0
             read 399
             read 1
             > . 1:1(0) ack 801 win 400",
        );
    });
}

#[test]
fn rfc9293_3_10_7_4_a_closed_window_takes_no_data_but_acks() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &buffer(1000));
        t.run(
            "send 500
             > P. 1:501(500) ack 1
             < . 1:1001(1000) ack 1
             > . 501:501(0) ack 1001 win 0
             // The peer's probe is rejected and answered; its ACK counts.
             < . 1001:1002(1) ack 501 -> OutOfWindow
             > . 501:501(0) ack 1001 win 0
             is acked 500
             read 1000
             > . 501:501(0) ack 1001 win 1000
             < . 1001:1002(1) ack 501
             > . 501:501(0) ack 1002 win 999
             is received 1001",
        );
    });
}

#[test]
fn rfc9293_3_10_7_4_data_beyond_the_edge_is_cut_off() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &buffer(1500));
        t.run(
            "< . 1:1001(1000) ack 1
             > . 1:1(0) ack 1001 win 500
             < . 1001:2001(1000) ack 1
             > . 1:1(0) ack 1501 win 0",
        );
        assert_eq!((t.accepted.stream.clone(), t.accepted.skip), (1000..1500, 0));
        // Old bytes at the start are skipped.
        let mut t = Script::established(o, &plain());
        t.run(
            "< . 1:1001(1000) ack 1
             > . 1:1(0) ack 1001
             < . 501:1501(1000) ack 1
             > . 1:1(0) ack 1501",
        );
        assert_eq!((t.accepted.stream.clone(), t.accepted.skip), (1000..1500, 500));
    });
}

#[test]
fn rfc9293_3_10_7_4_old_segments_do_not_bring_back_old_windows() {
    at_every_origin(|o| {
        let mut t = offered(o, &plain(), 5000);
        t.run(
            "< . 1:11(10) ack 1 win 3000
             > . 1:1(0) ack 11
             is wnd 3000
             < . 1:1(0) ack 1 win 9000 -> OutOfWindow
             > . 1:1(0) ack 11
             is wnd 3000
             send 2000
             > . 1:1001(1000) ack 11 * 2
             < . 11:11(0) ack 2001 win 4000
             is wnd 4000
             < . 11:11(0) ack 1001 win 100
             is wnd 4000",
        );
    });
}

#[test]
fn rfc9293_3_8_4_a_keep_alive_of_the_peer_is_answered() {
    at_every_origin(|o| {
        let config = Config { sack: true, ..plain() };
        Script::established(o, &config).run(
            "< . 1:1001(1000) ack 1
             > . 1:1(0) ack 1001
             < . 1000:1000(0) ack 1 -> OutOfWindow
             > . 1:1(0) ack 1001
             // With a garbage byte: a duplicate, reported as such.
             < . 1000:1001(1) ack 1 -> OutOfWindow
             > . 1:1(0) ack 1001 <sack 1000:1001>
             // Before any data: the byte would be that of the SYN.
             is received 1000",
        );
        Script::established(o, &config).run(
            "< . 0:0(0) ack 1 -> OutOfWindow
             > . 1:1(0) ack 1
             < . 0:1(1) ack 1 -> OutOfWindow
             > . 1:1(0) ack 1",
        );
    });
}

#[test]
fn rfc9293_3_8_6_a_slow_reader_gets_every_byte() {
    // The window closes repeatedly; some window updates are lost.
    at_every_origin(|o| {
        let mut pair = Pair::new(o, &plain(), &buffer(2500), ms(5));
        pair.link(|t| {
            let update = t.from == Side::B && t.index > 0 && t.index % 5 == 0;
            if update { LinkAction::Drop } else { LinkAction::Pass }
        });
        pair.reads = [true, false];
        pair.a.send(20_000);
        let mut read = 0;
        for _ in 0..2_000 {
            pair.run(ms(50));
            if let Some(b) = &mut pair.b {
                let n = b.unread().min(300);
                b.read(n);
                read += n;
            }
            if read == 20_000 {
                break;
            }
        }
        assert_eq!(read, 20_000, "{}", pair.tail());
        assert_eq!(pair.a.state(), State::Established);
    });
}

#[test]
fn rfc9293_3_10_7_4_a_segment_that_was_overtaken_does_not_bring_its_window() {
    at_every_origin(|o| {
        let mut t = offered(o, &plain(), 4000);
        t.run(
            "< . 1001:2001(1000) ack 1 win 2000
             > . 1:1(0) ack 1
             is wnd 2000
             < . 1:1001(1000) ack 1 win 5000
             > . 1:1(0) ack 2001
             is wnd 2000
             < . 2001:3001(1000) ack 1 win 5000
             > . 1:1(0) ack 3001
             is wnd 5000",
        );
    });
}
