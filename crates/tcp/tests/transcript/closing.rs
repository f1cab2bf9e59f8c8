//! Every order of closing (RFC 9293 §3.6, §3.10.4, §3.10.7.4), TIME-WAIT and half-open streams.

use lowtide_tcp::{CloseReason, Config, Event, State};

use crate::common::{LinkAction, Pair, Script, Side, at_every_origin, ms, plain};

#[test]
fn rfc9293_3_6_active_close() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "event established
             close
             > F. 1:1(0) ack 1
             is state FinWait1
             +10ms < . 1:1(0) ack 2
             is state FinWait2
             is timer none
             +10ms < F. 1:1(0) ack 2
             > . 2:2(0) ack 2
             is state TimeWait
             event peer-closed
             event closed
             is timer 60s
             +60s is state Closed
             is timer none
             event none",
        );
    });
}

#[test]
fn rfc9293_3_6_passive_close() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "event established
             < F. 1:1(0) ack 1
             > . 1:1(0) ack 2
             is state CloseWait
             event peer-closed
             send 500
             > P. 1:501(500) ack 2
             close
             > F. 501:501(0) ack 2
             is state LastAck
             < . 2:2(0) ack 501
             is state LastAck
             < . 2:2(0) ack 502
             is state Closed
             event closed
             event none
             is timer none",
        );
    });
}

#[test]
fn rfc9293_3_6_fin_and_ack_of_the_fin_in_one_segment() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "close
             > F. 1:1(0) ack 1
             +10ms < F. 1:1(0) ack 2
             > . 2:2(0) ack 2
             is state TimeWait",
        );
    });
}

#[test]
fn rfc9293_3_6_simultaneous_close() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "close
             > F. 1:1(0) ack 1
             +10ms < F. 1:1(0) ack 1
             > . 2:2(0) ack 2
             is state Closing
             +10ms < . 2:2(0) ack 2
             is state TimeWait
             +60s is state Closed",
        );
    });
}

#[test]
fn rfc9293_3_6_fin_with_the_last_data() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &plain());
        t.app(|c| {
            c.send(1500);
            c.close();
        });
        t.run(
            "> . 1:1001(1000) ack 1
             > FP. 1001:1501(500) ack 1
             is state FinWait1
             < . 1:1(0) ack 1501
             is state FinWait1
             < . 1:1(0) ack 1502
             is state FinWait2
             is acked 1500
             < FP. 1:801(800) ack 1502
             > . 1502:1502(0) ack 802
             is state TimeWait
             is received 800
             is unread 800",
        );
    });
}

#[test]
fn rfc9293_3_6_send_after_close_is_ignored() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &plain());
        t.run(
            "close
             > F. 1:1(0) ack 1
             send 1000
             close
             < . 1:1(0) ack 2
             is state FinWait2",
        );
    });
}

#[test]
fn rfc6298_5_a_lost_fin_is_sent_again() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "close
             > F. 1:1(0) ack 1
             +1s > F. 1:1(0) ack 1
             +2s > F. 1:1(0) ack 1
             +10ms < . 1:1(0) ack 2
             is state FinWait2
             is timer none",
        );
    });
}

#[test]
fn rfc9293_3_10_7_4_a_repeated_fin_restarts_time_wait() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "close
             > F. 1:1(0) ack 1
             < F. 1:1(0) ack 2
             > . 2:2(0) ack 2
             is state TimeWait
             +40s < F. 1:1(0) ack 2 -> OutOfWindow
             > . 2:2(0) ack 2
             is timer 60s
             // Another old segment is answered, and TIME-WAIT continues.
             +10s < P. 0:1(1) ack 2 -> OutOfWindow
             > . 2:2(0) ack 2
             is timer 50s
             +50s is state Closed",
        );
    });
}

#[test]
fn rfc1337_a_reset_does_not_end_time_wait() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "close
             > F. 1:1(0) ack 1
             < F. 1:1(0) ack 2
             > . 2:2(0) ack 2
             < R 2:2(0) -> BadReset
             is state TimeWait
             is timer 60s",
        );
    });
}

#[test]
fn rfc9293_3_6_half_close_lets_the_other_direction_flow() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &plain());
        t.run(
            "close
             > F. 1:1(0) ack 1
             < . 1:1(0) ack 2
             is state FinWait2
             < . 1:1001(1000) ack 2
             > . 2:2(0) ack 1001
             < . 1001:2001(1000) ack 2
             > . 2:2(0) ack 2001
             is state FinWait2
             < FP. 2001:3001(1000) ack 2
             > . 2:2(0) ack 3002
             is received 3000
             is state TimeWait",
        );
    });
}

#[test]
fn rfc9293_3_6_half_close_of_the_peer_while_we_send() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &plain());
        t.run(
            "send 3000
             > . 1:1001(1000) ack 1 * 3
             < F. 1:1(0) ack 1001
             > . 3001:3001(0) ack 2
             is state CloseWait
             send 1000
             > P. 3001:4001(1000) ack 2
             < . 2:2(0) ack 4001
             close
             > F. 4001:4001(0) ack 2
             < . 2:2(0) ack 4002
             is state Closed",
        );
    });
}

#[test]
fn rfc9293_3_10_7_4_a_fin_beyond_a_gap_waits() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "< FP. 1001:2001(1000) ack 1
             > . 1:1(0) ack 1
             is state Established
             event established
             event none
             < . 1:1001(1000) ack 1
             > . 1:1(0) ack 2002
             is state CloseWait
             event readable 2000
             event peer-closed
             // No data may follow a FIN.
             < . 2002:2012(10) ack 1
             is received 2000",
        );
    });
}

#[test]
fn rfc9293_3_10_7_4_data_before_the_fin_may_arrive_after_it() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "< F. 1001:1001(0) ack 1
             > . 1:1(0) ack 1
             // Data claimed to be beyond the FIN is cut off.
             < . 1:1501(1500) ack 1
             > . 1:1(0) ack 1002
             is received 1000
             is state CloseWait",
        );
    });
}

#[test]
fn rfc9293_3_10_7_4_peer_closes_while_our_fin_waits_behind_data() {
    at_every_origin(|o| {
        let config = Config { initial_window: lowtide_tcp::InitialWindow::Segments(1), ..plain() };
        let mut t = Script::established(o, &config);
        t.app(|c| {
            c.send(2000);
            c.close();
        });
        t.run(
            "> . 1:1001(1000) ack 1
             is state FinWait1
             < F. 1:1(0) ack 1
             > . 1001:1001(0) ack 2
             is state Closing
             < . 2:2(0) ack 1001
             > FP. 1001:2001(1000) ack 2
             < . 2:2(0) ack 2002
             is state TimeWait",
        );
    });
}

#[test]
fn rfc9293_3_10_5_abort() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &plain());
        t.run(
            "event established
             send 2000
             > . 1:1001(1000) ack 1 * 2
             < . 1:501(500) ack 1001
             > . 2001:2001(0) ack 501
             abort
             > R. 2001:2001(0) ack 501
             is state Closed
             event readable 500
             event aborted
             event none
             is timer none
             < . 501:501(0) ack 2001 -> Closed",
        );
    });
}

#[test]
fn rfc9293_3_10_5_abort_while_an_ack_is_delayed_leaves_no_timer() {
    at_every_origin(|o| {
        let config = Config { delack_segments: 2, ..plain() };
        Script::established(o, &config).run(
            "< . 1:501(500) ack 1
             is timer 200ms
             abort
             > R. 1:1(0) ack 501
             is timer none",
        );
    });
}

#[test]
fn rfc9293_3_8_3_unanswered_data_ends_the_connection() {
    at_every_origin(|o| {
        let config = Config { retries: 2, ..plain() };
        let mut t = Script::established(o, &config);
        t.run(
            "send 100
             > P. 1:101(100) ack 1
             +1s > P. 1:101(100) ack 1
             +2s > P. 1:101(100) ack 1
             +4s is state Closed
             event established
             event timed-out
             is timer none",
        );
    });
}

#[test]
fn rfc9293_3_6_both_ends_close_under_any_loss() {
    // A closes, B closes after it; or both close at once. Each packet of the close is lost once.
    for simultaneous in [false, true] {
        for lost in 0..8 {
            at_every_origin(|o| {
                let mut pair = Pair::new(o, &plain(), &plain(), ms(10));
                pair.run(ms(100));
                let mut seen = 0;
                pair.link(move |_| {
                    seen += 1;
                    if seen == lost + 1 { LinkAction::Drop } else { LinkAction::Pass }
                });
                pair.a.send(1500);
                pair.a.close();
                if simultaneous {
                    pair.conn(Side::B).close();
                } else {
                    pair.run_until(ms(10_000), |p| {
                        p.events.contains(&(Side::B, Event::PeerClosed))
                    });
                    pair.conn(Side::B).send(700);
                    pair.conn(Side::B).close();
                }
                pair.run(ms(200_000));
                for side in [Side::A, Side::B] {
                    assert_eq!(pair.conn(side).state(), State::Closed);
                    let ends = pair
                        .events
                        .iter()
                        .filter(|(s, e)| *s == side && matches!(e, Event::Closed(_)));
                    let ends: Vec<_> = ends.map(|(_, e)| *e).collect();
                    assert_eq!(ends, [Event::Closed(CloseReason::Normal)], "{side:?}");
                }
                assert_eq!(pair.conn(Side::B).info().bytes_received, 1500);
            });
        }
    }
}

#[test]
fn rfc9293_3_10_7_4_a_fin_beyond_the_window_or_below_data_is_not_taken() {
    at_every_origin(|o| {
        let small = Config { receive_buffer: lowtide_units::Bytes::new(1500), ..plain() };
        Script::established(o, &small).run(
            "< F. 1:2001(2000) ack 1
             > . 1:1(0) ack 1501 win 0
             read 1500
             > . 1:1(0) ack 1501 win 1500
             // The peer retransmits it; nothing of it was stored.
             < . 1501:2001(500) ack 1
             > . 1:1(0) ack 2001
             is state Established",
        );
        // No data can follow a FIN, so this one is invalid.
        Script::established(o, &plain()).run(
            "< . 2001:3001(1000) ack 1
             > . 1:1(0) ack 1
             < F. 1:501(500) ack 1
             > . 1:1(0) ack 501
             is state Established",
        );
    });
}

#[test]
fn rfc9293_3_8_6_a_fin_takes_its_place_in_the_window_of_the_peer() {
    at_every_origin(|o| {
        Script::active(o, &plain()).run(
            "> S 0:0(0) <mss 1000>
             send 1000
             close
             < S. 0:0(0) ack 1 win 1000 <mss 1460>
             > P. 1:1001(1000) ack 1
             < . 1:1(0) ack 1001 win 1000
             > F. 1001:1001(0) ack 1",
        );
    });
}
