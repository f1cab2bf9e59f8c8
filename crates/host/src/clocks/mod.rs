//! The clocks of a host: readings and their errors, and the tick of its timers.

pub(crate) mod calibration;
pub mod clock;
pub(crate) mod noise;
pub(crate) mod timer_tick;
mod timestamp_points;
