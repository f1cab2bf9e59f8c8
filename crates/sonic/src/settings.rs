//! The settings that both SONiC and `[switch]` can express.

use lowtide_units::Bytes;

/// Least exponent of `dynamic_th` with a ratio above zero (-8 is zero).
pub(crate) const MIN_EXPONENT: i8 = -7;
/// Greatest exponent of `dynamic_th` (7 is no limit).
pub(crate) const MAX_EXPONENT: i8 = 6;

/// Queue and buffer of the ports of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The marker; `None`: packets are only dropped when the buffer is full.
    pub marking: Option<Marking>,
    /// The buffer; `None`: the files have no buffer tables.
    pub buffer: Option<Buffer>,
}

/// WRED with ECN. Packets that are not ECN-capable are dropped where others are marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Marking {
    /// Queue lengths, bytes.
    pub thresholds: Thresholds,
    /// ECN-capable packets are marked; else they are dropped as all others.
    pub ecn: bool,
}

/// Queue lengths at which WRED acts. The queue is the present one, not an average.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Thresholds {
    /// All packets above this length: `min_threshold` equals `max_threshold`.
    Step(Bytes),
    /// A probability that grows from zero to `max_percent` (1 to 100), then all packets.
    Ramp {
        /// Least length.
        min: Bytes,
        /// Length from which on all packets are marked; above `min`.
        max: Bytes,
        /// Probability just below `max`, percent.
        max_percent: u8,
    },
}

/// Memory of the egress queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// 2^`exponent` times the free part of a pool (`dynamic_th`).
    Dynamic {
        /// -7 to 6.
        exponent: i8,
        /// Memory of the switch: the pool, and what is reserved for all ports.
        memory: Bytes,
        /// Memory reserved for each port.
        reserved: Bytes,
    },
    /// A fixed limit for each port (`static_th`).
    Static(Bytes),
}
