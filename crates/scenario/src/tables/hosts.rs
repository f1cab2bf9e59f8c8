//! `[hosts.NAME]`: groups of equal hosts.

use lowtide_tcp::Config;

use super::file::File;
use super::{clock, nic, transport};
use crate::keys::Fallback::{Required, Unset};
use crate::keys::{Section, key};
use crate::known::BOTTLENECK;
use crate::model::{HostGroup, TopologyKind};
use crate::range::HostRange;
use crate::settings;
use crate::text::Text;
use crate::value::{Names, Ty};

/// `[hosts.NAME]`.
pub(crate) static HOSTS: Section = Section {
    path: &["hosts", "*"],
    doc: "A group of equal hosts, numbered from zero. What is written here wins over `[transport]`.",
    keys: &[
        key("count", Ty::Count { min: 1, max: 100_000 }, Required, "How many hosts."),
        key(
            "side",
            Ty::Name(Names::Fixed(&["left", "right"])),
            Unset("must be written for a dumbbell, and only there"),
            "On which side of the bottleneck they are.",
        ),
        key(
            "profile",
            Ty::Name(Names::Profiles),
            Unset("as `transport.profile`"),
            "The stack of these hosts.",
        ),
        key(
            "scheme",
            Ty::Name(Names::Schemes),
            Unset("as `transport.scheme`, or the compared one"),
            "A scheme that these hosts keep whatever is compared.",
        ),
    ],
    tables: &[&clock::CLOCK, &nic::NIC],
    switches: true,
};

/// Reads all groups and numbers their hosts.
pub(super) fn read(file: &mut File<'_, '_, '_>, kind: TopologyKind) -> Vec<HostGroup> {
    let mut out: Vec<HostGroup> = Vec::new();
    for named in file.groups(&HOSTS, "senders") {
        let piped = file.root.get(&["pipe"]).is_some();
        if named.name == BOTTLENECK && kind == TopologyKind::Dumbbell && piped {
            let message =
                format!("in `on` of a pipe `{BOTTLENECK}` is the line between the switches");
            let help = "give the group another name".to_owned();
            file.complaints.add(named.at, message, Some(help));
        }
        let mut r = file.reader(&HOSTS, &[], named);
        let count = r.count("count") as u32;
        let side = r.text("side");
        match kind {
            TopologyKind::Star if r.has("side") => {
                let help = "take it out, or write `kind = \"dumbbell\"` in [topology]";
                r.complain("side", "a star has no sides", Some(help.to_owned()));
            }
            TopologyKind::Dumbbell if !r.has("side") => {
                let help = "write `side = \"left\"` or `side = \"right\"`".to_owned();
                r.complain(
                    "side",
                    format!("[hosts.{}] does not say its side", named.name),
                    Some(help),
                );
            }
            _ => {}
        }
        let range = HostRange { first: 0, count };
        let right = side.as_deref() == Some("right");
        out.push(HostGroup {
            name: named.name.to_owned(),
            at: named.at,
            range,
            right,
            stack: transport::stack(&mut r),
            clock: clock::read(&mut r),
            nic: nic::read(&mut r),
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

/// Writes one group out, with every switch of the configuration that its hosts run with.
pub(super) fn write(out: &mut Text, group: &HostGroup, config: &Config, kind: TopologyKind) {
    out.table(&format!("hosts.{}", group.name));
    out.bare("count", group.range.count);
    if kind == TopologyKind::Dumbbell {
        out.text("side", if group.right { "right" } else { "left" });
    }
    transport::write_named(out, "profile", group.stack.profile.as_ref());
    transport::write_named(out, "scheme", group.stack.scheme.as_ref());
    clock::write(out, &group.name, &group.clock);
    nic::write(out, &group.name, &group.nic);
    settings::write(out, &format!("hosts.{}", group.name), config);
}
