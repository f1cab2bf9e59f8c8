//! The echo of CE: the latch of RFC 3168 §6.1.3.

use lowtide_tcp::{Config, EcnWish};

use crate::common::{Script, everywhere, plain};

#[test]
fn rfc3168_6_1_3_ece_on_every_ack_until_cwr() {
    everywhere(|o| {
        Script::accepted(o, &Config { ecn: EcnWish::Passive, ..plain() }).run(
            "< [ect0] . 1:1001(1000) ack 1
             > . 1:1(0) ack 1001
             < [ce] . 1001:2001(1000) ack 1
             > E. 1:1(0) ack 2001
             < [ect0] . 2001:3001(1000) ack 1
             > E. 1:1(0) ack 3001
             < . 3001:4001(1000) ack 1
             > E. 1:1(0) ack 4001
             < [ect0] W. 4001:5001(1000) ack 1
             > . 1:1(0) ack 5001",
        );
    });
}
