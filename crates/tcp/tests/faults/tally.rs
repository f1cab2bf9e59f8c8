//! Counts of a campaign, so that a test that exercises nothing cannot pass.

use std::collections::BTreeMap;

use lowtide_tcp::CloseReason;

macro_rules! tally {
    ($($name:ident),* $(,)?) => {
        /// Sums over all cases.
        #[derive(Debug, Default)]
        pub(crate) struct Tally {
            $(pub(crate) $name: u64,)*
            pub(crate) outcomes: BTreeMap<&'static str, u64>,
            /// Number of cases by packets on the wire per connection.
            pub(crate) lengths: BTreeMap<u64, u64>,
        }

        impl Tally {
            pub(crate) fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
                for (length, n) in &other.lengths {
                    *self.lengths.entry(*length).or_default() += n;
                }
                for (name, n) in &other.outcomes {
                    *self.outcomes.entry(name).or_default() += n;
                }
            }

            /// The names of events that never happened.
            pub(crate) fn missing(&self) -> Vec<&'static str> {
                let mut missing = Vec::new();
                $(if self.$name == 0 {
                    missing.push(stringify!($name));
                })*
                missing
            }

            pub(crate) fn print(&self) {
                $(print!("{} {}, ", self.$name, stringify!($name));)*
                println!("outcomes {:?}, median {} packets", self.outcomes, self.median());
            }
        }
    };
}

tally! {
    cases, connections, ends, calm, sequels, simultaneous,
    bytes_read, packets, lost, overflowed, blacked_out, duplicated, delayed, corrupted, bleached,
    marked, forged, refused_by_wire, undetected, rejected, strays, resets_sent, replies,
    retransmission_timeouts, fast_retransmits, loss_probes, probe_recoveries, ecn_reductions, retransmitted_bytes,
    closed_windows, sequence_wraps, timestamp_wraps, time_waits, ports_in_use, abandoned, endless, backlog_full, aggregated, spotless, vanished,
    accurate, ce_packets, ce_reported,
    windows_shrunk, sacks_trimmed, acks_divided, acks_repeated, hoards,
}

impl Tally {
    /// Records the length of the connections of one case.
    pub(crate) fn measure(&mut self) {
        self.lengths.insert(self.packets / self.connections.max(1), 1);
    }

    /// Packets per connection in the median case.
    fn median(&self) -> u64 {
        let mut left = self.lengths.values().sum::<u64>() / 2;
        let middle = self.lengths.iter().find(|(_, n)| {
            let found = left < **n;
            left = left.saturating_sub(**n);
            found
        });
        middle.map_or(0, |(length, _)| *length)
    }

    pub(crate) fn outcome(&mut self, reason: CloseReason, by_predecessor: bool) {
        let name = if by_predecessor { "reset by a predecessor" } else { reason.name() };
        *self.outcomes.entry(name).or_default() += 1;
    }
}
