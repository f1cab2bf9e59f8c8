//! Feedback decoders: what a sender makes of the echoed bits. One file per decoder.

mod api;
#[cfg(test)]
mod pairs;
// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod accecn;
pub mod dctcp;
pub mod freebsd;
pub mod one_sided;
pub mod rfc3168;
// lowtide:registry end

pub use api::{AckView, CeFeedback, Entry, FeedbackDecoder};

/// Every feedback decoder, by name.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: &[&Entry] =
    &[&accecn::ENTRY, &dctcp::ENTRY, &freebsd::ENTRY, &one_sided::ENTRY, &rfc3168::ENTRY];
// lowtide:registry list end

/// The decoder of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().copied().find(|e| e.name == name)
}

/// The names of all decoders.
pub fn names() -> alloc::vec::Vec<&'static str> {
    REGISTRY.iter().map(|e| e.name).collect()
}
