//! Run directories as archives for artefact evaluation (`lowtide bundle`).
//!
//! Contract: only a complete directory whose files have their hashes is packed. Equal directories
//! give equal bytes: members are sorted and have no time, user or group. An unpacked archive holds
//! exactly the files of its list of hashes, and its results give the digest that it states. Nothing
//! is unpacked before names, sizes and hashes are checked.

mod archive;
mod contents;
mod error;
mod hashes;
mod members;
mod pack;
mod readme;
mod verify;

pub use contents::{BundleInfo, INFO_FILE, RESULTS, SCHEMA};
pub use error::BundleError;
pub use pack::{BundleSource, PackedBundle, pack};
pub use verify::{UnpackedBundle, unpack};
