//! The command on real packets, with root, namespaces. Tests without their prerequisites
//! are ignored.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tests print what they measured")]

mod bottleneck;
mod damage;
mod kernel;
mod live;
mod mixed;
mod pathologies;
mod privileges;
mod testbed;

use std::process::ExitCode;

use lowtide_test_needs::{IP, NAMESPACES, TUN, run_tests, tests};

fn main() -> ExitCode {
    run_tests([
        tests!(&[];
            bottleneck::invalid_arguments_are_rejected_with_help,
            kernel::names_and_parameters_are_checked_before_anything_is_loaded,
            damage::killed_runs_continue_to_the_results_of_a_whole_one,
            damage::damaged_results_are_noticed_or_do_no_harm,
            damage::damaged_parts_are_run_again,
            damage::files_that_cannot_grow_are_write_errors,
            damage::every_corruption_changes_the_file,
            live::invalid_arguments_are_rejected_with_help,
            privileges::unknown_users_and_root_are_refused,
            live::the_machines_own_namespace_is_refused,
            testbed::a_run_on_real_packets_fills_the_directory_of_a_simulation,
            testbed::one_scenario_is_compared_over_backends,
            testbed::queries_are_compared_over_backends,
            testbed::conflicting_options_are_rejected,
        ),
        tests!(&[NAMESPACES, TUN];
            bottleneck::two_kernels_communicate_until_a_signal_ends_it,
            bottleneck::the_network_of_a_scenario_drops_the_requested_share,
            bottleneck::it_ends_after_the_given_time,
            live::transfers_are_reported,
            live::what_was_requested_and_did_not_run_is_named,
            live::a_value_of_ecn_that_the_kernel_lacks_is_refused,
            live::a_process_that_is_killed_leaves_nothing_behind,
            live::a_host_that_was_killed_can_come_back_at_once,
            live::a_relay_resets_unreachable_targets_and_ends_on_sigterm,
            live::silent_clients_are_reset_for_new_ones_and_do_not_block_sigterm,
            pathologies::a_dctcp_sender_without_cwr_collapses_against_the_kernel,
            pathologies::a_one_sided_sender_keeps_its_window,
            pathologies::dctcp_receivers_ack_cwr_at_once_and_one_sided_ones_do_not,
            privileges::no_thread_of_a_client_keeps_a_capability,
            testbed::without_root_the_kernel_backend_names_its_needs,
            testbed::a_testbed_goes_up_runs_and_goes_down,
            testbed::only_the_remains_of_a_killed_testbed_are_removed,
        ),
        tests!(&[NAMESPACES, TUN, IP]; bottleneck::a_lost_interface_is_reported),
        tests!(&[NAMESPACES, TUN, IP, kernel::PROGRAMS];
            kernel::a_twin_is_loaded_used_and_unloaded,
            kernel::a_cgroup_selects_a_twin,
            kernel::a_control_selected_before_the_syn_starts_as_any_other,
            kernel::a_loaded_twin_is_selected_for_more_and_as_the_default,
            mixed::only_hosts_that_moved_run_the_twin,
            kernel::a_route_selects_a_twin_and_keeps_it_loaded,
            kernel::windows_never_leap_while_twins_come_and_go,
            kernel::a_one_sided_sender_keeps_its_window_against_a_plain_receiver,
            kernel::cwr::a_sender_in_the_kernel_collapses_only_without_cwr,
        ),
        tests!(&[NAMESPACES, kernel::PROGRAMS];
            kernel::refusals::missing_privileges_and_types_are_named,
            kernel::refusals::a_bpf_file_system_that_cannot_be_used_changes_nothing,
            kernel::refusals::a_program_that_the_verifier_refuses_is_reported_with_its_reason,
            kernel::refusals::a_control_of_another_program_is_left_alone,
            kernel::refusals::a_folder_that_is_no_cgroup_of_version_2_is_refused,
            kernel::refusals::a_killed_loader_leaves_nothing_that_stops_the_next,
            kernel::refusals::a_cgroup_that_was_made_again_is_selected_again,
        ),
        tests!(&[kernel::unit::SYSTEMD];
            kernel::unit::systemd_accepts_the_units,
        ),
        tests!(&[damage::TMPFS]; damage::full_disks_are_write_errors),
    ])
}
