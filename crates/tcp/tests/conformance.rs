//! The conformance kit over every registered control.

use lowtide_tcp::Params;
use lowtide_tcp::cc::{self, dctcp};
use lowtide_tcp::conformance::{check, check_with};

#[test]
fn every_registered_control_does_what_it_declares() {
    for entry in cc::REGISTRY {
        assert_eq!(check(entry), [], "{}", entry.name);
    }
}

#[test]
fn dctcp_does_so_with_the_integers_of_both_kernels() {
    for name in ["linux", "freebsd"] {
        let param = dctcp::ENTRY.params.iter().find(|p| p.name == "arithmetic").unwrap();
        let mut params = Params::new();
        params.set("dctcp", param.name, param.kind.parse(name).unwrap());
        assert_eq!(check_with(&dctcp::ENTRY, &params), [], "{name}");
    }
}
