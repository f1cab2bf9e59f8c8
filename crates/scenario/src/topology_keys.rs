//! Keys of a topology, generated from its registration in the network crate.
//!
//! Contract: a topology that is registered with numbers, layers of links, switches or links needs
//! no line here. `network/` builds a network from its values.

use lowtide_net::registry::{Param, ParamFormat, RegistryEntry};

use crate::keys::{KeySpec, key};
use crate::value::KeyType;
use lowtide_schema::DefaultValue::{Is, Required, Unset};

/// Registered parameters of the hosts' lines, which have keys already.
const HOSTS: [&str; 3] = ["host", "rate", "delay"];

/// Keys of each layer of links: rate and delay.
static LAYERS: [[&str; 3]; 4] = [
    ["aggregation", "aggregation-rate", "aggregation-delay"],
    ["core", "core-rate", "core-delay"],
    ["fabric", "fabric-rate", "fabric-delay"],
    ["trunk", "trunk-rate", "trunk-delay"],
];

/// Largest number of a topology's parameters.
const MAX_COUNT: u64 = 100_000;

/// Names of the switches of a graph.
pub(crate) const SWITCHES: &str = "switches";

/// Key for the file of a graph.
pub(crate) const FILE: &str = "file";

/// Returns the keys of a topology.
pub(crate) fn keys(entry: &RegistryEntry) -> Vec<KeySpec> {
    entry.params.iter().flat_map(of_param).collect()
}

/// Returns the keys for rate and delay of a layer of links.
pub(crate) fn layer(name: &str) -> Option<(&'static str, &'static str)> {
    LAYERS.iter().find(|l| l[0] == name).map(|l| (l[1], l[2]))
}

fn of_param(param: &Param) -> Vec<KeySpec> {
    if HOSTS.contains(&param.name) {
        return Vec::new();
    }
    let rate = |name| key(name, KeyType::Rate, Unset("as `link-rate`"), param.doc);
    let delay =
        |name| key(name, KeyType::Time { positive: false }, Unset("as `link-delay`"), param.doc);
    match param.kind {
        ParamFormat::Number => {
            let ty = KeyType::Count { min: 1, max: MAX_COUNT };
            vec![key(param.name, ty, param.default.map_or(Required, Is), param.doc)]
        }
        ParamFormat::Rate => vec![rate(param.name)],
        ParamFormat::Duration => vec![delay(param.name)],
        ParamFormat::Layer => {
            layer(param.name).map_or_else(Vec::new, |l| vec![rate(l.0), delay(l.1)])
        }
        ParamFormat::Switches => {
            let ty = KeyType::FreeNames("names of switches, `[\"tor0\", \"tor1\"]`");
            vec![key(SWITCHES, ty, Unset("as in `file`"), param.doc)]
        }
        ParamFormat::Links => {
            let doc = "A file with `switches` and `[[links]]`, with the format of this table; its path is relative to \
                       the scenario's directory.";
            vec![key(FILE, KeyType::Text, Unset("`switches` and `[[topology.links]]`"), doc)]
        }
        // Hosts have their own tables, ports are in `[switch]`, and framing is a key of every
        // topology.
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use lowtide_net::topology::REGISTRY;

    use super::*;

    #[test]
    fn each_layer_has_its_keys() {
        for param in REGISTRY.iter().flat_map(|e| e.params) {
            let known = layer(param.name).is_some() || HOSTS.contains(&param.name);
            assert!(param.kind != ParamFormat::Layer || known, "{}", param.name);
        }
    }

    #[test]
    fn a_key_means_the_same_in_every_topology() {
        let all: Vec<KeySpec> = REGISTRY.iter().flat_map(|e| keys(e)).collect();
        for one in &all {
            for other in all.iter().filter(|k| k.name == one.name) {
                assert_eq!(one.doc, other.doc, "{}", one.name);
            }
        }
    }
}
