//! Losses: their detection, tail loss probes and recovery.

pub(crate) mod detection;
pub(crate) mod probe;
pub(crate) mod recovery;
