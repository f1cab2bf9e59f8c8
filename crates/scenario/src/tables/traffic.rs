//! `[traffic.NAME]`: groups of flows and of queries. Each workload has its own keys.

use lowtide_traffic::workload::{self, HostSelection, WorkloadArgs, WorkloadEntry};

use super::param;
use super::read_context::ReadContext;
use crate::hosts::resolve;
use crate::keys::{KeySpec, key};
use crate::model::{HostGroup, ScenarioModel, TrafficGroup};
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_tree::{SourceSpan, TomlNode};
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, NameSet};
use lowtide_schema::DefaultValue::{Is, Unset};

/// Value of `connect` for connections that open before their transfers begin.
const EARLY: &str = "early";

/// Workload of a group without `kind`.
static DEFAULT: &WorkloadEntry = &workload::transfers::ENTRY;

/// `[traffic.NAME]`.
pub(crate) static TRAFFIC: TableSpec = TableSpec {
    path: &["traffic", "*"],
    doc: "A group of flows, or of queries. The other keys depend on the kind.",
    keys: &[
        key("kind", KeyType::Name(NameSet::Workloads), Is(DEFAULT.name), "Workload."),
        key(
            "from",
            KeyType::Hosts,
            Unset("required, except for workloads whose file names the hosts"),
            "Hosts that open connections: senders, query clients, or the ranks of a collective.",
        ),
        key(
            "to",
            KeyType::Hosts,
            Unset("required, except for collectives and workloads whose file names the hosts"),
            "Receivers, or servers of queries.",
        ),
        key(
            "class",
            KeyType::Name(NameSet::Classes),
            Unset("that of the sending host"),
            "Queue of these connections' packets at the switches, in both directions.",
        ),
        key(
            "connect",
            KeyType::Name(NameSet::Fixed(&["at-start", EARLY])),
            Is("at-start"),
            "Time at which a connection opens: as its transfer begins, or `early`, one after another \
             1 ms apart from the start of the run. Times then count from the first write, without \
             the handshake, as flowgrind measures.",
        ),
    ],
    tables: &[],
    contents: TableContents::Workloads,
};

/// Reads all groups.
pub(super) fn read(file: &mut ReadContext<'_, '_, '_>, hosts: &[HostGroup]) -> Vec<TrafficGroup> {
    let groups: Vec<_> = hosts.iter().map(|g| (g.name.as_str(), g.range)).collect();
    let mut out = Vec::new();
    for (index, named) in file.groups(&TRAFFIC, "long").into_iter().enumerate() {
        let kind = named.node.get(&["kind"]).and_then(TomlNode::scalar);
        let workload = kind.as_deref().and_then(|kind| workload::REGISTRY.find(kind));
        let workload = workload.unwrap_or(DEFAULT);
        let more: Vec<KeySpec> = workload.params.iter().map(KeySpec::of_param).collect();
        let file_cache = file.files;
        let mut r = file.reader(&TRAFFIC, &more, named);
        r.text("kind");
        let required: &[&str] = match workload.host_selection {
            HostSelection::FromTo => &["from", "to"],
            HostSelection::From => &["from"],
            HostSelection::FromFile => &[],
        };
        for end in required {
            if !r.has(end) {
                r.report_missing(end);
            }
        }
        let (from, to) = (r.names("from"), r.names("to"));
        let class = r.text("class");
        let early = r.text("connect").is_some_and(|at| at == EARLY);
        let read = param::read(&mut r, workload.params, file_cache);
        let keys = workload.params.iter().map(|p| p.name).chain(["from", "to", "connect"]);
        let places = keys.filter(|key| r.has(key)).map(|key| (key, r.at(key))).collect();
        let mut list = |names: Option<Vec<(String, SourceSpan)>>| {
            let hosts = resolve(&names.unwrap_or_default(), &groups, file.diagnostics);
            hosts.unwrap_or_default()
        };
        let (sources, destinations) = (list(from), list(to));
        let place = |name: String| file.known.classes.iter().position(|c| *c == name);
        let class = class.and_then(place).map(|place| place as u8);
        let name = named.name.to_owned();
        let group = index as u16;
        let args = WorkloadArgs {
            group,
            name: name.clone(),
            sources,
            destinations,
            values: read.values,
            distributions: read.distributions,
            files: read.files,
        };
        let files = read.sources;
        out.push(TrafficGroup { name, at: named.at, places, workload, args, class, early, files });
    }
    out
}

/// Writes one group.
pub(super) fn write(out: &mut TomlWriter, group: &TrafficGroup, model: &ScenarioModel) {
    out.table(&format!("traffic.{}", group.name));
    out.text("kind", group.workload.name);
    let names = |hosts: &[u32]| -> Vec<String> {
        let name = |host: &u32| {
            let (_, group) = model.group_of(*host)?;
            Some(format!("{}.{}", group.name, host - group.range.first))
        };
        hosts.iter().filter_map(name).collect()
    };
    for (key, hosts) in [("from", &group.args.sources), ("to", &group.args.destinations)] {
        if !hosts.is_empty() {
            out.list(key, names(hosts).iter().map(String::as_str));
        }
    }
    let class = group.class.and_then(|class| model.switch.classes.get(usize::from(class)));
    out.optional("class", class.map(|class| &class.name));
    out.optional("connect", group.early.then_some(EARLY));
    param::write(out, &group.args.values);
}
