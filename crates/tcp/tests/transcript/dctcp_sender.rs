//! DCTCP's window (RFC 8257 §3.3 to §3.5): the input from the connection, ACK by ACK.

use lowtide_tcp::scheme;
use lowtide_tcp::{Config, switches};

use crate::common::{Origin, Script, at_every_origin, plain};

fn dctcp() -> Config {
    let mut config = plain();
    let scheme = scheme::REGISTRY.find("dctcp").expect("a scheme");
    scheme.apply(&mut config).expect("its switches");
    config
}

/// Ten segments in flight, more waiting.
fn ten_in_flight(o: Origin, config: &Config) -> Script {
    let mut t = Script::established(o, config);
    t.run("send 90000\n> [ect0] . 1:1001(1000) ack 1 * 10");
    t
}

#[test]
fn rfc8257_3_3_alpha_is_one_at_first_so_the_first_mark_halves() {
    at_every_origin(|o| {
        ten_in_flight(o, &dctcp()).run(
            "is alpha 1024
             < E. 1:1(0) ack 1001
             is alpha 1024
             is cwnd 5000
             is ssthresh 5000
             is ce 1000
             // Once per window of data, and CWR on its first new data.
             < E. 1:1(0) ack 3001
             is cuts 1
             is ce 3000
             < . 1:1(0) ack 6001
             > [ect0] W. 10001:11001(1000) ack 1
             > [ect0] . 11001:12001(1000) ack 1",
        );
        let mut config = dctcp();
        switches::set_text(&mut config, "dctcp.initial-alpha", "0").expect("a switch");
        // From zero, one ACK is a separate round: alpha is 1/16, and the cut is 1/32.
        ten_in_flight(o, &config).run(
            "< E. 1:1(0) ack 1001
             is alpha 64
             is cwnd 9688",
        );
    });
}

#[test]
fn rfc8257_3_3_alpha_takes_the_ack_in_before_the_cut() {
    at_every_origin(|o| {
        ten_in_flight(o, &dctcp()).run(
            "< E. 1:1(0) ack 1001
             is cwnd 5000
             // The round ends at the first ACK beyond 10001.
             < . 1:1(0) ack 6001
             > [ect0] W. 10001:11001(1000) ack 1
             > [ect0] . 11001:12001(1000) ack 1
             is cwnd 6000
             < . 1:1(0) ack 10001
             is alpha 1024
             is cwnd 6000
             > [ect0] . 12001:13001(1000) ack 1 * 4
             // 1000 of 10000 B were marked: 1024 + (102.4 - 1024) / 16 = 966; the cut is 966/2048.
             < E. 1:1(0) ack 11001
             is alpha 966
             is cuts 2
             is cwnd 3169
             is ssthresh 3169",
        );
    });
}

#[test]
fn rfc8257_3_3_alpha_goes_to_zero_without_marks() {
    at_every_origin(|o| {
        let mut t = ten_in_flight(o, &dctcp());
        let mut una = 1;
        let mut last = 1024;
        for _ in 0..6 {
            // All data in flight at once: one round each. The application has 90000 B.
            una = una.max(1) + t.conn.info().in_flight;
            t.inject(&format!(". 1:1(0) ack {una}")).expect("an ACK");
            while t.drop_sent() {}
            let alpha: u64 = t.fact("alpha").parse().expect("a number");
            assert!(alpha <= last - last / 16, "{alpha} after {last}");
            last = alpha;
        }
        assert_eq!(last, 695);
    });
}

#[test]
fn rfc8257_3_5_a_loss_halves_for_any_alpha() {
    at_every_origin(|o| {
        let mut config = dctcp();
        switches::set_text(&mut config, "dctcp.initial-alpha", "100").expect("a switch");
        ten_in_flight(o, &config).run(
            "< . 1:1(0) ack 1 <sack 1001:4001>
             > [ect0] . 1:1001(1000) ack 1
             is cwnd 5000
             is ssthresh 5000
             is alpha 100",
        );
        ten_in_flight(o, &config).run(
            "+1s > [ect0] . 1:1001(1000) ack 1
             is cwnd 1000
             is ssthresh 5000
             is alpha 100",
        );
    });
}

#[test]
fn rfc8257_3_without_ecn_it_is_newreno() {
    at_every_origin(|o| {
        let mut t = Script::opened(o, &dctcp(), "S. 0:0(0) ack 1 <mss 1460,sackOK>");
        t.run(
            "send 90000
             > [noecn] . 1:1001(1000) ack 1 * 10
             < E. 1:1(0) ack 2001
             is cwnd 12000
             > [noecn] . 10001:11001(1000) ack 1 * 4
             is cuts 0",
        );
    });
}
