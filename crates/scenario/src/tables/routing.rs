//! `[routing]` and `[failure.NAME]`: path selection and link failures.

use lowtide_net::Routing;

use lowtide_units::Duration;

use super::read_context::ReadContext;
use crate::keys::key;
use crate::model::{LinkFailure, SpannedName};
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, NameSet};
use lowtide_schema::DefaultValue::{Is, Required, Unset};

/// Gap between flowlets (CONGA, SIGCOMM 2014).
const DEFAULT_GAP: Duration = Duration::from_us(500);

/// `[routing]`.
pub(crate) static ROUTING: TableSpec = TableSpec {
    path: &["routing"],
    doc: "Selection among several shortest paths.",
    keys: &[
        key(
            "kind",
            KeyType::Name(NameSet::Fixed(&["single", "ecmp", "wcmp", "flowlet", "spray"])),
            Unset("`ecmp` if the topology may have several paths, else `single`"),
            "`single`: always the first path; `ecmp`: by a hash of hosts and ports, with a salt per switch; `wcmp`: as `ecmp`, with more flows for a link that leads to more capacity (WCMP, EuroSys 2014); `flowlet`: a flow draws a link anew after a `gap` without packets at the switch (LetFlow, NSDI 2017); `spray`: per packet.",
        ),
        key(
            "polarised",
            KeyType::Bool,
            Unset("`false`"),
            "`ecmp`: all switches use one hash (hash polarisation), so the second switch on a path cannot spread the flows it gets from the first.",
        ),
        key(
            "gap",
            KeyType::Time { positive: true },
            Unset("`500 us` (CONGA, SIGCOMM 2014)"),
            "`flowlet`: time without a packet of the flow after which it draws a link anew. A gap longer than the difference of the paths' delays keeps the order of packets.",
        ),
    ],
    tables: &[],
    contents: TableContents::KeysOnly,
};

/// `[failure.NAME]`.
pub(crate) static FAILURE: TableSpec = TableSpec {
    path: &["failure", "*"],
    doc: "A link that fails, in whole or in part, and may recover.",
    keys: &[
        key(
            "link",
            KeyType::Text,
            Required,
            "The link by its ends, `leaf0-spine1` or `senders.3-leaf0`; `bottleneck` of a dumbbell.",
        ),
        key(
            "nth",
            KeyType::Count { min: 0, max: 100_000 },
            Is("0"),
            "Index among parallel links, from zero.",
        ),
        key("down", KeyType::Time { positive: false }, Required, "Time of the failure."),
        key("up", KeyType::Time { positive: true }, Unset("never"), "Time of the recovery."),
        key(
            "detect",
            KeyType::Time { positive: false },
            Is("0 s"),
            "Delay of the routing update after failure and recovery.",
        ),
        key(
            "direction",
            KeyType::Name(NameSet::Fixed(&["both", "right", "left"])),
            Is("both"),
            "`right` from the first named end of the link, or `left`: the other direction stays. Once detected, routes avoid the link in both.",
        ),
        key(
            "rate",
            KeyType::Rate,
            Unset("the link is down"),
            "Rate that is left, as of one lane of four. Routes stay, so `ecmp` and `spray` send as much to the link as before.",
        ),
        key(
            "reweight",
            KeyType::Bool,
            Is("false"),
            "With `rate`: the weights of `wcmp` follow it after `detect`.",
        ),
    ],
    tables: &[],
    contents: TableContents::KeysOnly,
};

/// Reads `[routing]`; `multipath` is set if the topology may have several shortest paths.
pub(super) fn read(file: &mut ReadContext<'_, '_, '_>, multipath: bool) -> Routing {
    let mut r = file.table(&ROUTING);
    let default = if multipath { "ecmp" } else { "single" };
    let kind = r.text("kind").unwrap_or_else(|| default.to_owned());
    if kind != "ecmp" && r.has("polarised") {
        let help = "write `kind = \"ecmp\"`, or remove it".to_owned();
        r.report("polarised", format!("`polarised` has no effect on `{kind}`"), Some(help));
    }
    if kind != "flowlet" && r.has("gap") {
        let help = "write `kind = \"flowlet\"`, or remove it".to_owned();
        r.report("gap", format!("`gap` has no effect on `{kind}`"), Some(help));
    }
    match kind.as_str() {
        "wcmp" => Routing::Wcmp,
        "flowlet" => Routing::Flowlet(r.time("gap").unwrap_or(DEFAULT_GAP)),
        "ecmp" => Routing::Ecmp { polarised: r.has("polarised") && r.bool("polarised") },
        "spray" => Routing::Spray,
        _ => Routing::Single,
    }
}

/// Reads all failures; there may be none.
pub(super) fn failures(file: &mut ReadContext<'_, '_, '_>, routing: Routing) -> Vec<LinkFailure> {
    if file.root.get(&["failure"]).is_none() {
        return Vec::new();
    }
    let mut out = Vec::new();
    for named in file.groups(&FAILURE, "cut") {
        let mut r = file.reader(&FAILURE, &[], named);
        let link = SpannedName { name: r.text("link").unwrap_or_default(), at: r.at("link") };
        let (down, up) = (r.time("down").unwrap_or_default(), r.time("up"));
        if let Some(up) = up.filter(|up| *up <= down) {
            let help = "raise `up`, or remove it".to_owned();
            let message = format!("a link that fails at {down} cannot recover at {up}");
            r.report("up", message, Some(help));
        }
        let detect = r.time("detect").unwrap_or_default();
        let (nth, times_at) = (r.count("nth") as u32, r.at("down"));
        let (direction, rate) = (r.text("direction"), r.rate("rate"));
        let reweight = r.bool("reweight");
        if reweight && (rate.is_none() || routing != Routing::Wcmp) {
            let help = "write `rate`, and `kind = \"wcmp\"` in [routing], or remove it".to_owned();
            let message = "`reweight` is for a `rate` with the routing `wcmp`".to_owned();
            r.report("reweight", message, Some(help));
        }
        if rate.is_some() && !reweight && r.has("detect") {
            let help = "write `reweight = true`, or remove it".to_owned();
            let message = "no route changes for a `rate`, so `detect` has no effect".to_owned();
            r.report("detect", message, Some(help));
        }
        out.push(LinkFailure {
            name: named.name.to_owned(),
            link,
            nth,
            down,
            up,
            times_at,
            detect,
            direction: direction.unwrap_or_else(|| "both".to_owned()),
            rate,
            reweight,
        });
    }
    out
}

/// Writes `[routing]`.
pub(super) fn write(out: &mut TomlWriter, routing: Routing) {
    out.table("routing");
    match routing {
        Routing::Single => out.text("kind", "single"),
        Routing::Spray => out.text("kind", "spray"),
        Routing::Wcmp => out.text("kind", "wcmp"),
        Routing::Flowlet(gap) => {
            out.text("kind", "flowlet");
            out.text("gap", gap);
        }
        Routing::Ecmp { polarised } => {
            out.text("kind", "ecmp");
            out.bare("polarised", polarised);
        }
    }
}

/// Writes one failure.
pub(super) fn write_failure(out: &mut TomlWriter, failure: &LinkFailure) {
    out.table(&format!("failure.{}", failure.name));
    out.text("link", &failure.link.name);
    out.bare("nth", failure.nth);
    out.text("down", failure.down);
    out.optional("up", failure.up);
    // It has no effect on a rate alone, and is then refused.
    out.optional("detect", (failure.rate.is_none() || failure.reweight).then_some(failure.detect));
    out.text("direction", &failure.direction);
    out.optional("rate", failure.rate);
    out.bare("reweight", failure.reweight);
}
