//! Every host asks every other at once.
//!
//! ## What it does
//! Each host of `from` asks all hosts of `to` but itself for one answer of each, all from the same
//! moment on: DCTCP §4.2.1 (fig. 20) has 41 hosts that each ask 25 KB of the 40 others.

use super::{Args, Ends, Entry, Refusal, Site, Traffic};
use crate::ask::{self, ANSWER, CONNECTIONS, DEADLINE, JITTER, QUERIES, REQUEST, THINK};
use crate::deal::START;

/// Registration.
pub static ENTRY: Entry = Entry {
    name: "all-to-all",
    summary: "hosts that all ask each other at once",
    ends: Ends::FromTo,
    params: &[ANSWER, REQUEST, QUERIES, THINK, START, CONNECTIONS, JITTER, DEADLINE],
    traffic,
};

fn traffic(args: &Args, site: &Site) -> Result<Traffic, Refusal> {
    ask::each(args, |i, client| {
        let mut asker = ask::asker(args, client, ask::servers(args, client)?);
        asker.answers = ask::answers(args, site, i, "answer", &asker.asks)?;
        Ok(asker)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lowtide_units::Bytes;

    use super::*;
    use crate::Cdf;
    use crate::testing::made;
    use crate::workload::ParamValue;

    #[test]
    fn each_of_41_hosts_asks_the_40_others() {
        let size = Bytes::new(25_000);
        let hosts: Vec<u32> = (0..41).collect();
        let args = Args {
            sources: hosts.clone(),
            destinations: hosts,
            values: vec![("answer", ParamValue::Distribution(Arc::new(Cdf::fixed(size))))],
            ..Args::default()
        };
        let made = made(&ENTRY, &args);
        assert_eq!((made.askers.len(), made.connections()), (41, 41 * 40));
        assert!(made.askers.iter().all(|a| a.fan_out == 40 && !a.servers.contains(&a.client)));
        assert!(made.askers.iter().all(|a| a.answers == [size] && a.start == made.askers[0].start));
    }
}
