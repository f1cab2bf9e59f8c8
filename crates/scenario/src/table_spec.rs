//! What a table of a scenario file is: where it stands, its keys, the tables in it and what else it holds.
//!
//! Contract: descriptions only. Those of each table stand in its own file in `tables/`, beside how it is
//! read and written out; reading, unknown-key errors, overrides, sweeps, the JSON Schema and
//! `docs/scenario.md` all walk them. The switches of a transport are not listed there but in
//! [`lowtide_tcp::switches`], and the keys of a workload in its own file in `lowtide_traffic`.

use lowtide_net::topology;
use lowtide_traffic::workload;

use crate::keys::KeySpec;
use crate::topology_keys;

/// One table of the file.
#[derive(Debug)]
pub(crate) struct TableSpec {
    /// Where it stands, `*` for a name that people choose; empty for the root.
    pub(crate) path: &'static [&'static str],
    pub(crate) doc: &'static str,
    /// Its keys, without those of a workload.
    pub(crate) keys: &'static [KeySpec],
    /// The tables that stand in it, in the order in which they are written out.
    pub(crate) tables: &'static [&'static TableSpec],
    /// What else it holds.
    pub(crate) contents: TableContents,
}

/// What a table holds beside its keys and the tables in it.
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
    /// Texts under names that people choose.
    Texts,
    /// Values under dotted keys of other tables, quoted.
    Paths,
    /// It is one of a list of tables that look alike.
    List,
}

/// The table of keys that are swept: dotted keys to lists or ranges.
pub(crate) const SWEEP: &str = "sweep";

/// What the table of keys that are swept means.
pub(crate) const SWEEP_DOC: &str = "Everything is run once for each combination of these values: a quoted dotted key, \
     and a list of values or a range `{ from = .., to = .., step = .. }`.";

impl TableSpec {
    /// The keys, with those of all workloads or topologies where they belong. What several of them have
    /// is listed once: it means the same in each (a test).
    pub(crate) fn all_keys(&self) -> Vec<KeySpec> {
        let mut keys = self.keys.to_vec();
        keys.extend(self.keys_of_kinds());
        keys
    }

    /// Those of all workloads or topologies alone.
    pub(crate) fn keys_of_kinds(&self) -> Vec<KeySpec> {
        let mut keys: Vec<KeySpec> = Vec::new();
        for key in self.kinds().into_iter().flat_map(|(_, _, keys)| keys) {
            if self.keys.iter().chain(&keys).all(|k| k.name != key.name) {
                keys.push(key);
            }
        }
        keys
    }

    /// The kinds that bring keys of their own here: name, summary, keys.
    pub(crate) fn kinds(&self) -> Vec<(&'static str, &'static str, Vec<KeySpec>)> {
        match self.contents {
            TableContents::Workloads => {
                let keys =
                    |e: &workload::WorkloadEntry| e.params.iter().map(KeySpec::of_param).collect();
                workload::REGISTRY.iter().map(|e| (e.name, e.summary, keys(e))).collect()
            }
            TableContents::Topologies => topology::REGISTRY
                .iter()
                .map(|e| (e.name, e.summary, topology_keys::keys(e)))
                .collect(),
            TableContents::KeysOnly
            | TableContents::Switches
            | TableContents::Texts
            | TableContents::Paths
            | TableContents::List => Vec::new(),
        }
    }

    /// Whether it holds switches of the transport.
    pub(crate) fn has_switches(&self) -> bool {
        self.contents == TableContents::Switches
    }

    /// The key of that name.
    pub(crate) fn key(&self, name: &str) -> Option<KeySpec> {
        self.all_keys().into_iter().find(|k| k.name == name)
    }

    /// Its name in the table that it stands in; `*` where people choose it.
    pub(crate) fn name(&self) -> &'static str {
        self.path.last().copied().unwrap_or_default()
    }

    /// Names of the tables that stand directly in this one, switch tables not counted.
    pub(crate) fn children(&self) -> Vec<&'static str> {
        let depth = self.path.len();
        let mut out: Vec<&'static str> = self.tables.iter().map(|s| s.path[depth]).collect();
        if depth == 0 {
            out.push(SWEEP);
        }
        out
    }
}
