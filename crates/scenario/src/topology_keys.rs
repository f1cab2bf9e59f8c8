//! Keys of a topology in `[topology]`: its declared parameters, and a list of switches and links if
//! it has one.
//!
//! Contract: a topology needs no line here.

use lowtide_net::topology::TopologyEntry;

use crate::keys::{KeySpec, key};
use crate::value::KeyType;
use lowtide_schema::DefaultValue::Unset;

/// Key for the names of listed switches.
pub(crate) const SWITCHES: &str = "switches";

/// Key for the file with listed switches and links.
pub(crate) const FILE: &str = "file";

/// Keys of topologies whose switches and links are listed; `[[topology.links]]` is a table.
static LISTED: [KeySpec; 2] = [
    key(
        SWITCHES,
        KeyType::FreeNames("names of switches, `[\"tor0\", \"tor1\"]`"),
        Unset("as in `file`"),
        "The names of the switches, in order.",
    ),
    key(
        FILE,
        KeyType::Text,
        Unset("`switches` and `[[topology.links]]`"),
        "A file with `switches` and `[[links]]`, with the format of this table; its path is relative to the \
         scenario's directory.",
    ),
];

/// Returns the keys of a topology, without those of every topology.
pub(crate) fn keys(entry: &TopologyEntry) -> Vec<KeySpec> {
    let mut keys: Vec<KeySpec> = entry.params.iter().map(KeySpec::of_param).collect();
    if entry.explicit_links {
        keys.extend(LISTED);
    }
    keys
}

#[cfg(test)]
mod tests {
    use lowtide_net::topology::REGISTRY;

    use super::*;

    #[test]
    fn a_key_means_the_same_in_every_topology() {
        let all: Vec<KeySpec> = REGISTRY.all().flat_map(keys).collect();
        for one in &all {
            for other in all.iter().filter(|k| k.name == one.name) {
                assert_eq!(one.doc, other.doc, "{}", one.name);
            }
        }
    }
}
