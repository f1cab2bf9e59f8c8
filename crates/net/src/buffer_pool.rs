//! The memory that the queues of a switch share. [`crate::buffer::dynamic`] says what is counted.
//!
//! A memory knows for each of its ports that has something in it a time before which nothing of it leaves:
//! one entry per busy port, the earliest at hand. So whoever needs the true state brings those ports up to
//! now from which something may have left, and no others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use lowtide_units::Instant;

use crate::{Blueprint, BufferSpec, ClassSpec, NodeId, PortSpec};

/// What a packet finds of the memory that its port shares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolView {
    /// Bytes of it that are free.
    pub(crate) free: u64,
    /// The packet may have of them what it needs.
    pub(crate) fits: bool,
}

impl PoolView {
    /// The port shares none.
    pub(crate) const UNSHARED: Self = Self { free: 0, fits: true };
}

/// One memory while the network runs.
#[derive(Clone, Debug)]
pub(crate) struct BufferPool {
    pub(crate) switch: usize,
    pub(crate) group: u32,
    pub(crate) size: u64,
    pub(crate) reserved: u64,
    /// What queues hold, and of that what they hold of the shared part.
    held: u64,
    shared: u64,
    peak: u64,
    counting: bool,
    /// Ports that hold something: the time of the next departure, or one before it, then the port.
    busy: BinaryHeap<Reverse<u128>>,
}

impl BufferPool {
    pub(crate) fn all(plan: &Blueprint, groups: &PoolLayout) -> Vec<Self> {
        let memory = |&(PoolSpec { reserved, group }, switch): &(PoolSpec, usize)| Self {
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
        groups.specs.iter().map(memory).collect()
    }
    /// What is free of the shared part.
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
    /// The warm-up is over.
    pub(crate) fn start(&mut self) {
        self.counting = true;
        self.peak = self.held;
    }
    /// A queue holds so much now.
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
    /// A port from which something may have left up to and with `now`. [`BufferPool::update_first`] must follow.
    pub(crate) fn due(&self, now: Instant) -> Option<u32> {
        let &Reverse(first) = self.busy.peek()?;
        ((first >> 32) as u64 <= now.as_ps()).then_some(first as u32)
    }
    /// The port of [`BufferPool::due`] holds nothing more that leaves before `next`, or nothing at all.
    /// Whether it still holds something.
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
    /// A port that held nothing holds something that leaves at `at`.
    pub(crate) fn push_busy(&mut self, port: u32, at: Instant) {
        self.busy.push(Reverse(key(at, port)));
    }
    /// Whether `size` bytes more would be the most that it held, as far as it knows.
    pub(crate) const fn would_peak(&self, size: u32) -> bool {
        self.counting && self.held + size as u64 > self.peak
    }
}

fn key(at: Instant, port: u32) -> u128 {
    u128::from(at.as_ps()) << 32 | u128::from(port)
}

/// The part of a port in a memory.
#[derive(Clone, Debug)]
pub(crate) struct PoolShare {
    pool: u32,
    /// It is among those that hold something.
    pub(crate) listed: bool,
    /// Most ports have one queue.
    pub(crate) first: Charge,
    others: Vec<Charge>,
}

/// What a queue has of a memory.
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
    /// The seat of a port, if one of its queues has a dynamic threshold.
    pub(crate) fn new(memory: u32, port: &PortSpec, classes: Option<&[ClassSpec]>) -> Option<Self> {
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
        Some(Self { pool: memory, listed: false, first, others: charges.collect() })
    }
    pub(crate) const fn pool(&self) -> usize {
        self.pool as usize
    }
    pub(crate) fn charges(&mut self) -> impl Iterator<Item = &mut Charge> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }
}

/// One shared memory, as a blueprint says it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolSpec {
    /// What its queues reserve, all together, in bytes.
    pub(crate) reserved: u64,
    /// Its number at its switch.
    pub(crate) group: u32,
}

/// The shared memories of a blueprint, each with its switch.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolLayout {
    pub(crate) specs: Vec<(PoolSpec, usize)>,
    /// The memory of each port, by number; `None` at hosts and at switches that share none.
    pub(crate) of_port: Vec<Option<u32>>,
}

/// Which ports share which memory: of each switch so many, in the order of the links.
pub(crate) fn pool_layout(plan: &Blueprint) -> PoolLayout {
    let mut out = PoolLayout::default();
    // Per switch: ports so far, and the memory of the last one.
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

/// What the queues of a port reserve.
fn reserved(plan: &Blueprint, port: &PortSpec) -> u64 {
    let of = |buffer: &BufferSpec| match buffer {
        BufferSpec::Dynamic { reserved, .. } => reserved.as_u64(),
        BufferSpec::Unlimited | BufferSpec::Static(_) => 0,
    };
    let classes = port.classes.and_then(|set| plan.class_sets.get(set.0 as usize));
    of(&port.buffer) + classes.into_iter().flatten().map(|class| of(&class.buffer)).sum::<u64>()
}
