//! RST: accepted and rejected cases (RFC 9293 §3.5.2, §3.5.3, §3.10.7.4).

use lowtide_tcp::{Config, RstAccept};

use crate::common::{Script, at_every_origin, plain};

#[test]
fn rfc9293_3_5_3_a_reset_in_the_window_ends_the_connection() {
    at_every_origin(|o| {
        for (rst_accept, at) in
            [(RstAccept::Exact, 1), (RstAccept::InWindow, 2), (RstAccept::InWindow, 60_000)]
        {
            Script::established(o, &Config { rst_accept, ..plain() }).run(&format!(
                "event established
                 < R {at}:{at}(0)
                 is state Closed
                 event reset
                 event none
                 is timer none
                 < . 1:1(0) ack 1 -> Closed"
            ));
        }
    });
}

#[test]
fn rfc9293_3_5_3_a_reset_outside_the_window_is_ignored_in_silence() {
    at_every_origin(|o| {
        for at in [0, -1, -70_000, 5_000_000] {
            Script::established(o, &plain()).run(&format!(
                "< R {at}:{at}(0) -> OutOfWindow
                 is state Established"
            ));
        }
    });
}

#[test]
fn rfc9293_3_10_7_4_a_reset_while_data_is_in_flight() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "event established
             send 2000
             > . 1:1001(1000) ack 1 * 2
             < R. 1:1(0) ack 1001
             is state Closed
             event reset
             is timer none",
        );
    });
}

#[test]
fn rfc9293_3_10_7_4_a_reset_counts_at_a_closed_window() {
    at_every_origin(|o| {
        let config = Config { receive_buffer: lowtide_units::Bytes::new(1000), ..plain() };
        Script::established(o, &config).run(
            "< . 1:1001(1000) ack 1
             > . 1:1(0) ack 1001 win 0
             < R 1002:1002(0) -> OutOfWindow
             < R 1001:1001(0)
             is state Closed",
        );
    });
}

#[test]
fn rfc9293_3_10_7_4_a_reset_in_each_closing_state() {
    at_every_origin(|o| {
        // Both streams are complete except for the ACK of our FIN: no data was lost.
        for (steps, seq, event) in [
            ("close\n> F. 1:1(0) ack 1", 1, "reset"),
            ("close\n> F. 1:1(0) ack 1\n< . 1:1(0) ack 2", 1, "reset"),
            ("< F. 1:1(0) ack 1\n> . 1:1(0) ack 2\nevent peer-closed", 2, "reset"),
            (
                "close\n> F. 1:1(0) ack 1\n< F. 1:1(0) ack 1\n> . 2:2(0) ack 2\nevent peer-closed",
                2,
                "closed",
            ),
            (
                "< F. 1:1(0) ack 1\n> . 1:1(0) ack 2\nevent peer-closed\nclose\n> F. 1:1(0) ack 2",
                2,
                "closed",
            ),
            // Data of ours was not acknowledged: the close is not normal.
            (
                "< F. 1:1(0) ack 1\n> . 1:1(0) ack 2\nevent peer-closed\nsend 10\n> P. 1:11(10) ack 2
                 close\n> F. 11:11(0) ack 2",
                2,
                "reset",
            ),
        ] {
            let mut t = Script::established(o, &plain());
            t.run("event established");
            t.run(steps);
            t.run(&format!("< R {seq}:{seq}(0)\nis state Closed\nevent {event}\nevent none"));
        }
    });
}

#[test]
fn rfc9293_3_10_7_4_an_ack_of_the_future_is_answered_with_an_ack() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "send 1000
             > P. 1:1001(1000) ack 1
             < P. 1:101(100) ack 1002 -> AckOfUnsent
             > . 1001:1001(0) ack 1
             is acked 0
             is received 0
             // Half the sequence space away in either direction.
             < . 1:1(0) ack 2000000000 -> AckOfUnsent
             > . 1001:1001(0) ack 1
             < . 1:1(0) ack -2000000000 -> OldAck
             > . 1001:1001(0) ack 1
             is acked 0
             < . 1:1(0) ack 1001
             is acked 1000",
        );
    });
}
