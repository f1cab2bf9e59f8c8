//! Workloads: generators of flows and queries. One file per workload, found by name.

// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod all_to_all;
pub mod cluster;
pub mod flow_list;
pub mod incast;
pub mod on_off;
pub mod partition_aggregate;
pub mod permutation;
pub mod poisson;
pub mod rate_limited;
pub mod requests;
pub mod transfers;
// lowtide:registry end

pub use crate::api::{
    HostInfo, HostSelection, Traffic, WorkloadArgs, WorkloadContext, WorkloadEntry,
};
pub use crate::error::{MAX_CONNECTIONS, MAX_QUERIES, WorkloadError};
pub use crate::param::{UserFile, WorkloadParam, WorkloadParamKind, WorkloadParamValue};

/// All workloads, by name.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: &[&WorkloadEntry] = &[
    &all_to_all::ENTRY,
    &cluster::ENTRY,
    &flow_list::ENTRY,
    &incast::ENTRY,
    &on_off::ENTRY,
    &partition_aggregate::ENTRY,
    &permutation::ENTRY,
    &poisson::ENTRY,
    &rate_limited::ENTRY,
    &requests::ENTRY,
    &transfers::ENTRY,
];
// lowtide:registry list end

/// Finds the workload of that name.
pub fn find(name: &str) -> Option<&'static WorkloadEntry> {
    REGISTRY.iter().copied().find(|e| e.name == name)
}

/// Returns the names of all workloads.
pub fn names() -> Vec<&'static str> {
    REGISTRY.iter().map(|e| e.name).collect()
}
