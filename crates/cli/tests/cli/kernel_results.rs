//! The results of the suite `kernels`: a need that no machine meets is an error by name, and what
//! is not judged never counts as passed.

#[path = "../kernels/results.rs"]
#[allow(dead_code, reason = "the suite uses the rest")]
mod results;

use results::{Column, Outcome, Results};

fn column(name: &str, release: Option<&str>) -> Column {
    Column { name: name.to_owned(), release: release.map(str::to_owned) }
}

/// Two machines: `old` has no AccECN and failed a test, `new` did not boot.
fn two_machines(new_has_accecn: bool) -> Results {
    let mut results = Results::default();
    results.columns.push(column("old", Some("6.1.0-50")));
    results.record("bulk", Outcome::Passed);
    results.record("close", Outcome::Failed("a byte is missing".to_owned()));
    results.record("accecn", Outcome::NotJudged("AccECN: refused".to_owned()));
    results.record_need("AccECN", Some("refused"));
    results.columns.push(column("new", new_has_accecn.then_some("7.2.13")));
    if new_has_accecn {
        results.record_need("AccECN", None);
        results.record("accecn", Outcome::Passed);
    } else {
        results.record("accecn", Outcome::NotJudged("no kernel".to_owned()));
    }
    results
}

#[test]
fn a_need_that_no_machine_meets_is_an_error_by_name() {
    let unmet = two_machines(false).unmet();
    assert_eq!(
        unmet,
        [
            "no machine meets the need `AccECN`: old: refused",
            "no machine ran `accecn`: old: AccECN: refused; new: no kernel",
        ]
    );
    assert_eq!(two_machines(true).unmet(), [""; 0]);
    assert_eq!(two_machines(true).failures(), ["old: close: a byte is missing"]);
}

#[test]
fn the_table_says_why_a_test_is_not_judged() {
    let table = two_machines(false).table();
    for line in [
        "| test | old: 6.1.0-50 | new: no kernel |",
        "| all: passed, failed, not judged | 1, 1, 1 | 0, 0, 1 |",
        "| accecn | not judged (1) | not judged (2) |",
        "| bulk | passed |  |",
        "| close | failed |  |",
        "2. no kernel",
    ] {
        assert!(table.lines().any(|row| row == line), "{line}\n{table}");
    }
    assert_eq!(two_machines(false).range(), Some(["6.1.0-50", "6.1.0-50"]));
    assert_eq!(two_machines(true).range(), Some(["6.1.0-50", "7.2.13"]));
}
