//! Runs with equal outcomes, and runs that only look so.

use lowtide_scenario::{RunPlan, Scenario, SharedRuns, SharingReason};

use crate::common::BASE;

fn plan(more: &str, set: &[(&str, &str)], over: &[(&str, &[&str])]) -> RunPlan {
    let scenario = Scenario::parse(&format!("{BASE}{more}"), "t.toml").expect("TOML");
    let scenario = set.iter().fold(scenario, |s, (k, v)| s.with_override(k, v).expect("a key"));
    let owned = |values: &[&str]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
    let scenario = over
        .iter()
        .fold(scenario, |s, (key, values)| s.with_sweep(key, &owned(values)).expect("a key"));
    scenario.expand().unwrap_or_else(|e| panic!("{e}"))
}

const K: (&str, &[&str]) = ("switch.mark.k", &["10 pkt", "20 pkt", "30 pkt"]);
const COMPARE: &str = "[compare]\nschemes = [\"sack\", \"dctcp\"]\n";

fn shared(set: &[(&str, &str)]) -> Vec<SharedRuns> {
    plan(COMPARE, set, &[K]).shared()
}

#[test]
fn k_cannot_affect_packets_without_ect() {
    let keys = vec!["switch.mark.k".to_owned()];
    let sack = |runs, outcomes| SharedRuns {
        scheme: "sack".to_owned(),
        runs,
        outcomes,
        keys: keys.clone(),
        reason: SharingReason::NoEct,
    };
    assert_eq!(shared(&[]), [sack(3, 1)]);
    assert_eq!(shared(&[("run.seeds", "4")]), [sack(12, 4)]);
    // Another swept key still counts.
    let two = plan(COMPARE, &[], &[K, ("switch.buffer", &["90 pkt", "100 pkt"])]);
    assert_eq!(two.shared(), [sack(6, 2)]);
    // Hosts that accept ECN and never request it send no ECT.
    assert_eq!(shared(&[("hosts.receivers.connection.ecn", "passive")]), [sack(3, 1)]);
}

#[test]
fn k_affects_every_scheme_that_may_be_marked_or_dropped() {
    let none: [SharedRuns; 0] = [];
    assert_eq!(shared(&[("switch.mark.not-ect", "drop")]), none);
    // A group with its own scheme or switch, on either side.
    for key in [("hosts.receivers.scheme", "ecn"), ("hosts.senders.connection.ecn", "accecn")] {
        assert_eq!(shared(&[key, ("run.allow-mismatch", "true")]), none, "{key:?}");
    }
    let moving = format!("{COMPARE}[deployment]\nto = \"dctcp\"\nshare = \"0 %\"\n");
    assert_eq!(plan(&moving, &[], &[K]).shared(), none);
}

#[test]
fn a_marker_that_drops_is_never_left_out() {
    let base = BASE.replace("kind = \"step\"\nk = \"20 pkt\"\n", "kind = \"pie\"\n");
    let sweep = "[sweep]\n\"switch.mark.target\" = [\"100 us\", \"200 us\"]\n";
    let text = format!("{base}[compare]\nschemes = [\"sack\"]\n{sweep}");
    let of = |text: &str| {
        Scenario::parse(text, "t.toml").unwrap().expand().unwrap_or_else(|e| panic!("{e}")).shared()
    };
    assert!(of(&text).is_empty(), "PIE drops above its limit for marks");
    let codel = text.replace("\"pie\"", "\"codel\"");
    assert_eq!(of(&codel).len(), 1);
    assert!(of(&codel.replace("\"codel\"", "\"codel\"\nsignal = \"drop\"")).is_empty());
}

#[test]
fn markers_of_other_ports_count_too() {
    let more = format!(
        "{COMPARE}[switch.at.switch0]\nbuffer = \"100 pkt\"\n[switch.at.switch0.mark]\n\
         kind = \"step\"\nk = \"5 pkt\"\n"
    );
    let own: (&str, &[&str]) = ("switch.at.switch0.mark.k", &["5 pkt", "9 pkt"]);
    assert_eq!(plan(&more, &[], &[own]).shared().len(), 1);
    let dropping = [("switch.at.switch0.mark.not-ect", "drop")];
    assert!(plan(&more, &dropping, &[own]).shared().is_empty());
}

#[test]
fn parameters_of_other_schemes_are_not_part_of_a_run() {
    let over = ("transport.sender.dctcp.shift-g", &["2", "4"][..]);
    let shared = plan(COMPARE, &[], &[over]).shared();
    assert_eq!(shared.len(), 1);
    assert_eq!(
        (shared[0].scheme.as_str(), shared[0].reason),
        ("sack", SharingReason::EqualSettings)
    );
}

#[test]
fn the_estimate_counts_a_simulation_once() {
    let (once, thrice) = (plan(COMPARE, &[], &[]), plan(COMPARE, &[], &[K]));
    let (once, thrice) = (once.estimate(), thrice.estimate());
    assert_eq!((once.runs, thrice.runs), (2, 6));
    // Three of DCTCP and one of SACK.
    assert_eq!(thrice.simulated, once.simulated.saturating_mul(2));
    assert!(thrice.hops < 3 * once.hops && thrice.disk > once.disk);
}
