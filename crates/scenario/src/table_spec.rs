//! Specification of a table in a scenario file: its path, keys, subtables and other contents.
//!
//! Contract: descriptions only. Each table's specification is in its own file in `tables/`, beside
//! its reader and writer. Reading, unknown-key errors, overrides, sweeps, the JSON Schema and
//! `lowtide explain` all use them. Switches of a transport are listed in
//! [`lowtide_tcp::switches`] instead.
//! The keys of a workload or a marker are in its own file in `lowtide_traffic` or
//! `lowtide_net`.

use lowtide_net::{aqm, topology};
use lowtide_traffic::workload;

use crate::keys::KeySpec;
use crate::topology_keys;

/// One table of the file.
#[derive(Debug)]
pub(crate) struct TableSpec {
    /// Path, with `*` for a user-defined name; empty for the root.
    pub(crate) path: &'static [&'static str],
    pub(crate) doc: &'static str,
    /// Its keys, without those of workloads, topologies or markers.
    pub(crate) keys: &'static [KeySpec],
    /// Its subtables, in the order in which they are emitted.
    pub(crate) tables: &'static [&'static TableSpec],
    /// Its other contents.
    pub(crate) contents: TableContents,
}

/// Contents of a table besides its keys and subtables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TableContents {
    /// Nothing.
    KeysOnly,
    /// The tables `sender`, `receiver` and `connection` with switches of the transport.
    Switches,
    /// The keys of a workload.
    Workloads,
    /// The keys of a topology.
    Topologies,
    /// The keys of a marker.
    Markers,
    /// Texts under user-defined names.
    Texts,
    /// Values under quoted dotted keys of other tables.
    Paths,
    /// It is an element of an array of tables.
    List,
}

/// Name of the table of swept keys: dotted keys with lists or ranges.
pub(crate) const SWEEP: &str = "sweep";

/// Description of the table of swept keys.
pub(crate) const SWEEP_DOC: &str = "Swept keys: everything is run once for each combination of their values. Each is a quoted dotted key \
     with a list of values or a range `{ from = .., to = .., step = .. }`.";

impl TableSpec {
    /// Returns its keys, including those of all workloads, topologies or markers. A key of several
    /// kinds is listed once, as the first of them describes it.
    pub(crate) fn all_keys(&self) -> Vec<KeySpec> {
        let mut keys = self.keys.to_vec();
        keys.extend(self.keys_of_kinds());
        keys
    }

    /// Returns only the keys of all workloads, topologies or markers.
    pub(crate) fn keys_of_kinds(&self) -> Vec<KeySpec> {
        let mut keys: Vec<KeySpec> = Vec::new();
        for key in self.kinds().into_iter().flat_map(|(_, _, keys)| keys) {
            if self.keys.iter().chain(&keys).all(|k| k.name != key.name) {
                keys.push(key);
            }
        }
        keys
    }

    /// Returns the kinds with their own keys: name, summary, keys.
    pub(crate) fn kinds(&self) -> Vec<(&'static str, &'static str, Vec<KeySpec>)> {
        match self.contents {
            TableContents::Workloads => {
                let keys =
                    |e: &workload::WorkloadEntry| e.params.iter().map(KeySpec::of_param).collect();
                workload::REGISTRY.all().map(|e| (e.name, e.summary, keys(e))).collect()
            }
            TableContents::Topologies => topology::REGISTRY
                .all()
                .map(|e| (e.name, e.summary, topology_keys::keys(e)))
                .collect(),
            TableContents::Markers => {
                let keys = |e: &aqm::MarkerEntry| e.params.iter().map(KeySpec::of_param).collect();
                aqm::REGISTRY.all().map(|e| (e.name, e.summary, keys(e))).collect()
            }
            TableContents::KeysOnly
            | TableContents::Switches
            | TableContents::Texts
            | TableContents::Paths
            | TableContents::List => Vec::new(),
        }
    }

    /// Returns whether it holds transport switches.
    pub(crate) fn has_switches(&self) -> bool {
        self.contents == TableContents::Switches
    }

    /// Returns the key of that name.
    pub(crate) fn key(&self, name: &str) -> Option<KeySpec> {
        self.all_keys().into_iter().find(|k| k.name == name)
    }

    /// Returns the last part of its path; `*` for a user-defined name.
    pub(crate) fn name(&self) -> &'static str {
        self.path.last().copied().unwrap_or_default()
    }

    /// Returns the names of its direct subtables, without switch tables.
    pub(crate) fn children(&self) -> Vec<&'static str> {
        let depth = self.path.len();
        let mut out: Vec<&'static str> = self.tables.iter().map(|s| s.path[depth]).collect();
        if depth == 0 {
            out.push(SWEEP);
        }
        out
    }
}
