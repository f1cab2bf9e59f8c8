//! Figures have limits on panels and metrics; their captions name what is beyond.

use std::fmt::Write as _;

use lowtide_charts::{Chart, Figure};
use lowtide_lab::{charts, load};
use lowtide_record::RunDir;
use lowtide_scenario::Scenario;

use crate::common::run;

/// Runs a scenario and returns its figures with panels.
fn figures(scenario: &Scenario) -> Vec<Figure> {
    let temp = tempfile::tempdir().expect("a directory");
    run(&scenario.expand().expect("a right scenario"), temp.path());
    let (dir, _) = RunDir::open(temp.path()).expect("results");
    let charts = charts(&dir, &load(temp.path()).expect("results")).expect("figures");
    let panels = charts.into_iter().filter_map(|chart| match chart {
        Chart::Panels(figure) => Some(figure),
        _ => None,
    });
    panels.collect()
}

#[test]
fn size_classes_without_a_panel_are_named() {
    let set = [
        ("traffic.background.flows", "300"),
        ("compare.schemes", "dctcp"),
        ("run.seeds", "1"),
        ("probes.size-classes", "2 kB, 5 kB, 10 kB, 50 kB, 200 kB, 1 MB, 5 MB"),
    ];
    let scenario = Scenario::load("leaf-spine").expect("an embedded scenario");
    let changed = set.iter().fold(scenario, |s, (k, v)| s.with_override(k, v).expect("a key"));
    let figures = figures(&changed.without("traffic.queries"));
    let cdf = figures.iter().find(|f| f.id.starts_with("slowdown-cdf-")).expect("the figure");
    assert_eq!(cdf.panels.len(), 6);
    assert!(cdf.caption.contains("No panel: 1 MB-5 MB, 5 MB-;"), "{}", cdf.caption);
    let medians = figures.iter().find(|f| f.id.starts_with("slowdown-by-size-")).unwrap();
    assert_eq!(medians.panels[0].series[0].points.len(), 8, "all classes are in one panel");
}

#[test]
fn metrics_without_a_figure_are_named() {
    let mut text = r#"
        schema = 1
        title = "Eight groups"
        run = { duration = "1 s", seeds = 1 }
        topology = { kind = "star", link-rate = "1 Gbit/s", link-delay = "10 us" }
        switch = { buffer = "100 pkt", mark = { kind = "step", k = "20 pkt" } }
        transport = { profile = "linux" }
        hosts = { a = { count = 1 }, b = { count = 1 } }
        compare = { schemes = ["sack", "dctcp"] }
    "#
    .to_owned();
    for group in 1..=8 {
        write!(
            text,
            "[traffic.g{group}]\nkind = \"transfers\"\nfrom = \"a\"\nto = \"b\"\ncount = 1\n\
             size = \"{group}0 kB\"\n"
        )
        .unwrap();
    }
    let figures = figures(&Scenario::parse(&text, "t.toml").expect("a right scenario"));
    let times = figures.iter().filter(|f| f.id.starts_with("transfer-time-"));
    let times: Vec<&Figure> = times.collect();
    assert_eq!(times.len(), 6);
    let last = times[5];
    let named = "No figure: transfer time of g7, transfer time of g8; summary.json has all.";
    assert!(last.caption.ends_with(named), "{}", last.caption);
}
