//! Patterns in which an application writes to TCP.

use lowtide_units::{Bytes, Duration, Rate};

/// Pattern of a flow's writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WritePattern {
    /// All bytes at the start.
    #[default]
    Bulk,
    /// Bursts with pauses; a pause begins when the burst is acknowledged.
    OnOff {
        /// Bytes of a burst; the last may be smaller.
        burst: Bytes,
        /// Time from the acknowledgement of a burst to the next one.
        pause: Duration,
    },
    /// Writes at a rate, regardless of TCP's progress; excess data queues.
    Rate {
        /// Payload bits per second; the mean for Poisson arrivals.
        rate: Rate,
        /// Bytes of a write; the last may be smaller.
        write: Bytes,
        /// Writes are a Poisson process instead of equally spaced.
        poisson: bool,
    },
    /// Bytes that depend on the receipt of others ([`crate::CollectiveSpec`]).
    OnReceipt,
    /// All bytes at the start, until the time has passed: data in the send buffer by then is still
    /// sent, as for an application that writes until it is stopped.
    BulkFor {
        /// Time from the opening.
        duration: Duration,
    },
}

impl WritePattern {
    /// Returns the least time from the first write to the last for `size` bytes, or the mean time
    /// for Poisson arrivals.
    pub fn write_duration(&self, size: Bytes) -> Duration {
        match *self {
            Self::Bulk | Self::OnReceipt | Self::BulkFor { .. } => Duration::ZERO,
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
