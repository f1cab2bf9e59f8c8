//! Buffers and markers: how a table says them, and how they are written out.

use lowtide_net::aqm::phantom::GAMMA;
use lowtide_net::{BufferSpec, Count, MarkSpec, NotEct};

use crate::emit::Text;
use crate::keys::Fallback::{Is, Unset};
use crate::keys::{Key, SHARE, key};
use crate::reader::Reader;
use crate::tree::At;
use crate::value::{Names, Ty};

/// The keys of a marker, wherever it stands.
pub(crate) static MARK_KEYS: &[Key] = &[
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

/// What `buffer` says.
pub(crate) fn buffer(r: &mut Reader<'_, '_, '_>) -> BufferSpec {
    match r.length("buffer") {
        Some(count) => BufferSpec::Static(count),
        None => BufferSpec::Unlimited,
    }
}

/// Reads the table of a marker; also where its threshold is written.
pub(crate) fn mark(r: &mut Reader<'_, '_, '_>) -> (MarkSpec, At) {
    let kind = r.text("kind").unwrap_or_default();
    let (k, gamma) = (r.length("k"), r.parts("gamma").unwrap_or(GAMMA));
    let drop = r.text("not-ect").as_deref() == Some("drop");
    let not_ect = if drop { NotEct::Drop } else { NotEct::Ignore };
    let marks = matches!(kind.as_str(), "step" | "phantom");
    if matches!(kind.as_str(), "step-dequeue" | "red" | "codel" | "pi") {
        r.complain("kind", format!("a `{kind}` marker has no keys in scenario files yet"), None);
    }
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

/// Writes `buffer` out.
pub(crate) fn write_buffer(out: &mut Text, buffer: &BufferSpec) {
    match buffer {
        BufferSpec::Unlimited => out.text("buffer", "unlimited"),
        BufferSpec::Static(count) => out.text("buffer", show(*count)),
        // No key makes it yet.
        BufferSpec::Dynamic { .. } => {}
    }
}

/// Writes the keys of a marker out.
pub(crate) fn write_mark(out: &mut Text, mark: &MarkSpec) {
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

/// A length as people write it.
pub(crate) fn show(count: Count) -> String {
    match count {
        Count::Packets(n) => format!("{n} pkt"),
        Count::Bytes(n) => n.to_string(),
    }
}
