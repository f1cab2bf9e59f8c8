//! Settings of one end: typed fields, and the parameters of registered parts.

pub(crate) mod config;
pub(crate) mod params;
