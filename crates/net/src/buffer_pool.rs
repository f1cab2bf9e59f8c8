//! The memory shared by the queues of a switch. [`crate::buffer::dynamic`] defines what is counted.
//!
//! A pool keeps for each non-empty port a time before which nothing leaves it, in a heap. So only
//! ports with possible departures must be brought up to date to get the exact state.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use lowtide_units::Instant;

use crate::{Blueprint, BufferSpec, ClassSpec, NodeId, PortSpec};

/// The state of the shared memory that a packet finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolView {
    /// Free bytes.
    pub(crate) free: u64,
    /// The packet fits.
    pub(crate) fits: bool,
}

impl PoolView {
    /// The port shares no memory.
    pub(crate) const UNSHARED: Self = Self { free: 0, fits: true };
}

/// A shared memory at run time.
#[derive(Clone, Debug)]
pub(crate) struct BufferPool {
    pub(crate) switch: usize,
    pub(crate) group: u32,
    pub(crate) size: u64,
    pub(crate) reserved: u64,
    /// Bytes held by queues, and the part of them in the shared region.
    held: u64,
    shared: u64,
    peak: u64,
    counting: bool,
    /// Non-empty ports: the time of the next departure, or a lower bound, then the port.
    busy: BinaryHeap<Reverse<u128>>,
}

impl BufferPool {
    pub(crate) fn all(plan: &Blueprint, groups: &PoolLayout) -> Vec<Self> {
        let pool = |&(PoolSpec { reserved, group }, switch): &(PoolSpec, usize)| Self {
            switch,
            group,
            size: plan.switches[switch].memory.map_or(0, lowtide_units::Bytes::as_u64),
            reserved,
            held: 0,
            shared: 0,
            peak: 0,
            counting: false,
            busy: BinaryHeap::new(),
        };
        groups.specs.iter().map(pool).collect()
    }
    /// Free bytes of the shared region.
    pub(crate) const fn free(&self) -> u64 {
        (self.size - self.reserved).saturating_sub(self.shared)
    }
    pub(crate) const fn held(&self) -> u64 {
        self.held
    }
    pub(crate) const fn peak(&self) -> u64 {
        self.peak
    }
    pub(crate) const fn counting(&self) -> bool {
        self.counting
    }
    /// Starts the statistics at the end of the warm-up.
    pub(crate) fn start(&mut self) {
        self.counting = true;
        self.peak = self.held;
    }
    /// Updates the bytes held by a queue.
    #[inline]
    pub(crate) fn change(&mut self, charge: &mut Charge, holds: u64) {
        let shared = |held: u64| held.saturating_sub(charge.reserved);
        self.shared = self.shared - shared(charge.held) + shared(holds);
        self.held = self.held - charge.held + holds;
        charge.held = holds;
        if self.counting {
            self.peak = self.peak.max(self.held);
        }
    }
    /// Returns a port that may have had a departure at or before `now`.
    /// [`BufferPool::update_first`] must follow.
    pub(crate) fn due(&self, now: Instant) -> Option<u32> {
        let &Reverse(first) = self.busy.peek()?;
        ((first >> 32) as u64 <= now.as_ps()).then_some(first as u32)
    }
    /// Sets the next departure of the port from [`BufferPool::due`]; `None` if it is empty. Returns
    /// true if it is not empty.
    pub(crate) fn update_first(&mut self, next: Option<Instant>) -> bool {
        let Some(mut first) = self.busy.peek_mut() else { return false };
        match next {
            Some(at) => first.0 = key(at, first.0 as u32),
            None => {
                PeekMut::pop(first);
            }
        }
        next.is_some()
    }
    /// Adds a port that became non-empty; its next departure is at `at`.
    pub(crate) fn push_busy(&mut self, port: u32, at: Instant) {
        self.busy.push(Reverse(key(at, port)));
    }
    /// Returns true if `size` more bytes would be a new peak, as far as known.
    pub(crate) const fn would_peak(&self, size: u32) -> bool {
        self.counting && self.held + size as u64 > self.peak
    }
}

fn key(at: Instant, port: u32) -> u128 {
    u128::from(at.as_ps()) << 32 | u128::from(port)
}

/// The share of a port in a pool.
#[derive(Clone, Debug)]
pub(crate) struct PoolShare {
    pool: u32,
    /// The port is in the pool's heap.
    pub(crate) listed: bool,
    /// The charge of the first queue; most ports have one queue.
    pub(crate) first: Charge,
    others: Vec<Charge>,
}

/// The bytes of a pool charged to a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge {
    queue: usize,
    reserved: u64,
    held: u64,
}

impl Charge {
    pub(crate) const fn queue(&self) -> usize {
        self.queue
    }
}

impl PoolShare {
    /// Returns the share of a port, if one of its queues has a dynamic threshold.
    pub(crate) fn new(pool: u32, port: &PortSpec, classes: Option<&[ClassSpec]>) -> Option<Self> {
        let mut charges = Vec::new();
        let mut charge = |queue, buffer: &BufferSpec| {
            if let BufferSpec::Dynamic { reserved, .. } = buffer {
                charges.push(Charge { queue, reserved: reserved.as_u64(), held: 0 });
            }
        };
        match classes {
            None => charge(0, &port.buffer),
            Some(classes) => {
                classes.iter().enumerate().for_each(|(i, class)| charge(i, &class.buffer));
            }
        }
        let mut charges = charges.into_iter();
        let first = charges.next()?;
        Some(Self { pool, listed: false, first, others: charges.collect() })
    }
    pub(crate) const fn pool(&self) -> usize {
        self.pool as usize
    }
    pub(crate) fn charges(&mut self) -> impl Iterator<Item = &mut Charge> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }
}

/// A shared memory, as specified by a blueprint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolSpec {
    /// Bytes reserved by all of its queues together.
    pub(crate) reserved: u64,
    /// Its number within the switch.
    pub(crate) group: u32,
}

/// The shared memories of a blueprint, each with its switch.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolLayout {
    pub(crate) specs: Vec<(PoolSpec, usize)>,
    /// The pool of each port, by number; `None` at hosts and at switches without shared memory.
    pub(crate) of_port: Vec<Option<u32>>,
}

/// Assigns ports to pools: at each switch a fixed number of ports per pool, in link order.
pub(crate) fn pool_layout(plan: &Blueprint) -> PoolLayout {
    let mut out = PoolLayout::default();
    // Per switch: ports so far, and the pool of the last one.
    let mut last: Vec<(u32, u32)> = vec![(0, 0); plan.switches.len()];
    for link in &plan.links {
        for (back, node) in [(false, link.a), (true, link.b)] {
            let switch = match node {
                NodeId::Switch(switch) => switch as usize,
                NodeId::Host(_) => usize::MAX,
            };
            let Some(spec) = plan.switches.get(switch).filter(|s| s.memory.is_some()) else {
                out.of_port.push(None);
                continue;
            };
            let (ports, group) = &mut last[switch];
            let most = spec.ports_per_memory.map_or(u32::MAX, std::num::NonZeroU32::get);
            if ports.is_multiple_of(most) {
                *group = out.specs.len() as u32;
                let number = *ports / most;
                out.specs.push((PoolSpec { reserved: 0, group: number }, switch));
            }
            *ports += 1;
            out.specs[*group as usize].0.reserved += reserved(plan, &link.line(back).port);
            out.of_port.push(Some(*group));
        }
    }
    out
}

/// Returns the bytes reserved by the queues of a port.
fn reserved(plan: &Blueprint, port: &PortSpec) -> u64 {
    let of = |buffer: &BufferSpec| match buffer {
        BufferSpec::Dynamic { reserved, .. } => reserved.as_u64(),
        BufferSpec::Unlimited | BufferSpec::Static(_) => 0,
    };
    let classes = port.classes.and_then(|set| plan.class_sets.get(set.0 as usize));
    of(&port.buffer) + classes.into_iter().flatten().map(|class| of(&class.buffer)).sum::<u64>()
}
