//! The command on real packets: what needs root, namespaces or User Mode Linux. Tests without their prerequisites
//! are ignored.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod bottleneck;
mod damage;
mod live;
mod pathologies;
mod privileges;
mod testbed;
mod uml;

use std::process::ExitCode;

use lowtide_test_needs::{IP, NAMESPACES, TUN, UML, run_tests, tests};

fn main() -> ExitCode {
    run_tests([
        tests!(&[];
            bottleneck::invalid_arguments_are_rejected_with_help,
            damage::killed_runs_continue_to_the_results_of_a_whole_one,
            damage::damaged_results_are_noticed_or_do_no_harm,
            damage::damaged_parts_are_run_again,
            damage::files_that_cannot_grow_are_write_errors,
            damage::every_corruption_changes_the_file,
            live::invalid_arguments_are_rejected_with_help,
            privileges::a_user_that_there_is_not_is_refused,
            live::the_machines_own_namespace_is_left_alone,
            testbed::a_run_on_real_packets_fills_the_directory_of_a_simulation,
            testbed::one_scenario_by_several_backends_is_set_side_by_side,
            testbed::conflicting_options_are_rejected,
            uml::without_a_kernel_it_says_where_to_get_one,
        ),
        tests!(&[NAMESPACES, TUN];
            bottleneck::two_kernels_talk_through_it_until_it_is_told_to_end,
            bottleneck::the_network_of_a_scenario_loses_what_it_is_told_to,
            bottleneck::it_ends_when_its_time_is_over,
            live::a_transfer_says_what_happened_and_its_tape_replays,
            live::a_process_that_is_killed_leaves_nothing_behind,
            live::a_host_that_was_killed_can_come_back_at_once,
            live::a_relay_carries_connections_and_ends_when_it_is_told_to,
            live::silent_clients_neither_pin_a_server_nor_take_more_than_their_places,
            pathologies::a_dctcp_sender_without_cwr_collapses_against_the_kernel,
            pathologies::a_one_sided_sender_does_not,
            pathologies::dctcp_receivers_ack_cwr_at_once_and_one_sided_ones_do_not,
            privileges::no_thread_of_a_client_keeps_a_capability,
            testbed::without_root_the_kernel_backend_says_what_it_takes,
            testbed::a_testbed_comes_is_used_and_goes,
            testbed::what_a_killed_testbed_leaves_behind_is_found_and_nothing_else_is_touched,
        ),
        tests!(&[NAMESPACES, TUN, IP]; bottleneck::a_lost_interface_is_reported),
        tests!(&[damage::TMPFS]; damage::full_disks_are_write_errors),
        tests!(&[UML, uml::REGISTERS];
            uml::the_kernels_dctcp_is_there,
            uml::files_output_and_status_are_those_of_the_command,
            uml::a_machine_ends_with_whoever_booted_it,
            uml::a_scenario_runs_on_the_kernel_inside,
        ),
    ])
}
