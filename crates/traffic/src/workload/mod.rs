//! Workloads: generators of flows and queries. One file per workload, found by name.
//!
//! A workload of another crate declares its [`WorkloadEntry`] with the same means and registers it
//! by [`REGISTRY`]`.register(&ENTRY)`. [`crate::queries`], [`crate::round_robin`] and
//! [`crate::endpoints`] have the parameters and helpers that several workloads share.

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
pub use crate::text_file::UserFile;

use lowtide_schema::Registry;

/// All workloads: those of this crate by name, then those that other crates register.
pub static REGISTRY: Registry<WorkloadEntry> = Registry::new(BUILT_IN);

// lowtide:registry list (kept by `cargo xtask registry`)
static BUILT_IN: &[&WorkloadEntry] = &[
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
