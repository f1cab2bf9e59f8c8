//! The answer to the question of a scenario.

use lowtide_lab::CompletedExperiment;
use lowtide_scenario::Scenario;

use crate::common::{run, scenario};

fn asked(changes: &[(&str, &str)]) -> Scenario {
    changes.iter().fold(scenario(), |s, (key, value)| s.with_override(key, value).expect("a key"))
}

fn finished(scenario: &Scenario, dir: &tempfile::TempDir) -> CompletedExperiment {
    run(&scenario.expand().expect("a right scenario"), &dir.path().join("run"))
}

/// Mean over the seeds of the mean completion time, from the flow statistics of each run.
fn mean(of: &CompletedExperiment, scheme: &str, size: &str) -> f64 {
    let at = |run: &&lowtide_lab::RunFacts| {
        run.key.scheme == scheme && run.key.point.0.iter().any(|(_, value)| value == size)
    };
    let runs = of.results.runs.iter().filter(at);
    let means: Vec<f64> = runs
        .flat_map(|run| &run.groups)
        .filter(|group| group.name == "short")
        .map(|group| group.fct_ms.mean.expect("every flow is complete"))
        .collect();
    means.iter().sum::<f64>() / means.len() as f64
}

#[test]
fn the_sentence_has_the_means_the_reported_values_and_the_judgement() {
    let dir = tempfile::tempdir().unwrap();
    let sizes = ["10 kB".to_owned(), "800 kB".to_owned()];
    let swept = asked(&[]).with_sweep("traffic.short.size", &sizes).expect("a key");
    let of = finished(&swept, &dir);
    let text = of.headline().answer.expect("an answer");
    let sack = lowtide_stats::significant(mean(&of, "sack", "800 kB"));
    let dctcp = lowtide_stats::significant(mean(&of, "dctcp", "800 kB"));
    assert_eq!(of.headline().all().next(), Some(&text));
    // The question is about a mean that is compared anyway: the family has it once.
    let sentences: Vec<String> = of
        .headline()
        .comparisons
        .iter()
        .map(|of| format!("{:?} {}", of.point, of.sentence))
        .collect();
    let means = sentences.iter().filter(|text| text.contains("800 kB") && text.contains("mean"));
    let distinct: std::collections::BTreeSet<&String> = sentences.iter().collect();
    assert!(means.count() > 0 && distinct.len() == sentences.len(), "{sentences:#?}");
    let start = format!(
        "ten transfers of 800 kB beside two long flows, mean: TCP {sack} ms (slides 252.7), DCTCP {dctcp} (82.5): "
    );
    assert!(text.starts_with(&start), "{text}");
    assert_eq!(of.shown_points().len(), 2);

    // No point has the stated size: the last one answers, without the values reported for another.
    let dir = tempfile::tempdir().unwrap();
    let of = finished(&asked(&[]), &dir);
    let text = of.headline().answer.expect("an answer");
    assert!(text.starts_with("ten transfers of 20 kB") && !text.contains("slides"), "{text}");
    assert_eq!(of.shown_points().len(), 2);
}

#[test]
fn a_judgement_needs_intervals_and_keeps_the_tolerance() {
    let judged = |changes: &[(&str, &str)]| {
        let dir = tempfile::tempdir().unwrap();
        let text = finished(&asked(changes), &dir).headline().answer.expect("an answer");
        text.rsplit(": ").next().map(str::to_owned).expect("a judgement")
    };
    let schemes = ("compare.schemes", "[\"sack\", \"dctcp\", \"odctcp-receiver\"]");
    let one = [schemes, ("run.seeds", "1"), ("question.tolerance", "100 %")];
    assert_eq!(
        judged(&one),
        "DCTCP is undecided, standard senders to one-sided receivers is undecided."
    );
    // The two schemes of this work differ by far less than twice; the first is the baseline.
    let two = ("compare.schemes", "[\"dctcp\", \"odctcp-receiver\"]");
    let wide = [("question.tolerance", "100 %"), ("run.seeds", "5"), two];
    assert_eq!(judged(&wide), "standard senders to one-sided receivers is the same within 100 %.");
    // A scheme that a setting changes has its label instead of the name of the question.
    let dir = tempfile::tempdir().unwrap();
    let changed = asked(&[("transport.sender.cc", "cubic")]);
    let text = finished(&changed, &dir).headline().answer.expect("an answer");
    assert!(!text.contains("DCTCP"), "{text}");
}

#[test]
fn another_question_answers_anew_from_the_same_runs() {
    let dir = tempfile::tempdir().unwrap();
    let before = finished(&asked(&[]), &dir);
    let after = finished(&asked(&[("question.percentile", "p95")]), &dir);
    assert_eq!(before.results, after.results);
    assert_eq!(before.manifest.scenario_hash, after.manifest.scenario_hash);
    let walls = |of: &CompletedExperiment| -> Vec<f64> {
        of.manifest.runs.iter().map(|run| run.wall_seconds).collect()
    };
    assert_eq!(walls(&before), walls(&after), "no run was repeated");
    let text = after.headline().answer.expect("an answer");
    assert!(text.contains("flows, p95: TCP"), "{text}");
    assert!(!text.contains("slides"), "no mean beside a percentile: {text}");
    let page = std::fs::read_to_string(after.dir.join("report.html")).unwrap();
    assert!(page.contains("flows, p95: TCP"));
    let opened = lowtide_lab::load(&after.dir).expect("a complete directory");
    assert_eq!(opened.headline().answer, after.headline().answer);
}
