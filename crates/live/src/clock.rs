//! The monotonic clock: the one place that reads the time.

use std::time::Instant as Monotonic;

use lowtide_units::{Duration, HostStamp, Instant};

/// Time since it was started, at the resolution of the system's monotonic clock (nanoseconds).
#[derive(Clone, Copy, Debug)]
pub struct Clock(Monotonic);

impl Clock {
    /// A clock that begins at zero.
    #[expect(clippy::disallowed_methods, reason = "real packets run in real time")]
    pub fn start() -> Self {
        Self(Monotonic::now())
    }

    /// Now.
    pub fn now(&self) -> Instant {
        Instant::ZERO + Duration::from_ns(self.nanos())
    }

    /// Now, as the stamp of a packet that leaves or arrives.
    pub(crate) fn stamp(&self) -> HostStamp {
        HostStamp(self.nanos())
    }

    fn nanos(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// `d` for the standard library, rounded up to whole nanoseconds.
pub(crate) const fn std_duration(d: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(d.as_ps().div_ceil(1000))
}
