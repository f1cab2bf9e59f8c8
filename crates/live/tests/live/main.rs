//! lowtide's TCP against the Linux kernel's, in unnamed network namespaces. Each test creates its
//! own, which ends with the test. The tests need root and `/dev/net/tun`; without them they are
//! ignored. `LOWTIDE_LIVE_MB` sets the megabytes of a bulk transfer.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]
#![expect(clippy::disallowed_methods, reason = "the kernel's ends are threads")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tests print what they measured")]

mod admission;
mod bulk;
mod closing;
mod crowd;
mod forward;
mod many;
mod packet;
mod relay;
mod schedule;
mod setup;
mod world;

use std::process::ExitCode;

use lowtide_test_needs::{ACC_ECN, IP, NAMESPACES, TUN, run_tests, tests};

fn main() -> ExitCode {
    run_tests([
        tests!(&[NAMESPACES, TUN];
            bulk::every_pair_of_ecn_settings,
            bulk::every_option_on_and_off_at_either_end,
            bulk::every_profile_and_scheme,
            closing::half_closed_connections_still_send,
            closing::both_ends_may_close_at_once,
            closing::a_reset_is_an_error_at_the_other_end,
            closing::a_slow_reader_closes_the_window_and_opens_it_again,
            forward::two_lowtide_hosts_exchange_data_over_a_router,
            forward::a_router_that_says_too_big_lowers_the_mss,
            many::many_short_connections_leave_nothing_behind,
            many::one_thread_serves_many_with_a_poller,
            packet::a_veth_pair_carries_every_byte,
            packet::every_byte_arrives_without_a_ring_or_with_a_small_one,
            packet::a_ring_that_cannot_be_made_is_reported,
            packet::checksum_partial_packets_are_completed_and_counted,
            packet::gso_packets_are_taken_whole_with_offload,
            packet::an_existing_tun_interface_carries_every_byte,
            packet::tun_with_offload_carries_every_byte,
            packet::off_link_packets_go_via_the_gateway,
            packet::setup_errors_name_their_cause,
            schedule::flows_start_on_schedule_in_their_direction,
            schedule::flows_not_started_at_stop_are_not_opened,
            setup::names_networks_and_ports_in_use_are_reported,
            setup::connecting_needs_an_address_of_the_family,
        ),
        tests!(&[NAMESPACES, TUN, IP];
            admission::a_server_serves_beside_silent_clients,
            admission::a_server_serves_beside_trickling_clients,
            admission::a_server_serves_beside_clients_that_never_read,
            admission::a_server_serves_beside_chatty_clients,
            admission::a_relay_serves_beside_silent_clients,
            admission::a_relay_serves_beside_trickling_clients,
            admission::a_relay_serves_beside_chatty_clients,
            admission::a_relay_serves_beside_clients_of_a_silent_target,
            packet::a_forged_address_is_replaced_within_seconds,
            relay::bytes_and_half_closes_are_forwarded,
            relay::a_refusing_or_silent_target_resets_the_client,
            relay::a_reset_of_one_side_resets_the_other,
            relay::memory_is_bounded_with_a_slow_reader,
            relay::connections_beyond_the_limit_wait_to_be_accepted,
            relay::many_at_a_time,
            relay::idle_connections_are_reset_and_busy_ones_are_not,
            relay::shutdown_drains_connections_then_resets,
            relay::a_lost_device_ends_the_relay_with_an_error,
            setup::an_interface_that_is_down_for_a_while_only_loses_packets,
            setup::an_interface_that_goes_away_ends_everything_with_an_error,
        ),
        tests!(&[NAMESPACES, TUN, ACC_ECN]; bulk::both_ends_agree_on_accurate_ecn),
        tests!(&[NAMESPACES, TUN, crowd::DESCRIPTORS]; crowd::many_connections_open_echo_and_close),
    ])
}
