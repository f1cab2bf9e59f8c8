//! Feedback decoders: what a sender makes of the echoed bits. One file per decoder.

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

use crate::registered::{AppendList, NameTaken};

/// Every feedback decoder, by name.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: &[&FeedbackEntry] =
    &[&accecn::ENTRY, &dctcp::ENTRY, &freebsd::ENTRY, &one_sided::ENTRY, &rfc3168::ENTRY];
// lowtide:registry list end

/// Those that other crates added.
static ADDED: AppendList<FeedbackEntry> = AppendList::new();

/// Adds a decoder from outside of this crate, for the whole process; to be called before anything
/// else. Command line, scenario files and errors then know its name as they know the others.
pub fn register(entry: &'static FeedbackEntry) -> Result<(), NameTaken> {
    ADDED.add(REGISTRY, entry, |e| e.name)
}

/// Every decoder: [`REGISTRY`], then what was added, in the order in which it was.
pub fn all() -> impl Iterator<Item = &'static FeedbackEntry> {
    REGISTRY.iter().copied().chain(ADDED.iter())
}

/// The decoder of that name.
pub fn find(name: &str) -> Option<&'static FeedbackEntry> {
    all().find(|e| e.name == name)
}

/// The names of all decoders.
pub fn names() -> alloc::vec::Vec<&'static str> {
    all().map(|e| e.name).collect()
}
