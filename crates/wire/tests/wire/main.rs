//! The wire formats against themselves, against another implementation and against hostile bytes.

mod capture;
mod extension;
mod icmp;
mod layout;
mod malformed;
mod oracle;
mod round_trip;
mod sequence;
mod strategy;
