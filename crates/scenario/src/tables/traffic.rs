//! `[traffic.NAME]`: groups of flows. The keys of a workload are its own.

use lowtide_traffic::workload::{self, Args, Param, ParamKind};

use super::file::File;
use crate::hosts::resolve;
use crate::keys::Fallback::{Is, Required};
use crate::keys::{Key, Section, key};
use crate::model::{HostGroup, Model, TrafficGroup};
use crate::text::Text;
use crate::tree::{At, Node};
use crate::value::{Names, Ty};

/// `[traffic.NAME]`.
pub(crate) static TRAFFIC: Section = Section {
    path: &["traffic", "*"],
    doc: "A group of flows. Its other keys belong to its kind.",
    keys: &[
        key("kind", Ty::Name(Names::Workloads), Is("transfers"), "The workload."),
        key("from", Ty::Hosts, Required, "The hosts that open connections and send."),
        key("to", Ty::Hosts, Required, "The hosts that receive."),
    ],
    tables: &[],
    switches: false,
};

/// Reads all groups.
pub(super) fn read(file: &mut File<'_, '_, '_>, hosts: &[HostGroup]) -> Vec<TrafficGroup> {
    let groups: Vec<_> = hosts.iter().map(|g| (g.name.as_str(), g.range)).collect();
    let mut out = Vec::new();
    for (index, named) in file.groups(&TRAFFIC, "long").into_iter().enumerate() {
        let kind = named.node.get(&["kind"]).and_then(Node::scalar);
        let workload =
            kind.as_deref().and_then(workload::find).unwrap_or(&workload::transfers::ENTRY);
        let more: Vec<Key> = workload.params.iter().map(Key::of_param).collect();
        let mut r = file.reader(&TRAFFIC, &more, named);
        r.text("kind");
        let (from, to) = (r.names("from"), r.names("to"));
        let values = workload.params.iter().map(|p| (p.name, r.param(p))).collect();
        let (to_at, start_at) = (r.at("to"), r.at("start"));
        let mut list = |names: Option<Vec<(String, At)>>| {
            let hosts = resolve(&names.unwrap_or_default(), &groups, file.complaints);
            hosts.unwrap_or_default()
        };
        let (sources, destinations) = (list(from), list(to));
        let name = named.name.to_owned();
        let group = index as u16;
        let args = Args { group, name: name.clone(), sources, destinations, values };
        out.push(TrafficGroup { name, to_at, start_at, workload, args });
    }
    out
}

/// Writes one group out.
pub(super) fn write(out: &mut Text, group: &TrafficGroup, model: &Model) {
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
