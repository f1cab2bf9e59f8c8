//! `[hosts.NAME]`: groups of equal hosts.

use lowtide_net::topology::{self, HostLayout, NamedLink, TopologyEntry};
use lowtide_tcp::Config;

use super::read_context::ReadContext;
use super::{clock, nic, transport};
use crate::keys::key;
use crate::model::{HostGroup, ScenarioModel, Topology, TransportTable};
use crate::range::HostRange;
use crate::reader::TableReader;
use crate::settings;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_tree::SourceSpan;
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, KeyValue, NameSet};
use lowtide_schema::DefaultValue::{Required, Unset};
use lowtide_schema::Value;

/// `[hosts.NAME]`.
pub(crate) static HOSTS: TableSpec = TableSpec {
    path: &["hosts", "*"],
    doc: "A group of equal hosts, numbered from zero. Its settings take precedence over `[transport]`.",
    keys: &[
        key(
            "count",
            KeyType::CountOrRest { min: 1, max: 100_000 },
            Required,
            "Number of hosts; `rest` takes the remaining hosts of a topology with a fixed number.",
        ),
        key(
            "side",
            KeyType::Name(NameSet::Sides),
            Unset("required if the topology has sides, and only there"),
            "Location of the hosts: one of the sides of the topology.",
        ),
        key(
            "profile",
            KeyType::Name(NameSet::Profiles),
            Unset("as `transport.profile`"),
            "Stack of these hosts.",
        ),
        key(
            "scheme",
            KeyType::Name(NameSet::Schemes),
            Unset("as `transport.scheme`, or the compared one"),
            "Scheme that these hosts keep in every comparison.",
        ),
        key(
            "host-profile",
            KeyType::Name(NameSet::HostProfiles),
            Unset("as `transport.host-profile`"),
            "Defaults for the host stack, NIC and clock, and for the TCP switches of its hardware.",
        ),
        key(
            "class",
            KeyType::Name(NameSet::Classes),
            Unset("the last class, if there are any"),
            "Queue of these hosts' packets at the switches, except packets of a traffic group with its own class.",
        ),
    ],
    tables: &[&clock::CLOCK, &nic::NIC],
    contents: TableContents::Switches,
};

/// Reads all groups and numbers their hosts.
pub(super) fn read(
    file: &mut ReadContext<'_, '_, '_>,
    topology: &Topology,
    transport: &TransportTable,
) -> Vec<HostGroup> {
    let mut out: Vec<HostGroup> = Vec::new();
    let mut rest = None;
    let classes = &file.known.classes;
    for named in file.groups(&HOSTS, "senders") {
        let piped = file.root.get(&["pipe"]).is_some();
        let link = topology.entry.named_link(named.name).filter(|_| piped);
        if let Some(NamedLink { name, doc, .. }) = link {
            let message = format!("`{name}` in `on` of a pipe means {doc}");
            let help = "give the group another name".to_owned();
            file.diagnostics.add(named.at, message, Some(help));
        }
        let mut r = file.reader(&HOSTS, &[], named);
        let (count, at) = match r.value("count") {
            Some((KeyValue::Single(Value::Count(n)), at)) => (n as u32, at),
            Some((_, at)) => {
                if rest.replace((out.len(), at)).is_some() {
                    r.report("count", "only one group can take the rest", None);
                }
                (0, at)
            }
            // The error is already reported.
            None => (1, r.at("count")),
        };
        let side = side(&mut r, named.name, topology.entry);
        let stack = transport::stack(&mut r);
        let profile = stack.host_profile.or(transport.host_profile);
        let base = profile.map_or_else(Default::default, |p| (p.clock, p.nic));
        let class = r.text("class").and_then(|name| classes.iter().position(|c| *c == name));
        let class = class.unwrap_or(classes.len().saturating_sub(1)) as u8;
        out.push(HostGroup {
            class,
            name: named.name.to_owned(),
            at: named.at,
            count_at: at,
            range: HostRange { first: 0, count },
            side,
            stack,
            clock: clock::read(&mut r, base.0),
            nic: nic::read(&mut r, base.1),
        });
    }
    assign_rest(file, topology, &mut out, rest);
    // Hosts are numbered side by side, regardless of the order of the file.
    let mut first = 0_u32;
    for side in 0..topology.entry.sides().len().max(1) {
        for group in out.iter_mut().filter(|g| g.side == side) {
            group.range.first = first;
            first = group.range.end();
        }
    }
    out
}

/// Reads the side of a group.
fn side(r: &mut TableReader<'_, '_, '_>, name: &str, entry: &TopologyEntry) -> usize {
    let side = r.text("side");
    let sides = entry.sides();
    let choice = || {
        let sides: Vec<String> =
            sides.iter().map(|side| format!("`side = \"{}\"`", side.name)).collect();
        format!("write {}", sides.join(" or "))
    };
    if sides.is_empty() {
        if let Some(side) = side {
            let has = |e: &&TopologyEntry| e.sides().iter().any(|s| s.name == side);
            let kinds = topology::REGISTRY.all().filter(has);
            let kinds: Vec<String> = kinds.map(|e| format!("`kind = \"{}\"`", e.name)).collect();
            let help = format!("remove it, or write {} in [topology]", kinds.join(" or "));
            r.report("side", format!("a {} has no sides", entry.name), Some(help));
        }
        return 0;
    }
    if !r.has("side") {
        r.report("side", format!("[hosts.{name}] has no `side`"), Some(choice()));
    }
    let Some(side) = side else { return 0 };
    let found = sides.iter().position(|s| s.name == side);
    found.unwrap_or_else(|| {
        r.report("side", format!("there is no `{side}` in this topology"), Some(choice()));
        0
    })
}

/// Assigns the remaining hosts to the group with `rest`, and checks the total.
fn assign_rest(
    file: &mut ReadContext<'_, '_, '_>,
    topology: &Topology,
    groups: &mut [HostGroup],
    rest: Option<(usize, SourceSpan)>,
) {
    let assigned: u64 = groups.iter().map(|g| u64::from(g.range.count)).sum();
    // Later checks need at least one host in the group, even after an error.
    if let Some(group) = rest.and_then(|(index, _)| groups.get_mut(index)) {
        group.range.count = 1;
    }
    let HostLayout::Fixed(_) = topology.entry.hosts else {
        if let Some((_, at)) = rest {
            let help = "write the number of hosts in the group".to_owned();
            let message = format!("a {} has no fixed number of hosts", topology.entry.name);
            file.diagnostics.add(at, message, Some(help));
        }
        return;
    };
    // Invalid parameters are already reported.
    let Some(total) = topology.host_count else { return };
    let name = topology.entry.name;
    if let Some((index, at)) = rest {
        if let Some(left @ 1..=100_000) = total.checked_sub(assigned) {
            groups[index].range.count = left as u32;
        } else {
            let message =
                format!("this {name} has {total} hosts, of which the other groups take {assigned}");
            let help = "shrink the other groups, or enlarge the topology".to_owned();
            file.diagnostics.add(at, message, Some(help));
        }
    } else if total != assigned
        && let Some(last) = groups.last()
    {
        let message = format!("this {name} has {total} hosts, but the groups have {assigned}");
        let help =
            "write `count = \"rest\"` in one group, or change the numbers in [topology]".to_owned();
        file.diagnostics.add(last.count_at, message, Some(help));
    }
}

/// Writes one group, with all switches of its hosts' configuration.
pub(super) fn write(
    out: &mut TomlWriter,
    group: &HostGroup,
    [config, moved]: [Option<&Config>; 2],
    model: &ScenarioModel,
) {
    out.table(&format!("hosts.{}", group.name));
    out.bare("count", group.range.count);
    if let Some(side) = model.topology.entry.sides().get(group.side) {
        out.text("side", side.name);
    }
    transport::write_named(out, "profile", group.stack.profile.as_ref());
    transport::write_named(out, "scheme", group.stack.scheme.as_ref());
    let class = model.switch.classes.get(usize::from(group.class));
    out.optional("class", class.map(|class| &class.name));
    clock::write(out, &group.name, &group.clock);
    nic::write(out, &group.name, &group.nic);
    if let Some(config) = config {
        settings::write(out, &format!("hosts.{}", group.name), config, moved);
    }
}
