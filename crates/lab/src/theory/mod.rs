//! What the papers' analyses predict, as functions of the network: nothing here runs anything.

pub mod dctcp;
