//! The experiments of the ODCTCP thesis, chapters 4 and 5, in two seeds: each effect is there.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lowtide_lab::claims::{self, Mode, Verdict};
use lowtide_lab::{Options, execute};

#[test]
fn the_effects_of_the_one_sided_thesis_are_there() {
    let rows = claims::find("od");
    assert!(rows.len() >= 4);
    for row in rows {
        let plan = claims::plan(&row, Mode { quick: true, seeds: Some(2) }).unwrap();
        let temp = tempfile::tempdir().unwrap();
        let options = Options {
            dir: temp.path().join("out"),
            jobs: 2,
            afresh: false,
            source: row.scenario,
            command: "lowtide reproduce od",
            clock: &|| Duration::ZERO,
            stop: &AtomicBool::new(false),
            progress: &|_| {},
        };
        execute(&plan, &options).unwrap();
        for claim in claims::judge(&row, &options.dir).unwrap() {
            assert_eq!(claim.verdict, Verdict::Reproduced, "{claim:?}");
        }
    }
}

#[test]
fn another_directory_is_not_judged_in_silence() {
    let row = claims::find("od-fig4.1").remove(0);
    let temp = tempfile::tempdir().unwrap();
    assert!(claims::judge(&row, temp.path()).is_err());
}
