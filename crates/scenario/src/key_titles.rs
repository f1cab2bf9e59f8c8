//! Titles of keys that experiments sweep, for axes, tables and sentences.
//!
//! Contract: a title names the quantity in the words of the field, without its unit. Keys without a
//! title keep their path.

use crate::pattern::glob_matches;

/// Title of a key, and its symbol in sentences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyTitle {
    /// The title of an axis.
    pub title: &'static str,
    /// The name before a value, as in `K = 20 pkt`.
    pub symbol: &'static str,
}

/// Keys with their titles; `*` is the name of a group, a class or a pipe.
const TITLES: [(&str, &str, &str); 20] = [
    ("switch.mark.k", "Marking threshold K", "K"),
    ("switch.buffer", "Buffer of a port", "buffer"),
    ("switch.memory", "Shared memory of a switch", "memory"),
    ("switch.alpha", "Alpha of the dynamic buffer", "buffer alpha"),
    ("switch.mark.kind", "Marker", "marker"),
    ("topology.link-rate", "Link rate", "link rate"),
    ("topology.link-delay", "Link delay", "link delay"),
    ("topology.fabric-rate", "Rate of fabric links", "fabric rate"),
    ("routing.kind", "Routing", "routing"),
    ("run.duration", "Duration", "duration"),
    ("traffic.*.size", "Flow size", "size"),
    ("traffic.*.sizes", "Flow size distribution", "sizes"),
    ("traffic.*.load", "Offered load", "load"),
    ("traffic.*.count", "Number of flows", "flows"),
    ("traffic.*.flows", "Number of flows", "flows"),
    ("traffic.*.fan-out", "Fan-out of a query", "fan-out"),
    ("transport.sender.cc", "Congestion control", "congestion control"),
    ("transport.sender.rto-min", "Minimum RTO", "minimum RTO"),
    ("transport.sender.initial-window", "Initial window", "initial window"),
    ("transport.receiver.delack-segments", "Segments per delayed ACK", "segments per ACK"),
];

/// Returns the title of a key, by its path.
pub fn key_title(path: &str) -> Option<KeyTitle> {
    let found = TITLES.iter().find(|(pattern, _, _)| glob_matches(pattern, path));
    found.map(|&(_, title, symbol)| KeyTitle { title, symbol })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_of_keys_that_exist() {
        let schema = crate::json_schema().to_string();
        for (pattern, _, _) in TITLES {
            let last = pattern.rsplit('.').next().unwrap();
            assert!(schema.contains(&format!("\"{last}\":")), "{pattern}");
        }
    }

    #[test]
    fn groups_share_the_title_of_a_key() {
        assert_eq!(key_title("switch.mark.k").unwrap().title, "Marking threshold K");
        assert_eq!(key_title("traffic.short.size").unwrap().symbol, "size");
        assert_eq!(key_title("traffic.short.unknown"), None);
    }
}
