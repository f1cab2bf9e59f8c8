//! Files of claims, and experiments of the papers in reduced form, with two seeds: the effects are
//! reproduced.

use std::path::Path;

use lowtide_papers::{
    self as claims, ClaimResult, ClaimVerdict, Experiment, ExperimentClaims, ReproduceMode,
};

use crate::common::run;

fn judged(row: &Experiment) -> Vec<ClaimResult> {
    let mode = ReproduceMode { quick: true, seeds: Some(2), ..Default::default() };
    let temp = tempfile::tempdir().expect("it runs");
    run(&claims::plan(row, mode).expect("it runs"), temp.path());
    claims::judge(row, temp.path(), mode).expect("it runs").claims
}

/// The file of claims of each experiment, with its path.
fn files() -> Vec<(String, ExperimentClaims)> {
    let file = |row: &Experiment| {
        let path = format!("papers/{}/{}.expected.toml", row.paper, row.name);
        let claims = ExperimentClaims::parse(row.expected, &path).expect("it is right");
        (path, claims)
    };
    claims::experiments().iter().map(file).collect()
}

#[test]
fn every_datum_has_one_claim_with_a_short_reason_and_a_source_of_its_band() {
    let faults = files().into_iter().flat_map(|(path, file)| file.audit(&path));
    let faults: Vec<String> = faults.map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn the_evidence_of_each_claim_exists() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/papers");
    for (path, file) in files() {
        for claim in file.claims.iter().filter(|claim| claim.evidence.is_some()) {
            let evidence = claim.evidence.as_deref().unwrap_or_default();
            let (page, section) = evidence.split_once('#').unwrap_or((evidence, ""));
            let text = std::fs::read_to_string(folder.join(page)).unwrap_or_default();
            // The site drops dots from the anchor of a heading.
            let found = text.replace('.', "").lines().any(|line| line == format!("## {section}"));
            assert!(found, "{path}: claim `{}`: there is no section {evidence}", claim.id);
        }
    }
}

#[test]
fn the_effects_of_the_one_sided_thesis_are_reproduced() {
    // Chapters 4 and 5: the mechanisms. Chapter 7 has times, of which not all are reproduced.
    let mut rows = claims::find_experiments("od");
    rows.retain(|row| row.name.starts_with("fig4") || row.name.starts_with("fig5"));
    assert_eq!(rows.len(), 4);
    for row in rows {
        for claim in judged(&row) {
            assert_eq!(claim.verdict, ClaimVerdict::Reproduced, "{claim:?}");
        }
    }
}

#[test]
fn dctcp_meets_no_timeouts_in_incast_with_a_dynamic_buffer() {
    let claims = judged(&claims::find_experiments("dctcp-fig19")[0]);
    for id in ["dctcp-none", "dctcp-40-floor"] {
        let claim = claims.iter().find(|c| c.id.ends_with(id)).expect("it runs");
        assert_eq!(claim.verdict, ClaimVerdict::Reproduced, "{claim:?}");
    }
}

#[test]
fn a_directory_without_results_is_rejected() {
    let row = claims::find_experiments("od-fig4.1").remove(0);
    let temp = tempfile::tempdir().expect("it runs");
    assert!(claims::judge(&row, temp.path(), ReproduceMode::default()).is_err());
}

/// Two long flows whose queue is compared with K, which is then varied.
const VARIED: &str = r#"
paper = "P"
title = "T"
[[claim]]
id = "queue"
says = "the queue is K + n"
kind = "simulation"
source = "fig. 1"
unit = "pkt"
reported = 20
reason = "K is another"
evidence = "dx.md#k"
measure = { metric = "p50_packets", queue = "switch0->receivers.0", scheme = "dctcp" }
[[vary]]
id = "k"
says = "The queue follows K"
claims = ["queue"]
key = "switch.mark.k"
values = ["10 pkt", "40 pkt"]
set = { "run.duration" = "100 ms", "run.warmup" = "40 ms", "run.seeds" = 2 }
recorded = [{ at = "10 pkt", measured = { queue = 9 } }]
"#;

const fn two_flows(expected: &'static str) -> Experiment {
    let scenario = include_str!("../../../../scenarios/two-flows-1g.toml");
    Experiment { paper: "own", name: "k", scenario, expected, path: None }
}

#[test]
fn open_parameters_of_a_paper_are_varied() {
    let row = two_flows(VARIED);
    let mut all = claims::variation_plans(&row).expect("it is right");
    let (vary, plan) = all.remove(0);
    let temp = tempfile::tempdir().expect("it runs");
    let dir = temp.path().join("out");
    run(&plan, &dir);
    let found = claims::judge_variation(&row, vary, &dir).expect("it runs");
    let values: Vec<_> = found.varied.iter().map(|v| v.value.as_str()).collect();
    assert_eq!(values, ["10 pkt", "40 pkt"]);
    let queues: Vec<f64> = found.varied.iter().filter_map(|v| v.claim.measured).collect();
    let (short, long) = (queues[0], queues[1]);
    assert!((8.0..16.0).contains(&short) && (35.0..46.0).contains(&long), "{queues:?}");
    assert!(
        found.varied.iter().all(|v| v.claim.verdict != ClaimVerdict::Reproduced),
        "K is 20 there"
    );

    // The page has one panel per claim.
    let outcome = claims::ReproductionResult {
        claims: found.varied.iter().map(|v| v.claim.clone()).collect(),
        hops: 0,
        hop_budget: None,
        variations: vec![found],
    };
    let done = [(row, dir, outcome)];
    let page = claims::write_page(temp.path(), &done, false, "lowtide papers reproduce")
        .expect("it is written");
    let page = std::fs::read_to_string(page).expect("it is there");
    assert!(page.contains("own-k-vary-k") && page.contains("The queue follows K"));
    assert!(page.contains("Why: K is another; evidence: docs/evidence/papers/dx.md#k"));
}

#[test]
fn varied_keys_must_exist_and_be_open() {
    for (from, to, says) in [
        ("claims = [\"queue\"]", "claims = [\"other\"]", "no claim `other`"),
        ("values = [\"10 pkt\", \"40 pkt\"]", "values = [\"10 pkt\"]", "several values"),
        ("at = \"10 pkt\"", "at = \"11 pkt\"", "unknown value or claim"),
        ("\"switch.mark.k\"", "\"switch.mark.kk\"", "no key `kk`"),
        ("\"switch.mark.k\"", "\"transport.scheme\"", "scheme"),
        ("\"40 pkt\"]", "\"40 cm\"]", "40 cm"),
    ] {
        assert!(VARIED.contains(from), "{from}");
        let row = two_flows(VARIED.replace(from, to).leak());
        let error = claims::variation_plans(&row).expect_err(to).to_string();
        assert!(error.contains(says), "{to}: {error}");
    }
}
