//! The results of the suite `kernels`: a need that no machine meets is an error by name, and what
//! is not judged never counts as passed.

#[path = "../kernels/results.rs"]
#[allow(dead_code, clippy::print_stdout, reason = "the suite uses the rest")]
mod results;

use results::{Machine, Outcome, Results};

/// Two machines: `old` has no AccECN and failed a test, `new` did not boot.
fn two_machines(new_has_accecn: bool) -> Results {
    let mut old = Machine::new(Some("6.1.0-50".to_owned()));
    old.record("bulk", Outcome::Passed);
    old.record("close", Outcome::Failed("a byte is missing".to_owned()));
    old.record("accecn", Outcome::NotJudged("AccECN: refused".to_owned()));
    old.record_need("AccECN", Some("refused"));
    let mut new = Machine::new(new_has_accecn.then(|| "7.2.13".to_owned()));
    if new_has_accecn {
        new.record_need("AccECN", None);
        new.record("accecn", Outcome::Passed);
    } else {
        new.record("accecn", Outcome::NotJudged("no kernel".to_owned()));
    }
    let mut results = Results::default();
    results.update("old", old);
    results.update("new", new);
    results
}

#[test]
fn a_need_that_no_machine_meets_is_an_error_by_name() {
    let unmet = two_machines(false).unmet();
    assert_eq!(
        unmet,
        [
            "no machine meets the need `AccECN`: old: refused",
            "no machine ran `accecn`: new: no kernel; old: AccECN: refused",
        ]
    );
    assert_eq!(two_machines(true).unmet(), [""; 0]);
    assert_eq!(two_machines(true).failures(), ["old: close: a byte is missing"]);
}

#[test]
fn the_table_says_why_a_test_is_not_judged() {
    let table = two_machines(false).table();
    for line in [
        "| test | new: no kernel | old: 6.1.0-50 |",
        "| all: passed, failed, not judged | 0, 0, 1 | 1, 1, 1 |",
        "| `accecn` | not judged (1) | not judged (2) |",
        "| `bulk` |  | passed |",
        "| `close` |  | failed |",
        "| 1 | no kernel |",
    ] {
        assert!(table.lines().any(|row| row == line), "{line}\n{table}");
    }
    assert_eq!(two_machines(false).range(), Some(["6.1.0-50", "6.1.0-50"]));
    assert_eq!(two_machines(true).range(), Some(["6.1.0-50", "7.2.13"]));
}

#[test]
fn results_of_an_earlier_kernel_are_forgotten() {
    let mut results = two_machines(true);
    results.update("old", Machine::new(Some("6.1.0-51".to_owned())));
    assert_eq!(results.failures(), [""; 0]);
}
