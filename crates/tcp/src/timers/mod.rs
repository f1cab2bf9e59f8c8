//! Timers, and the measurement of round trips that sets them.

pub(crate) mod deadlines;
mod expiry;
pub(crate) mod liveness;
pub(crate) mod retries;
pub(crate) mod rtt;
pub(crate) mod timestamps;
