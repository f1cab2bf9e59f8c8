//! SYN and SYN-ACK that are lost: RFC 6298 §5, RFC 5681 §3.1.

use lowtide_tcp::{Config, State};

use crate::common::{Fate, Origin, Pair, Script, Side, everywhere, modern, ms, plain};

#[test]
fn rfc6298_5_syn_backs_off_and_gives_up() {
    everywhere(|o| {
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
    everywhere(|o| {
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
fn rfc6298_5_7_a_lost_syn_means_three_seconds_and_one_segment() {
    everywhere(|o| {
        let mut t = Script::active(o, &plain());
        t.run(
            "> S 0:0(0) <mss 1000>
             +1s > S 0:0(0) <mss 1000>
             +10ms < S. 0:0(0) ack 1 <mss 1460>
             > . 1:1(0) ack 1
             is srtt none
             is rto 3s
             is cwnd 1000
             send 5000
             > . 1:1001(1000) ack 1
             is timer 3s",
        );
    });
}

#[test]
fn rfc5681_3_1_a_repeated_syn_means_a_lost_syn_ack() {
    everywhere(|o| {
        let mut t = Script::passive(o, &plain(), "S 0:0(0) <mss 1460>");
        t.run(
            "> S. 0:0(0) ack 1 <mss 1000>
             +600ms < S 0:0(0) <mss 1460> -> BadHandshake
             > S. 0:0(0) ack 1 <mss 1000>
             // Which SYN-ACK it answers nobody knows (Karn): no sample.
             +100ms < . 1:1(0) ack 1
             is srtt none
             is cwnd 1000
             is rto 3s",
        );
    });
}

#[test]
fn rfc5681_3_1_both_ends_of_a_lossy_handshake_agree() {
    // Each of the three packets of the handshake is lost once.
    for lost in 0..3 {
        everywhere(|o: Origin| {
            let mut pair = Pair::new(o, &modern(), &modern(), ms(10));
            let mut seen = 0;
            pair.link(move |_| {
                seen += 1;
                if seen == lost + 1 { Fate::Drop } else { Fate::Pass }
            });
            pair.run_until(ms(10_000), |p| p.b.is_some());
            pair.conn(Side::B).send(20_000);
            pair.run_until(ms(10_000), |p| p.b.as_ref().is_some_and(|b| b.acked_upto() == 20_000));
            assert_eq!(pair.a.info().state, State::Established);
        });
    }
}
