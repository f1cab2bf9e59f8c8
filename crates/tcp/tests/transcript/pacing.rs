//! Pacing (switch `pacing`): departure of data that the window permits.

use lowtide_tcp::scheme;
use lowtide_tcp::switches;

use crate::common::{Origin, Script, at_every_origin, plain};

/// Ten segments of 1040 B; the round trip of the handshake is 10 ms.
fn paced(o: Origin, value: &str, scheme: &str) -> Script {
    let mut config = plain();
    let scheme = scheme::REGISTRY.find(scheme).expect("a scheme");
    scheme.apply(&mut config).expect("its switches");
    switches::set_text(&mut config, "pacing", value).expect("a switch");
    Script::established(o, &config)
}

#[test]
fn rfc5681_3_1_two_windows_per_round_trip_in_slow_start() {
    at_every_origin(|o| {
        // 2 x 10000 B in 10 ms.
        paced(o, "window", "sack").run(
            "is rate 16000000
             send 3000
             > . 1:1001(1000) ack 1
             is limited Cwnd
             is timer 520us
             +520us > . 1001:2001(1000) ack 1
             +520us > P. 2001:3001(1000) ack 1
             is limited Application",
        );
    });
}

#[test]
fn rfc5681_3_1_a_fifth_more_than_a_window_later() {
    at_every_origin(|o| {
        let mut t = paced(o, "window", "ecn");
        t.run(
            "send 30000
             > [ect0] . 1:1001(1000) ack 1",
        );
        for _ in 1..10 {
            t.advance(t.now + lowtide_units::Duration::from_us(520));
            assert!(t.drop_sent());
        }
        // 10 ms after the first. The mark halves the window; more data than that is in flight: 1.2
        // x 9000 B in 10 ms.
        t.run(
            "+5320us < E. 1:1(0) ack 1001
             is cwnd 5000
             is ssthresh 5000
             is flight 9000
             is rate 8640000",
        );
    });
}

#[test]
fn off_and_control_do_not_pace_a_control_without_a_rate() {
    at_every_origin(|o| {
        for value in ["off", "control"] {
            paced(o, value, "sack").run(
                "is rate none
                 send 10000
                 > . 1:1001(1000) ack 1 * 10",
            );
        }
    });
}

/// Found by the adversary: waiting data was acknowledged, and the pacing timer kept running.
#[test]
fn acknowledged_data_in_the_pacer_leaves_no_timer() {
    at_every_origin(|o| {
        paced(o, "window", "sack").run(
            "send 5000
             > . 1:1001(1000) ack 1
             close
             +520us > . 1001:2001(1000) ack 1
             +520us > . 2001:3001(1000) ack 1
             +520us > . 3001:4001(1000) ack 1
             +520us > FP. 4001:5001(1000) ack 1
             // The first is lost, and is retransmitted in 420 us.
             +100us < . 1:1(0) ack 1 <sack 1001:5002>
             is recovery true
             is timer 420us
             +100us < F. 1:1(0) ack 5002
             > . 5002:5002(0) ack 2
             is state TimeWait
             +1ms is timer 59999ms",
        );
    });
}

/// Linux's TCP small queues: a driver whose queue has enough data of a connection.
#[test]
fn a_driver_holds_only_data() {
    at_every_origin(|o| {
        let mut t = paced(o, "off", "sack");
        let until = t.now + lowtide_units::Duration::from_us(700);
        t.app(|c| c.hold_data_until(until));
        t.run(
            "send 2000
             is limited HostQueue
             is timer 700us
             < . 1:1001(1000) ack 1
             > . 1:1(0) ack 1001
             +700us > . 1:1001(1000) ack 1001
             > P. 1001:2001(1000) ack 1001
             is limited Application",
        );
    });
}

#[test]
fn the_window_does_not_grow_while_the_driver_limits() {
    at_every_origin(|o| {
        let mut t = paced(o, "off", "sack");
        t.run(
            "send 3000
             > . 1:1001(1000) ack 1 * 2
             > P. 2001:3001(1000) ack 1",
        );
        let until = t.now + lowtide_units::Duration::from_ms(1);
        t.app(|c| c.hold_data_until(until));
        t.run(
            "send 27000
             is limited HostQueue
             < . 1:1(0) ack 1001
             is cwnd 10000
             +1ms > . 3001:4001(1000) ack 1 * 8
             is limited Cwnd
             < . 1:1(0) ack 2001
             is cwnd 11000
             > . 11001:12001(1000) ack 1 * 2",
        );
    });
}
