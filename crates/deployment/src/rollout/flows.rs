//! The flows and queries of all runs by share, seed and pair of classes.
//!
//! Contract: a flow or query counts if it arrived after the warm-up and before the end of its run.

use std::collections::BTreeMap;

use lowtide_lab::LabError;
use lowtide_record::{Manifest, RunDir};
use lowtide_rows::{DeploymentClass, FlowRow, Role};
use lowtide_stats::Observation;
use serde::Serialize;

use super::delivered::HostPairFlows;
use super::outcome::observe;
use super::timed_query::TimedQuery;

/// The classes of the sending and the receiving host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ClassPair {
    pub(crate) from_new: bool,
    pub(crate) to_new: bool,
}

impl ClassPair {
    /// All pairs, in order.
    pub(crate) const ALL: [Self; 4] = [
        Self { from_new: false, to_new: false },
        Self { from_new: false, to_new: true },
        Self { from_new: true, to_new: false },
        Self { from_new: true, to_new: true },
    ];

    /// Returns the name: `old>new`.
    pub(crate) const fn name(self) -> &'static str {
        match (self.from_new, self.to_new) {
            (false, false) => "old>old",
            (false, true) => "old>new",
            (true, false) => "new>old",
            (true, true) => "new>new",
        }
    }
}

/// A flow with a size and an ideal time.
pub(crate) struct SizedFlow {
    /// Its number, equal at every share.
    pub(crate) number: u32,
    /// Numbers of its hosts.
    pub(crate) hosts: [u32; 2],
    pub(crate) size: u64,
    pub(crate) slowdown: Observation,
}

/// Connections of one pair with one effective transport.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Effective {
    /// Congestion control that the sender requested.
    pub cc: String,
    /// Congestion control in use.
    pub cc_used: String,
    /// Negotiated ECN mode.
    pub ecn_mode: String,
}

/// One run.
pub(crate) struct RolloutRun {
    /// Label of the share.
    pub(crate) share: String,
    pub(crate) seed: u64,
    pub(crate) flows: Vec<SizedFlow>,
    pub(crate) queries: Vec<TimedQuery>,
    /// All flows, also those without a size and answers of queries, by their hosts.
    pub(super) delivered: BTreeMap<[u32; 2], HostPairFlows>,
    /// Whether each host was moved; hosts without connections are absent.
    moved: BTreeMap<u32, bool>,
    /// Opened connections by pair and effective transport.
    pub(crate) connections: BTreeMap<(ClassPair, Effective), usize>,
}

impl RolloutRun {
    /// Returns the pair of two hosts by the classes of this run.
    pub(crate) fn pair_of(&self, hosts: [u32; 2]) -> Option<ClassPair> {
        let [from_new, to_new] = hosts.map(|host| self.is_moved(host));
        Some(ClassPair { from_new: from_new?, to_new: to_new? })
    }

    /// Returns whether a host was moved; `None` if it has no connection.
    pub(crate) fn is_moved(&self, host: u32) -> Option<bool> {
        self.moved.get(&host).copied()
    }
}

/// Reads the flows and queries of all runs, whose share is the value of `key`.
pub(crate) fn read(
    dir: &RunDir,
    manifest: &Manifest,
    key: &str,
) -> Result<Vec<RolloutRun>, LabError> {
    let mut reader = dir.reader()?;
    let mut names: BTreeMap<String, u32> = BTreeMap::new();
    let mut out = Vec::new();
    for run in &manifest.runs {
        let Some(tables) = reader.take(run.key.run)? else { continue };
        let mut made = RolloutRun {
            share: run.key.point.get(key).unwrap_or_default().to_owned(),
            seed: run.key.seed,
            flows: Vec::new(),
            queries: Vec::new(),
            delivered: BTreeMap::new(),
            moved: BTreeMap::new(),
            connections: BTreeMap::new(),
        };
        for row in &tables.flows {
            add(&mut made, &mut names, row, [tables.run.warmup_ps, tables.run.ended_ps]);
        }
        for row in &tables.queries {
            let client = number(&mut names, &row.client);
            made.queries.extend(TimedQuery::new(row, client, tables.run.ended_ps));
        }
        out.push(made);
    }
    Ok(out)
}

/// Returns the number of the host `name`.
fn number(names: &mut BTreeMap<String, u32>, name: &str) -> u32 {
    if let Some(known) = names.get(name) {
        return *known;
    }
    let next = names.len() as u32;
    names.insert(name.to_owned(), next);
    next
}

fn add(
    run: &mut RolloutRun,
    names: &mut BTreeMap<String, u32>,
    row: &FlowRow,
    [warmup_ps, ended_ps]: [u64; 2],
) {
    let (Some(from), Some(to)) = (row.src_deployment, row.dst_deployment) else { return };
    let hosts = [&row.src, &row.dst].map(|name| number(names, name));
    let [from_new, to_new] = [from, to].map(|class| class == DeploymentClass::New);
    run.moved.extend([(hosts[0], from_new), (hosts[1], to_new)]);
    run.delivered.entry(hosts).or_default().add(row, warmup_ps, ended_ps);
    if row.established_ps.is_some() {
        let effective = Effective {
            cc: row.cc.to_string(),
            cc_used: row.cc_used.to_string(),
            ecn_mode: row.ecn_mode.to_string(),
        };
        *run.connections.entry((ClassPair { from_new, to_new }, effective)).or_default() += 1;
    }
    // Answers of queries have no ideal time.
    if row.role == Role::Flow
        && let (Some(size), Some(ideal)) = (row.size_bytes, row.ideal_ps.filter(|ps| *ps > 0))
        && row.is_counted()
        && row.start_ps < ended_ps
    {
        let over_ideal = |ps: u64| ps as f64 / ideal as f64;
        let slowdown = observe(row.status, row.fct_ps, ended_ps - row.start_ps, over_ideal);
        run.flows.push(SizedFlow { number: row.flow, hosts, size, slowdown });
    }
}
