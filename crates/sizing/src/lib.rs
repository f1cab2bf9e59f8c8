//! Recommends marking thresholds, g and buffers: for one link by DCTCP's analysis, and for a whole
//! fabric by simulation of its traffic.

mod analysis;
mod check;
pub mod fabric;

pub use analysis::{Sizing, SizingInput, SteadyState, recommend};
pub use check::{CheckedQuantity, SimulationCheck, check_scenario, run_check};

use lowtide_lab::LabError;

/// Ethernet overhead of a packet in bytes: preamble, header, FCS, inter-packet gap.
pub(crate) const FRAMING_BYTES: u32 = 38;

fn error_help(message: String, help: &str) -> LabError {
    LabError::InvalidRequest { message, help: Some(help.to_owned()) }
}
