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

use lowtide_schema::Registry;

pub use api::{AckView, CeFeedback, FeedbackDecoder, FeedbackEntry};

/// All feedback decoders, sorted by name, then those that other crates registered.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: Registry<FeedbackEntry> = Registry::new(&[
    &accecn::ENTRY,
    &dctcp::ENTRY,
    &freebsd::ENTRY,
    &one_sided::ENTRY,
    &rfc3168::ENTRY,
]);
// lowtide:registry list end
