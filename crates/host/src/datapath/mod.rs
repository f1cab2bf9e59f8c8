//! The path of a packet through its host: the stages, and the steps through them.

pub(crate) mod aggregate;
pub(crate) mod bucket;
mod drive;
pub(crate) mod nic;
pub(crate) mod stack;
mod steps;
mod transmit;
pub(crate) mod tsq;
