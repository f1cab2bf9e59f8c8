//! `[deployment]`: hosts that are moved to another stack.

use lowtide_schema::DefaultValue::{Is, Unset};
use lowtide_schema::Value;
use lowtide_tcp::switches::Side;
use lowtide_units::Fraction;

use super::read_context::ReadContext;
use super::transport;
use crate::hosts::resolve;
use crate::keys::key;
use crate::model::{DeploymentTable, HostDraw, HostGroup, MovedSides};
use crate::settings::{SIDE_OF, SIDES};
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::transport_config::DeployedSetting;
use crate::value::{KeyType, NameSet};

/// `[deployment]`.
pub(crate) static DEPLOYMENT: TableSpec = TableSpec {
    path: &["deployment"],
    doc: "A mixed deployment: a share of the hosts is moved to another stack. The moved hosts are drawn by the seed; those of a \
          greater share include those of a smaller one. Sender and receiver need not be compatible. The table of flows has the class of both hosts.",
    keys: &[
        key(
            "hosts",
            KeyType::Hosts,
            Unset("all hosts"),
            "Hosts from which the moved ones are drawn.",
        ),
        key(
            "to",
            KeyType::Name(NameSet::Schemes),
            Unset("the tables `sender`, `receiver` and `connection` below alone"),
            "Scheme of the moved hosts. It takes precedence over all other settings of their group; the tables below take precedence over it.",
        ),
        key(
            "moves",
            KeyType::Name(NameSet::Fixed(&["both", "senders", "receivers"])),
            Is("both"),
            "Sides that move: `senders` sets only the sender and connection switches of a moved host, `receivers` only those of receiver and connection, and such a host accepts ECN without requesting it.",
        ),
        key(
            "share",
            KeyType::Parts { min: Fraction::ZERO, max: Fraction::ONE },
            Is("50 %"),
            "Share of the hosts that is moved; it must be a whole number of hosts or racks.",
        ),
        key(
            "draw",
            KeyType::Name(NameSet::Fixed(&["random", "rack"])),
            Is("random"),
            "`random`: single hosts are drawn; `rack`: whole racks are drawn.",
        ),
    ],
    tables: &[],
    contents: TableContents::Switches,
};

/// Reads `[deployment]`; there may be none.
pub(super) fn read(
    file: &mut ReadContext<'_, '_, '_>,
    groups: &[HostGroup],
) -> Option<DeploymentTable> {
    file.root.get(DEPLOYMENT.path)?;
    let mut r = file.table(&DEPLOYMENT);
    let at = r.table_span();
    let (written, hosts_at) = (r.names("hosts"), r.at("hosts"));
    let to = transport::named(&mut r, "to");
    let settings = r.settings();
    let moves = r.text("moves").and_then(|name| MovedSides::named(&name));
    let (share, share_at) = (r.parts("share").unwrap_or_default(), r.at("share"));
    let draw = r.text("draw").and_then(|name| HostDraw::named(&name));
    if to.is_none() && settings.is_empty() && !r.has("to") {
        let help = "write `to = \"dctcp\"`, or switches in [deployment.sender]".to_owned();
        r.report("to", "`to` is missing in [deployment]", Some(help));
    }
    let names = written.unwrap_or_else(|| groups.iter().map(|g| (g.name.clone(), at)).collect());
    if names.is_empty() {
        let help = "name a host group, or remove the key".to_owned();
        file.diagnostics.add(hosts_at, "a deployment without hosts", Some(help));
    }
    let ranges: Vec<_> = groups.iter().map(|g| (g.name.as_str(), g.range)).collect();
    let hosts = resolve(&names, &ranges, file.diagnostics).unwrap_or_default();
    Some(DeploymentTable {
        names: names.into_iter().map(|(name, _)| name).collect(),
        hosts,
        to,
        settings,
        moves: moves.unwrap_or(MovedSides::Both),
        share,
        share_at,
        draw: draw.unwrap_or(HostDraw::Random),
        at,
    })
}

/// Writes the table with all settings that it makes.
pub(super) fn write(out: &mut TomlWriter, table: &DeploymentTable, made: &[DeployedSetting]) {
    out.table("deployment");
    out.list("hosts", table.names.iter().map(String::as_str));
    transport::write_named(out, "to", table.to.as_ref());
    out.text("moves", table.moves.name());
    out.text("share", table.share);
    out.text("draw", table.draw.name());
    for (name, side) in SIDES.into_iter().zip(SIDE_OF) {
        write_side(out, name, side, made);
    }
}

fn write_side(out: &mut TomlWriter, name: &str, side: Side, made: &[DeployedSetting]) {
    let mut of_side = made.iter().filter(|setting| setting.side == side).peekable();
    if of_side.peek().is_none() {
        return;
    }
    out.table(&format!("deployment.{name}"));
    for DeployedSetting { name, value, .. } in of_side {
        match value {
            Value::Bool(_) | Value::Count(_) => out.bare(name, value),
            _ => out.text(name, value),
        }
    }
}
