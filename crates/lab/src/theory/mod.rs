//! What the papers' analyses predict, as functions of the network: nothing here runs anything.
//!
//! Contract: floats are fine, these numbers are reported and drawn and never decide anything in a simulation.
//! Sizes are packets of one size. What an analysis cannot hold is an error, never a number.

pub mod dctcp;
mod domain;
pub mod dx;
pub mod tdctcp;

pub use domain::DomainError;

/// C x RTT in packets: how many of `wire_bytes` (framing counted) a line of `rate_bps` sends in
/// `rtt_seconds`.
pub fn bdp_packets(rate_bps: f64, rtt_seconds: f64, wire_bytes: f64) -> f64 {
    rate_bps * rtt_seconds / (8.0 * wire_bytes)
}
