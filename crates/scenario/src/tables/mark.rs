//! Markers (AQM): the tables `mark`.

use lowtide_net::aqm::{self, phantom::GAMMA};
use lowtide_net::profiles::{self, SwitchProfile};
use lowtide_net::registry::RegistryEntry;
use lowtide_net::{
    CoDelSpec, CongestionSignal, MarkSpec, NotEct, PiSpec, PieSpec, QueueLength, Ratio, RedSpec,
};
use lowtide_units::{Bytes, Duration, Fraction};

use super::read_context::ReadContext;
use crate::keys::{KeySpec, SHARE, key};
use crate::model::SwitchPort;
use crate::reader::TableReader;
use crate::toml_tree::SourceSpan;
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, NameSet};
use lowtide_schema::DefaultValue::{Is, Unset};
use lowtide_schema::Value;

/// Keys of a marker, in any table.
pub(super) static KEYS: &[KeySpec] = &[
    key(
        "kind",
        KeyType::Name(NameSet::Markers),
        Is("droptail"),
        "`step`: marks a packet that finds more than `k` queued (DCTCP §3.1); `step-dequeue`: a packet that leaves more than `k` behind; `phantom`: by a virtual queue slower than the line (HULL); `red`: at random, by average queue length; `codel`: by sojourn time (RFC 8289); `pi`: at random, controlled to a queue length; `pie`: at random, controlled to a queueing delay (RFC 8033); `droptail`: none.",
    ),
    key(
        "k",
        KeyType::Length,
        Unset("required for a step and for `phantom`"),
        "Threshold K; for `phantom` in bytes, including framing.",
    ),
    key(
        "not-ect",
        KeyType::Name(NameSet::Fixed(&["ignore", "drop"])),
        Is("ignore"),
        "Action for a packet to be marked that is not ECN-capable (RFC 8257 §5 warns of `drop`).",
    ),
    key(
        "gamma",
        SHARE,
        Unset("`95 %`"),
        "Drain rate of a phantom queue, as a share of the line rate.",
    ),
    key(
        "min",
        KeyType::Length,
        Unset("required for `red`"),
        "`red`: no packet is marked below this average.",
    ),
    key(
        "max",
        KeyType::Length,
        Unset("required for `red`"),
        "`red`: all packets are marked from this average on, unless `gentle`.",
    ),
    key("max-p", SHARE, Unset("`10 %`"), "`red`: marking probability just below `max`."),
    key(
        "weight",
        KeyType::Count { min: 0, max: 24 },
        Unset("`9`"),
        "`red`: the gain of the average is 2^-`weight`.",
    ),
    key(
        "gentle",
        KeyType::Bool,
        Unset("`false`"),
        "`red`: the probability grows linearly to one between `max` and twice `max`.",
    ),
    key(
        "mean-packet",
        KeyType::Size,
        Unset("`1500 B`"),
        "Typical packet size: for `red` it sets the decay of the average on an idle line; `pie` does not mark a queue of two such packets.",
    ),
    key(
        "target",
        KeyType::Time { positive: false },
        Unset("`5 ms` for `codel`, `15 ms` for `pie`"),
        "`codel`, `pie`: acceptable queueing delay.",
    ),
    key(
        "interval",
        KeyType::Time { positive: true },
        Unset("`100 ms`"),
        "`codel`: time that `target` may be exceeded; about the longest usual round trip.",
    ),
    key(
        "a",
        SHARE,
        Unset("`18220 ppb`"),
        "`pi`: gain on the current error, probability per packet.",
    ),
    key(
        "b",
        SHARE,
        Unset("`18160 ppb`"),
        "`pi`: gain on the previous error, probability per packet, subtracted; below `a`.",
    ),
    key(
        "q-ref",
        KeyType::Count { min: 1, max: 1_000_000 },
        Unset("required for `pi`"),
        "`pi`: target queue length, in packets.",
    ),
    key(
        "period",
        KeyType::Time { positive: true },
        Unset("`6250 us` for `pi`, `15 ms` for `pie`"),
        "`pi`, `pie`: time between two updates.",
    ),
    key(
        "alpha",
        KeyType::Ratio,
        Unset("`1/8`"),
        "`pie`: gain on the delay above `target`, probability per second at each update; some hundred times higher for a target of microseconds.",
    ),
    key(
        "beta",
        KeyType::Ratio,
        Unset("`5/4`"),
        "`pie`: gain on the change of delay since the last update, probability per second.",
    ),
    key(
        "burst",
        KeyType::Time { positive: false },
        Unset("`150 ms`"),
        "`pie`: burst allowance, time without marks after the queue was short.",
    ),
    key(
        "mark-limit",
        SHARE,
        Unset("`10 %`"),
        "`pie`: above this probability packets are dropped, ECN-capable or not (RFC 8033 §5.1).",
    ),
    key(
        "signal",
        KeyType::Name(NameSet::Fixed(&["mark", "drop"])),
        Unset("`mark`"),
        "`red`, `codel`, `pi`, `pie`: action for the selected packets.",
    ),
];

/// Reads the table of a marker and the location of its threshold.
pub(super) fn read(r: &mut TableReader<'_, '_, '_>) -> (MarkSpec, SourceSpan) {
    let kind = r.text("kind").unwrap_or_default();
    foreign(r, &kind);
    let mark = match kind.as_str() {
        "step" | "step-dequeue" | "phantom" => step(r, &kind),
        "red" => red(r),
        "codel" => MarkSpec::CoDel(CoDelSpec {
            target: r.time("target").unwrap_or(Duration::from_ms(5)),
            interval: r.time("interval").unwrap_or(Duration::from_ms(100)),
            signal: signal(r),
        }),
        "pi" => pi(r),
        "pie" => pie(r),
        _ => MarkSpec::None,
    };
    let threshold = ["k", "max", "q-ref", "target"].into_iter().find(|key| r.has(key));
    (mark, r.at(threshold.unwrap_or("kind")))
}

/// Reports keys that belong to other markers.
fn foreign(r: &mut TableReader<'_, '_, '_>, kind: &str) {
    let has = |marker: &RegistryEntry, key: &str| marker.params.iter().any(|p| p.name == key);
    let own = aqm::find(kind).filter(|marker| !marker.params.is_empty());
    let keys = KEYS.iter().map(|key| key.name).filter(|key| *key != "kind");
    for key in keys.filter(|key| own.is_none_or(|own| !has(own, key))) {
        if !r.has(key) {
            continue;
        }
        let kinds: Vec<&str> =
            aqm::REGISTRY.iter().filter(|m| has(m, key)).map(|m| m.name).collect();
        let (message, help) = match (kinds.as_slice(), own.is_none()) {
            (["phantom"], _) => (
                format!("`{key}` belongs to a phantom queue"),
                "write `kind = \"phantom\"`, or remove it".to_owned(),
            ),
            ([one], _) => (
                format!("`{key}` belongs to `{one}`"),
                format!("write `kind = \"{one}\"`, or remove it"),
            ),
            (_, true) => {
                let kinds: Vec<String> =
                    kinds.iter().map(|k| format!("`kind = \"{k}\"`")).collect();
                (
                    format!("`{key}` has no effect without a marker"),
                    format!("remove it, or write {}", kinds.join(" or ")),
                )
            }
            _ => (
                format!("`{key}` has no effect on `{kind}`"),
                format!("it belongs to {}; remove it", kinds.join(", ")),
            ),
        };
        r.report(key, message, Some(help));
    }
}

fn not_ect(r: &mut TableReader<'_, '_, '_>) -> NotEct {
    if r.text("not-ect").as_deref() == Some("drop") { NotEct::Drop } else { NotEct::Ignore }
}

fn signal(r: &mut TableReader<'_, '_, '_>) -> CongestionSignal {
    if r.text("signal").as_deref() != Some("drop") {
        return CongestionSignal::Mark(not_ect(r));
    }
    if r.has("not-ect") {
        let help = "remove it, or write `signal = \"mark\"`".to_owned();
        r.report(
            "not-ect",
            "`not-ect` has no effect if every selected packet is dropped",
            Some(help),
        );
    }
    CongestionSignal::Drop
}

fn step(r: &mut TableReader<'_, '_, '_>, kind: &str) -> MarkSpec {
    if !r.has("k") {
        let help = "write `k = \"20 pkt\"` or `k = \"30 kB\"`".to_owned();
        r.report("kind", format!("a `{kind}` marker needs its threshold `k`"), Some(help));
    }
    let (k, not_ect) = (r.length("k"), not_ect(r));
    let gamma = r.parts("gamma").unwrap_or(GAMMA);
    match (kind, k) {
        (_, None) => MarkSpec::None,
        ("step", Some(k)) => MarkSpec::Step { k, not_ect },
        ("step-dequeue", Some(k)) => MarkSpec::StepDequeue { k, not_ect },
        (_, Some(QueueLength::Bytes(k))) => MarkSpec::Phantom { k, gamma, not_ect },
        (_, Some(QueueLength::Packets(_))) => {
            let help = "write it in bytes: `k = \"3 kB\"`".to_owned();
            r.report("k", "a phantom queue cannot count packets", Some(help));
            MarkSpec::None
        }
    }
}

fn red(r: &mut TableReader<'_, '_, '_>) -> MarkSpec {
    for name in ["min", "max"] {
        if !r.has(name) {
            let help = "write both, as `min = \"50 pkt\"` and `max = \"150 pkt\"`".to_owned();
            r.report("kind", format!("a `red` marker needs its threshold `{name}`"), Some(help));
        }
    }
    let (Some(min), Some(max)) = (r.length("min"), r.length("max")) else { return MarkSpec::None };
    let ordered = match (min, max) {
        (QueueLength::Packets(min), QueueLength::Packets(max)) => Some(min < max),
        (QueueLength::Bytes(min), QueueLength::Bytes(max)) => Some(min < max),
        _ => None,
    };
    if ordered != Some(true) {
        let (message, help) = if ordered.is_none() {
            ("`max` has another unit than `min`".to_owned(), "write both in one unit")
        } else {
            let message = format!("`max` of {max} is not above `min` of {min}");
            (message, "raise `max`, or lower `min`")
        };
        r.report("max", message, Some(help.to_owned()));
    }
    let max_p = r.parts("max-p").unwrap_or(Fraction::from_percent(10));
    if max_p <= Fraction::ZERO {
        let help = "give a share above 0 %, as `max-p = \"10 %\"`".to_owned();
        r.report("max-p", "no packet would be marked below `max`", Some(help));
    }
    let weight = if r.has("weight") { r.count("weight") as u8 } else { 9 };
    let gentle = r.has("gentle") && r.bool("gentle");
    let mean_packet = r.size("mean-packet").unwrap_or(Bytes::new(1_500));
    MarkSpec::Red(RedSpec { min, max, max_p, weight, gentle, mean_packet, signal: signal(r) })
}

fn pi(r: &mut TableReader<'_, '_, '_>) -> MarkSpec {
    if !r.has("q-ref") {
        let help = "write the target queue length in packets: `q-ref = 20`".to_owned();
        r.report("kind", "a `pi` marker needs its `q-ref`", Some(help));
    }
    let (a, b) = (r.parts("a").unwrap_or(GAINS.0), r.parts("b").unwrap_or(GAINS.1));
    if b >= a {
        let help = format!("the authors use {} and {}", GAINS.0, GAINS.1);
        r.report(
            "b",
            format!("gains of {a} and {b} are unstable: `a` must be above `b`"),
            Some(help),
        );
    }
    let period = r.time("period").unwrap_or(Duration::from_us(6_250));
    MarkSpec::Pi(PiSpec { a, b, q_ref: r.count("q-ref"), period, signal: signal(r) })
}

fn pie(r: &mut TableReader<'_, '_, '_>) -> MarkSpec {
    let mut gain = |key: &str, (num, den)| match r.single(key) {
        Some(Value::Ratio(gain)) => Some(gain),
        _ => Ratio::new(num, den),
    };
    let (Some(alpha), Some(beta)) = (gain("alpha", (1, 8)), gain("beta", (5, 4))) else {
        return MarkSpec::None;
    };
    MarkSpec::Pie(PieSpec {
        target: r.time("target").unwrap_or(Duration::from_ms(15)),
        period: r.time("period").unwrap_or(Duration::from_ms(15)),
        alpha,
        beta,
        burst: r.time("burst").unwrap_or(Duration::from_ms(150)),
        mark_limit: r.parts("mark-limit").unwrap_or(Fraction::from_percent(10)),
        mean_packet: r.size("mean-packet").unwrap_or(Bytes::new(1_500)),
        signal: signal(r),
    })
}

/// Gains `a` and `b` of Hollot et al.
const GAINS: (Fraction, Fraction) = (Fraction::from_ppb(18_220), Fraction::from_ppb(18_160));

/// Writes the keys of a marker.
pub(super) fn write(out: &mut TomlWriter, mark: &MarkSpec) {
    let chosen = |out: &mut TomlWriter, signal: CongestionSignal| match signal {
        CongestionSignal::Drop => out.text("signal", "drop"),
        CongestionSignal::Mark(not_ect) => {
            out.text("signal", "mark");
            write_not_ect(out, not_ect);
        }
    };
    match *mark {
        MarkSpec::None => out.text("kind", "droptail"),
        MarkSpec::Step { k, not_ect } => write_step(out, "step", k, not_ect),
        MarkSpec::StepDequeue { k, not_ect } => write_step(out, "step-dequeue", k, not_ect),
        MarkSpec::Phantom { k, gamma, not_ect } => {
            out.text("kind", "phantom");
            out.text("k", k);
            out.text("gamma", gamma);
            write_not_ect(out, not_ect);
        }
        MarkSpec::Red(red) => {
            out.text("kind", "red");
            out.text("min", red.min);
            out.text("max", red.max);
            out.text("max-p", red.max_p);
            out.bare("weight", red.weight);
            out.bare("gentle", red.gentle);
            out.text("mean-packet", red.mean_packet);
            chosen(out, red.signal);
        }
        MarkSpec::CoDel(codel) => {
            out.text("kind", "codel");
            out.text("target", codel.target);
            out.text("interval", codel.interval);
            chosen(out, codel.signal);
        }
        MarkSpec::Pi(pi) => {
            out.text("kind", "pi");
            out.text("a", pi.a);
            out.text("b", pi.b);
            out.bare("q-ref", pi.q_ref);
            out.text("period", pi.period);
            chosen(out, pi.signal);
        }
        MarkSpec::Pie(pie) => {
            out.text("kind", "pie");
            out.text("target", pie.target);
            out.text("period", pie.period);
            out.text("alpha", pie.alpha);
            out.text("beta", pie.beta);
            out.text("burst", pie.burst);
            out.text("mark-limit", pie.mark_limit);
            out.text("mean-packet", pie.mean_packet);
            chosen(out, pie.signal);
        }
    }
}

fn write_step(out: &mut TomlWriter, kind: &str, k: QueueLength, not_ect: NotEct) {
    out.text("kind", kind);
    out.text("k", k);
    write_not_ect(out, not_ect);
}

fn write_not_ect(out: &mut TomlWriter, not_ect: NotEct) {
    out.text("not-ect", if not_ect == NotEct::Drop { "drop" } else { "ignore" });
}

/// Reports a marker on a switch without ECN.
pub(super) fn report_no_ecn(
    file: &mut ReadContext<'_, '_, '_>,
    switch: &SwitchPort,
    mark: &MarkSpec,
) {
    let Some(profile) = switch.profile.filter(|p| !p.ecn) else { return };
    if mark.sets_ce().is_some() {
        let message =
            format!("a {} cannot mark: it has no ECN ({})", profile.name, profile.summary);
        let help =
            format!("remove the marker, or choose a switch with ECN: {}", marking().join(", "));
        file.diagnostics.add(switch.k_at, message, Some(help));
    }
}

fn marking() -> Vec<&'static str> {
    let marks = |p: &&SwitchProfile| p.ecn;
    profiles::PROFILES.iter().filter(marks).map(|p| p.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_parameter_of_a_marker_is_a_key_and_each_key_belongs_to_a_marker() {
        let params = || aqm::REGISTRY.iter().flat_map(|marker| marker.params);
        let keys = || KEYS.iter().map(|key| key.name).filter(|name| *name != "kind");
        for param in params() {
            assert!(keys().any(|key| key == param.name), "{}", param.name);
        }
        for key in keys() {
            assert!(params().any(|param| param.name == key), "{key}");
        }
    }
}
