//! The DCTCP echo: each ACK reports whether its segments carried CE.
//!
//! ## Algorithm
//! Counts all data delivered by an ACK with ECE as marked, and by an ACK without as clean.
//!
//! ## Spec
//! RFC 8257 §3.3 (bytes marked), against the receiver of §3.2.
//!
//! ## Deviations
//! Counts delivered data, including SACKed segments; RFC 8257 §3.3 ignores SACK. A control that
//! follows the RFC literally scales by the bytes acknowledged cumulatively.
//!
//! ## Kernel twin
//! `tp->delivered_ce` in Linux: the segments delivered by ACKs that carry ECE.

use super::{FeedbackEntry, rfc3168};

/// Registration. The decoder is [`rfc3168`]'s: only the echo of the receiver is another.
pub static ENTRY: FeedbackEntry = FeedbackEntry {
    name: "dctcp",
    summary: "exact echo: data delivered by an ACK with ECE was marked, nothing else",
    spec: "RFC 8257 §3.3",
    params: &[],
    ack_policies: &["dctcp", "odctcp", "tdctcp"],
    build: rfc3168::ENTRY.build,
};
