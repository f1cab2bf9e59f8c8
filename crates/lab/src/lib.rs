//! placeholder
mod error;
mod facts;
mod figure;
mod interval;
mod plots;
mod present;
mod results;
mod schedule;
mod session;
mod settings;
mod summary;

/// Version of the tool.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
pub use error::LabError;
pub use results::{Envelope, Results};
pub use schedule::Progress;
pub use session::*;
