//! The fabric of a request, and its scenarios with a threshold for each class of ports.

use std::collections::BTreeMap;

use lowtide_host::Setup;
use lowtide_net::BufferSpec;
use lowtide_scenario::{RunSpec, Scenario};
use lowtide_units::{Duration, Ratio};
use toml::{Table, Value};

use super::HostBurst;
use super::ports::{Pattern, PortClass, burst, classes};
use super::target::{Goal, SHORT_FLOWS, Target};
use super::wrong;
use crate::error_help;
use lowtide_lab::LabError;

/// Least K that is tried, packets.
const MIN_PACKETS: u64 = 4;
/// The greatest K that is tried: this many times the analysis' K, or this many bursts of a host.
const ABOVE: f64 = 16.0;
const BURSTS: u64 = 4;
/// Round trips of the runs that fill a line: warm-up, and all.
const WARMUP_ROUND_TRIPS: u64 = 400;
const ROUND_TRIPS: u64 = 1600;
/// Exponents of two of the alphas that are tried: of those that switches have, -7 to 6.
const ALPHA_EXPONENTS: [i32; 4] = [-2, 0, 1, 3];

/// The fabric that the advice is for.
pub(super) struct Subject {
    /// The run with all defaults, without a sweep or a comparison.
    pub(super) base: Table,
    pub(super) setup: Setup,
    pub(super) target: Option<Target>,
    pub(super) classes: Vec<PortClass>,
    /// The hosts by MTU, the largest first.
    pub(super) bursts: Vec<HostBurst>,
    /// Factor of the shared memory; `None` with a fixed buffer.
    pub(super) alpha: Option<String>,
    /// Longest delay that both hosts of a connection add to a round trip.
    pub(super) hosts_delay: Duration,
}

/// Reads the scenario: one scheme, and a sweep of nothing but the marker.
///
/// # Errors
/// It compares or sweeps something else, or lacks what the rule needs.
pub(super) fn subject(scenario: &Scenario, goal: Option<Goal>) -> Result<Subject, LabError> {
    let sized = format!("[\"{SHORT_FLOWS}\", \"1 MB\", \"10 MB\"]");
    let scenario = scenario
        .clone()
        .with_override("probes.size-classes", &sized)?
        .with_override("probes.interval", "off")?;
    let plan = scenario.expand()?;
    let only_marker = |point: &Vec<(String, String)>| {
        point.iter().all(|(key, _)| key.starts_with("switch.mark."))
    };
    let scheme = match plan.schemes.as_slice() {
        [only] => only.clone(),
        several => several.iter().find(|s| *s == "dctcp").cloned().unwrap_or_default(),
    };
    let run = plan.runs.iter().find(|run| run.scheme == scheme);
    let Some(run) = run.filter(|_| plan.points.iter().all(only_marker)) else {
        return Err(error_help(
            format!("`{}` compares or sweeps something itself", plan.name),
            "advice is for one scheme and one point: set them with -s, as -s compare.schemes=dctcp",
        ));
    };
    let base: Table = run.resolved_toml().parse().unwrap_or_default();
    for (key, why) in [
        ("pipe", "advice puts a pipe with K on each class of ports, and a line has one pipe"),
        ("class", "advice is for ports with one queue, and the switch has classes"),
    ] {
        let found = base.get(key).or_else(|| base.get("switch")?.get(key));
        if let Some(name) = found.and_then(Value::as_table).and_then(|t| t.keys().next()) {
            let table = if key == "pipe" { "pipe" } else { "switch.class" };
            return Err(error_help(
                format!("[{table}.{name}] cannot be advised on: {why}"),
                "remove it; rates and delays of lines can be those of a `graph`",
            ));
        }
    }
    let setup = run.setup()?;
    let switch = base.get("switch").and_then(Value::as_table).cloned().unwrap_or_default();
    let dynamic = switch.get("buffer").and_then(Value::as_str) == Some("dynamic");
    let alpha =
        switch.get("alpha").map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
    let classes = classes(&setup).ok_or_else(|| wrong("the hosts are not connected"))?;
    if classes.iter().all(|class| class.patterns.is_empty()) {
        return Err(error_help(
            "no port of a switch can be filled by long flows from distinct hosts".to_owned(),
            "advice needs traffic between at least three hosts, or a line slower than a host's",
        ));
    }
    let bursts = bursts(&setup);
    Ok(Subject {
        target: Target::of(&setup, plan.question.as_ref(), goal)?,
        hosts_delay: hosts_delay(&setup),
        base,
        setup,
        classes,
        bursts,
        alpha: alpha.filter(|_| dynamic),
    })
}

/// The hosts by MTU, the largest first, with the largest burst among those of one MTU.
fn bursts(setup: &Setup) -> Vec<HostBurst> {
    let mut all: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
    for (host, i) in setup.hosts.iter().zip(0..) {
        let mtu = u64::from(host.config.mtu);
        let (hosts, most) = all.entry(mtu).or_default();
        *hosts += 1;
        *most = (*most).max(burst(&setup.hosts, i, mtu));
    }
    let one = |(mtu_bytes, (hosts, burst_bytes))| HostBurst { mtu_bytes, hosts, burst_bytes };
    all.into_iter().rev().map(one).collect()
}

/// Delays of the stacks and waits for interrupts of the slowest host, as sender and as receiver.
fn hosts_delay(setup: &Setup) -> Duration {
    let of = |host: &lowtide_host::HostSetup| {
        let stack = host.nic.stack;
        let delays = [stack.send.constant, stack.receive.constant, host.nic.moderation];
        delays.into_iter().fold(Duration::ZERO, Duration::saturating_add)
    };
    setup.hosts.iter().map(of).max().unwrap_or(Duration::ZERO).saturating_mul(2)
}

impl Subject {
    /// The least and the greatest K that are tried for a class, bytes; the buffer bounds the
    /// greatest. `k_above` is that of the analysis.
    pub(super) fn range(&self, class: usize, k_above: f64) -> Result<[u64; 2], LabError> {
        let PortClass { mtu, burst, .. } = self.classes[class];
        let least = MIN_PACKETS * mtu;
        let most = ((k_above * ABOVE) as u64).max(BURSTS * burst).max(4 * least);
        let fits = |k: &u64| self.with_one_k(*k).is_ok_and(|s| s.expand().is_ok());
        let most = (0..8).map(|i| rounded(most >> i)).find(fits).filter(|k| *k > least);
        most.map(|most| [least, most]).ok_or_else(|| {
            wrong("the buffer leaves fewer than two values for K: it holds too few packets")
        })
    }

    /// The scenario of the runs with a threshold for each class.
    pub(super) fn with(&self, ks: &[u64]) -> Result<Scenario, LabError> {
        parsed(&self.table(ks))
    }

    /// The scenario of [`Subject::with`] as a table.
    pub(super) fn table(&self, ks: &[u64]) -> Table {
        with_ks(self.base.clone(), &self.setup, &self.classes, ks)
    }

    fn with_one_k(&self, k: u64) -> Result<Scenario, LabError> {
        self.with(&vec![k; self.classes.len()])
    }

    /// The network with these thresholds and no traffic but endless flows between these hosts. All
    /// flows choose the first of equal paths if `worst` is set and packets are not sprayed.
    pub(super) fn filled(
        &self,
        ks: &[u64],
        pairs: &[(u32, u32)],
        worst: bool,
    ) -> Result<Scenario, LabError> {
        let mut table = self.table(ks);
        let text = |text: &str| Value::String(text.to_owned());
        let names = |hosts: Vec<u32>| {
            let name = |host: u32| self.setup.network.hosts.get(host as usize).map(|h| text(h));
            Value::Array(hosts.into_iter().filter_map(name).collect())
        };
        let (from, to): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
        let one_sink = to.windows(2).all(|two| two[0] == two[1]);
        let long = Table::from_iter([
            ("kind".to_owned(), text("transfers")),
            ("from".to_owned(), names(from)),
            ("to".to_owned(), names(if one_sink { to[..1].to_vec() } else { to })),
            ("count".to_owned(), Value::Integer(pairs.len() as i64)),
            ("size".to_owned(), text("unlimited")),
        ]);
        let traffic = Table::from_iter([("long".to_owned(), Value::Table(long))]);
        table.insert("traffic".to_owned(), Value::Table(traffic));
        // Probes name traffic groups, and a failed link would end the flows.
        table.remove("probes");
        table.remove("failure");
        let sprays = self.setup.network.routing == lowtide_net::Routing::Spray;
        if worst && !sprays {
            let single = Table::from_iter([("kind".to_owned(), text("single"))]);
            table.insert("routing".to_owned(), Value::Table(single));
        }
        // The limit of an open loop, which these flows are not.
        if let Some(Value::Table(run)) = table.get_mut("run") {
            run.remove("end-limit");
        }
        let rtt = self.classes.iter().map(|class| class.rtt).max().unwrap_or(Duration::ZERO);
        let span = |round_trips: u64| {
            let ns = Duration::from_ps(rtt.as_ps().saturating_mul(round_trips)).as_ns();
            format!("{} ns", ns.max(1))
        };
        Ok(parsed(&table)?
            .with_override("run.duration", &span(ROUND_TRIPS))?
            .with_override("run.warmup", &span(WARMUP_ROUND_TRIPS))?
            .with_override("run.end", "duration")?)
    }

    /// The patterns of all classes: class and flows.
    pub(super) fn patterns(&self) -> impl Iterator<Item = (usize, &Pattern)> {
        let of = |(i, class): (usize, &'_ PortClass)| (i, class.patterns.len());
        let all: Vec<(usize, usize)> = self.classes.iter().enumerate().map(of).collect();
        all.into_iter()
            .flat_map(move |(c, n)| (0..n).map(move |i| (c, &self.classes[c].patterns[i])))
    }

    /// The number of ports of a class that may be congested at once, each with a queue of K, until
    /// the dynamic threshold alpha (B - n K) is below K; `None` with a fixed buffer, or if it is
    /// more than the switch has.
    pub(super) fn ports_until_drops(&self, class: &PortClass, k: u64) -> Option<u64> {
        let plan = &self.setup.network;
        let port = *class.ports.first()?;
        let (link, back) = (plan.links.get(port as usize / 2)?, port % 2 == 1);
        let near = if back { link.b } else { link.a };
        let BufferSpec::Dynamic { alpha, reserved } = link.line(back).port.buffer else {
            return None;
        };
        let lowtide_net::NodeId::Switch(switch) = near else { return None };
        let ports = plan.links.iter().filter(|l| l.a == near || l.b == near).count() as u64;
        let spec = plan.switches.get(switch as usize)?;
        let sharing = spec.ports_per_memory.map_or(ports, |most| ports.min(most.get().into()));
        let memory =
            spec.memory?.as_u64().saturating_sub(reserved.as_u64().saturating_mul(sharing));
        // A queue of K takes its reserved bytes first.
        let taken = k.saturating_sub(reserved.as_u64()) as f64;
        let alpha = f64::from(alpha.num) / f64::from(alpha.den.get());
        let most = (memory as f64 - taken / alpha) / taken;
        let first = if most < 0.0 { 1 } else { most.floor() as u64 + 1 };
        (first <= sharing).then_some(first)
    }
}

/// The scenario as a user has it, with thresholds and alpha.
///
/// # Errors
/// It does not take them.
pub(super) fn applied(
    scenario: &Scenario,
    (setup, classes, ks): (&Setup, &[PortClass], &[u64]),
    alpha: Option<&str>,
) -> Result<Scenario, LabError> {
    let mut table: Table = scenario.to_toml()?.parse().unwrap_or_default();
    table.remove("sweep");
    let out = parsed(&with_ks(table, setup, classes, ks))?.named(scenario.name());
    match alpha {
        Some(alpha) => with_alpha(&out, alpha),
        None => Ok(out),
    }
}

pub(super) fn parsed(table: &Table) -> Result<Scenario, LabError> {
    Ok(Scenario::parse(&table.to_string(), "advise.toml")?)
}

/// Sets a threshold for each class, by the rule that switches have: packets that are not
/// ECN-capable are dropped where others are marked. One K for all is that of `[switch.mark]`, and
/// others are those of pipes.
fn with_ks(mut table: Table, setup: &Setup, classes: &[PortClass], ks: &[u64]) -> Table {
    let text = |text: &str| Value::String(text.to_owned());
    let mark = |k: u64| {
        Value::Table(Table::from_iter([
            ("kind".to_owned(), text("step")),
            ("k".to_owned(), text(&format!("{k} B"))),
            ("not-ect".to_owned(), text("drop")),
        ]))
    };
    let Some(Value::Table(switch)) = table.get_mut("switch") else { return table };
    switch.remove("mark");
    if ks.windows(2).all(|two| two[0] == two[1]) {
        switch.insert("mark".to_owned(), mark(ks.first().copied().unwrap_or_default()));
        return table;
    }
    let mut pipes = Table::new();
    for (class, k) in classes.iter().zip(ks) {
        let mut pipe = mark_place(setup, class);
        pipe.insert("mark".to_owned(), mark(*k));
        pipes.insert(class.name.clone(), Value::Table(pipe));
    }
    table.insert("pipe".to_owned(), Value::Table(pipes));
    table
}

/// The lines of a class, as a pipe names them: host groups, kinds of switches, or links.
fn mark_place(setup: &Setup, class: &PortClass) -> Table {
    let plan = &setup.network;
    let link_of = |port: &u32| &plan.links[*port as usize / 2];
    let kinds = class.ends.join("-");
    let (names, direction) = if class.ends[1] == "host" {
        let mut groups = BTreeMap::<u16, usize>::new();
        let hosts: Vec<usize> = class.ports.iter().map(|port| *port as usize / 2).collect();
        for host in &hosts {
            *groups.entry(setup.hosts[*host].group).or_default() += 1;
        }
        let whole = |(group, n): (&u16, &usize)| {
            setup.hosts.iter().filter(|h| h.group == *group).count() == *n
        };
        if groups.iter().all(whole) {
            let name = |group: &u16| setup.host_groups[usize::from(*group)].clone();
            (groups.keys().map(name).collect(), "down")
        } else {
            let name = |host: &usize| {
                let link = &plan.links[*host];
                format!("{}-{}", plan.name(link.b), plan.name(link.a))
            };
            (hosts.iter().map(name).collect(), "right")
        }
    } else if kinds == class.name {
        (vec![kinds], if class.ends[0] == class.ends[1] { "both" } else { "right" })
    } else {
        let name = |port: &u32| {
            let link = link_of(port);
            let (from, to) = if port % 2 == 1 { (link.b, link.a) } else { (link.a, link.b) };
            format!("{}-{}", plan.name(from), plan.name(to))
        };
        (class.ports.iter().map(name).collect::<Vec<String>>(), "right")
    };
    let names: Vec<Value> = names.into_iter().map(Value::String).collect();
    Table::from_iter([
        ("on".to_owned(), Value::Array(names)),
        ("direction".to_owned(), Value::String(direction.to_owned())),
    ])
}

/// Rounds to two digits.
pub(super) fn rounded(n: u64) -> u64 {
    let scale = 10_u64.pow(n.max(1).ilog10().saturating_sub(1));
    (n + scale / 2) / scale * scale
}

/// The scenario with this factor of the shared memory.
pub(super) fn with_alpha(scenario: &Scenario, alpha: &str) -> Result<Scenario, LabError> {
    Ok(scenario.clone().with_override("switch.alpha", alpha)?)
}

/// Values of alpha that a switch can have, ascending, and the present one.
pub(super) fn alphas(own: &str) -> Vec<String> {
    let power = |e: &i32| {
        if *e < 0 { format!("1/{}", 1 << -e) } else { (1 << e).to_string() }
    };
    let mut all: Vec<String> = ALPHA_EXPONENTS.iter().map(power).collect();
    if !all.iter().any(|a| a == own) {
        all.push(own.to_owned());
    }
    let size = |text: &String| {
        Ratio::parse(text).map_or(0, |r| u64::from(r.num) * 1_000_000 / u64::from(r.den.get()))
    };
    all.sort_by_key(size);
    all
}

/// One run of a scenario.
pub(super) fn first_run(scenario: &Scenario) -> Result<RunSpec, LabError> {
    scenario.expand()?.runs.into_iter().next().ok_or_else(|| wrong("the scenario has no runs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_two_digits() {
        for (n, shown) in [(4, 4), (17, 17), (99, 99), (123, 120), (127, 130), (1288, 1300)] {
            assert_eq!(rounded(n), shown, "{n}");
        }
    }

    #[test]
    fn alpha_is_tried_at_powers_of_two_and_at_its_present_value() {
        assert_eq!(alphas("1"), ["1/4", "1", "2", "8"]);
        assert_eq!(alphas("1/5"), ["1/5", "1/4", "1", "2", "8"]);
    }
}
