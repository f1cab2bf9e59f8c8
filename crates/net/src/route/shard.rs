//! The routes of a part of the network.

use super::{Attachment, LOCAL, NextHopSet, Routes, SET, UNREACHABLE};

impl Routes {
    /// The routes of these switches only, in their order, with ports by their place in the part (`place`: of a port
    /// at one of these switches or at one of their hosts).
    pub(crate) fn for_shard(&self, switches: &[u32], place: impl Fn(u32) -> Option<u32>) -> Self {
        let near = |port: u32| place(port).unwrap_or(UNREACHABLE);
        let homes = self
            .attachments
            .iter()
            .map(|home| Attachment { nic: near(home.nic), ..*home })
            .collect();
        let mut part = Self { attachments: homes, columns: self.columns, ..Self::default() };
        let mut numbers = vec![None; self.next_hop_sets.len()];
        for &switch in switches {
            let row = switch as usize * self.columns;
            for &way in &self.table[row..row + self.columns] {
                let way = match way {
                    LOCAL | UNREACHABLE => way,
                    port if port < SET => near(port),
                    set => {
                        let set = (set - SET) as usize;
                        *numbers[set].get_or_insert_with(|| part.add_set(self, set, &near))
                    }
                };
                part.table.push(way);
            }
        }
        part
    }

    /// What stands in the table for a set of `whole`.
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
