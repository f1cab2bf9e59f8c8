//! Path choice per flowlet: a flow may change its path after a gap.

use std::collections::BTreeMap;

use lowtide_units::{Duration, Instant};

use super::{Routes, SET, UNREACHABLE, ecmp_index};
use crate::packet_pool::Descriptor;

/// The flowlets of all switches.
#[derive(Clone, Debug)]
pub(super) struct Flowlets {
    pub(super) gap: Duration,
    /// As [`Routes::table`]; only sets count.
    pub(super) table: Vec<u32>,
    /// By switch and flow hash.
    open: BTreeMap<(u32, u32), Flowlet>,
    /// Number of flowlets at which ended ones are removed.
    prune_at: usize,
}

#[derive(Clone, Copy, Debug)]
struct Flowlet {
    /// Arrival of its last packet.
    last: Instant,
    port: u32,
}

/// Flowlets in memory before ended ones are removed.
const MIN_PRUNE_AT: usize = 1 << 12;

impl Flowlets {
    /// Moves the sets out of `table`, so that its look-up fails and [`Routes::flowlet_port`]
    /// decides.
    pub(super) fn new(gap: Duration, table: &mut [u32]) -> Self {
        let all = table.to_vec();
        let sets = table.iter_mut().filter(|entry| (SET..super::LOCAL).contains(entry));
        sets.for_each(|entry| *entry = UNREACHABLE);
        Self { gap, table: all, open: BTreeMap::new(), prune_at: MIN_PRUNE_AT }
    }

    /// Returns the set of an entry of the table.
    pub(super) fn set(&self, at: usize) -> Option<usize> {
        let entry = *self.table.get(at)?;
        (SET..super::LOCAL).contains(&entry).then(|| (entry - SET) as usize)
    }

    pub(super) fn memory(&self) -> usize {
        size_of_val(self.table.as_slice()) + self.open.len() * size_of::<((u32, u32), Flowlet)>()
    }
}

impl Routes {
    /// Returns the port of `switch` for this packet at its arrival, if flowlets choose it.
    #[cold]
    pub(crate) fn flowlet_port(&mut self, switch: u32, packet: &Descriptor) -> Option<u32> {
        let flowlets = self.flowlets.as_deref_mut()?;
        let rack = self.attachments[packet.dst.0 as usize].rack as usize;
        let set = self.next_hop_sets[flowlets.set(switch as usize * self.columns + rack)?];
        let members = &self.members[set.first as usize..(set.first + set.len) as usize];
        let (now, gap) = (packet.arrival, flowlets.gap);
        let ended = |flowlet: &Flowlet| now.saturating_since(flowlet.last) > gap;
        if flowlets.open.len() >= flowlets.prune_at {
            flowlets.open.retain(|_, flowlet| !ended(flowlet));
            flowlets.prune_at = MIN_PRUNE_AT.max(2 * flowlets.open.len());
        }
        let key = (switch, packet.flow);
        let open = flowlets.open.get(&key).filter(|f| !ended(f) && members.contains(&f.port));
        let port = open.map_or_else(
            || {
                // The time of its first packet tells flowlets of one flow apart.
                let salt = set.salt ^ now.as_ps().wrapping_mul(0x9e37_79b9_7f4a_7c15);
                members[ecmp_index(packet.flow, salt, set.len) as usize]
            },
            |flowlet| flowlet.port,
        );
        flowlets.open.insert(key, Flowlet { last: now, port });
        Some(port)
    }

    /// Continues the flowlets of the routes before a change.
    pub(crate) fn continue_flowlets(&mut self, before: &mut Self) {
        if let (Some(now), Some(before)) = (&mut self.flowlets, &mut before.flowlets) {
            now.open = std::mem::take(&mut before.open);
        }
    }
}
