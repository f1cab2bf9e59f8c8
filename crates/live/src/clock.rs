//! The monotonic clock: the only place that reads the time.

use std::time::Instant as Monotonic;

use lowtide_units::{Duration, HostStamp, Instant};

/// Time since the start, in nanoseconds of the system's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Monotonic);

impl Clock {
    /// Starts a clock at zero.
    #[expect(clippy::disallowed_methods, reason = "real packets run in real time")]
    pub fn start() -> Self {
        Self(Monotonic::now())
    }

    /// Time since the start.
    pub fn now(&self) -> Instant {
        Instant::ZERO + Duration::from_ns(self.nanos())
    }

    /// Time stamp of a packet that leaves or arrives now.
    pub(crate) fn stamp(&self) -> HostStamp {
        HostStamp(self.nanos())
    }

    fn nanos(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Converts `d` for the standard library, rounded up to whole nanoseconds.
pub(crate) const fn std_duration(d: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(d.as_ps().div_ceil(1000))
}
