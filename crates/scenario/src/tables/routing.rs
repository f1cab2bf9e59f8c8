//! `[routing]` and `[failure.NAME]`: which way packets take, and which links fail.

use lowtide_net::Routing;

use super::file::File;
use crate::keys::Fallback::{Is, Required, Unset};
use crate::keys::key;
use crate::model::{Named, Outage, TopologyKind};
use crate::section::{More, Section};
use crate::text::Text;
use crate::value::{Names, Ty};

/// `[routing]`.
pub(crate) static ROUTING: Section = Section {
    path: &["routing"],
    doc: "Which of several equally short ways a packet takes.",
    keys: &[
        key(
            "kind",
            Ty::Name(Names::Fixed(&["single", "ecmp", "spray"])),
            Unset("`ecmp` where a topology may have several ways, else `single`"),
            "`single`: always the first one; `ecmp`: by a hash of hosts and ports, with a salt per switch; `spray`: each packet by itself.",
        ),
        key(
            "polarised",
            Ty::Bool,
            Unset("`false`"),
            "`ecmp`: all switches hash alike, the fault in which the second one of a row cannot spread what the first one sent its way.",
        ),
    ],
    tables: &[],
    more: More::Nothing,
};

/// `[failure.NAME]`.
pub(crate) static FAILURE: Section = Section {
    path: &["failure", "*"],
    doc: "A link that fails, in both directions, and may come back.",
    keys: &[
        key(
            "link",
            Ty::Text,
            Required,
            "The link by its ends, `leaf0-spine1` or `senders.3-leaf0`; `bottleneck` of a dumbbell.",
        ),
        key(
            "nth",
            Ty::Count { min: 0, max: 100_000 },
            Is("0"),
            "Which one of several parallel links, from zero.",
        ),
        key("down", Ty::Time { positive: false }, Required, "When it fails."),
        key("up", Ty::Time { positive: true }, Unset("never"), "When it works again."),
        key(
            "detect",
            Ty::Time { positive: false },
            Is("0 s"),
            "How long routes take to follow, after both.",
        ),
    ],
    tables: &[],
    more: More::Nothing,
};

/// Reads `[routing]`.
pub(super) fn read(file: &mut File<'_, '_, '_>, topology: TopologyKind) -> Routing {
    let mut r = file.table(&ROUTING);
    let default = if topology.has_ways() { "ecmp" } else { "single" };
    let kind = r.text("kind").unwrap_or_else(|| default.to_owned());
    if kind != "ecmp" && r.has("polarised") {
        let help = "write `kind = \"ecmp\"`, or take it out".to_owned();
        r.complain("polarised", format!("`polarised` has no effect on `{kind}`"), Some(help));
    }
    match kind.as_str() {
        "ecmp" => Routing::Ecmp { polarised: r.has("polarised") && r.bool("polarised") },
        "spray" => Routing::Spray,
        _ => Routing::Single,
    }
}

/// Reads all failures, of which there may be none.
pub(super) fn failures(file: &mut File<'_, '_, '_>) -> Vec<Outage> {
    if file.root.get(&["failure"]).is_none() {
        return Vec::new();
    }
    let mut out = Vec::new();
    for named in file.groups(&FAILURE, "cut") {
        let mut r = file.reader(&FAILURE, &[], named);
        let link = Named { name: r.text("link").unwrap_or_default(), at: r.at("link") };
        let (down, up) = (r.time("down").unwrap_or_default(), r.time("up"));
        if let Some(up) = up.filter(|up| *up <= down) {
            let help = "let it come back later, or take `up` out".to_owned();
            let message = format!("a link that fails at {down} cannot be back at {up}");
            r.complain("up", message, Some(help));
        }
        let detect = r.time("detect").unwrap_or_default();
        let (nth, times_at) = (r.count("nth") as u32, r.at("down"));
        out.push(Outage { name: named.name.to_owned(), link, nth, down, up, times_at, detect });
    }
    out
}

/// Writes `[routing]` out.
pub(super) fn write(out: &mut Text, routing: Routing) {
    out.table("routing");
    match routing {
        Routing::Single => out.text("kind", "single"),
        Routing::Spray => out.text("kind", "spray"),
        Routing::Ecmp { polarised } => {
            out.text("kind", "ecmp");
            out.bare("polarised", polarised);
        }
    }
}

/// Writes one failure out.
pub(super) fn write_failure(out: &mut Text, outage: &Outage) {
    out.table(&format!("failure.{}", outage.name));
    out.text("link", &outage.link.name);
    out.bare("nth", outage.nth);
    out.text("down", outage.down);
    out.some("up", outage.up);
    out.text("detect", outage.detect);
}
