//! Experiments of the papers in their reduced form, in two seeds: the effects are there.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lowtide_lab::claims::{self, Judged, Mode, Row, Verdict};
use lowtide_lab::{Options, execute};

fn judged(row: &Row) -> Vec<Judged> {
    let mode = Mode { quick: true, seeds: Some(2) };
    let plan = claims::plan(row, mode).expect("it runs");
    let temp = tempfile::tempdir().expect("it runs");
    let options = Options {
        dir: temp.path().join("out"),
        jobs: 2,
        threads: None,
        afresh: false,
        source: row.scenario,
        command: "lowtide reproduce",
        clock: &|| Duration::ZERO,
        stop: &AtomicBool::new(false),
        progress: &|_| {},
    };
    execute(&plan, &options).expect("it runs");
    claims::judge(row, &options.dir, mode).expect("it runs").claims
}

#[test]
fn the_effects_of_the_one_sided_thesis_are_there() {
    let rows = claims::find("od");
    assert!(rows.len() >= 4);
    for row in rows {
        for claim in judged(&row) {
            assert_eq!(claim.verdict, Verdict::Reproduced, "{claim:?}");
        }
    }
}

#[test]
fn dctcp_meets_no_timeouts_in_incast_with_a_dynamic_buffer() {
    let claims = judged(&claims::find("dctcp-fig19")[0]);
    for id in ["dctcp-none", "dctcp-40-floor"] {
        let claim = claims.iter().find(|c| c.id.ends_with(id)).expect("it runs");
        assert_eq!(claim.verdict, Verdict::Reproduced, "{claim:?}");
    }
}

#[test]
fn another_directory_is_not_judged_in_silence() {
    let row = claims::find("od-fig4.1").remove(0);
    let temp = tempfile::tempdir().expect("it runs");
    assert!(claims::judge(&row, temp.path(), Mode::default()).is_err());
}
