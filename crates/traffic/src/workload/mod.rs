//! Workloads: generators of flows and queries. One file per workload, found by name.
//!
//! A workload of another crate declares its [`WorkloadEntry`] with the same means and registers it
//! by [`REGISTRY`]`.register(&ENTRY)`. [`crate::queries`], [`crate::round_robin`] and
//! [`crate::endpoints`] have the parameters and helpers that several workloads share.

// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod all_to_all;
pub mod cluster;
pub mod collective;
pub mod flow_list;
pub mod incast;
pub mod on_off;
pub mod partition_aggregate;
pub mod permutation;
pub mod poisson;
pub mod rate_limited;
pub mod renewal;
pub mod requests;
pub mod transfers;
// lowtide:registry end

/// Checks that the file of another crate compiles here unchanged.
#[cfg(test)]
#[path = "../../../../examples/own-parts/src/ring_all_reduce.rs"]
#[expect(unreachable_pub, reason = "it is not part of this crate")]
mod example_ring_all_reduce;

pub use crate::api::{HostInfo, Traffic, WorkloadArgs, WorkloadContext};
pub use crate::entry::{Arrivals, HostSelection, WorkloadEntry};
pub use crate::error::{MAX_CONNECTIONS, MAX_QUERIES, WorkloadError};
pub use crate::text_file::UserFile;

use lowtide_schema::Registry;

/// All workloads: those of this crate by name, then those that other crates register.
pub static REGISTRY: Registry<WorkloadEntry> = Registry::new(BUILT_IN);

// lowtide:registry list (kept by `cargo xtask registry`)
static BUILT_IN: &[&WorkloadEntry] = &[
    &all_to_all::ENTRY,
    &cluster::ENTRY,
    &collective::ENTRY,
    &flow_list::ENTRY,
    &incast::ENTRY,
    &on_off::ENTRY,
    &partition_aggregate::ENTRY,
    &permutation::ENTRY,
    &poisson::ENTRY,
    &rate_limited::ENTRY,
    &renewal::ENTRY,
    &requests::ENTRY,
    &transfers::ENTRY,
];
// lowtide:registry list end

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_that_exists_cannot_be_registered_again() {
        let error = REGISTRY.register(&incast::ENTRY).unwrap_err();
        let second = line!() - 1;
        let text = error.to_string();
        assert!(text.contains("the workload `incast` is registered twice"), "{text}");
        assert!(text.contains("crates/traffic/src/workload/mod.rs:"), "{text}");
        assert_eq!((error.name, error.second.line()), ("incast", second));
        assert_ne!(error.first.line(), second);
    }

    #[test]
    fn every_default_and_every_key_is_valid() {
        for entry in REGISTRY.all() {
            for param in entry.params {
                assert!(param.doc.ends_with('.') && !param.source.is_empty(), "{param:?}");
                let Some(text) = param.default.text() else { continue };
                assert!(param.kind.parse(text).is_ok(), "{} {param:?}", entry.name);
            }
            assert!(!entry.spec.is_empty() && !entry.summary.is_empty(), "{}", entry.name);
        }
    }
}
