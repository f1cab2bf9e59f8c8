//! Scenarios over real TCP, in real time. No assertion depends on speed. Tests without their
//! prerequisites are ignored.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod kernel_switch;
mod kernels;
mod ours;
mod queries;
mod refused;
mod scripts;

use std::process::ExitCode;

use lowtide_host::Setup;
use lowtide_lab::{Backend, CompletedRun};
use lowtide_rows::{FlowRow, FlowStatus};
use lowtide_scenario::Scenario;
use lowtide_test_needs::{NAMESPACES, TUN, run_tests, tests};
use lowtide_testbed::{StackChoice, StackKind, Testbed};

fn main() -> ExitCode {
    run_tests([
        tests!(&[];
            ours::flows_arrive_and_known_values_are_reported,
            ours::an_endless_flow_goes_on_until_the_end_and_warmup_is_left_out,
            ours::applications_write_as_the_scenario_says,
            ours::an_interrupted_run_returns_none,
            queries::ours_are_answered_and_drawn_as_in_the_simulator,
            queries::those_of_a_dead_path_fail_and_the_next_ones_follow,
            refused::unsupported_setups_are_refused_by_name,
            refused::queries_that_have_no_room_or_no_end_are_refused,
            refused::controls_that_the_kernel_lacks_are_refused_with_a_way_out,
            refused::each_host_needs_the_twin_of_its_own_scheme,
            kernel_switch::what_it_lacks_is_refused_by_name,
        ),
        tests!(&[NAMESPACES, TUN, kernel_switch::PROGRAMS];
            kernel_switch::each_packet_of_a_burst_has_the_fate_of_its_place,
            kernel_switch::it_marks_as_the_user_space_switch,
            kernel_switch::the_delay_of_links_needs_departure_times,
        ),
        tests!(&[NAMESPACES, TUN];
            kernel_switch::its_qdiscs_mark_as_our_markers_or_are_refused,
            kernels::kernel_stacks_run_the_scenario_and_report_counters,
            kernels::kernel_stacks_use_the_scenarios_ecn_and_cc,
            kernels::mixed_stacks_interoperate,
            queries::kernels_answer_over_connections_that_last_or_end,
            queries::either_end_may_be_ours,
            scripts::a_script_passes_and_each_wrong_value_fails,
            scripts::calls_that_block_return_when_they_are_due,
            scripts::a_line_may_state_several_segments,
            scripts::what_the_kernel_lacks_is_named,
        ),
        tests!(&[NAMESPACES, TUN, refused::NO_ACC_ECN];
            refused::accurate_ecn_is_refused_where_the_kernel_lacks_it,
        ),
    ])
}

/// Two senders and a receiver at 40 Mbit/s; four transfers that take a quarter of a second.
pub(crate) const SMALL: &str = r#"
schema = 1
title = "Small"
[run]
duration = "30 s"
end = "done"
[topology]
kind = "star"
link-rate = "40 Mbit/s"
link-delay = "100 us"
[switch]
buffer = "200 pkt"
[switch.mark]
kind = "step"
k = "10 pkt"
[transport]
profile = "linux"
scheme = "ecn"
[hosts.senders]
count = 2
[hosts.receivers]
count = 1
[traffic.bulk]
kind = "transfers"
from = "senders"
to = "receivers"
count = 4
size = "300 kB"
[probes]
interval = "5 ms"
groups = ["bulk"]
queues = true
"#;

/// The only run of [`SMALL`] with these overrides.
pub(crate) fn setup(set: &[(&str, &str)]) -> Setup {
    setup_of(SMALL, set)
}

/// The only run of a scenario with these overrides.
pub(crate) fn setup_of(text: &str, set: &[(&str, &str)]) -> Setup {
    let scenario = Scenario::parse(text, "small.toml").expect("it is right");
    let scenario = set.iter().fold(scenario, |s, (k, v)| s.with_override(k, v).expect("a key"));
    scenario.expand().expect("a plan").runs[0].setup().expect("a run")
}

pub(crate) fn choice(all: StackKind, except: &[&str]) -> StackChoice {
    let except = except.iter().map(|s| (*s).to_owned()).collect();
    StackChoice { default_stack: all, exceptions: except, cc_mapping: Vec::new() }
}

/// Executes a run on real packets.
pub(crate) fn run(setup: &Setup, all: StackKind, except: &[&str]) -> CompletedRun {
    let testbed = Testbed::new(choice(all, except));
    testbed.check(setup).expect("it can be run");
    testbed.run(setup, &mut |_| false).expect("it ran").expect("it was not stopped")
}

/// Every flow was delivered, and its row is consistent.
pub(crate) fn check_delivered(flows: &[FlowRow], count: usize) {
    assert_eq!(flows.len(), count);
    for (flow, number) in flows.iter().zip(0..) {
        assert_eq!((flow.flow, flow.status), (number, FlowStatus::Complete), "{flow:?}");
        assert_eq!(Some(flow.delivered_bytes), flow.size_bytes);
        let (start, open) = (flow.start_ps, flow.established_ps.expect("it was open"));
        assert!(start <= open && Some(open) <= flow.delivered_ps, "{flow:?}");
        assert!(
            flow.ideal_ps.is_some_and(|ideal| flow.fct_ps >= Some(ideal)),
            "faster than the line: {flow:?}"
        );
    }
}
