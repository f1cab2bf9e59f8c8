//! Settings of one end: typed fields, and the parameters and values of registered entries.

pub(crate) mod config;
pub(crate) mod params;
pub(crate) mod registered;
pub(crate) mod value;
