//! Names that a file may use: those registered by the crates below and those it defines.

use lowtide_net::topology::TopologyEntry;
use lowtide_net::{aqm, profiles, topology};
use lowtide_tcp::{profile, scheme};
use lowtide_traffic::workload;

use crate::toml_tree::TomlNode;
use crate::value::NameSet;

/// Names that the file defines, in its order.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownNames {
    pub(crate) hosts: Vec<String>,
    pub(crate) traffic: Vec<String>,
    pub(crate) pipes: Vec<String>,
    pub(crate) failures: Vec<String>,
    pub(crate) switches: Vec<String>,
    pub(crate) classes: Vec<String>,
    pub(crate) bundles: Vec<String>,
    /// Schemes in the answer of the question.
    pub(crate) asked: Vec<String>,
}

impl KnownNames {
    /// Collects the names of the tables in a file.
    pub(crate) fn of(root: &TomlNode) -> Self {
        let names = |path: &[&str]| {
            let table = root.get(path).map(TomlNode::entries).unwrap_or_default();
            table.iter().map(|e| e.key.clone()).collect()
        };
        Self {
            hosts: names(&["hosts"]),
            traffic: names(&["traffic"]),
            pipes: names(&["pipe"]),
            failures: names(&["failure"]),
            switches: names(&["switch", "at"]),
            classes: names(&["switch", "class"]),
            bundles: names(&["compare", "bundles"]),
            asked: names(&["question", "schemes"]),
        }
    }

    /// Returns the names of tables below a path that is only a prefix, as `hosts` is.
    pub(crate) fn table_names(&self, path: &[&str]) -> Option<&[String]> {
        match path {
            ["hosts"] => Some(&self.hosts),
            ["traffic"] => Some(&self.traffic),
            ["pipe"] => Some(&self.pipes),
            ["failure"] => Some(&self.failures),
            ["switch", "at"] => Some(&self.switches),
            ["switch", "class"] => Some(&self.classes),
            ["compare", "bundles"] => Some(&self.bundles),
            ["question", "schemes"] => Some(&self.asked),
            _ => None,
        }
    }

    /// Returns the names that are valid for `names`.
    pub(crate) fn list(&self, names: NameSet) -> Vec<String> {
        let base = || scheme::REGISTRY.all().map(|s| s.name.to_owned());
        match names {
            NameSet::Fixed(list) => list.iter().map(|n| (*n).to_owned()).collect(),
            NameSet::Profiles => profile::REGISTRY.all().map(|p| p.name.to_owned()).collect(),
            NameSet::Schemes => base().chain(self.bundles.iter().cloned()).collect(),
            NameSet::BaseSchemes => base().collect(),
            NameSet::Markers => aqm::REGISTRY.all().map(|e| e.name.to_owned()).collect(),
            NameSet::Topologies => {
                topology::REGISTRY.names().into_iter().map(str::to_owned).collect()
            }
            NameSet::Sides => {
                let mut names: Vec<String> = Vec::new();
                for side in topology::REGISTRY.all().flat_map(TopologyEntry::sides) {
                    if names.iter().all(|name| name != side.name) {
                        names.push(side.name.to_owned());
                    }
                }
                names
            }
            NameSet::Workloads => workload::REGISTRY.all().map(|e| e.name.to_owned()).collect(),
            NameSet::Traffic => self.traffic.clone(),
            NameSet::Classes => self.classes.clone(),
            NameSet::HostProfiles => {
                lowtide_host::profile::REGISTRY.names().into_iter().map(str::to_owned).collect()
            }
            NameSet::Switches => profiles::REGISTRY.all().map(|p| p.name.to_owned()).collect(),
        }
    }
}
