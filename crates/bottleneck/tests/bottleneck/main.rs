//! Real TCP through the network. lowtide's uses links in memory, without privileges. The Linux
//! kernel's uses unnamed namespaces and needs root and `/dev/net/tun`; without them such tests are
//! ignored. `LOWTIDE_LIVE_MB` sets the megabytes transferred per configuration.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tests print what they measured")]

mod accecn;
mod delay;
mod ethernet;
mod ours;
mod pairs;
mod relayed;
mod setup;
mod soak;
mod world;

use std::process::ExitCode;

use lowtide_test_needs::{ACC_ECN, IP, NAMESPACES, TUN, run_tests, tests};

fn main() -> ExitCode {
    run_tests([
        tests!(&[];
            delay::dx_measures_the_actual_queueing_delay,
            ours::every_scheme_delivers_every_byte_despite_faults,
            ours::ce_and_bleach_faults_reach_the_endpoints,
            ours::dctcp_keeps_a_short_queue,
            setup::invalid_settings_are_rejected,
            setup::a_lost_host_is_reported_and_the_others_continue,
            setup::garbage_is_counted_and_dropped,
            setup::a_capture_appears_once_it_is_complete,
        ),
        tests!(&[NAMESPACES, TUN];
            ethernet::kernels_on_ethernet_resolve_each_other_and_are_marked,
            ethernet::checksum_partial_packets_are_completed_and_reported,
            pairs::ours_and_the_kernels_with_every_ecn_setting,
            pairs::ours_and_the_kernels_with_every_option,
            pairs::kernel_to_kernel,
            pairs::every_scheme_against_the_kernel,
            soak::soak,
        ),
        tests!(&[NAMESPACES, TUN, ACC_ECN]; accecn::marks_are_counted_in_both_directions),
        tests!(&[NAMESPACES, TUN, IP];
            relayed::a_relay_provides_one_sided_dctcp,
            setup::an_interface_that_goes_away_ends_its_host_only,
        ),
    ])
}
