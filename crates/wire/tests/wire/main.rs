//! Tests of the wire formats: round trips, comparison with another implementation, hostile bytes.

mod capture;
mod extension;
mod icmp;
mod layout;
mod malformed;
mod oracle;
mod round_trip;
mod sequence;
mod strategy;
