//! The settings of a queue that `[switch]` and real switches share.

use lowtide_units::{Bytes, Ratio};

use crate::error::ConfigError;
use crate::vendor::Vendor;

/// Least exponent of an alpha: the range of Spectrum switches. Other ASICs have smaller ones.
pub(crate) const MIN_EXPONENT: i8 = -7;
/// Greatest exponent.
pub(crate) const MAX_EXPONENT: i8 = 6;

/// Queue and buffer of the ports of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The marker; `None`: packets are only dropped when the buffer is full.
    pub marking: Option<Marking>,
    /// The buffer; `None`: the files have no buffer tables.
    pub buffer: Option<Buffer>,
}

/// WRED, with or without ECN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Marking {
    /// Queue lengths, bytes.
    pub thresholds: Thresholds,
    /// The fate of the packets that WRED selects.
    pub signal: Signal,
}

/// The fate of the packets that WRED selects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// ECT packets are marked, others as stated.
    Mark(NotEct),
    /// All are dropped.
    Drop,
}

/// The fate of a selected packet that is not ECT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotEct {
    /// It is enqueued, as long as the buffer has room.
    Ignore,
    /// It is dropped.
    Drop,
}

/// Queue lengths at which WRED acts. The queue is the instantaneous one, not an average.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Thresholds {
    /// All packets above this length.
    Step(Bytes),
    /// A probability that grows from zero to `max_percent` (1 to 100), then all packets.
    Ramp {
        /// Least length.
        min: Bytes,
        /// Length from which on all packets are selected; above `min`.
        max: Bytes,
        /// Probability just below `max`, percent.
        max_percent: u8,
    },
}

impl Thresholds {
    /// Least and greatest length, and the probability at the greatest in percent.
    pub(crate) const fn corners(self) -> (Bytes, Bytes, u8) {
        match self {
            Self::Step(k) => (k, k, 100),
            Self::Ramp { min, max, max_percent } => (min, max, max_percent),
        }
    }
}

/// Memory of the egress queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// `alpha` times the free part of a pool.
    Dynamic {
        /// The factor.
        alpha: Ratio,
        /// Memory of the switch: the pool, and what is reserved for all ports.
        memory: Bytes,
        /// Memory reserved for each port.
        reserved: Bytes,
    },
    /// A fixed limit for each port.
    Static(Bytes),
}

/// Returns 2^`exponent`, from [`MIN_EXPONENT`] to [`MAX_EXPONENT`].
pub(crate) fn power_of_two(exponent: i8) -> Option<Ratio> {
    let power = 1_u32.checked_shl(exponent.unsigned_abs().into())?;
    if exponent < 0 { Ratio::new(1, power) } else { Ratio::new(power, 1) }
}

/// Returns the exponent of an alpha that is a power of two.
pub(crate) fn exponent(vendor: Vendor, alpha: Ratio) -> Result<i8, ConfigError> {
    (MIN_EXPONENT..=MAX_EXPONENT).find(|e| power_of_two(*e) == Some(alpha)).ok_or_else(|| {
        let problem = format!("alpha is a power of two from 1/128 to 64, not {alpha}");
        ConfigError::inexpressible(vendor, "alpha", problem)
    })
}
