//! What a campaign did, so that a test that exercises nothing cannot pass.

use std::collections::BTreeMap;

use lowtide_tcp::CloseReason;

macro_rules! tally {
    ($($name:ident),* $(,)?) => {
        /// Sums over all cases.
        #[derive(Debug, Default)]
        pub(crate) struct Tally {
            $(pub(crate) $name: u64,)*
            pub(crate) outcomes: BTreeMap<&'static str, u64>,
        }

        impl Tally {
            pub(crate) fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
                for (name, n) in &other.outcomes {
                    *self.outcomes.entry(name).or_default() += n;
                }
            }

            /// The names of what never happened.
            pub(crate) fn missing(&self) -> Vec<&'static str> {
                let mut missing = Vec::new();
                $(if self.$name == 0 {
                    missing.push(stringify!($name));
                })*
                missing
            }

            pub(crate) fn print(&self) {
                $(print!("{} {}, ", self.$name, stringify!($name));)*
                println!("outcomes {:?}", self.outcomes);
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
}

impl Tally {
    pub(crate) fn outcome(&mut self, reason: CloseReason) {
        *self.outcomes.entry(reason.name()).or_default() += 1;
    }
}
