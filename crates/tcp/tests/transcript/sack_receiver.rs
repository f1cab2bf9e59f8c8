//! SACK at the receiver: the order of blocks (RFC 2018 §4) and duplicates (RFC 2883 §4).

use lowtide_tcp::Config;

use crate::common::{Script, at_every_origin, plain};

fn sack() -> Config {
    Config { sack: true, ..plain() }
}

#[test]
fn rfc2018_4_case_2_the_first_is_lost() {
    at_every_origin(|o| {
        Script::established(o, &sack()).run(
            "< . 501:1001(500) ack 1
             > . 1:1(0) ack 1 <sack 501:1001>
             < . 1001:1501(500) ack 1
             > . 1:1(0) ack 1 <sack 501:1501>
             < . 1501:2001(500) ack 1
             > . 1:1(0) ack 1 <sack 501:2001>
             < . 1:501(500) ack 1
             > . 1:1(0) ack 2001",
        );
    });
}

#[test]
fn rfc2018_4_case_3_every_second_is_lost() {
    at_every_origin(|o| {
        Script::established(o, &sack()).run(
            "< . 1:501(500) ack 1
             > . 1:1(0) ack 501
             < . 1001:1501(500) ack 1
             > . 1:1(0) ack 501 <sack 1001:1501>
             < . 2001:2501(500) ack 1
             > . 1:1(0) ack 501 <sack 2001:2501 1001:1501>
             < . 3001:3501(500) ack 1
             > . 1:1(0) ack 501 <sack 3001:3501 2001:2501 1001:1501>
             // The fourth arrives out of order and joins two blocks.
             < . 1501:2001(500) ack 1
             > . 1:1(0) ack 501 <sack 1001:2501 3001:3501>
             // The second fills the first hole.
             < . 501:1001(500) ack 1
             > . 1:1(0) ack 2501 <sack 3001:3501>",
        );
    });
}

#[test]
fn rfc2018_4_the_latest_four_blocks_or_three_beside_timestamps() {
    at_every_origin(|o| {
        let blocks = "< . 1001:1101(100) ack 1
             > . 1:1(0) ack 1 <sack 1001:1101>
             < . 2001:2101(100) ack 1
             > . 1:1(0) ack 1 <sack 2001:2101 1001:1101>
             < . 3001:3101(100) ack 1
             > . 1:1(0) ack 1 <sack 3001:3101 2001:2101 1001:1101>
             < . 4001:4101(100) ack 1";
        Script::established(o, &sack()).run(&format!(
            "{blocks}
             > . 1:1(0) ack 1 <sack 4001:4101 3001:3101 2001:2101 1001:1101>
             < . 5001:5101(100) ack 1
             > . 1:1(0) ack 1 <sack 5001:5101 4001:4101 3001:3101 2001:2101>
             // An old block that grows becomes the latest one.
             < . 1101:1201(100) ack 1
             > . 1:1(0) ack 1 <sack 1001:1201 5001:5101 4001:4101 3001:3101>"
        ));
        Script::established(o, &Config { timestamps: true, ..sack() }).run(&format!(
            "{blocks}
             > . 1:1(0) ack 1 <sack 4001:4101 3001:3101 2001:2101>"
        ));
    });
}

#[test]
fn rfc2018_3_data_that_leaves_meanwhile_carries_no_blocks() {
    at_every_origin(|o| {
        Script::established(o, &sack()).run(
            "< . 1001:2001(1000) ack 1
             > . 1:1(0) ack 1 <sack 1001:2001>
             // A full segment has no room for them.
             send 1000
             > P. 1:1001(1000) ack 1
             < . 2001:3001(1000) ack 1
             > . 1001:1001(0) ack 1 <sack 1001:3001>",
        );
        // Both are due at once: the blocks are sent first, in a separate ACK.
        Script::established(o, &sack()).run(
            "send 11000
             > . 1:1001(1000) ack 1 * 10
             < . 1001:2001(1000) ack 1001
             > . 10001:10001(0) ack 1 <sack 1001:2001>
             > P. 10001:11001(1000) ack 1",
        );
    });
}

#[test]
fn rfc2018_2_no_blocks_for_a_peer_that_did_not_ask() {
    at_every_origin(|o| {
        Script::opened(o, &sack(), "S. 0:0(0) ack 1 <mss 1460>").run(
            "< . 1001:2001(1000) ack 1
             > . 1:1(0) ack 1
             < . 1001:2001(1000) ack 1
             > . 1:1(0) ack 1",
        );
    });
}

#[test]
fn rfc2883_4_1_1_a_duplicate_is_reported_once() {
    at_every_origin(|o| {
        Script::established(o, &sack()).run(
            "< . 1:501(500) ack 1
             > . 1:1(0) ack 501
             < . 501:1001(500) ack 1
             > . 1:1(0) ack 1001
             < . 1:501(500) ack 1 -> OutOfWindow
             > . 1:1(0) ack 1001 <sack 1:501>
             < . 1001:1501(500) ack 1
             > . 1:1(0) ack 1501",
        );
    });
}

#[test]
fn rfc2883_4_1_2_a_duplicate_below_a_gap_is_followed_by_the_blocks() {
    at_every_origin(|o| {
        Script::established(o, &sack()).run(
            "< . 1:501(500) ack 1
             > . 1:1(0) ack 501
             < . 1001:1501(500) ack 1
             > . 1:1(0) ack 501 <sack 1001:1501>
             < . 1501:2001(500) ack 1
             > . 1:1(0) ack 501 <sack 1001:2001>
             < . 1:501(500) ack 1 -> OutOfWindow
             > . 1:1(0) ack 501 <sack 1:501 1001:2001>
             < . 501:1001(500) ack 1
             > . 1:1(0) ack 2001",
        );
    });
}

#[test]
fn rfc2883_4_1_3_a_duplicate_beyond_a_gap_is_followed_by_the_block_that_holds_it() {
    at_every_origin(|o| {
        Script::established(o, &sack()).run(
            "< . 501:1001(500) ack 1
             > . 1:1(0) ack 1 <sack 501:1001>
             < . 1001:1501(500) ack 1
             > . 1:1(0) ack 1 <sack 501:1501>
             < . 2001:2501(500) ack 1
             > . 1:1(0) ack 1 <sack 2001:2501 501:1501>
             < . 501:1001(500) ack 1
             > . 1:1(0) ack 1 <sack 501:1001 501:1501 2001:2501>",
        );
    });
}

#[test]
fn rfc2883_4_2_the_old_part_of_a_segment_is_reported() {
    at_every_origin(|o| {
        Script::established(o, &sack()).run(
            "< . 1:501(500) ack 1
             > . 1:1(0) ack 501
             < . 1:1001(1000) ack 1
             > . 1:1(0) ack 1001 <sack 1:501>
             // And the block above the next hole.
             < . 1501:2001(500) ack 1
             > . 1:1(0) ack 1001 <sack 1501:2001>
             < . 501:1201(700) ack 1
             > . 1:1(0) ack 1201 <sack 501:1001 1501:2001>",
        );
    });
}

#[test]
fn rfc2883_4_2_3_of_parts_beyond_a_gap_the_first_is_reported() {
    at_every_origin(|o| {
        Script::established(o, &sack()).run(
            "< . 501:1001(500) ack 1
             > . 1:1(0) ack 1 <sack 501:1001>
             < . 1501:2001(500) ack 1
             > . 1:1(0) ack 1 <sack 1501:2001 501:1001>
             < . 501:2001(1500) ack 1
             > . 1:1(0) ack 1 <sack 501:1001 501:2001>
             // The segment that fills the hole overlaps data already held.
             < . 1:701(700) ack 1
             > . 1:1(0) ack 2001 <sack 501:701>",
        );
    });
}

#[test]
fn rfc2883_4_the_switch_dsack_ends_the_reports() {
    at_every_origin(|o| {
        Script::established(o, &Config { dsack: false, ..sack() }).run(
            "< . 1:501(500) ack 1
             > . 1:1(0) ack 501
             < . 1:501(500) ack 1 -> OutOfWindow
             > . 1:1(0) ack 501
             < . 1001:1501(500) ack 1
             > . 1:1(0) ack 501 <sack 1001:1501>
             < . 1001:1501(500) ack 1
             > . 1:1(0) ack 501 <sack 1001:1501>",
        );
    });
}
