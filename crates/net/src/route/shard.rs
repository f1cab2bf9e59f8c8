//! The routes of a shard.

use super::flowlet::Flowlets;
use super::{Attachment, LOCAL, NextHopSet, Routes, SET, UNREACHABLE};

impl Routes {
    /// Returns the routes of these switches only, in their order, with local port numbers. `local`
    /// maps a port at one of these switches or their hosts.
    pub(crate) fn for_shard(&self, switches: &[u32], local: impl Fn(u32) -> Option<u32>) -> Self {
        let near = |port: u32| local(port).unwrap_or(UNREACHABLE);
        let attachments = self
            .attachments
            .iter()
            .map(|attachment| Attachment { nic: near(attachment.nic), ..*attachment })
            .collect();
        let mut shard = Self { attachments, columns: self.columns, ..Self::default() };
        let mut numbers = vec![None; self.next_hop_sets.len()];
        let whole = self.flowlets.as_ref().map_or(&self.table, |flowlets| &flowlets.table);
        for &switch in switches {
            let row = switch as usize * self.columns;
            for &entry in &whole[row..row + self.columns] {
                let entry = match entry {
                    LOCAL | UNREACHABLE => entry,
                    port if port < SET => near(port),
                    set => {
                        let set = (set - SET) as usize;
                        *numbers[set].get_or_insert_with(|| shard.add_set(self, set, &near))
                    }
                };
                shard.table.push(entry);
            }
        }
        if let Some(flowlets) = &self.flowlets {
            shard.flowlets = Some(Box::new(Flowlets::new(flowlets.gap, &mut shard.table)));
        }
        shard
    }

    /// Adds a set of `whole` and returns its table entry.
    fn add_set(&mut self, whole: &Self, number: usize, near: &impl Fn(u32) -> u32) -> u32 {
        let set = whole.next_hop_sets[number];
        let members = &whole.members[set.first as usize..(set.first + set.len) as usize];
        let first = self.members.len() as u32;
        self.members.extend(members.iter().map(|port| near(*port)));
        self.spray.extend(whole.spray.get(number).cloned());
        self.next_hop_sets.push(NextHopSet { first, ..set });
        SET + self.next_hop_sets.len() as u32 - 1
    }
}
