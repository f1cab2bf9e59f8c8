//! The analysis of DCTCP §3.3 compared with the simulator, at the parameters of its figure 12.

use lowtide_lab::ResourceLimits;
use lowtide_sizing::{SimulationCheck, Sizing, SizingInput, check_scenario, recommend, run_check};
use lowtide_units::{Duration, Rate};

/// K = 40 at 10 Gbit/s and 100 us, as in DCTCP fig. 12.
fn question(flows: u32) -> SizingInput {
    SizingInput {
        rate: Rate::from_gbps(10),
        rtt: Duration::from_us(100),
        flows,
        mtu: 1500,
        burst_packets: 0,
        k: Some(40),
        shift_g: Some(4),
    }
}

fn check(question: &SizingInput, seeds: u64) -> (Sizing, SimulationCheck) {
    let sizing = recommend(question).expect("an answer");
    let scenario =
        check_scenario(question, &sizing).and_then(|s| Ok(s.seeds(seeds)?)).expect("a network");
    let plan = scenario.expand().expect("a right scenario");
    let check = run_check(question, &sizing, &plan, 2, ResourceLimits::default()).expect("it runs");
    (sizing, check)
}

fn measured(check: &SimulationCheck, quantity: &str) -> f64 {
    let row = check.rows.iter().find(|r| r.quantity == quantity).expect("the quantity");
    row.measured.expect("a value")
}

#[test]
fn two_flows_swing_as_predicted() {
    let (sizing, check) = check(&question(2), 2);
    let predicted = sizing.predicted.expect("a steady state");
    let top = measured(&check, "queue_max");
    assert!((top - predicted.queue_max_packets).abs() <= 4.0, "{check:?}");
    let swing = measured(&check, "amplitude");
    assert!((swing / predicted.amplitude_packets - 1.0).abs() < 0.4, "{check:?}");
    assert!(measured(&check, "utilisation") > 0.99, "{check:?}");
    assert_eq!(check.drops, 0);
}

#[test]
fn forty_flows_swing_less_than_predicted_and_a_remark_says_so() {
    // DCTCP §3.3: "de-synchronization of the flows leads to smaller queue variations than
    // predicted".
    let (sizing, check) = check(&question(40), 1);
    let predicted = sizing.predicted.expect("a steady state");
    assert!(measured(&check, "amplitude") < 0.85 * predicted.amplitude_packets, "{check:?}");
    assert!(check.remarks.iter().any(|r| r.contains("out of step")), "{:?}", check.remarks);
}

#[test]
fn a_threshold_of_one_packet_costs_throughput_as_predicted() {
    let (sizing, check) = check(&SizingInput { k: Some(1), ..question(4) }, 1);
    let predicted = sizing.predicted.expect("a steady state").utilisation;
    assert!(predicted < 1.0);
    assert!(measured(&check, "utilisation") < 0.999, "{check:?}");
}

#[test]
fn a_round_trip_without_time_on_the_wire_is_rejected() {
    let short = SizingInput { rtt: Duration::from_us(3), ..question(2) };
    let sizing = recommend(&short).expect("the analysis accepts it");
    let error = check_scenario(&short, &sizing).expect_err("three serialisations do not fit");
    assert!(error.to_string().contains("no time on the wire"), "{error}");
}
