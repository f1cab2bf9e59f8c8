//! How an application hands its bytes to TCP.

use lowtide_units::{Bytes, Duration, Rate};

/// When the bytes of a flow are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WritePattern {
    /// All at the start.
    #[default]
    Bulk,
    /// A burst, then a pause that begins when all of it is acknowledged, and again.
    OnOff {
        /// Bytes of a burst; the last may be smaller.
        burst: Bytes,
        /// From the acknowledgement of a burst to the next one.
        pause: Duration,
    },
    /// Writes at a rate, whatever becomes of them: what TCP does not get rid of waits for it.
    Rate {
        /// Payload bits per second; the mean for Poisson arrivals.
        rate: Rate,
        /// Bytes of a write; the last may be smaller.
        write: Bytes,
        /// Writes are a Poisson process instead of a clockwork.
        poisson: bool,
    },
    /// All at the start, and no more after that time: what the send buffer has taken by then is still sent, as
    /// of an application that writes until it is stopped.
    BulkFor {
        /// From the opening on.
        duration: Duration,
    },
}

impl WritePattern {
    /// The least time from the first write to the last when `size` is written in all; for Poisson
    /// arrivals the mean.
    pub fn write_duration(&self, size: Bytes) -> Duration {
        match *self {
            Self::Bulk | Self::BulkFor { .. } => Duration::ZERO,
            Self::OnOff { burst, pause } => {
                let bursts = size.as_u64().div_ceil(burst.as_u64().max(1));
                pause * bursts.saturating_sub(1)
            }
            Self::Rate { rate, write, .. } => {
                let before = size.as_u64().saturating_sub(1) / write.as_u64().max(1);
                rate.serialization(Bytes::new(before.saturating_mul(write.as_u64())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_duration_is_the_sum_of_the_gaps() {
        let kb = |n: u64| Bytes::new(n * 1_000);
        let on_off = WritePattern::OnOff { burst: kb(200), pause: Duration::from_secs(1) };
        assert_eq!(on_off.write_duration(kb(200)), Duration::ZERO);
        assert_eq!(on_off.write_duration(kb(201)), Duration::from_secs(1));
        assert_eq!(on_off.write_duration(kb(1_000)), Duration::from_secs(4));
        let rate = WritePattern::Rate { rate: Rate::from_gbps(8), write: kb(1), poisson: false };
        assert_eq!(rate.write_duration(kb(1)), Duration::ZERO);
        assert_eq!(rate.write_duration(kb(3)), Duration::from_us(2));
        assert_eq!(WritePattern::Bulk.write_duration(kb(3)), Duration::ZERO);
    }
}
