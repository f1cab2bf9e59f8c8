//! What an output port is made of: how much it may hold, what marks, which queues it has.

use std::num::NonZeroU32;

use lowtide_units::{Bytes, Duration, Fraction};

/// A length of queue, in the unit in which a threshold was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// Packets, whatever their size.
    Packets(u64),
    /// Bytes of IP packets, framing not counted.
    Bytes(Bytes),
}

/// An exact ratio, not negative: a quarter, two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ratio {
    /// Above the line.
    pub num: u32,
    /// Below it.
    pub den: NonZeroU32,
}

impl Ratio {
    /// `num / den`; `None` if `den` is zero.
    pub const fn new(num: u32, den: u32) -> Option<Self> {
        match NonZeroU32::new(den) {
            Some(den) => Some(Self { num, den }),
            None => None,
        }
    }
}

/// How much a queue may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferSpec {
    /// As much as comes.
    Unlimited,
    /// A fixed share of its own.
    Static(Count),
    /// A dynamic threshold over the memory that the switch's queues share
    /// ([`crate::SwitchSpec::memory`]); see `buffer/dynamic.rs` for what is counted.
    Dynamic {
        /// A queue may hold this times the free shared memory.
        alpha: Ratio,
        /// What is always the queue's own, taken out of what is shared.
        reserved: Bytes,
    },
}

/// What a marker does with a packet that is not ECN-capable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NotEct {
    /// Let it pass.
    #[default]
    Ignore,
    /// Drop it (what RFC 8257 §5 warns of).
    Drop,
}

/// How a marker that could do either tells senders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionSignal {
    /// It sets CE; packets that are not ECN-capable are treated as this says.
    Mark(NotEct),
    /// It drops, whatever the packet's codepoint.
    Drop,
}

/// The marker (AQM) of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkSpec {
    /// None: drop-tail.
    None,
    /// Mark an arriving packet when the queue it finds is longer than `k` (DCTCP §3.1).
    Step {
        /// The threshold K.
        k: Count,
        /// What happens to packets that are not ECN-capable.
        not_ect: NotEct,
    },
    /// Mark a packet when the queue that it leaves behind, as the line begins to send it, is longer
    /// than `k`.
    StepDequeue {
        /// The threshold K.
        k: Count,
        /// What happens to packets that are not ECN-capable.
        not_ect: NotEct,
    },
    /// Mark by a virtual queue that is slower than the line (HULL). Not for a class.
    Phantom {
        /// Its threshold.
        k: Bytes,
        /// The share of the line's rate at which it drains.
        gamma: Fraction,
        /// What happens to packets that are not ECN-capable.
        not_ect: NotEct,
    },
    /// Random early detection by an average of the queue.
    Red(RedSpec),
    /// Controlled delay (RFC 8289).
    CoDel(CoDelSpec),
    /// A proportional-integral controller of the queue (Hollot et al.).
    Pi(PiSpec),
    /// The controller of the time in the queue (RFC 8033).
    Pie(PieSpec),
}

impl MarkSpec {
    /// The name of the marker in its registry, if it sets CE; `None` for one that drops what it chooses,
    /// and without a marker.
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

    /// Whether it may drop a packet that has its place in the queue already, or needs to see the queue
    /// at times of its own: such a port takes two events per packet.
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
    /// Below this average nothing is marked.
    pub min: Count,
    /// From this average on everything is, unless `gentle`. In the unit of `min`, and above it.
    pub max: Count,
    /// The probability just below `max`; 0 to 1.
    pub max_p: Fraction,
    /// The average takes in 2^-`weight` of each new length; 0 (no average) to 24.
    pub weight: u8,
    /// Above `max` the probability goes from `max_p` to one, at twice `max`, instead of jumping there.
    pub gentle: bool,
    /// IP bytes of a typical packet, by which the average decays while the line is idle.
    pub mean_packet: Bytes,
    /// Mark or drop.
    pub signal: CongestionSignal,
}

/// Controlled delay (RFC 8289).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoDelSpec {
    /// The time in the queue that is acceptable.
    pub target: Duration,
    /// How long it may be exceeded before the first signal; not zero.
    pub interval: Duration,
    /// Mark or drop.
    pub signal: CongestionSignal,
}

/// The proportional-integral controller (Hollot, Misra, Towsley, Gong 2001).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PiSpec {
    /// What the error of now adds to the probability, per packet.
    pub a: Fraction,
    /// What the error of a period ago takes off, per packet; below `a`.
    pub b: Fraction,
    /// The length that the queue is to have, in packets.
    pub q_ref: u64,
    /// The time between two updates; not zero.
    pub period: Duration,
    /// Mark or drop.
    pub signal: CongestionSignal,
}

/// The controller of the time in the queue (RFC 8033).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PieSpec {
    /// The time in the queue that is wished (`QDELAY_REF`).
    pub target: Duration,
    /// The time between two updates (`T_UPDATE`); not zero.
    pub period: Duration,
    /// What a second above the target adds to the probability at each update.
    pub alpha: Ratio,
    /// What a second more than at the last update adds.
    pub beta: Ratio,
    /// How long nothing is chosen after the queue was calm (`MAX_BURST`).
    pub burst: Duration,
    /// From this probability on chosen packets are dropped (`MARK_ECNTH`).
    pub mark_limit: Fraction,
    /// IP bytes of a typical packet: a queue of two is left alone.
    pub mean_packet: Bytes,
    /// Mark or drop.
    pub signal: CongestionSignal,
}

/// When a class is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// Before all classes that stand behind it in the list, and before all of [`Service::Dwrr`].
    Strict,
    /// In turns, by deficit weighted round robin, when no strict class has a packet.
    Dwrr {
        /// IP bytes per turn; not zero.
        quantum: Bytes,
    },
}

/// One of several queues in front of one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClassSpec {
    /// When it is served.
    pub service: Service,
    /// What it may hold.
    pub buffer: BufferSpec,
    /// Its marker, by its own queue.
    pub mark: MarkSpec,
}

/// The place of a list of classes in [`crate::Blueprint::class_sets`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClassSet(pub u32);

/// One output port: the queue, or the queues, in front of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortSpec {
    /// Admission. [`BufferSpec::Unlimited`] where there are classes: theirs counts.
    pub buffer: BufferSpec,
    /// Marking. [`MarkSpec::None`] where there are classes.
    pub mark: MarkSpec,
    /// Whether "queue", for K and for static admission, counts the packet on the line.
    pub count_in_service: bool,
    /// Several queues instead of one, chosen by [`crate::Packet::class`]. Only at switches.
    pub classes: Option<ClassSet>,
}

impl PortSpec {
    /// A host's own port: unlimited, unmarked.
    pub const NIC: Self = Self {
        buffer: BufferSpec::Unlimited,
        mark: MarkSpec::None,
        count_in_service: false,
        classes: None,
    };
}
