//! Declarations that all parts share: parameters, their values, and registries.
//!
//! A *part* is anything that users choose by name: a congestion control, a marker, a topology, a
//! workload, a scheme. Its file declares its name and its [`Param`]s and builds it from [`Values`].
//! The scenario reader, the command line, the JSON Schema and the documentation read these
//! declarations, so a new part needs only its registration.
//!
//! Contract: descriptions, values and lists of parts; no logic of a simulation. `no_std` with
//! `alloc`.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod kind;
mod not_simulated;
mod param;
mod registry;
mod unknown_name;
mod value;
mod values;

pub use kind::{DistributionOf, ValueError, ValueKind};
pub use not_simulated::{NOT_SIMULATED, NotSimulated};
pub use param::{DefaultValue, Param};
pub use registry::{Part, RegisteredTwice, Registry};
pub use unknown_name::UnknownName;
pub use value::Value;
pub use values::{ParamError, Values};
