//! Liveness of the peer: keep-alive (RFC 9293 §3.8.4), the user timeout (RFC 5482 §2), R2.

use lowtide_tcp::Config;
use lowtide_units::{Bytes, Duration};

use crate::common::{Script, at_every_origin, ms, plain};

fn keep_alive() -> Config {
    Config {
        keep_alive: true,
        keep_alive_idle: Duration::from_secs(100),
        keep_alive_interval: Duration::from_secs(10),
        keep_alive_count: 3,
        ..plain()
    }
}

fn user_timeout(timeout: Duration) -> Config {
    Config { user_timeout: timeout, rto_min: ms(200), ..plain() }
}

#[test]
fn rfc9293_3_8_4_keep_alive_is_off_by_default() {
    at_every_origin(|o| {
        assert!(!Config::default().keep_alive, "MUST-25");
        assert!(Config::default().keep_alive_idle >= Duration::from_secs(7200), "MUST-28");
        Script::established(o, &plain()).run("+6000min is timer none\nis state Established");
    });
}

#[test]
fn rfc9293_3_8_4_an_idle_peer_is_probed_and_its_answer_ends_that() {
    at_every_origin(|o| {
        Script::established(o, &keep_alive()).run(
            "is timer 100s
             +100s > . 0:0(0) ack 1
             is timer 10s
             +10s > . 0:0(0) ack 1
             +5s < . 1:1(0) ack 1
             is timer 100s
             +100s > . 0:0(0) ack 1
             < . 1:1(0) ack 1
             is timer 100s
             is state Established",
        );
    });
}

/// MUST-29: a single probe without an answer does not end the connection.
#[test]
fn rfc9293_3_8_4_a_silent_peer_is_given_up_after_the_last_probe() {
    at_every_origin(|o| {
        Script::established(o, &keep_alive()).run(
            "event established
             +100s > . 0:0(0) ack 1
             +10s > . 0:0(0) ack 1
             +10s > . 0:0(0) ack 1
             is state Established
             event none
             +10s > R. 1:1(0) ack 1
             is state Closed
             event keep-alive
             is timer none",
        );
    });
}

/// After data and a FIN the probe repeats the last sequence number: SND.NXT - 1.
#[test]
fn rfc9293_3_8_4_the_probe_after_data_and_in_fin_wait_2() {
    at_every_origin(|o| {
        Script::established(o, &keep_alive()).run(
            "+50s send 100
             > P. 1:101(100) ack 1
             +10ms < P. 1:51(50) ack 101
             > . 101:101(0) ack 51
             is timer 100s
             +100s > . 100:100(0) ack 51
             < . 51:51(0) ack 101
             close
             > F. 101:101(0) ack 51
             < . 51:51(0) ack 102
             is state FinWait2
             +100s > . 101:101(0) ack 51",
        );
    });
}

/// MUST-26: only if nothing of ours is outstanding; otherwise the retransmission timer runs.
#[test]
fn rfc9293_3_8_4_no_probe_while_data_is_outstanding_or_waits() {
    at_every_origin(|o| {
        let config = Config { retries: 0, rto_initial: Duration::from_secs(60), ..keep_alive() };
        let mut t = Script::established(o, &config);
        t.window = 0;
        t.run(
            "+10s < . 1:1(0) ack 1
             send 100
             is timer 1s
             +1s > . 1:2(1) ack 1",
        );
        let config = Config { keep_alive_idle: ms(50), rto_min: ms(200), ..keep_alive() };
        let mut t = Script::established(o, &config);
        t.window = 0;
        t.run("< . 1:1(0) ack 1\nsend 100\nis timer 200ms\n+200ms > . 1:2(1) ack 1");
        let mut t = Script::established(o, &Config { keep_alive_idle: ms(10), ..keep_alive() });
        t.run("send 100\n> P. 1:101(100) ack 1\nis timer 1s\n+1s > P. 1:101(100) ack 1");
    });
}

#[test]
fn rfc9293_3_8_4_time_wait_is_not_probed() {
    at_every_origin(|o| {
        let config = Config { keep_alive_idle: Duration::from_secs(5), ..keep_alive() };
        Script::established(o, &config).run(
            "close
             > F. 1:1(0) ack 1
             < F. 1:1(0) ack 2
             > . 2:2(0) ack 2
             is timer 60s
             +60s is state Closed",
        );
    });
}

/// Any acceptable segment is a sign of life; segments of blind attackers are not.
#[test]
fn rfc9293_3_8_4_segments_that_count_as_signs_of_life() {
    at_every_origin(|o| {
        Script::established(o, &keep_alive()).run(
            "+60s < P. 1:11(10) ack 1
             > . 1:1(0) ack 11
             is timer 100s
             +60s < . 11:11(0) ack 1
             is timer 100s
             +60s < S 500:500(0) -> UnexpectedSyn
             > . 1:1(0) ack 11
             < R 500:500(0) -> BadReset
             > . 1:1(0) ack 11
             < . 11:11(0) ack 500 -> AckOfUnsent
             > . 1:1(0) ack 11
             < . 90000:90000(0) ack 1 -> OutOfWindow
             > . 1:1(0) ack 11
             is timer 40s",
        );
        // An unacceptable ACK is not one either, even at a closed window with its reduced checks.
        let config = Config { receive_buffer: Bytes::new(1000), ..keep_alive() };
        Script::established(o, &config).run(
            "< . 1:1001(1000) ack 1
             > . 1:1(0) ack 1001 win 0
             +60s < . 1001:1002(1) ack -2000000000 -> OutOfWindow
             > . 1:1(0) ack 1001 win 0
             is timer 40s
             < . 1001:1002(1) ack 1 -> OutOfWindow
             > . 1:1(0) ack 1001 win 0
             is timer 100s",
        );
    });
}

#[test]
fn a_user_timeout_takes_the_place_of_the_probe_count() {
    at_every_origin(|o| {
        // Longer than three probes; it is checked when a probe is due.
        let config = Config { user_timeout: Duration::from_secs(150), ..keep_alive() };
        Script::established(o, &config).run(
            "event established
             +100s > . 0:0(0) ack 1
             +10s > . 0:0(0) ack 1
             +10s > . 0:0(0) ack 1
             +10s > . 0:0(0) ack 1
             +10s > . 0:0(0) ack 1
             +10s > R. 1:1(0) ack 1
             event keep-alive",
        );
        // Shorter than the idle time: one probe is still sent.
        let config = Config { user_timeout: Duration::from_secs(1), ..keep_alive() };
        Script::established(o, &config).run(
            "event established
             +100s > . 0:0(0) ack 1
             +10s > R. 1:1(0) ack 1
             event keep-alive",
        );
    });
}

#[test]
fn rfc5482_2_unacknowledged_data_ends_the_connection_in_time() {
    at_every_origin(|o| {
        Script::established(o, &user_timeout(ms(1500))).run(
            "event established
             +60min send 1000
             > P. 1:1001(1000) ack 1
             +200ms > P. 1:1001(1000) ack 1
             +400ms > P. 1:1001(1000) ack 1
             +800ms > P. 1:1001(1000) ack 1
             is timer 100ms
             event none
             +100ms is state Closed
             event user-timeout
             is timer none",
        );
    });
}

/// Only progress counts: each ACK of new data restarts the time, a duplicate does not.
#[test]
fn rfc5482_2_progress_begins_the_time_anew() {
    at_every_origin(|o| {
        Script::established(o, &user_timeout(ms(300))).run(
            "event established
             send 2000
             > . 1:1001(1000) ack 1 * 2
             +150ms < . 1:1(0) ack 1001
             +150ms < . 1:1(0) ack 1001
             +50ms > P. 1001:2001(1000) ack 1
             +100ms is state Closed
             event user-timeout",
        );
        // No timer runs when all data is acknowledged.
        Script::established(o, &user_timeout(ms(300))).run(
            "send 1000
             > P. 1:1001(1000) ack 1
             +100ms < . 1:1(0) ack 1001
             is timer none
             +60min send 1000
             > P. 1001:2001(1000) ack 1
             +100ms < . 1:1(0) ack 2001
             is state Established",
        );
    });
}

/// Retries have no limit while a peer answers window probes. The user timeout has one.
#[test]
fn a_closed_window_is_bounded_even_if_the_peer_answers() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &user_timeout(Duration::from_secs(1)));
        t.window = 0;
        t.run("event established\n< . 1:1(0) ack 1\n+1s send 100\nis timer 200ms");
        t.run(
            "+200ms > . 1:2(1) ack 1
             +10ms < . 1:1(0) ack 1
             +390ms > . 1:2(1) ack 1
             +10ms < . 1:1(0) ack 1
             is timer 390ms
             +390ms is state Closed
             event user-timeout",
        );
        // A window that opens ends the wait: data sent then has its own time.
        let mut t = Script::established(o, &user_timeout(ms(300)));
        t.window = 0;
        t.run(
            "< . 1:1(0) ack 1
             send 100
             +200ms > . 1:2(1) ack 1
             +50ms < . 1:1(0) ack 1 win 1000
             > P. 1:101(100) ack 1
             +200ms > P. 1:101(100) ack 1
             is state Established
             +100ms is state Closed",
        );
        // An accepted byte is progress, even that of a probe.
        let mut t = Script::established(o, &user_timeout(ms(300)));
        t.window = 0;
        t.run(
            "< . 1:1(0) ack 1
             send 100
             +200ms > . 1:2(1) ack 1
             +50ms < . 1:1(0) ack 2
             is timer 300ms
             +300ms is state Closed",
        );
    });
}

#[test]
fn rfc9293_3_10_8_the_user_timeout_in_every_state() {
    at_every_origin(|o| {
        let config = user_timeout(ms(100));
        let mut t = Script::active(o, &config);
        t.run("> S 0:0(0) <mss 1000>\nis timer 100ms\n+100ms is state Closed\nevent user-timeout");
        let mut t = Script::passive(o, &config, "S 0:0(0) <mss 1460>");
        t.run("> S. 0:0(0) ack 1 <mss 1000>\n+100ms is state Closed\nevent user-timeout");
        // Counted from the first SYN, not from the last.
        let mut t = Script::active(o, &user_timeout(ms(2500)));
        t.run("> S 0:0(0) <mss 1000>\n+1s > S 0:0(0) <mss 1000>\nis timer 1500ms");
        t.run("+1500ms is state Closed\nevent user-timeout");
        for steps in [
            "close\n> F. 1:1(0) ack 1",
            "< F. 1:1(0) ack 1\n> . 1:1(0) ack 2\nevent peer-closed\nsend 9\n> P. 1:10(9) ack 2",
            "< F. 1:1(0) ack 1\n> . 1:1(0) ack 2\nevent peer-closed\nclose\n> F. 1:1(0) ack 2",
            "close\n> F. 1:1(0) ack 1\n< F. 1:1(0) ack 1\n> . 2:2(0) ack 2\nevent peer-closed",
        ] {
            let mut t = Script::established(o, &config);
            t.run("event established");
            t.run(steps);
            t.run("+100ms is state Closed\nevent user-timeout\nis timer none");
        }
        // Nothing ends if no data waits for the peer: FIN-WAIT-2, CLOSE-WAIT, TIME-WAIT.
        for steps in [
            "close\n> F. 1:1(0) ack 1\n< . 1:1(0) ack 2",
            "< F. 1:1(0) ack 1\n> . 1:1(0) ack 2",
            "close\n> F. 1:1(0) ack 1\n< F. 1:1(0) ack 2\n> . 2:2(0) ack 2",
        ] {
            let mut t = Script::established(o, &config);
            t.run(steps);
            let state = t.fact("state");
            t.run(&format!("+1s is state {state}"));
        }
    });
}

/// R2 (RFC 9293 §3.8.3) as a count, without a user timeout.
#[test]
fn rfc9293_3_8_3_r2_ends_retransmission() {
    at_every_origin(|o| {
        let config = Config { retries: 2, rto_min: ms(200), ..plain() };
        Script::established(o, &config).run(
            "event established
             send 1000
             > P. 1:1001(1000) ack 1
             +200ms > P. 1:1001(1000) ack 1
             +400ms > P. 1:1001(1000) ack 1
             +800ms is state Closed
             event timed-out",
        );
    });
}
