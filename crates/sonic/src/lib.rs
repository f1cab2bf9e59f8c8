//! SONiC's tables of queues and buffers (`WRED_PROFILE`, `QUEUE`, `BUFFER_POOL`, `BUFFER_PROFILE`,
//! `BUFFER_QUEUE`, `PORT` of its CONFIG_DB) to and from `[switch]` of a scenario.
//!
//! Contract: [`Settings`] holds only what both sides can express. A setting that only one
//! side has is an error that names it, so importing an export returns the same settings.
//!
//! Sources: the YANG model `sonic-wred-profile`, and *QoS and Buffers* of NVIDIA's SONiC guide
//! (`dynamic_th`). Packets are green unless a switch meters them, so only the green thresholds
//! count here.

mod config_db;
mod error;
mod settings;
mod switch_table;

pub use config_db::{Placement, export, import};
pub use error::SonicError;
pub use settings::{Buffer, Marking, Settings, Thresholds};
pub use switch_table::{from_switch, to_switch};
