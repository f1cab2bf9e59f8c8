//! The record: instructions per packet-hop, and the allowed growth.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::callgrind::Costs;

/// Maximum growth, percent.
pub(super) const MAX_GROWTH: f64 = 5.0;
/// Number of recorded functions: the largest.
const FUNCTIONS: usize = 10;
/// Minimum share of a recorded crate, percent.
const MIN_SHARE: f64 = 1.0;

const HEAD: &str = "\
# Instructions and modelled cache misses per packet-hop of the release profile, counted by callgrind.
# Written by `cargo xtask instructions --large --record`; `cargo xtask instructions` compares. The
# modelled caches have 48 KiB (12 ways) and 1 MiB (16 ways) and lines of 64 B.
";

/// Contents of the file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    /// Version of the compiler.
    pub(super) rustc: String,
    pub(super) benchmarks: BTreeMap<String, BenchmarkCounts>,
}

/// Counts of one benchmark per packet-hop.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BenchmarkCounts {
    /// Counted packet-hops.
    pub(super) hops: u64,
    /// Instructions.
    pub(super) per_hop: f64,
    /// Misses of data in the first and in the second level of the modelled cache.
    pub(super) l1_misses: f64,
    pub(super) l2_misses: f64,
    /// By crate of the source code.
    pub(super) crates: BTreeMap<String, f64>,
    /// The largest functions, including code inlined into them.
    pub(super) functions: BTreeMap<String, f64>,
}

impl BenchmarkCounts {
    pub(super) fn new(costs: &Costs, hops: u64) -> Self {
        let per_hop = |cost: u64| (10.0 * cost as f64 / hops as f64).round() / 10.0;
        let misses = |count: u64| (100.0 * count as f64 / hops as f64).round() / 100.0;
        let least = costs.total as f64 * MIN_SHARE / 100.0;
        let large = costs.crates.iter().filter(|(_, cost)| **cost as f64 >= least);
        let mut functions: Vec<_> = costs.functions.iter().collect();
        functions.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        functions.truncate(FUNCTIONS);
        Self {
            hops,
            per_hop: per_hop(costs.total),
            l1_misses: misses(costs.l1_misses),
            l2_misses: misses(costs.l2_misses),
            crates: large.map(|(name, cost)| (name.clone(), per_hop(*cost))).collect(),
            functions: functions.into_iter().map(|(n, cost)| (n.clone(), per_hop(*cost))).collect(),
        }
    }
}

impl Record {
    /// # Errors
    /// The file is missing or invalid.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|e| {
            let path = path.display();
            format!(
                "there is no record to compare with ({path}: {e}); on a commit that is as fast as it \
                 should be, `cargo build --release` and `cargo xtask instructions --record` write it"
            )
        })?;
        toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), String> {
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        let text = toml::to_string(self).map_err(|e| format!("cannot write the record: {e}"))?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let growing = path.with_extension("toml.tmp");
        std::fs::write(&growing, format!("{HEAD}{text}")).map_err(failed)?;
        std::fs::rename(&growing, path).map_err(failed)
    }

    /// Entries of `now` that exceed this record by too much. A function without a record has no
    /// limit: its growth counts in its crate and in the total.
    pub(super) fn regressions(&self, now: &Self) -> Vec<String> {
        let mut grown = Vec::new();
        for (name, counted) in &now.benchmarks {
            let Some(before) = self.benchmarks.get(name) else {
                grown.push(format!("{name} is not in the record"));
                continue;
            };
            let mut hold = |what: String, was: f64, is: f64| {
                // Values have one decimal: 0.1 may be rounding.
                if is > was * (1.0 + MAX_GROWTH / 100.0) + 0.1 {
                    let percent = 100.0 * (is - was) / was;
                    grown.push(format!(
                        "{name}: {what}, {was:.1} to {is:.1} per packet-hop (+{percent:.1} %)"
                    ));
                }
            };
            hold("everything".to_owned(), before.per_hop, counted.per_hop);
            hold("misses of L1".to_owned(), before.l1_misses, counted.l1_misses);
            hold("misses of L2".to_owned(), before.l2_misses, counted.l2_misses);
            let parts = [
                ("crate", &before.crates, &counted.crates),
                ("function", &before.functions, &counted.functions),
            ];
            for (kind, before, now) in parts {
                for (part, is) in now {
                    if let Some(was) = before.get(part) {
                        hold(format!("{kind} {part}"), *was, *is);
                    }
                }
            }
        }
        grown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(per_hop: f64, port: f64) -> Record {
        let one = |name: &str, cost| BTreeMap::from([(name.to_owned(), cost)]);
        let counted = BenchmarkCounts {
            hops: 1_000,
            per_hop,
            l1_misses: port,
            l2_misses: port / 4.0,
            crates: one("net", port),
            functions: one("lowtide_net::port::Port::enter", port),
        };
        let benchmarks = BTreeMap::from([("fat-tree".to_owned(), counted)]);
        Record { rustc: "rustc 1.95.0".to_owned(), benchmarks }
    }

    #[test]
    fn growth_above_five_percent_is_named() {
        let before = record(700.0, 100.0);
        assert_eq!(before.regressions(&record(735.0, 105.0)), Vec::<String>::new());
        assert_eq!(before.regressions(&record(300.0, 20.0)), Vec::<String>::new());
        let grown = before.regressions(&record(736.0, 100.0));
        assert_eq!(grown, ["fat-tree: everything, 700.0 to 736.0 per packet-hop (+5.1 %)"]);
        let grown = before.regressions(&record(700.0, 106.0));
        let parts = ["misses of L1", "misses of L2", "crate net", "Port::enter"];
        assert_eq!(grown.len(), parts.len(), "{grown:?}");
        assert!(grown.iter().zip(parts).all(|(grown, part)| grown.contains(part)), "{grown:?}");
        let other = Record { benchmarks: BTreeMap::new(), ..record(1.0, 1.0) };
        assert_eq!(other.regressions(&before), ["fat-tree is not in the record"]);
    }

    #[test]
    fn the_largest_functions_are_kept() {
        let mut costs = Costs { total: 10_000, ..Costs::default() };
        for i in 0..20_u64 {
            costs.functions.insert(format!("f{i:02}"), 100 * i);
        }
        costs.crates.insert("net".to_owned(), 9_950);
        costs.crates.insert("cli".to_owned(), 50);
        let counted = BenchmarkCounts::new(&costs, 30);
        assert!((counted.per_hop - 333.3).abs() < 1e-9);
        assert_eq!(counted.crates, BTreeMap::from([("net".to_owned(), 331.7)]));
        assert_eq!(counted.functions.len(), FUNCTIONS);
        assert_eq!(counted.functions.get("f19"), Some(&63.3));
        assert_eq!(counted.functions.get("f09"), None);
    }

    #[test]
    fn record_round_trips_and_a_missing_one_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("benches/instructions.toml");
        let missing = Record::read(&path).unwrap_err();
        assert!(missing.contains("--record"), "{missing}");
        let record = record(712.3, 99.9);
        record.write(&path).unwrap();
        assert_eq!(Record::read(&path).unwrap(), record);
        std::fs::write(&path, "rustc = 1").unwrap();
        assert!(Record::read(&path).unwrap_err().contains("instructions.toml"));
    }
}
