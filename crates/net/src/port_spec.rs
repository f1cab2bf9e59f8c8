//! The specification of an output port: buffer, marker and queues.

use lowtide_units::{Bytes, QueueLength, Ratio};

use crate::aqm::MarkSpec;

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
#[derive(Clone, PartialEq, Eq, Debug)]
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortSpec {
    /// Admission. [`BufferSpec::Unlimited`] with classes, which have their own.
    pub buffer: BufferSpec,
    /// Marking. [`MarkSpec::NONE`] with classes.
    pub mark: MarkSpec,
    /// True if the queue, for K and static admission, includes the packet in service.
    pub count_in_service: bool,
    /// Several queues, chosen by [`crate::Packet::class`]. Only at switches.
    pub classes: Option<ClassSet>,
}

impl PortSpec {
    /// A host port: unlimited, unmarked.
    pub const NIC: Self = Self {
        buffer: BufferSpec::Unlimited,
        mark: MarkSpec::NONE,
        count_in_service: false,
        classes: None,
    };
}
