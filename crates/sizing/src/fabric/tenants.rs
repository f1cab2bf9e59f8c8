//! Hosts without ECN on the advised switches: the cost of drops where other packets are marked, and
//! a separate queue as the remedy.
//!
//! Contract: the last hosts of each rack, a share of them, are `cubic` without ECN. The traffic
//! group with a load is split: these hosts send to all, and the others to each other. Queries stay.
//! All runs have the same seeds, so the same flows.

use std::collections::BTreeSet;

use lowtide_lab::{LabError, RunFacts, paired, simulate};
use lowtide_scenario::Scenario;
use lowtide_units::Fraction;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::subject::{Subject, parsed};
use super::target::Target;
use super::{FIRST_SEEDS, plan, shortened};

/// Name of the tenants' queue, and end of the name of their traffic.
const TENANTS: &str = "not-ect";
/// The runs: drops where other packets are marked, none, and a separate queue.
const RUNS: [&str; 3] = ["drop", "ignore", "separate queue"];

/// Hosts without ECN on the advised switches.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TenantsAdvice {
    /// Hosts without ECN.
    pub hosts: usize,
    /// Their traffic group.
    pub group: String,
    /// The traffic group of the other hosts.
    pub others: String,
    /// Seeds of each run.
    pub seeds: u64,
    /// Share of the flows, queries, iterations and time after the warm-up that each run has.
    pub traffic_share: f64,
    /// The single K of the others' queue in the last run: classes of queues and K by class of ports
    /// cannot be combined.
    pub queue_k_bytes: u64,
    /// Weight of the separate queue, a share of the line.
    pub queue_weight: f64,
    /// `drop` (`not-ect = "drop"`), `ignore` and `separate queue`.
    pub runs: Vec<TenantRun>,
}

/// A rule for packets that are not ECN-capable.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TenantRun {
    /// Its name.
    pub name: String,
    /// Flows of the tenants whose handshake took a second, or never ended, per run.
    pub late_handshakes: f64,
    /// Retransmission timeouts of the tenants' data, per run.
    pub timeouts: f64,
    /// Packets dropped in the whole network, per run.
    pub drops: f64,
    /// The tenants' short flows.
    pub tail: TenantTail,
    /// The short flows of the other hosts.
    pub others: TenantTail,
}

/// 99th percentile of the slowdown of flows up to 100 kB.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct TenantTail {
    /// The percentile; null without such flows.
    pub p99: Option<f64>,
    /// Over that of `ignore` with the same seeds; null for itself.
    pub ratio: Option<f64>,
    /// Its 95 % interval.
    pub ratio_ci95: Option<[f64; 2]>,
}

/// Runs the advised table with tenants; an error says why this traffic cannot have them.
pub(super) fn tenants(
    subject: &Subject,
    ks: &[u64],
    share: Fraction,
    (hops, jobs): (u64, usize),
) -> Result<Result<TenantsAdvice, String>, LabError> {
    let split = match Split::new(subject, share) {
        Ok(split) => split,
        Err(why) => return Ok(Err(why)),
    };
    let one_k = ks.iter().copied().max().unwrap_or_default();
    let ignore = |table: Table| {
        let text = table.to_string().replace("not-ect = \"drop\"", "not-ect = \"ignore\"");
        Ok::<_, LabError>(Scenario::parse(&text, "advise.toml")?)
    };
    let advised = subject.table(ks);
    let scenarios = [
        parsed(&split.apply(advised.clone()))?,
        ignore(split.apply(advised))?,
        parsed(&split.separate(split.apply(subject.table(&vec![one_k; ks.len()]))))?,
    ];
    let each = hops / (FIRST_SEEDS * RUNS.len() as u64);
    let traffic_share = shortened::share(&scenarios[0], each)?;
    let mut named = Vec::new();
    for (name, scenario) in RUNS.iter().zip(scenarios) {
        let scenario = shortened::with_share(&scenario, traffic_share)?.seeds(FIRST_SEEDS)?;
        named.push(((*name).to_owned(), scenario));
    }
    let results = simulate(&plan(&named)?, jobs)?.runs;
    Ok(Ok(TenantsAdvice {
        hosts: split.hosts.len(),
        seeds: FIRST_SEEDS,
        traffic_share,
        queue_k_bytes: one_k,
        queue_weight: split.share,
        runs: RUNS.iter().map(|name| split.row(name, &results)).collect(),
        group: split.group,
        others: split.others,
    }))
}

/// The tenants and the traffic that is split.
struct Split<'a> {
    subject: &'a Subject,
    hosts: BTreeSet<u32>,
    share: f64,
    /// Names of the two traffic groups.
    group: String,
    others: String,
    /// Sources and destinations of the traffic, without tenants and of tenants.
    ends: [[Vec<u32>; 2]; 2],
}

impl<'a> Split<'a> {
    fn new(subject: &'a Subject, share: Fraction) -> Result<Self, String> {
        let (setup, base) = (&subject.setup, &subject.base);
        if base.contains_key("deployment") {
            return Err("the scenario has a [deployment] already".to_owned());
        }
        let share = share.as_ppb() as f64 / 1e9;
        let groups = base.get("traffic").and_then(Value::as_table);
        let loaded = |name: &&String| groups.is_some_and(|g| g[*name].get("load").is_some());
        let Some(others) = setup.traffic_groups.iter().find(loaded).cloned() else {
            return Err("no traffic group of the scenario has a `load` to split".to_owned());
        };
        let number = setup.traffic_groups.iter().position(|name| *name == others);
        let flows = || setup.flows.iter().filter(|f| Some(usize::from(f.group)) == number);
        let all: [BTreeSet<u32>; 2] =
            [flows().map(|f| f.src).collect(), flows().map(|f| f.dst).collect()];
        // Ranks of a collective stay.
        let ranks: BTreeSet<u32> =
            setup.collectives.iter().flat_map(|c| &c.ranks).map(|rank| rank.host).collect();
        let racks = setup.network.racks();
        let mut hosts = BTreeSet::new();
        for rack in 0..racks.iter().max().map_or(0, |last| last + 1) {
            let mut own: Vec<u32> =
                (0_u32..).zip(&racks).filter(|r| *r.1 == rack).map(|r| r.0).collect();
            let stay = own.len() - (own.len() as f64 * share).round() as usize;
            hosts.extend(own.drain(stay..).filter(|host| !ranks.contains(host)));
        }
        let part = |tenants: bool| {
            all.each_ref().map(|end| {
                end.iter().copied().filter(|h| hosts.contains(h) == tenants).collect::<Vec<_>>()
            })
        };
        let [from, _] = part(true);
        let ends = [part(false), [from, all[1].iter().copied().collect()]];
        let two = |[from, to]: &[Vec<u32>; 2]| {
            !from.is_empty() && !to.is_empty() && (from.len() > 1 || to != from)
        };
        if !ends.iter().all(two) {
            return Err(format!(
                "{} hosts without ECN leave no two hosts of `{others}` on each side",
                hosts.len()
            ));
        }
        Ok(Self { subject, hosts, share, group: format!("{others}-{TENANTS}"), others, ends })
    }

    fn names(&self, hosts: impl IntoIterator<Item = u32>) -> Value {
        let names = &self.subject.setup.network.hosts;
        Value::Array(hosts.into_iter().map(|h| Value::String(names[h as usize].clone())).collect())
    }

    /// The scenario with tenants.
    fn apply(&self, mut table: Table) -> Table {
        let text = |text: &str| Value::String(text.to_owned());
        let moved = Table::from_iter([
            ("hosts".to_owned(), self.names(self.hosts.iter().copied())),
            ("to".to_owned(), text("cubic")),
            ("share".to_owned(), text("100 %")),
        ]);
        table.insert("deployment".to_owned(), Value::Table(moved));
        if let Some(Value::Table(probes)) = table.get_mut("probes") {
            probes.remove("groups");
        }
        let Some(Value::Table(traffic)) = table.get_mut("traffic") else { return table };
        let Some(Value::Table(whole)) = traffic.remove(&self.others) else { return table };
        let shares = [1.0 - self.share, self.share];
        for ((name, [from, to]), share) in
            [&self.others, &self.group].into_iter().zip(&self.ends).zip(shares)
        {
            let mut own = whole.clone();
            own.insert("from".to_owned(), self.names(from.iter().copied()));
            own.insert("to".to_owned(), self.names(to.iter().copied()));
            if let Some(Value::Integer(flows)) = own.get_mut("flows") {
                *flows = ((*flows as f64 * share) as i64).max(1);
            }
            traffic.insert(name.clone(), Value::Table(own));
        }
        table
    }

    /// The tenants' connections in a separate queue, without a marker, whose weight is their
    /// share of the hosts, but at least a packet.
    fn separate(&self, mut table: Table) -> Table {
        let packet = self.subject.bursts.first().map_or(1500, |b| b.mtu_bytes);
        let quantum = |share: f64| {
            let bytes = packet as f64 * share / self.share.min(1.0 - self.share);
            Value::String(format!("{} B", bytes.round()))
        };
        let queue = |share: f64| Table::from_iter([("quantum".to_owned(), quantum(share))]);
        if let Some(Value::Table(switch)) = table.get_mut("switch") {
            let mut others = queue(1.0 - self.share);
            others.extend(switch.remove("mark").map(|mark| ("mark".to_owned(), mark)));
            let queues = [(TENANTS, queue(self.share)), ("ect", others)];
            let queues = queues.map(|(name, queue)| (name.to_owned(), Value::Table(queue)));
            switch.insert("class".to_owned(), Value::Table(Table::from_iter(queues)));
        }
        if let Some(Value::Table(own)) =
            table.get_mut("traffic").and_then(|t| t.get_mut(&self.group))
        {
            own.insert("class".to_owned(), Value::String(TENANTS.to_owned()));
        }
        table
    }

    fn row(&self, name: &str, results: &[RunFacts]) -> TenantRun {
        let of = |name: &str| -> Vec<&RunFacts> {
            results.iter().filter(|run| run.key.scheme == name).collect()
        };
        let all: Vec<&RunFacts> = results.iter().collect();
        let runs = of(name);
        let tail = |group: &str| {
            let target = Target::short(group);
            let [base, own] = paired(&all, [RUNS[1], name]);
            let ratio = if name == RUNS[1] { None } else { target.ratio(&base, &own) };
            TenantTail {
                p99: target.value(&runs).value,
                ratio: ratio.map(|(ratio, _)| ratio),
                ratio_ci95: ratio.and_then(|(_, ci95)| ci95),
            }
        };
        let per_run = |sum: u64| sum as f64 / runs.len().max(1) as f64;
        let own = || runs.iter().flat_map(|r| &r.groups).filter(|g| g.name == self.group);
        TenantRun {
            name: name.to_owned(),
            late_handshakes: per_run(own().map(|g| g.late_handshakes as u64).sum()),
            timeouts: per_run(own().filter_map(|g| g.rto_count).sum()),
            drops: per_run(runs.iter().map(|r| r.losses.drops).sum()),
            tail: tail(&self.group),
            others: tail(&self.others),
        }
    }
}
