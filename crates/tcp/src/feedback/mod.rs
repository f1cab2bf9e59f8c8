//! Feedback decoders: they interpret the echoed ECN bits at the sender. One file per decoder.

mod api;
#[cfg(test)]
mod decoder_exactness;
// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod accecn;
pub mod dctcp;
pub mod freebsd;
pub mod one_sided;
pub mod rfc3168;
// lowtide:registry end

pub use api::{AckView, CeFeedback, FeedbackDecoder, FeedbackEntry};

use crate::settings::registered::{AppendList, NameTaken};

/// All feedback decoders, sorted by name.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: &[&FeedbackEntry] =
    &[&accecn::ENTRY, &dctcp::ENTRY, &freebsd::ENTRY, &one_sided::ENTRY, &rfc3168::ENTRY];
// lowtide:registry list end

/// Decoders that other crates added.
static ADDED: AppendList<FeedbackEntry> = AppendList::new();

/// Registers a decoder from another crate, for the whole process, before anything else runs.
/// Command line, scenario files and errors then know its name.
pub fn register(entry: &'static FeedbackEntry) -> Result<(), NameTaken> {
    ADDED.add(REGISTRY, entry, |e| e.name)
}

/// All decoders: [`REGISTRY`], then the added ones in order of registration.
pub fn all() -> impl Iterator<Item = &'static FeedbackEntry> {
    REGISTRY.iter().copied().chain(ADDED.iter())
}

/// Finds a decoder by its name.
pub fn find(name: &str) -> Option<&'static FeedbackEntry> {
    all().find(|e| e.name == name)
}

/// The names of all decoders.
pub fn names() -> alloc::vec::Vec<&'static str> {
    all().map(|e| e.name).collect()
}
