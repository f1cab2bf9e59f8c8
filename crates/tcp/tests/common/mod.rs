//! Transcripts: TCP connections in virtual time, segments as text, packets in the errors.
//!
//! [`Script`] drives one connection whose peer is the test; [`Pair`] joins two over a link that can
//! lose, mark, duplicate and delay. Both use the public interface only. [`at_every_origin`] runs a
//! test at several initial sequence numbers and timestamps, close to their wraps.

mod origin;
mod packet;
mod pair;
mod script;
mod steps;

pub(crate) use origin::{Origin, at_every_origin};
pub(crate) use packet::{Opts, Packet, SeqBase};
pub(crate) use pair::{LinkAction, Pair, SentSegment, Side};
pub(crate) use script::Script;

use lowtide_tcp::Config;
use lowtide_units::Duration;

/// The `rfc` profile with segments of 1000 B, no timestamps and no delayed ACKs: options that a
/// test does not mention should not affect it.
pub(crate) fn plain() -> Config {
    Config {
        mtu: 1040,
        timestamps: false,
        window_scaling: false,
        sack: false,
        nagle: false,
        delack_segments: 1,
        ..Config::default()
    }
}

/// Options that all current stacks offer.
pub(crate) fn modern() -> Config {
    Config { timestamps: true, window_scaling: true, sack: true, ..plain() }
}

/// `n` milliseconds.
pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_ms(n)
}
