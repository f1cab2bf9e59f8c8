//! Flows of an open loop count by arrival, under a load that goes on.
//!
//! The judge is a separate model: flows that share the receiver's line equally (processor
//! sharing), each with its payload, its headers and one handshake.

use lowtide_lab::{GroupFacts, NONE_COUNTED, Results, UNFINISHED, simulate};
use lowtide_rows::FlowRow;
use lowtide_scenario::Scenario;

/// Eight senders to one receiver with a line of 1 Gbit/s: 330 flows of 250 kB per second, 70 % of
/// it with headers.
const LOADED: &str = r#"schema = 1
title = "Poisson arrivals at one receiver"
[run]
duration = "300 ms"
warmup = "50 ms"
[topology]
kind = "star"
link-rate = "1 Gbit/s"
link-delay = "5 us"
[switch]
buffer = "1000 pkt"
[switch.mark]
kind = "step"
k = "20 pkt"
[transport]
profile = "linux"
scheme = "dctcp"
[transport.sender]
tso-defer = 0
[hosts.senders]
count = 8
[hosts.receivers]
count = 1
[traffic.load]
kind = "poisson"
from = "senders"
to = "receivers"
sizes = "250 kB"
flow-rate = 330
"#;

/// Time that a flow takes alone: 173 packets of 1538 B on the line, a handshake and a packet over
/// two lines each way, ms.
const ALONE_MS: f64 = 173.0 * 1538.0 * 8.0 / 1e6 + 0.06;

/// The flows and the results of one seed.
fn run(more: &str, set: &[(&str, &str)]) -> (Vec<FlowRow>, Results) {
    let text = format!("{LOADED}{more}");
    let scenario = Scenario::parse(&text, "loaded.toml").expect("a right scenario");
    let scenario = set.iter().fold(scenario, |s, (k, v)| s.with_override(k, v).expect("a key"));
    let plan = scenario.expand().unwrap_or_else(|e| panic!("{e}"));
    let setup = plan.runs[0].setup().expect("a setup");
    let flows = lowtide_host::run(&setup, &mut |_| false).expect("a run").flows;
    (flows, simulate(&plan, 1).expect("it runs"))
}

fn load(results: &Results) -> &GroupFacts {
    results.runs[0].group("load").expect("the group")
}

fn ms(ps: u64) -> f64 {
    ps as f64 / 1e9
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Completion times of flows that begin at `starts` and share a line equally, each of which takes
/// `alone` without others.
fn processor_sharing(starts: &[f64], alone: f64) -> Vec<f64> {
    let mut times = vec![0.0; starts.len()];
    let mut active: Vec<(usize, f64)> = Vec::new();
    let (mut now, mut next) = (0.0, 0);
    while next < starts.len() || !active.is_empty() {
        let arrival = starts.get(next).copied().unwrap_or(f64::INFINITY);
        let least = active.iter().map(|(_, left)| *left).fold(f64::INFINITY, f64::min);
        let end = if active.is_empty() { least } else { now + least * active.len() as f64 };
        let until = arrival.min(end);
        let share =
            if arrival <= end { (until - now) / (active.len() as f64).max(1.0) } else { least };
        for (_, left) in &mut active {
            *left -= share;
        }
        now = until;
        if arrival <= end {
            active.push((next, alone));
            next += 1;
        } else {
            // Work left is below rounding errors of the times.
            active.retain(|(flow, left)| {
                if *left <= 1e-9 {
                    times[*flow] = now - starts[*flow];
                }
                *left > 1e-9
            });
        }
    }
    times
}

/// Checks the model itself: two flows of 1 ms, half of a millisecond apart, take 1.5 ms each.
#[test]
fn the_model_shares_equally() {
    assert_eq!(processor_sharing(&[0.0, 0.5, 9.0], 1.0), [1.5, 1.5, 1.0]);
}

#[test]
fn counted_flows_take_the_time_of_a_line_shared_with_the_load_that_goes_on() {
    let (mut measured, mut modelled, mut drained, mut all) = ([0.0; 2], [0.0; 2], 0, 0);
    let mut counted_ms = [0.0; 2];
    for seed in ["1", "2", "3", "4", "5", "6"] {
        let seed = ("run.first-seed", seed);
        let (flows, results) = run("", &[seed]);
        let facts = load(&results);
        let in_window = |f: &&FlowRow| (50.0..300.0).contains(&ms(f.start_ps));
        let counted: Vec<f64> =
            flows.iter().filter(in_window).map(|f| ms(f.fct_ps.expect("it is done"))).collect();
        assert_eq!((facts.flows, facts.unfinished), (counted.len(), 0));
        assert_eq!(facts.in_warmup, flows.iter().filter(|f| ms(f.start_ps) < 50.0).count());
        let value = facts.fct_ms.mean.expect("all are done");
        assert!((value - mean(&counted)).abs() < 1e-9, "{value}");

        // Flows in progress at 300 ms, with the load and when it stops there.
        let starts: Vec<f64> = flows.iter().map(|f| ms(f.start_ps)).collect();
        let within = starts.iter().filter(|start| **start < 300.0).count();
        let model = processor_sharing(&starts, ALONE_MS);
        let stopped = processor_sharing(&starts[..within], ALONE_MS);
        let number = within.to_string();
        let drain = [("traffic.load.flows", number.as_str()), ("run.duration", "9 s")];
        let (last, _) = run("", &[seed, drain[0], drain[1], ("run.end", "done")]);
        assert_eq!(last.len(), within, "no flow arrives after 300 ms");
        for (i, flow) in last.iter().enumerate() {
            assert_eq!((flow.start_ps, &flow.src), (flows[i].start_ps, &flows[i].src));
            if starts[i] + model[i] > 300.0 && flows[i].is_counted() {
                measured[0] += ms(flows[i].fct_ps.expect("it is counted"));
                measured[1] += ms(flow.fct_ps.expect("it is done"));
                modelled[0] += model[i];
                modelled[1] += stopped[i];
                drained += 1;
            }
        }
        let of_model: Vec<f64> =
            (0..within).filter(|i| starts[*i] >= 50.0).map(|i| model[i]).collect();
        counted_ms[0] += value * counted.len() as f64;
        counted_ms[1] += of_model.iter().sum::<f64>();
        all += of_model.len();
    }
    assert!(drained > 15 && all > 400, "{drained} {all}");
    let error = counted_ms[0] / counted_ms[1] - 1.0;
    assert!(error.abs() < 0.1, "{counted_ms:?}");
    let [with, without] = measured;
    let [model_with, model_without] = modelled;
    assert!(with > 1.1 * without, "draining flatters: {with} {without}");
    let error = (with / without) / (model_with / model_without) - 1.0;
    assert!(error.abs() < 0.1, "{measured:?} {modelled:?}");
}

#[test]
fn counting_by_completion_would_flatter_an_overload() {
    // 700 flows per second are 140 % of the line without headers.
    let overload = ("traffic.load.flow-rate", "700");
    let (flows, results) = run("", &[overload, ("run.end", "duration")]);
    let by_completion: Vec<f64> = flows.iter().filter_map(|f| f.fct_ps).map(ms).collect();
    let facts = load(&results);
    let arrived = flows.iter().filter(|f| ms(f.start_ps) >= 50.0).count();
    assert_eq!(facts.flows, arrived);
    // Each unfinished one takes at least its age at 300 ms.
    let least: Vec<f64> = flows
        .iter()
        .filter(|f| ms(f.start_ps) >= 50.0)
        .map(|f| f.fct_ps.map_or(300.0 - ms(f.start_ps), ms))
        .collect();
    let bound = facts.fct_ms.mean_at_least.expect("a bound");
    assert!((bound - mean(&least)).abs() < 1e-6, "{bound}");
    assert_eq!(facts.fct_ms.mean, None);
    // The model with all their work: no flow arrives later, so it is a lower bound too.
    let starts: Vec<f64> = flows.iter().map(|f| ms(f.start_ps)).collect();
    let model = processor_sharing(&starts, ALONE_MS);
    let by_arrival: Vec<f64> =
        (0..starts.len()).filter(|i| starts[*i] >= 50.0).map(|i| model[i]).collect();
    assert!(
        mean(&by_arrival) > 1.3 * mean(&by_completion),
        "{} {}",
        mean(&by_arrival),
        mean(&by_completion)
    );
    assert!(bound > mean(&by_completion) && bound < mean(&by_arrival));
}

#[test]
fn an_overload_ends_at_its_limit_and_says_what_it_cut() {
    let limit = ("run.end-limit", "500 ms");
    let (flows, results) = run("", &[("traffic.load.flow-rate", "700"), limit]);
    let counted = |f: &&FlowRow| (50.0..300.0).contains(&ms(f.start_ps));
    let cut = flows.iter().filter(counted).filter(|f| f.fct_ps.is_none()).count();
    assert!(cut > 5 && flows.iter().any(|f| ms(f.start_ps) > 499.0 - 10.0), "{cut}");
    let run = &results.runs[0];
    assert_eq!((run.reason.as_str(), run.ended_ms), ("time", 500.0));
    assert_eq!(load(&results).unfinished, cut);
    let found = results.findings.iter().find(|f| f.kind == UNFINISHED).expect("a finding");
    assert_eq!(found.count, cut as u64);
    let says = &found.says;
    let all = flows.iter().filter(counted).count();
    let start =
        format!("{cut} of {all} flows of group load did not complete before the limit of 500 ms");
    assert!(says.starts_with(&start), "{says}");
    // Payload: 700 x 250 kB x 8 are 1.4 Gbit/s; five standard deviations of 210 draws are 48 %.
    let offered = says.split("offers ").nth(1).and_then(|s| s.split(' ').next()).expect("a share");
    let offered: f64 = offered.parse().expect("a number");
    assert!((92.0..=188.0).contains(&offered), "{says}");
    assert!(says.ends_with("no limit is late enough, so lower the load"), "{says}");

    // Below the capacity a later limit helps.
    let (_, results) = run_cut_below_capacity();
    let found = results.findings.iter().find(|f| f.kind == UNFINISHED).expect("a finding");
    assert!(found.says.ends_with("; `[run] end-limit` sets a later one"), "{}", found.says);
}

/// A load that the line carries, with a limit before its last flows are done.
fn run_cut_below_capacity() -> (Vec<FlowRow>, Results) {
    let low = [("traffic.load.flow-rate", "100"), ("traffic.load.sizes", "1 MB")];
    run("", &[low[0], low[1], ("run.end-limit", "300100 us")])
}

#[test]
fn a_group_that_began_in_the_warm_up_is_not_lost_in_silence() {
    let bulk = "[traffic.bulk]\nfrom = \"senders.0\"\nto = \"receivers\"\nsize = \"1 MB\"\n";
    let few = [("traffic.load.flows", "10"), ("run.warmup", "250 ms"), ("run.end", "done")];
    let (flows, results) = run(bulk, &few);
    assert!(flows.iter().all(|f| ms(f.start_ps) < 250.0));
    let facts = load(&results);
    assert_eq!((facts.flows, facts.in_warmup, facts.fct_ms.mean), (0, 10, None));
    // Its start is stated, so it counts.
    let bulk = results.runs[0].group("bulk").expect("the group");
    assert_eq!((bulk.flows, bulk.in_warmup), (1, 0));
    assert!(bulk.fct_ms.mean.is_some());
    let found = results.findings.iter().find(|f| f.kind == NONE_COUNTED).expect("a finding");
    assert_eq!(
        found.sentence(),
        "dctcp: no flow of group load counts: all 10 arrived during the warm-up of 250 ms; shorten \
         `[run] warmup`, or let the group arrive for longer"
    );
    assert_eq!(results.findings.iter().filter(|f| f.kind == NONE_COUNTED).count(), 1);
}
