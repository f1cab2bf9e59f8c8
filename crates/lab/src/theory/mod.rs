//! Predictions of the papers' analyses, as functions of the network; nothing is simulated.
//!
//! Contract: floats are fine, since these numbers are reported and drawn but decide nothing in a
//! simulation. Sizes are packets of one size. Parameters outside of the domain of an analysis are
//! errors.

pub mod dctcp;
mod domain;
pub mod dx;
pub mod tdctcp;

pub use domain::DomainError;

/// C x RTT in packets: number of `wire_bytes` packets (including framing) that a link of `rate_bps`
/// sends in `rtt_seconds`.
pub fn bdp_packets(rate_bps: f64, rtt_seconds: f64, wire_bytes: f64) -> f64 {
    rate_bps * rtt_seconds / (8.0 * wire_bytes)
}
