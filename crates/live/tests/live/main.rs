//! lowtide's TCP against the Linux kernel's, in network namespaces without a name: each test makes its own, and it
//! is gone with the test, whatever ends it. Needs root and `/dev/net/tun`; without them the tests are ignored.
//! `LOWTIDE_LIVE_MB` sets how many megabytes a bulk transfer has.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]
#![expect(clippy::disallowed_methods, reason = "the kernel's ends are threads")]

mod bulk;
mod closing;
mod crowd;
mod forward;
mod many;
mod packet;
mod relay;
mod schedule;
mod setup;
mod taped;
mod world;

use std::process::ExitCode;

use lowtide_test_needs::{ACC_ECN, IP, NAMESPACES, TUN, run_tests, tests};

fn main() -> ExitCode {
    run_tests([
        tests!(&[NAMESPACES, TUN];
            bulk::every_pair_of_ecn_settings,
            bulk::every_option_on_and_off_at_either_end,
            bulk::every_profile_and_scheme,
            closing::each_end_goes_on_sending_after_the_other_has_closed,
            closing::both_ends_may_close_at_once,
            closing::a_reset_is_an_error_at_the_other_end,
            closing::a_slow_reader_closes_the_window_and_opens_it_again,
            forward::two_of_us_talk_to_each_other,
            forward::a_router_that_says_too_big_lowers_the_mss,
            many::many_short_connections_leave_nothing_behind,
            many::one_thread_serves_many_by_a_poller,
            packet::a_veth_pair_carries_every_byte,
            packet::what_a_peer_with_offloads_leaves_undone_is_done_and_counted,
            packet::what_a_peer_with_offloads_leaves_undone_is_taken_as_it_is_where_that_is_wanted,
            packet::a_tun_interface_of_somebody_else_carries_every_byte,
            packet::with_offload_several_segments_are_one_packet_and_every_byte_is_right,
            packet::beyond_the_network_is_by_the_gateway,
            packet::what_stands_in_the_way_is_said,
            schedule::each_begins_when_it_is_to_and_goes_its_own_way,
            schedule::what_has_not_begun_when_all_is_stopped_is_not_opened,
            setup::what_is_taken_is_said,
            setup::without_an_address_of_its_family_there_is_no_way,
            taped::a_replay_gives_every_answer_again,
        ),
        tests!(&[NAMESPACES, TUN, IP];
            relay::bytes_and_the_ends_of_both_directions_are_carried,
            relay::a_target_that_refuses_or_says_nothing_resets_whoever_came,
            relay::a_reset_of_one_side_resets_the_other,
            relay::memory_is_bounded_whoever_reads_slowly,
            relay::those_beyond_the_limit_wait_and_then_come_in,
            relay::many_at_a_time,
            relay::idle_connections_are_reset_and_busy_ones_are_not,
            relay::the_end_lets_connections_end,
            relay::without_its_device_it_ends_with_an_error,
            setup::an_interface_that_is_down_for_a_while_loses_packets_and_no_more,
            setup::an_interface_that_goes_away_ends_everything_with_an_error,
        ),
        tests!(&[NAMESPACES, TUN, ACC_ECN]; bulk::both_ends_agree_on_accurate_ecn),
        tests!(&[NAMESPACES, TUN, crowd::DESCRIPTORS]; crowd::a_crowd_comes_talks_and_goes),
    ])
}
