//! The first difference between two runs.

use lowtide_host::{ProbePlan, SegmentEvent, SegmentRow, Setup, SteppedRun, Trigger, run};
use lowtide_lab::diff::{DiffSide, FirstDivergence, RunDivergence, first_divergence, overview};
use lowtide_lab::flow::FlowSelector;
use lowtide_lab::{LabError, ResourceLimits};
use lowtide_net::HopOutcome;
use lowtide_scenario::{RunPlan, Scenario};
use lowtide_units::Instant;

use crate::common;

const UNLIMITED: ResourceLimits<'static> =
    ResourceLimits { memory: None, disk: None, resident: None };

/// Two flows of 1 MB through one port, DCTCP.
fn plan(settings: &[(&str, &str)]) -> RunPlan {
    plan_of(Scenario::load("first-light").expect("an embedded scenario"), settings)
}

fn plan_of(scenario: Scenario, settings: &[(&str, &str)]) -> RunPlan {
    let all = [("compare.schemes", "dctcp")];
    let all = all.iter().chain(settings);
    let scenario = all.fold(scenario, |s, (k, v)| s.with_override(k, v).expect("a key"));
    scenario.expand().expect("a right scenario")
}

/// Returns [`plan`] with a link of a host that fails for good after a millisecond.
fn with_link_failure(host: &str, settings: &[(&str, &str)]) -> RunPlan {
    let whole = Scenario::load("first-light").expect("an embedded scenario");
    let failure = format!("[failure.cut]\nlink = \"{host}-switch0\"\ndown = \"1 ms\"\n");
    let text = format!("{}\n{failure}", whole.text());
    plan_of(Scenario::parse(&text, "cut.toml").expect("a right scenario"), settings)
}

fn setup(plan: &RunPlan, seed: u64, trace: &[u32]) -> Setup {
    let run = plan.runs.iter().find(|r| r.seed == seed).expect("a seed of it");
    let mut setup = run.setup().expect("it was checked");
    setup.probes = ProbePlan { trace: trace.to_vec(), ..ProbePlan::default() };
    setup
}

fn seed(seed: u64) -> FlowSelector {
    FlowSelector { seed: Some(seed), ..FlowSelector::default() }
}

fn compare(
    a: &RunPlan,
    of_a: &FlowSelector,
    b: &RunPlan,
    of_b: &FlowSelector,
) -> Option<FirstDivergence> {
    let (a, b) = (DiffSide::plan(a.clone()), DiffSide::plan(b.clone()));
    let found = first_divergence((&a, of_a), (&b, of_b), &UNLIMITED).expect("they run");
    let [RunDivergence { first, .. }] = &found[..] else { panic!("{found:?}") };
    first.clone()
}

/// Returns arrival time, departure time and port of the first packet with this decision in a traced
/// run.
fn first_decision(plan: &RunPlan, decision: HopOutcome) -> (u64, u64, String) {
    let outcome = run(&setup(plan, 1, &[0, 1]), &mut |_| false).expect("it runs");
    let trace = outcome.trace.expect("it was traced");
    let passage = trace.hop_records.iter().find(|p| p.decision == decision).expect("there is one");
    let port = outcome.queues[passage.port as usize].name.clone();
    (passage.at.as_ps(), passage.departure.as_ps(), port)
}

#[test]
fn a_stepped_run_equals_the_run() {
    let plan = plan(&[]);
    let setup = setup(&plan, 1, &[]);
    let whole = run(&setup, &mut |_| false).unwrap();
    let mut steps = SteppedRun::new(&setup).unwrap();
    for at in [1, 1_000_000_007, 5_000_000_000] {
        steps.run_until(Instant::from_ps(at));
    }
    // Inspection changes nothing.
    let under_way = steps.record();
    assert!(!under_way.is_empty());
    let switches = setup.network.switches.len();
    assert_eq!(steps.digests().count(), whole.queues.len() + switches + setup.hosts.len());
    for (place, digest) in steps.digests().enumerate() {
        assert_eq!(steps.digest(place), Some(digest));
    }
    assert_eq!(steps.finish(), whole.digest);
    assert_eq!(steps.next_event_time(), None);
}

#[test]
fn a_run_does_not_differ_from_itself() {
    let plan = plan(&[]);
    assert!(compare(&plan, &seed(1), &plan, &seed(1)).is_none());
    // Sampling is not part of the run.
    let sampled = self::plan(&[("probes.interval", "1 us")]);
    assert!(compare(&plan, &seed(2), &sampled, &seed(2)).is_none());
}

#[test]
fn seeds_differ_at_the_first_flow_that_one_of_them_starts() {
    let plan = plan(&[]);
    let starts = |seed| -> Vec<(u64, String)> {
        let outcome = run(&setup(&plan, seed, &[]), &mut |_| false).unwrap();
        outcome.flows.iter().map(|f| (f.start_ps, f.src.to_string())).collect()
    };
    let (one, two) = (starts(1), starts(2));
    assert_ne!(one, two, "the seed changes start times");
    let (at, host) = one.into_iter().chain(two).min().unwrap();
    let first = compare(&plan, &seed(1), &plan, &seed(2)).expect("they differ");
    assert_eq!((first.at_ps, first.kind), (at, "port"));
    assert!(first.entity.starts_with(&format!("{host}->")), "{first:?}");
    let seen = [first.a.unwrap(), first.b.unwrap()];
    assert!(seen.iter().all(|s| s.packet.as_ref().is_some_and(|p| p.contains("[S"))), "{seen:?}");
    assert_eq!(seen.iter().map(|s| s.at_ps).min(), Some(at));
}

#[test]
fn another_k_differs_at_the_first_packet_that_only_one_marks() {
    let (low, high) = (plan(&[("switch.mark.k", "10 pkt")]), plan(&[]));
    let (at, _, port) = first_decision(&low, HopOutcome::Marked);
    let first = compare(&low, &seed(1), &high, &seed(1)).expect("they differ");
    assert_eq!((first.at_ps, first.kind, &first.entity), (at, "port", &port));
    let (a, b) = (first.a.clone().unwrap(), first.b.clone().unwrap());
    assert_eq!((a.what, b.what), ("marks", "enqueues"));
    assert_eq!((&a.packet, a.queue_packets), (&b.packet, b.queue_packets));
    assert_eq!(a.queue_packets, Some(11), "the first queue longer than K");
    // In the other order.
    let turned = compare(&high, &seed(1), &low, &seed(1)).expect("they differ");
    assert_eq!((turned.a, turned.b), (Some(b), Some(a)));
}

#[test]
fn a_mark_at_dequeue_names_the_earlier_arrival() {
    let kind = ("switch.mark.kind", "step-dequeue");
    let (low, high) = (plan(&[kind, ("switch.mark.k", "10 pkt")]), plan(&[kind]));
    let (came, left, port) = first_decision(&low, HopOutcome::Marked);
    let first = compare(&low, &seed(1), &high, &seed(1)).expect("they differ");
    assert_eq!((first.kind, &first.entity), ("port", &port));
    assert!(came < first.at_ps && first.at_ps <= left, "{came} {left} {first:?}");
    let (a, b) = (first.a.unwrap(), first.b.unwrap());
    assert_eq!((a.what, a.at_ps), ("marks", came));
    assert_eq!((b.what, b.at_ps, &b.packet), ("enqueues", came, &a.packet));
}

#[test]
fn a_smaller_buffer_differs_at_its_first_drop() {
    let sack = ("compare.schemes", "sack");
    let (small, large) = (plan(&[sack, ("switch.buffer", "30 pkt")]), plan(&[sack]));
    let (at, _, port) = first_decision(&small, HopOutcome::DroppedByBuffer);
    let first = compare(&large, &seed(1), &small, &seed(1)).expect("they differ");
    assert_eq!((first.at_ps, &first.entity), (at, &port));
    assert_eq!(first.a.map(|s| s.what), Some("enqueues"));
    assert_eq!(first.b.map(|s| s.what), Some("drops (no room)"));
}

#[test]
fn a_shorter_run_differs_where_the_other_continues() {
    let until = |at| plan(&[("run.duration", at), ("run.end", "duration")]);
    let first = compare(&until("2 ms"), &seed(1), &until("3 ms"), &seed(1)).expect("they differ");
    assert!((2_000_000_000..2_020_000_000).contains(&first.at_ps), "{first:?}");
    assert_eq!(first.a, None);
    assert_eq!(first.b.map(|s| s.at_ps), Some(first.at_ps));
}

#[test]
fn a_host_that_receives_a_packet_later_is_named() {
    let at_once = ("disturbance.host-jitter", "0 s");
    let (exact, late) = (plan(&[at_once]), plan(&[("disturbance.host-jitter", "3 us")]));
    let outcome = run(&setup(&exact, 1, &[0, 1]), &mut |_| false).unwrap();
    let trace = outcome.trace.unwrap();
    let received = |r: &&SegmentRow| r.event == SegmentEvent::Received;
    let syn = trace.segments.iter().find(received).expect("a SYN");
    let first = compare(&exact, &seed(1), &late, &seed(1)).expect("they differ");
    assert_eq!((first.at_ps, first.kind), (syn.at.as_ps(), "host"));
    assert_eq!(first.entity, "receivers.0");
    let (a, b) = (first.a.unwrap(), first.b.unwrap());
    assert_eq!((a.what, b.what, &a.packet), ("receives", "receives", &b.packet));
    assert!(a.at_ps == first.at_ps && b.at_ps > a.at_ps && b.at_ps < a.at_ps + 3_000_000);
}

#[test]
fn a_timeout_is_named() {
    // Everything is lost from 1 ms on, so only the sender's timer acts, which differs.
    let with = |rto| {
        let probe = ("transport.sender.tail-loss-probe", "off");
        with_link_failure("receivers.0", &[("transport.sender.rto-min", rto), probe])
    };
    let (soon, later) = (with("5 ms"), with("10 ms"));
    let first = compare(&soon, &seed(1), &later, &seed(1)).expect("they differ");
    assert_eq!(first.kind, "host");
    assert!(first.entity.starts_with("senders."), "{first:?}");
    let (a, b) = (first.a.clone().unwrap(), first.b.clone().unwrap());
    assert_eq!((a.what, b.what), ("retransmission timeout", "retransmission timeout"));
    let first_rto = |plan| {
        let outcome = run(&setup(plan, 1, &[0, 1]), &mut |_| false).expect("it runs");
        let senders = outcome.trace.expect("it was traced").senders;
        let timeout = senders.iter().find(|s| s.trigger == Trigger::Rto).expect("one times out");
        timeout.at.as_ps()
    };
    assert_eq!((first.at_ps, a.at_ps), (first_rto(&soon), first_rto(&soon)));
    assert_eq!(b.at_ps, first_rto(&later));
}

#[test]
fn a_link_failure_in_one_run_differs_at_its_time() {
    // A packet is on the line then.
    let cut = with_link_failure("senders.0", &[("failure.cut.down", "1010 us")]);
    let first = compare(&plan(&[]), &seed(1), &cut, &seed(1)).expect("they differ");
    assert_eq!(first.at_ps, 1_010_000_000);
    assert!(first.entity.contains("senders.0"), "{first:?}");
    assert_eq!(first.b.map(|s| s.what), Some("loses"));
}

#[test]
fn other_hosts_are_another_network() {
    let more = plan(&[("hosts.senders.count", "3")]);
    let first = compare(&plan(&[]), &seed(1), &more, &seed(1)).expect("they differ");
    assert_eq!((first.at_ps, first.kind), (0, "network"));
    assert!(first.entity.contains("senders"), "{first:?}");
}

#[test]
fn directories_are_compared_by_settings_digests_and_tables() {
    let temp = tempfile::tempdir().unwrap();
    let dirs = ["a", "b", "c"].map(|name| temp.path().join(name));
    common::run(&plan(&[]), &dirs[0]);
    common::run(&plan(&[]), &dirs[1]);
    common::run(&plan(&[("switch.mark.k", "10 pkt")]), &dirs[2]);
    let [a, b, c] = dirs.each_ref().map(|dir| DiffSide::directory(dir).unwrap());
    let any = FlowSelector::default();

    let same = overview((&a, &any), (&b, &any)).unwrap();
    assert!(same.same && same.settings.is_empty() && same.tables.is_empty(), "{same:?}");
    assert_eq!(same.runs.len(), 2);
    assert!(first_divergence((&a, &any), (&b, &any), &UNLIMITED).unwrap()[0].first.is_none());

    let other = overview((&a, &any), (&c, &any)).unwrap();
    assert!(!other.same && other.runs.iter().all(|r| !r.same && r.a != r.b));
    let keys: Vec<_> = other.settings.iter().map(|s| s.key.as_str()).collect();
    assert_eq!(keys, ["switch.mark.k"]);
    assert!(other.tables.iter().any(|t| t.ends_with("flows.parquet")), "{:?}", other.tables);
    let plan = DiffSide::plan(plan(&[("switch.mark.k", "10 pkt")]));
    let dirs = first_divergence((&a, &seed(2)), (&c, &seed(2)), &UNLIMITED).unwrap();
    let mixed = first_divergence((&a, &seed(2)), (&plan, &seed(2)), &UNLIMITED).unwrap();
    assert_eq!(dirs[0].first.as_ref().map(|f| f.at_ps), mixed[0].first.as_ref().map(|f| f.at_ps));

    let none = first_divergence((&a, &seed(7)), (&b, &any), &UNLIMITED).unwrap_err();
    assert!(matches!(none, LabError::NotFound { .. }), "{none}");
}
