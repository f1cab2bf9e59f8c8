//! Real TCP through the network: lowtide's over a line in memory, which needs no right at all, and the Linux kernel's in
//! namespaces without a name, which needs root and `/dev/net/tun`; without them such tests are ignored. `LOWTIDE_LIVE_MB` sets how many megabytes are moved through each setting.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

mod delay;
mod ethernet;
mod ours;
mod pairs;
mod relayed;
mod setup;
mod soak;
mod world;

use std::process::ExitCode;

use lowtide_test_needs::{IP, NAMESPACES, TUN, run_tests, tests};

fn main() -> ExitCode {
    run_tests([
        tests!(&[];
            delay::dx_measures_the_queue_that_is_there,
            ours::every_scheme_moves_its_bytes_whatever_happens_to_packets,
            ours::marks_and_their_absence_are_what_the_faults_say,
            ours::dctcp_keeps_a_short_queue,
            setup::invalid_settings_are_rejected,
            setup::a_lost_host_is_reported_and_the_others_go_on,
            setup::garbage_is_counted_and_dropped,
            setup::a_capture_appears_once_it_is_complete,
        ),
        tests!(&[NAMESPACES, TUN];
            ethernet::kernels_on_ethernets_find_each_other_and_are_marked,
            ethernet::checksum_partial_packets_are_completed_and_reported,
            pairs::ours_and_the_kernels_whatever_their_ecn,
            pairs::ours_and_the_kernels_whatever_their_options,
            pairs::the_kernels_among_themselves,
            pairs::every_scheme_of_ours_and_the_kernels_ecn,
            soak::soak,
        ),
        tests!(&[NAMESPACES, TUN, IP];
            relayed::a_relay_gives_one_sided_dctcp_to_a_host_that_has_none,
            setup::an_interface_that_goes_away_ends_its_host_only,
        ),
    ])
}
