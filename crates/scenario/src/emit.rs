//! A run written out: every default, every switch, no sweep and no comparison left.
//!
//! Contract: reading the text gives one run with the same setup. It is also what a run is hashed by.

use std::fmt::Write as _;

use lowtide_net::Framing;
use lowtide_tcp::switches::{self, Setting};
use lowtide_tcp::{Config, Value};
use lowtide_traffic::workload::{Args, Param, ParamKind};

use crate::case::Case;
use crate::host_tables::{write_clock, write_nic};
use crate::keys::SIDES;
use crate::model::{Model, Named, TopologyKind};
use crate::ports::{write_buffer, write_mark};
use crate::reader::SIDE_OF;
use crate::stack::owners;

/// The whole text for one seed.
pub(crate) fn resolved(case: &Case, seed: u64) -> String {
    let mut out = Text::default();
    out.line("schema = 1");
    out.text("title", &case.model.title);
    if let Some(description) = &case.model.description {
        out.text("description", description);
    }
    out.0.push_str(&physics(case, seed));
    out.0
}

/// The part of the text that decides what happens.
pub(crate) fn physics(case: &Case, seed: u64) -> String {
    let model = &case.model;
    let mut out = Text::default();
    run(&mut out, model, seed);
    network(&mut out, model);
    transport(&mut out, case);
    hosts(&mut out, case);
    traffic(&mut out, model);
    observation(&mut out, model);
    out.0
}

/// Lines of TOML.
#[derive(Default)]
pub(crate) struct Text(String);

impl Text {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }
    pub(crate) fn table(&mut self, name: &str) {
        self.line(&format!("\n[{name}]"));
    }
    pub(crate) fn bare(&mut self, key: &str, value: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{key} = {value}");
    }
    pub(crate) fn text(&mut self, key: &str, value: impl std::fmt::Display) {
        self.bare(key, toml::Value::String(value.to_string()));
    }
    pub(crate) fn list<'a>(&mut self, key: &str, items: impl Iterator<Item = &'a str>) {
        let items: Vec<_> = items.map(|i| toml::Value::String(i.to_owned())).collect();
        self.bare(key, toml::Value::Array(items));
    }
}

fn run(out: &mut Text, model: &Model, seed: u64) {
    let run = &model.run;
    out.table("run");
    out.text("duration", run.duration);
    out.text("warmup", run.warmup);
    out.bare("seeds", 1);
    out.bare("first-seed", seed);
    out.text("end", if run.end_done { "done" } else { "duration" });
    out.bare("allow-mismatch", run.allow_mismatch);
}

fn network(out: &mut Text, model: &Model) {
    let topology = &model.topology;
    out.table("topology");
    let dumbbell = topology.kind == TopologyKind::Dumbbell;
    out.text("kind", if dumbbell { "dumbbell" } else { "star" });
    out.text("link-rate", topology.rate);
    out.text("link-delay", topology.delay);
    if dumbbell {
        out.text("bottleneck-rate", topology.bottleneck_rate);
        out.text("bottleneck-delay", topology.bottleneck_delay);
    }
    let ip = topology.framing == Framing::Ip;
    out.text("framing", if ip { "ip" } else { "ethernet" });
    out.text("mtu", topology.mtu);

    let port = &model.switch.port;
    out.table("switch");
    write_buffer(out, &port.buffer);
    out.bare("count-in-service", port.count_in_service);
    out.table("switch.mark");
    write_mark(out, &port.mark);
    for pipe in &model.pipes {
        pipe.write(out);
    }
}

/// The names only: the switches of every group are written out below and win.
fn transport(out: &mut Text, case: &Case) {
    let model = &case.model;
    out.table("transport");
    named(out, "profile", model.transport.profile.as_ref());
    let compared = !model.compare.is_empty() || model.transport.scheme.is_some();
    if compared {
        out.text("scheme", &case.scheme);
    }
}

fn named(out: &mut Text, key: &str, named: Option<&Named>) {
    if let Some(named) = named {
        out.text(key, &named.name);
    }
}

fn hosts(out: &mut Text, case: &Case) {
    let model = &case.model;
    for (group, config) in model.hosts.iter().zip(&case.configs) {
        out.table(&format!("hosts.{}", group.name));
        out.bare("count", group.range.count);
        if model.topology.kind == TopologyKind::Dumbbell {
            out.text("side", if group.right { "right" } else { "left" });
        }
        named(out, "profile", group.stack.profile.as_ref());
        named(out, "scheme", group.stack.scheme.as_ref());
        write_clock(out, &group.name, &group.clock);
        write_nic(out, &group.name, &group.nic);
        for (name, side) in SIDES.into_iter().zip(SIDE_OF) {
            out.table(&format!("hosts.{}.{name}", group.name));
            for setting in chosen(config).iter().filter(|s| s.side() == side) {
                let value = setting.get(config);
                match value {
                    Value::Bool(_) | Value::Count(_) => out.bare(&setting.name(), value),
                    _ => out.text(&setting.name(), value),
                }
            }
        }
    }
    // A bundle that gives this run its name stays known; its switches are in the groups already.
    let mut used: Vec<&str> = vec![case.scheme.as_str()];
    used.extend(
        model.hosts.iter().filter_map(|g| g.stack.scheme.as_ref().map(|s| s.name.as_str())),
    );
    for bundle in model.bundles.iter().filter(|b| used.contains(&b.name.as_str())) {
        out.table(&format!("compare.bundles.{}", bundle.name));
        named(out, "profile", bundle.profile.as_ref());
        named(out, "base", bundle.base.as_ref());
    }
}

/// Every switch, and the parameters of what is chosen.
fn chosen(config: &Config) -> Vec<Setting> {
    let owners = owners(config);
    let mut all = switches::all();
    all.retain(|s| match s {
        Setting::Switch(_) => true,
        Setting::Param { owner, .. } => owners.iter().any(|(name, _)| name == owner),
    });
    all
}

fn traffic(out: &mut Text, model: &Model) {
    for group in &model.traffic {
        out.table(&format!("traffic.{}", group.name));
        out.text("kind", group.workload.name);
        let names = |hosts: &[u32]| -> Vec<String> {
            let name = |host: &u32| {
                let (_, group) = model.group_of(*host)?;
                Some(format!("{}.{}", group.name, host - group.range.first))
            };
            hosts.iter().filter_map(name).collect()
        };
        out.list("from", names(&group.args.sources).iter().map(String::as_str));
        out.list("to", names(&group.args.destinations).iter().map(String::as_str));
        for param in group.workload.params {
            parameter(out, param, &group.args);
        }
    }
}

fn parameter(out: &mut Text, param: &Param, args: &Args) {
    match param.kind {
        ParamKind::Count { .. } => out.bare(param.name, args.count(param.name)),
        ParamKind::Time => out.text(param.name, args.time(param.name)),
        ParamKind::Rate => {
            if let Some(rate) = args.rate(param.name) {
                out.text(param.name, rate);
            }
        }
        ParamKind::Parts { .. } => out.text(param.name, args.parts(param.name).unwrap_or_default()),
        ParamKind::Distribution(_) | ParamKind::File | ParamKind::Optional(_) => {}
        ParamKind::Choice(_) => out.text(param.name, args.choice(param.name).unwrap_or_default()),
        ParamKind::Size | ParamKind::SizeOrUnlimited => match args.size(param.name) {
            Some(size) => out.text(param.name, size),
            None => out.text(param.name, "unlimited"),
        },
    }
}

fn observation(out: &mut Text, model: &Model) {
    let disturbance = &model.disturbance;
    out.table("disturbance");
    out.text("start-jitter", disturbance.start_jitter);
    out.text("host-jitter", disturbance.host_jitter);
    out.bare("ports", disturbance.ports);
    out.bare("ties", disturbance.ties);

    let probes = &model.probes;
    out.table("probes");
    match probes.interval {
        Some(interval) => out.text("interval", interval),
        None => out.text("interval", "off"),
    }
    let name = |i: &u16| model.traffic.get(usize::from(*i)).map(|g| g.name.as_str());
    out.list("groups", probes.groups.iter().filter_map(name));
    out.bare("flows-per-group", probes.flows_per_group);
    out.bare("queues", probes.queues);
    out.bare("delays", probes.delays);
    out.list("trace", probes.trace.iter().map(|(text, _)| text.as_str()));
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use crate::keys::{Fallback, SECTIONS};

    /// Keys that a written-out run may lack: they describe what is no longer, or not, there.
    const GONE: [&str; 4] = ["schemes", "base", "description", "gamma"];

    /// A pipe that changes everything that a pipe can.
    const PIPE: &str = "[pipe.forth]\non = \"bottleneck\"\ndirection = \"right\"\nrate = \"1 Gbit/s\"\n\
        delay = \"1 ms\"\nbuffer = \"50 pkt\"\ncount-in-service = true\nloss = \"1 ppm\"\n\
        [pipe.forth.mark]\nkind = \"step\"\nk = \"6 pkt\"\n";

    #[test]
    fn every_key_of_the_table_is_written_out() {
        let text = crate::embedded::find("dumbbell-10g").unwrap().text;
        let scenario = Scenario::parse(&format!("{text}{PIPE}"), "t.toml").unwrap();
        let scenario = scenario.with_override("hosts.senders.profile", "rfc").unwrap();
        let scenario = scenario.with_override("hosts.senders.scheme", "dctcp").unwrap();
        let text = scenario.expand().unwrap().runs[0].resolved_toml();
        let tree: toml::Table = text.parse().unwrap();
        for section in SECTIONS {
            let path: Vec<&str> = section
                .path
                .iter()
                .scan("", |before, part| {
                    let name = match (*part, *before) {
                        ("*", "hosts") => "senders",
                        ("*", "traffic") => "flows",
                        ("*", "pipe") => "forth",
                        (part, _) => part,
                    };
                    *before = part;
                    Some(name)
                })
                .collect();
            // Other workloads' keys have no place in this scenario.
            let workload = lowtide_traffic::workload::find("transfers").unwrap().params;
            let mut keys = section.keys.to_vec();
            if section.has_workloads() {
                keys.extend(workload.iter().map(crate::keys::Key::of_param));
            }
            for key in keys {
                if GONE.contains(&key.name)
                    || (path.first() == Some(&"compare") && key.name == "profile")
                {
                    assert!(matches!(key.default, Fallback::Unset(_)), "{}", key.name);
                    continue;
                }
                let table = path.iter().try_fold(&tree, |t, p| t.get(*p)?.as_table());
                assert!(table.is_some_and(|t| t.contains_key(key.name)), "{path:?} {}", key.name);
            }
        }
    }
}
