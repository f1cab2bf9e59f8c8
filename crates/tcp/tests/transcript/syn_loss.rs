//! Lost SYNs and SYN-ACKs: RFC 6298 §5, RFC 5681 §3.1, RFC 6928 §2.

use lowtide_tcp::{Config, HandshakeRtt, State};

use crate::common::{LinkAction, Origin, Pair, Script, Side, at_every_origin, modern, ms, plain};

#[test]
fn rfc6298_5_syn_backs_off_and_gives_up() {
    at_every_origin(|o| {
        let config = Config { syn_retries: 3, ..plain() };
        Script::active(o, &config).run(
            "> S 0:0(0) <mss 1000>
             +1s > S 0:0(0) <mss 1000>
             +2s > S 0:0(0) <mss 1000>
             +4s > S 0:0(0) <mss 1000>
             +8s is state Closed
             event timed-out
             is timer none",
        );
    });
}

#[test]
fn rfc6298_5_syn_ack_backs_off_and_gives_up() {
    at_every_origin(|o| {
        let config = Config { syn_retries: 2, ..plain() };
        Script::passive(o, &config, "S 0:0(0) <mss 1460>").run(
            "> S. 0:0(0) ack 1 <mss 1000>
             +1s > S. 0:0(0) ack 1 <mss 1000>
             +2s > S. 0:0(0) ack 1 <mss 1000>
             +4s is state Closed
             event timed-out
             is timer none",
        );
    });
}

#[test]
fn rfc6298_5_7_a_lost_syn_means_three_seconds() {
    at_every_origin(|o| {
        let mut t = Script::active(o, &plain());
        t.run(
            "> S 0:0(0) <mss 1000>
             +1s > S 0:0(0) <mss 1000>
             +10ms < S. 0:0(0) ack 1 <mss 1460>
             > . 1:1(0) ack 1
             is srtt none
             is rto 3s
             // One loss may have been a timeout that was too short (RFC 6928 §2).
             is cwnd 10000
             send 1000
             > P. 1:1001(1000) ack 1
             is timer 3s",
        );
    });
}

/// Linux tcp_ack_update_rtt: Karn's algorithm leaves no sample, the echoed timestamp does.
#[test]
fn a_lost_syn_with_timestamps_gives_a_sample_where_that_is_chosen() {
    at_every_origin(|o| {
        let config = Config {
            timestamps: true,
            handshake_rtt: HandshakeRtt::Timestamps,
            tail_loss_probe: true,
            sack: true,
            ..plain()
        };
        let mut t = Script::active(o, &config);
        t.run(
            "> S 0:0(0) <mss 1000,sackOK,TS val 0 ecr 0>
             +1s > S 0:0(0) <mss 1000,sackOK,TS val 1000 ecr 0>
             +20ms < S. 0:0(0) ack 1 <mss 1460,sackOK,TS val 1 ecr 1000>
             > . 1:1(0) ack 1 <TS val 1020 ecr 1>
             is srtt 20ms",
        );
    });
}

/// RFC 6298 §5.7 without RFC 8985 §7.2: no probe timer runs that could send nothing.
#[test]
fn without_a_sample_no_probe_timer_puts_off_the_retransmission() {
    at_every_origin(|o| {
        let config = Config { tail_loss_probe: true, sack: true, ..plain() };
        let mut t = Script::active(o, &config);
        t.run(
            "> S 0:0(0) <mss 1000,sackOK>
             +1s > S 0:0(0) <mss 1000,sackOK>
             +10ms < S. 0:0(0) ack 1 <mss 1460,sackOK>
             > . 1:1(0) ack 1
             is srtt none
             send 1000
             > P. 1:1001(1000) ack 1
             is timer 3s
             +3s > P. 1:1001(1000) ack 1",
        );
    });
}

#[test]
fn rfc6928_2_a_syn_lost_twice_means_one_segment() {
    at_every_origin(|o| {
        let mut t = Script::active(o, &plain());
        t.run(
            "> S 0:0(0) <mss 1000>
             +1s > S 0:0(0) <mss 1000>
             +2s > S 0:0(0) <mss 1000>
             +10ms < S. 0:0(0) ack 1 <mss 1460>
             > . 1:1(0) ack 1
             is cwnd 1000
             send 5000
             > . 1:1001(1000) ack 1
             is timer 3s",
        );
    });
}

#[test]
fn rfc6928_2_a_repeated_syn_gives_no_sample_and_keeps_the_window() {
    at_every_origin(|o| {
        let mut t = Script::passive(o, &plain(), "S 0:0(0) <mss 1460>");
        t.run(
            "> S. 0:0(0) ack 1 <mss 1000>
             +600ms < S 0:0(0) <mss 1460> -> BadHandshake
             > S. 0:0(0) ack 1 <mss 1000>
             // It may answer either SYN-ACK (Karn): no sample.
             +100ms < . 1:1(0) ack 1
             is srtt none
             is cwnd 10000
             is rto 3s",
        );
    });
}

#[test]
fn rfc5681_3_1_both_ends_of_a_lossy_handshake_agree() {
    // Each of the three packets of the handshake is lost once.
    for lost in 0..3 {
        at_every_origin(|o: Origin| {
            let mut pair = Pair::new(o, &modern(), &modern(), ms(10));
            let mut seen = 0;
            pair.link(move |_| {
                seen += 1;
                if seen == lost + 1 { LinkAction::Drop } else { LinkAction::Pass }
            });
            pair.run_until(ms(10_000), |p| p.b.is_some());
            pair.conn(Side::B).send(20_000);
            pair.run_until(ms(10_000), |p| p.b.as_ref().is_some_and(|b| b.acked_upto() == 20_000));
            assert_eq!(pair.a.info().state, State::Established);
        });
    }
}
