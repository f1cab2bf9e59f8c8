//! `[topology]`: the links, and how hosts are put together.

use lowtide_net::Framing;
use lowtide_units::Rate;

use super::file::File;
use crate::keys::Fallback::{Is, Required, Unset};
use crate::keys::{Section, key};
use crate::model::{Topology, TopologyKind};
use crate::text::Text;
use crate::value::{Names, Ty};

/// `[topology]`.
pub(crate) static TOPOLOGY: Section = Section {
    path: &["topology"],
    doc: "Links and how they are put together.",
    keys: &[
        key(
            "kind",
            Ty::Name(Names::Topologies),
            Required,
            "`star`: all hosts on one switch; `dumbbell`: two switches with a bottleneck between them.",
        ),
        key("link-rate", Ty::Rate, Required, "Rate of every host's link, in each direction."),
        key(
            "link-delay",
            Ty::Time { positive: false },
            Required,
            "Propagation delay of every host's link, one way.",
        ),
        key(
            "bottleneck-rate",
            Ty::Rate,
            Unset("as `link-rate`"),
            "Rate between the switches (dumbbell only).",
        ),
        key(
            "bottleneck-delay",
            Ty::Time { positive: false },
            Unset("as `link-delay`"),
            "Propagation delay between the switches, one way (dumbbell only).",
        ),
        key(
            "framing",
            Ty::Name(Names::Fixed(&["ethernet", "ip"])),
            Is("ethernet"),
            "What a packet takes on the line beside its own bytes: `ethernet` 38 B, `ip` nothing.",
        ),
        key("mtu", Ty::Size, Is("9000 B"), "The largest IP packet that the links carry."),
    ],
    tables: &[],
    switches: false,
};

/// Reads it.
pub(super) fn read(file: &mut File<'_, '_, '_>) -> Topology {
    let mut r = file.table(&TOPOLOGY);
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

/// Writes it out.
pub(super) fn write(out: &mut Text, topology: &Topology) {
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
}
