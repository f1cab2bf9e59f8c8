//! What a scenario says, typed: one point of a sweep, before a scheme is chosen.
//!
//! Contract: a model was read without a complaint; what one key says is right by itself. What keys
//! say together is checked in [`crate::check`].

use lowtide_host::{ClockSpec, Disturbance, NicSpec};
use lowtide_net::{Framing, PortSpec};
use lowtide_traffic::Flow;
use lowtide_traffic::workload::{self, Args};
use lowtide_units::{Bytes, Duration, Rate};

use crate::host_tables;
use crate::hosts::resolve;
use crate::keys::{Key, SECTIONS, section};
use crate::known::Known;
use crate::pipes::{PIPE, Pipe};
use crate::ports;
use crate::range::HostRange;
use crate::reader::{Complaints, Reader, Setting};
use crate::tree::{At, Data, Node};

/// A name and where it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) at: At,
}

/// What is said of a transport in one place.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub(crate) profile: Option<Named>,
    pub(crate) scheme: Option<Named>,
    pub(crate) settings: Vec<Setting>,
}

/// The table `[run]`.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) duration: Duration,
    pub(crate) warmup: Duration,
    pub(crate) warmup_at: At,
    pub(crate) seeds: u64,
    pub(crate) first_seed: u64,
    pub(crate) end_done: bool,
    pub(crate) end_at: At,
    pub(crate) allow_mismatch: bool,
}

/// How hosts are put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TopologyKind {
    Star,
    Dumbbell,
}

/// The table `[topology]`.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    pub(crate) kind: TopologyKind,
    pub(crate) at: At,
    pub(crate) rate: Rate,
    pub(crate) delay: Duration,
    pub(crate) bottleneck_rate: Rate,
    pub(crate) bottleneck_delay: Duration,
    pub(crate) framing: Framing,
    pub(crate) mtu: Bytes,
}

/// The table `[switch]`.
#[derive(Clone, Debug)]
pub(crate) struct SwitchPort {
    pub(crate) port: PortSpec,
    pub(crate) buffer_at: At,
    pub(crate) k_at: At,
}

/// One table `[hosts.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct HostGroup {
    pub(crate) name: String,
    pub(crate) at: At,
    /// Its hosts, as numbers of the whole network.
    pub(crate) range: HostRange,
    /// Right of the bottleneck of a dumbbell.
    pub(crate) right: bool,
    pub(crate) stack: Stack,
    pub(crate) clock: ClockSpec,
    pub(crate) nic: NicSpec,
}

/// One table `[traffic.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct TrafficGroup {
    pub(crate) name: String,
    pub(crate) to_at: At,
    pub(crate) start_at: At,
    pub(crate) workload: &'static workload::Entry,
    pub(crate) args: Args,
}

impl TrafficGroup {
    /// The flows, made anew each time: a sweep would hold a million of them per point otherwise.
    pub(crate) fn flows(&self) -> Vec<Flow> {
        (self.workload.flows)(&self.args)
    }
}

/// The table `[probes]`.
#[derive(Clone, Debug)]
pub(crate) struct Probes {
    pub(crate) interval: Option<Duration>,
    pub(crate) groups: Vec<u16>,
    pub(crate) flows_per_group: u32,
    pub(crate) queues: bool,
    pub(crate) delays: bool,
    /// As written; [`crate::flows::resolve`] finds the numbers.
    pub(crate) trace: Vec<(String, At)>,
}

/// One table `[compare.bundles.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    pub(crate) name: String,
    pub(crate) profile: Option<Named>,
    pub(crate) base: Option<Named>,
    pub(crate) settings: Vec<Setting>,
}

/// One point of the whole file.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    pub(crate) run: Run,
    pub(crate) topology: Topology,
    pub(crate) switch: SwitchPort,
    pub(crate) pipes: Vec<Pipe>,
    pub(crate) transport: Stack,
    pub(crate) hosts: Vec<HostGroup>,
    pub(crate) traffic: Vec<TrafficGroup>,
    pub(crate) disturbance: Disturbance,
    pub(crate) probes: Probes,
    /// What is compared; empty when nothing is.
    pub(crate) compare: Vec<Named>,
    pub(crate) bundles: Vec<Bundle>,
}

/// What the tables of one file share while they are read.
struct File<'a, 'c, 's> {
    root: &'a Node,
    known: &'a Known,
    complaints: &'c mut Complaints<'s>,
}

impl Model {
    /// Reads a tree. Complaints are added; a model comes back even then, with something in the place
    /// of what was wrong, so that later checks can find more. It must not be used if there are any.
    pub(crate) fn read(
        root: &Node,
        known: &Known,
        complaints: &mut Complaints<'_>,
    ) -> Option<Self> {
        let mut file = File { root, known, complaints };
        let (title, description) = file.head();
        let run = file.run();
        let topology = file.topology();
        let switch = file.switch();
        let pipes = file.pipes(topology.kind);
        let transport = file.transport();
        let hosts = file.hosts(topology.kind);
        let traffic = file.traffic(&hosts);
        let disturbance = file.disturbance();
        let probes = file.probes();
        let compare = file.compare();
        let bundles = file.bundles();
        complaints.is_empty().then_some(Self {
            title,
            description,
            run,
            topology,
            switch,
            pipes,
            transport,
            hosts,
            traffic,
            disturbance,
            probes,
            compare,
            bundles,
        })
    }

    /// The switches as the compared schemes, with their places.
    pub(crate) fn bundle(&self, name: &str) -> Option<&Bundle> {
        self.bundles.iter().find(|b| b.name == name)
    }

    /// How many hosts there are.
    pub(crate) fn host_count(&self) -> u32 {
        self.hosts.iter().map(|g| g.range.end()).max().unwrap_or(0)
    }

    /// The group of a host.
    pub(crate) fn group_of(&self, host: u32) -> Option<(u16, &HostGroup)> {
        let index = self.hosts.iter().position(|g| g.range.contains(host))?;
        Some((index as u16, &self.hosts[index]))
    }
}

impl<'a, 's> File<'a, '_, 's> {
    /// A reader of the table at `path`, which has no names that people choose.
    fn table(&mut self, path: &'static [&'static str]) -> Reader<'a, '_, 's> {
        let at = self.place(path);
        let found = section(path).unwrap_or(&SECTIONS[0]);
        Reader::new(
            found,
            &[],
            self.root.get(path),
            at,
            &path.join("."),
            self.known,
            &mut *self.complaints,
        )
    }

    /// Where the table at `path` is named, or the nearest one above it that is written.
    fn place(&self, path: &[&str]) -> At {
        let mut at = self.root.at;
        let mut node = self.root;
        for key in path {
            let Some(entry) = node.entry(key) else { break };
            at = entry.key_at;
            node = &entry.node;
        }
        at
    }

    fn head(&mut self) -> (String, Option<String>) {
        let mut r = self.table(&[]);
        r.count("schema");
        (r.text("title").unwrap_or_default(), r.text("description"))
    }

    fn run(&mut self) -> Run {
        let mut r = self.table(&["run"]);
        Run {
            duration: r.time("duration").unwrap_or(Duration::MAX),
            warmup: r.time("warmup").unwrap_or_default(),
            warmup_at: r.at("warmup"),
            seeds: r.count("seeds"),
            first_seed: r.count("first-seed"),
            end_done: r.text("end").as_deref() != Some("duration"),
            end_at: r.at("end"),
            allow_mismatch: r.bool("allow-mismatch"),
        }
    }

    fn topology(&mut self) -> Topology {
        let mut r = self.table(&["topology"]);
        let dumbbell = r.text("kind").as_deref() == Some("dumbbell");
        for name in ["bottleneck-rate", "bottleneck-delay"] {
            if !dumbbell && r.has(name) && r.has("kind") {
                let help = "take it out, or write `kind = \"dumbbell\"`".to_owned();
                r.complain(name, format!("a star has no `{name}`"), Some(help));
            }
        }
        let rate = r.rate("link-rate").unwrap_or(Rate::from_gbps(1));
        let delay = r.time("link-delay").unwrap_or_default();
        Topology {
            kind: if dumbbell { TopologyKind::Dumbbell } else { TopologyKind::Star },
            at: r.at("kind"),
            rate,
            delay,
            bottleneck_rate: r.rate("bottleneck-rate").unwrap_or(rate),
            bottleneck_delay: r.time("bottleneck-delay").unwrap_or(delay),
            framing: match r.text("framing").as_deref() {
                Some("ip") => Framing::Ip,
                _ => Framing::Ethernet,
            },
            mtu: r.size("mtu").unwrap_or_default(),
        }
    }

    fn switch(&mut self) -> SwitchPort {
        let mut r = self.table(&["switch"]);
        let buffer = ports::buffer(&mut r);
        let (buffer_at, count_in_service) = (r.at("buffer"), r.bool("count-in-service"));
        let (mark, k_at) = ports::mark(&mut self.table(&["switch", "mark"]));
        SwitchPort {
            port: PortSpec { buffer, mark, count_in_service, classes: None },
            buffer_at,
            k_at,
        }
    }

    fn pipes(&mut self, kind: TopologyKind) -> Vec<Pipe> {
        let Some(found) = section(PIPE.path) else { return Vec::new() };
        if self.root.get(&["pipe"]).is_none() {
            return Vec::new();
        }
        let mut out = Vec::new();
        for (name, at, node) in self.groups(&["pipe"], "forth") {
            let path = format!("pipe.{name}");
            let mut r =
                Reader::new(found, &[], Some(node), at, &path, self.known, &mut *self.complaints);
            out.push(Pipe::read(name, &mut r, kind));
        }
        out
    }

    fn transport(&mut self) -> Stack {
        let mut r = self.table(&["transport"]);
        read_stack(&mut r)
    }

    /// The lines of the table at `path`; complains when there are none or a name is no name.
    fn groups(&mut self, path: &[&str], example: &str) -> Vec<(&'a str, At, &'a Node)> {
        let what = path.join(".");
        let Some(table) = self.root.get(path) else {
            let help = format!("begin one with a line [{what}.{example}]");
            self.complaints.add(self.root.at, format!("there is no [{what}] group"), Some(help));
            return Vec::new();
        };
        if !matches!(table.data, Data::Table(_)) {
            let message = format!("`{what}` is {} where a table is wanted", table.kind());
            self.complaints.add(table.at, message, None);
        } else if table.entries().is_empty() {
            let help = format!("begin one with a line [{what}.{example}]");
            self.complaints.add(table.at, format!("there is no [{what}] group"), Some(help));
        }
        let mut out = Vec::new();
        for entry in table.entries() {
            let name = entry.key.as_str();
            let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
            if !plain || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                let help = "a name is letters, digits, `-` and `_`, and starts with a letter";
                let message = format!("`{name}` cannot be the name of a group");
                self.complaints.add(entry.key_at, message, Some(help.to_owned()));
            }
            out.push((name, entry.key_at, &entry.node));
        }
        out
    }

    fn hosts(&mut self, kind: TopologyKind) -> Vec<HostGroup> {
        let Some(found) = section(&["hosts", "*"]) else { return Vec::new() };
        let mut out: Vec<HostGroup> = Vec::new();
        for (name, at, node) in self.groups(&["hosts"], "senders") {
            let path = format!("hosts.{name}");
            let mut r =
                Reader::new(found, &[], Some(node), at, &path, self.known, &mut *self.complaints);
            let count = r.count("count") as u32;
            let side = r.text("side");
            match kind {
                TopologyKind::Star if r.has("side") => {
                    let help = "take it out, or write `kind = \"dumbbell\"` in [topology]";
                    r.complain("side", "a star has no sides", Some(help.to_owned()));
                }
                TopologyKind::Dumbbell if !r.has("side") => {
                    let help = "write `side = \"left\"` or `side = \"right\"`".to_owned();
                    r.complain("side", format!("[{path}] does not say its side"), Some(help));
                }
                _ => {}
            }
            let range = HostRange { first: 0, count };
            let right = side.as_deref() == Some("right");
            out.push(HostGroup {
                name: name.to_owned(),
                at,
                range,
                right,
                stack: read_stack(&mut r),
                clock: host_tables::clock(&mut r),
                nic: host_tables::nic(&mut r),
            });
        }
        // The left side of a dumbbell is numbered first, whatever the order of the file.
        let mut first = 0_u32;
        for right in [false, true] {
            for group in out.iter_mut().filter(|g| g.right == right) {
                group.range.first = first;
                first = group.range.end();
            }
        }
        out
    }

    fn traffic(&mut self, hosts: &[HostGroup]) -> Vec<TrafficGroup> {
        let Some(found) = section(&["traffic", "*"]) else { return Vec::new() };
        let groups: Vec<_> = hosts.iter().map(|g| (g.name.as_str(), g.range)).collect();
        let mut out = Vec::new();
        for (index, (name, at, node)) in self.groups(&["traffic"], "long").into_iter().enumerate() {
            let path = format!("traffic.{name}");
            let kind = node.get(&["kind"]).and_then(Node::scalar);
            let workload =
                kind.as_deref().and_then(workload::find).unwrap_or(&workload::transfers::ENTRY);
            let more: Vec<Key> = workload.params.iter().map(Key::of_param).collect();
            let mut r =
                Reader::new(found, &more, Some(node), at, &path, self.known, &mut *self.complaints);
            r.text("kind");
            let (from, to) = (r.names("from"), r.names("to"));
            let values = workload.params.iter().map(|p| (p.name, r.param(p))).collect();
            let (to_at, start_at) = (r.at("to"), r.at("start"));
            let mut list = |names: Option<Vec<(String, At)>>| {
                let hosts = resolve(&names.unwrap_or_default(), &groups, self.complaints);
                hosts.unwrap_or_default()
            };
            let (sources, destinations) = (list(from), list(to));
            let args = Args { group: index as u16, sources, destinations, values };
            out.push(TrafficGroup { name: name.to_owned(), to_at, start_at, workload, args });
        }
        out
    }

    fn disturbance(&mut self) -> Disturbance {
        let mut r = self.table(&["disturbance"]);
        Disturbance {
            start_jitter: r.time("start-jitter").unwrap_or_default(),
            host_jitter: r.time("host-jitter").unwrap_or_default(),
            ports: r.bool("ports"),
            ties: r.bool("ties"),
        }
    }

    fn probes(&mut self) -> Probes {
        let known = self.known;
        let index = |name: &str| known.traffic.iter().position(|n| n == name).map(|i| i as u16);
        let mut r = self.table(&["probes"]);
        let groups = match r.names("groups") {
            Some(names) => names.iter().filter_map(|(name, _)| index(name)).collect(),
            None => (0..known.traffic.len()).map(|i| i as u16).collect(),
        };
        Probes {
            interval: r.time("interval"),
            groups,
            flows_per_group: r.count("flows-per-group") as u32,
            queues: r.bool("queues"),
            delays: r.bool("delays"),
            trace: r.names("trace").unwrap_or_default(),
        }
    }

    fn compare(&mut self) -> Vec<Named> {
        let mut r = self.table(&["compare"]);
        let written = r.has("schemes");
        let names = r.names("schemes");
        if names.as_ref().is_some_and(Vec::is_empty) {
            let help = "name a scheme, or take the key out".to_owned();
            r.complain("schemes", "an empty comparison", Some(help));
        }
        let named = |(name, at)| Named { name, at };
        let out: Vec<Named> = names.unwrap_or_default().into_iter().map(named).collect();
        if written {
            let scheme = self.root.get(&["transport", "scheme"]);
            if let Some(node) = scheme {
                let help = "a compared scheme replaces it; set `compare.schemes` alone, or take \
                            `[compare]` out";
                self.complaints.add(
                    node.at,
                    "`transport.scheme` together with `compare.schemes`",
                    Some(help.to_owned()),
                );
            }
        }
        out
    }

    fn bundles(&mut self) -> Vec<Bundle> {
        let Some(found) = section(&["compare", "bundles", "*"]) else { return Vec::new() };
        if self.root.get(&["compare", "bundles"]).is_none() {
            return Vec::new();
        }
        let mut out = Vec::new();
        for (name, at, node) in self.groups(&["compare", "bundles"], "mine") {
            if lowtide_tcp::scheme::find_scheme(name).is_some() {
                let message = format!("`{name}` is the name of a scheme already");
                self.complaints.add(at, message, Some("choose another name".to_owned()));
            }
            let path = format!("compare.bundles.{name}");
            let mut r =
                Reader::new(found, &[], Some(node), at, &path, self.known, &mut *self.complaints);
            let (profile, base) = (named(&mut r, "profile"), named(&mut r, "base"));
            out.push(Bundle { name: name.to_owned(), profile, base, settings: r.settings() });
        }
        out
    }
}

fn named(r: &mut Reader<'_, '_, '_>, key: &str) -> Option<Named> {
    let at = r.at(key);
    r.text(key).map(|name| Named { name, at })
}

fn read_stack(r: &mut Reader<'_, '_, '_>) -> Stack {
    Stack { profile: named(r, "profile"), scheme: named(r, "scheme"), settings: r.settings() }
}
