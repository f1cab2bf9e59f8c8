//! The conformance kit, run on every registered control.

use lowtide_conformance::{check, check_with};
use lowtide_tcp::cc::{self, cubic, dctcp};

#[test]
fn every_registered_control_does_what_it_declares() {
    for entry in cc::REGISTRY.all() {
        assert_eq!(check(entry), [], "{}", entry.name);
    }
}

/// The rules that DCTCP breaks with these parameters.
fn broken(set: &[(&str, &str)]) -> Vec<&'static str> {
    check_with(&dctcp::ENTRY, set).into_iter().map(|v| v.rule).collect()
}

#[test]
fn dctcp_conforms_with_both_kernels_integers_and_both_orders() {
    for arithmetic in ["linux", "freebsd"] {
        for order in ["estimate-first", "cut-first"] {
            let set = [("arithmetic", arithmetic), ("order", order), ("after-idle", "reset")];
            assert_eq!(broken(&set), Vec::<&str>::new(), "{set:?}");
        }
    }
}

#[test]
fn parameters_that_a_control_does_not_accept_are_a_violation() {
    for set in [("shift-g", "many"), ("shift-h", "4")] {
        assert_eq!(broken(&[set]), ["parameters"], "{set:?}");
    }
}

/// The kit detects deviations of stacks, so the switches have an effect.
#[test]
fn the_kit_sees_where_stacks_leave_the_standards() {
    assert_eq!(broken(&[("loss-from", "cwnd")]), ["loss-halves"]);
    let linux = [("loss-from", "cwnd"), ("loss-after-cut", "again")];
    assert_eq!(broken(&linux), ["loss-halves", "one-reduction"]);
}

/// Linux starts from cwnd, not from FlightSize, but with beta 0.7 as the RFC.
#[test]
fn cubic_conforms_with_the_rules_of_linux() {
    assert_eq!(check_with(&cubic::ENTRY, &[("variant", "linux")]), []);
}
