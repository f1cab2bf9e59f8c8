//! A marker (AQM): the tables `mark`, wherever they stand.

use lowtide_net::aqm::phantom::GAMMA;
use lowtide_net::{Count, MarkSpec, NotEct};

use crate::keys::Fallback::{Is, Unset};
use crate::keys::{Key, SHARE, key};
use crate::reader::Reader;
use crate::text::Text;
use crate::tree::At;
use crate::value::{Names, Ty, show};

/// The keys of a marker, wherever it stands.
pub(super) static KEYS: &[Key] = &[
    key(
        "kind",
        Ty::Name(Names::Markers),
        Is("droptail"),
        "`step`: mark a packet that finds more than `k` queued (DCTCP §3.1); `phantom`: by a virtual queue slower than the line (HULL); `droptail`: none.",
    ),
    key(
        "k",
        Ty::Length,
        Unset("must be written for a marker"),
        "The threshold K; for `phantom` in bytes, framing counted.",
    ),
    key(
        "not-ect",
        Ty::Name(Names::Fixed(&["ignore", "drop"])),
        Is("ignore"),
        "What happens above K to a packet that is not ECN-capable (RFC 8257 §5 warns of `drop`).",
    ),
    key(
        "gamma",
        SHARE,
        Unset("`95 %`"),
        "The rate of a phantom queue, as a share of that of the line.",
    ),
];

/// Reads the table of a marker; also where its threshold is written.
pub(super) fn read(r: &mut Reader<'_, '_, '_>) -> (MarkSpec, At) {
    let kind = r.text("kind").unwrap_or_default();
    let (k, gamma) = (r.length("k"), r.parts("gamma").unwrap_or(GAMMA));
    let drop = r.text("not-ect").as_deref() == Some("drop");
    let not_ect = if drop { NotEct::Drop } else { NotEct::Ignore };
    let marks = matches!(kind.as_str(), "step" | "phantom");
    if marks && !r.has("k") {
        let help = "write `k = \"20 pkt\"` or `k = \"30 kB\"`".to_owned();
        r.complain("kind", format!("a `{kind}` marker needs its threshold `k`"), Some(help));
    }
    for name in ["k", "not-ect"] {
        if !marks && r.has(name) {
            let help = "write `kind = \"step\"` beside it, or take it out".to_owned();
            r.complain(name, format!("`{name}` has no effect without a marker"), Some(help));
        }
    }
    if kind != "phantom" && r.has("gamma") {
        let help = "write `kind = \"phantom\"`, or take it out".to_owned();
        r.complain("gamma", "`gamma` belongs to a phantom queue", Some(help));
    }
    let mark = match (kind.as_str(), k) {
        ("step", Some(k)) => MarkSpec::Step { k, not_ect },
        ("phantom", Some(Count::Bytes(k))) => MarkSpec::Phantom { k, gamma, not_ect },
        ("phantom", Some(Count::Packets(_))) => {
            let help = "write it in bytes: `k = \"3 kB\"`".to_owned();
            r.complain("k", "a phantom queue has no packets to count", Some(help));
            MarkSpec::None
        }
        _ => MarkSpec::None,
    };
    (mark, r.at("k"))
}

/// Writes the keys of a marker out.
pub(super) fn write(out: &mut Text, mark: &MarkSpec) {
    let drop = |not_ect| if not_ect == NotEct::Drop { "drop" } else { "ignore" };
    match *mark {
        MarkSpec::None => out.text("kind", "droptail"),
        MarkSpec::Step { k, not_ect } => {
            out.text("kind", "step");
            out.text("k", show(k));
            out.text("not-ect", drop(not_ect));
        }
        MarkSpec::Phantom { k, gamma, not_ect } => {
            out.text("kind", "phantom");
            out.text("k", k);
            out.text("gamma", gamma);
            out.text("not-ect", drop(not_ect));
        }
        // No key makes these yet.
        MarkSpec::StepDequeue { .. } | MarkSpec::Red(_) | MarkSpec::CoDel(_) | MarkSpec::Pi(_) => {}
    }
}
