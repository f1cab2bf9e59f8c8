//! The conformance kit, run on every registered control.

use lowtide_conformance::{check, check_with};
use lowtide_tcp::Params;
use lowtide_tcp::cc::{self, dctcp};

#[test]
fn every_registered_control_does_what_it_declares() {
    for entry in cc::REGISTRY {
        assert_eq!(check(entry), [], "{}", entry.name);
    }
}

/// The rules that DCTCP breaks with these parameters.
fn broken(set: &[(&str, &str)]) -> Vec<&'static str> {
    let mut params = Params::new();
    for (name, value) in set {
        let param = dctcp::ENTRY.params.iter().find(|p| p.name == *name).expect("a parameter");
        params.set("dctcp", param.name, param.kind.parse(value).expect("a value"));
    }
    check_with(&dctcp::ENTRY, &params).into_iter().map(|v| v.rule).collect()
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

/// The kit detects deviations of stacks, so the switches have an effect.
#[test]
fn the_kit_sees_where_stacks_leave_the_standards() {
    assert_eq!(broken(&[("loss-from", "cwnd")]), ["loss-halves"]);
    let linux = [("loss-from", "cwnd"), ("loss-after-cut", "again")];
    assert_eq!(broken(&linux), ["loss-halves", "one-reduction"]);
}
