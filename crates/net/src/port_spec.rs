//! The specification of an output port: buffer, marker and queues.

use lowtide_units::{Bytes, Duration, Fraction, QueueLength, Ratio};

/// The capacity of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferSpec {
    /// Unlimited.
    Unlimited,
    /// A fixed size per queue.
    Static(QueueLength),
    /// A dynamic threshold over the memory shared by the switch's queues
    /// ([`crate::SwitchSpec::memory`]); `buffer/dynamic.rs` defines the counting.
    Dynamic {
        /// A queue may hold `alpha` times the free shared memory.
        alpha: Ratio,
        /// Bytes reserved for the queue, not part of the shared region.
        reserved: Bytes,
    },
}

/// The treatment of packets that are not ECN-capable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NotEct {
    /// Forward them.
    #[default]
    Ignore,
    /// Drop them (RFC 8257 §5 warns of this).
    Drop,
}

/// The signal of a marker that can mark or drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionSignal {
    /// Sets CE; packets that are not ECN-capable are treated as given.
    Mark(NotEct),
    /// Drops the packet, whatever its codepoint.
    Drop,
}

/// The marker (AQM) of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkSpec {
    /// None: drop-tail.
    None,
    /// Marks an arriving packet if the queue that it finds exceeds `k` (DCTCP §3.1).
    Step {
        /// The threshold K.
        k: QueueLength,
        /// The treatment of packets that are not ECN-capable.
        not_ect: NotEct,
    },
    /// Marks a packet if the queue that remains at the start of its transmission exceeds `k`.
    StepDequeue {
        /// The threshold K.
        k: QueueLength,
        /// The treatment of packets that are not ECN-capable.
        not_ect: NotEct,
    },
    /// Marks by a virtual queue that is slower than the line (HULL). Not for a class.
    Phantom {
        /// Its threshold.
        k: Bytes,
        /// Its drain rate as a fraction of the line rate.
        gamma: Fraction,
        /// The treatment of packets that are not ECN-capable.
        not_ect: NotEct,
    },
    /// Random early detection by an average queue length.
    Red(RedSpec),
    /// Controlled delay (RFC 8289).
    CoDel(CoDelSpec),
    /// A proportional-integral controller of the queue (Hollot et al.).
    Pi(PiSpec),
    /// PIE, the controller of queueing delay (RFC 8033).
    Pie(PieSpec),
}

impl MarkSpec {
    /// Returns the registry name of the marker if it sets CE; `None` if it drops, or if there is no
    /// marker.
    pub const fn sets_ce(&self) -> Option<&'static str> {
        let (name, signal) = match self {
            Self::None => return None,
            Self::Step { .. } => return Some("step"),
            Self::StepDequeue { .. } => return Some("step-dequeue"),
            Self::Phantom { .. } => return Some("phantom"),
            Self::Red(red) => ("red", red.signal),
            Self::CoDel(codel) => ("codel", codel.signal),
            Self::Pi(pi) => ("pi", pi.signal),
            Self::Pie(pie) => ("pie", pie.signal),
        };
        match signal {
            CongestionSignal::Mark(_) => Some(name),
            CongestionSignal::Drop => None,
        }
    }

    /// Returns true if the marker may drop enqueued packets or needs periodic updates. Such a port
    /// takes two events per packet.
    pub(crate) const fn needs_departure_events(&self) -> bool {
        matches!(
            self,
            Self::CoDel(_)
                | Self::Pi(_)
                | Self::Pie(_)
                | Self::StepDequeue { not_ect: NotEct::Drop, .. }
        )
    }
}

/// Random early detection (Floyd and Jacobson 1993).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RedSpec {
    /// No packet is marked below this average.
    pub min: QueueLength,
    /// All packets are marked from this average on, unless `gentle`. In the unit of `min`, above
    /// it.
    pub max: QueueLength,
    /// The probability just below `max`; 0 to 1.
    pub max_p: Fraction,
    /// The weight of a new length in the average is 2^-`weight`; 0 (no average) to 24.
    pub weight: u8,
    /// Above `max` the probability rises from `max_p` to one at twice `max`, instead of jumping.
    pub gentle: bool,
    /// IP bytes of a typical packet, for the decay of the average while the line is idle.
    pub mean_packet: Bytes,
    /// Mark or drop.
    pub signal: CongestionSignal,
}

/// Controlled delay (RFC 8289).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoDelSpec {
    /// The acceptable queueing delay.
    pub target: Duration,
    /// Time above target before the first signal; not zero.
    pub interval: Duration,
    /// Mark or drop.
    pub signal: CongestionSignal,
}

/// The proportional-integral controller (Hollot, Misra, Towsley, Gong 2001).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PiSpec {
    /// Weight of the current error in the probability, per packet.
    pub a: Fraction,
    /// Weight of the error one period ago, subtracted, per packet; below `a`.
    pub b: Fraction,
    /// The target queue length in packets.
    pub q_ref: u64,
    /// The update period; not zero.
    pub period: Duration,
    /// Mark or drop.
    pub signal: CongestionSignal,
}

/// PIE, the controller of queueing delay (RFC 8033).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PieSpec {
    /// The target queueing delay (`QDELAY_REF`).
    pub target: Duration,
    /// The update period (`T_UPDATE`); not zero.
    pub period: Duration,
    /// Increase of the probability per update and second above the target.
    pub alpha: Ratio,
    /// Increase of the probability per second of delay growth since the last update.
    pub beta: Ratio,
    /// Time without signals after the queue was calm (`MAX_BURST`).
    pub burst: Duration,
    /// Above or at this probability chosen packets are dropped (`MARK_ECNTH`).
    pub mark_limit: Fraction,
    /// IP bytes of a typical packet; a queue of two is exempt.
    pub mean_packet: Bytes,
    /// Mark or drop.
    pub signal: CongestionSignal,
}

/// The service discipline of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// Before all classes after it in the list, and before all of [`Service::Dwrr`].
    Strict,
    /// By deficit weighted round robin, when no strict class has a packet.
    Dwrr {
        /// IP bytes per round; not zero.
        quantum: Bytes,
    },
}

/// One of several queues of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClassSpec {
    /// The service discipline.
    pub service: Service,
    /// The buffer.
    pub buffer: BufferSpec,
    /// The marker, by its own queue.
    pub mark: MarkSpec,
}

/// Index of a class list in [`crate::Blueprint::class_sets`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClassSet(pub u32);

/// One output port: the queue or queues of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortSpec {
    /// Admission. [`BufferSpec::Unlimited`] with classes, which have their own.
    pub buffer: BufferSpec,
    /// Marking. [`MarkSpec::None`] with classes.
    pub mark: MarkSpec,
    /// True if the queue, for K and static admission, includes the packet on the line.
    pub count_in_service: bool,
    /// Several queues, chosen by [`crate::Packet::class`]. Only at switches.
    pub classes: Option<ClassSet>,
}

impl PortSpec {
    /// A host port: unlimited, unmarked.
    pub const NIC: Self = Self {
        buffer: BufferSpec::Unlimited,
        mark: MarkSpec::None,
        count_in_service: false,
        classes: None,
    };
}
