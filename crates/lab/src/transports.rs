//! Labels of the schemes, by the transports that ran.
//!
//! Contract: every result is labelled by the effective transport. A scheme keeps its name as its
//! key. Its label adds each switch that settings replace ([`SchemeOverride`]), and each congestion
//! control and ECN mode that flows fell back to.

use std::collections::BTreeMap;

use lowtide_record::{Manifest, SchemeOverride, SweepPoint};
use lowtide_tcp::EcnMode;
use serde::Serialize;

use crate::facts::RunFacts;
use crate::naming::point_text;
use crate::transport_facts::{TransportFacts, kind};

/// A transport that differs from its name or its settings.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Mismatch {
    /// `settings`: settings replace a switch of the scheme; `cc`: flows fell back to another
    /// congestion control; `ecn`: they requested ECN and negotiated another mode, or none.
    pub kind: &'static str,
    /// The scheme.
    pub scheme: String,
    /// The switch.
    pub switch: String,
    /// Its value in the scheme, or the requested one.
    pub asked: String,
    /// Its value in the runs, or the effective one.
    pub used: String,
    /// Host groups affected; empty for all. Only for `settings`.
    pub hosts: Vec<String>,
    /// Flows affected, over all runs of the scheme; all of them for `settings`.
    pub flows: usize,
    /// Flows of all runs of the scheme.
    pub of: usize,
    /// Points of the sweep affected; empty for all.
    pub points: Vec<SweepPoint>,
    /// The mismatch as a sentence.
    pub text: String,
}

/// Effective transports of the schemes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Transports {
    /// One label per scheme, in the order of the manifest.
    labels: Vec<(String, String)>,
    /// All transports that differ from the requested ones.
    pub mismatches: Vec<Mismatch>,
    /// Effective transports per scheme: `dctcp, ECN rfc3168`.
    ran: Vec<String>,
}

/// Flows with one fallback, over the runs of a scheme.
#[derive(Default)]
struct Fallback {
    flows: usize,
    points: Vec<SweepPoint>,
    reason: &'static str,
}

/// Fallbacks by requested and effective value.
type Fallbacks<'a> = BTreeMap<(&'a str, &'a str), Fallback>;

fn count<'a>(
    runs: &[&'a RunFacts],
    otherwise: fn(&TransportFacts) -> bool,
    names: fn(&'a TransportFacts) -> (&'a str, &'a str),
) -> Fallbacks<'a> {
    let mut out = Fallbacks::new();
    for run in runs {
        for facts in run.groups.iter().flat_map(|g| &g.transports).filter(|t| otherwise(t)) {
            let fallback = out.entry(names(facts)).or_default();
            fallback.flows += facts.flows;
            fallback.reason = facts.reason();
            if !fallback.points.contains(&run.key.point) {
                fallback.points.push(run.key.point.clone());
            }
        }
    }
    out
}

impl Transports {
    /// Computes the transports of runs, whose schemes the manifest names.
    pub fn new(manifest: &Manifest, runs: &[RunFacts]) -> Self {
        let mut out = Self::default();
        for scheme in &manifest.schemes {
            let runs: Vec<&RunFacts> = runs.iter().filter(|r| r.key.scheme == *scheme).collect();
            let all = || runs.iter().flat_map(|r| &r.groups).flat_map(|g| &g.transports);
            let of: usize = all().map(|t| t.flows).sum();
            let mut parts: Vec<String> = Vec::new();
            let replaced = || manifest.replaced.iter().filter(|r| r.scheme == *scheme);
            out.mismatches.extend(replaced().map(|r| settings(r, of)));
            // Flows of the most frequent fallback that only a part of the flows had.
            let mut partial = 0;
            let mut label = |flows: usize, text: String| {
                if flows == of { parts.push(text) } else { partial = flows.max(partial) }
            };
            let mut points: Vec<&SweepPoint> = runs.iter().map(|r| &r.key.point).collect();
            points.dedup();
            let narrowed = |fallback: &Fallback| {
                let everywhere = fallback.points.len() == points.len();
                if everywhere { Vec::new() } else { fallback.points.clone() }
            };
            let fell_back =
                count(&runs, TransportFacts::fell_back, |t| (t.cc.as_str(), t.cc_used.as_str()));
            for ((asked, used), fallback) in fell_back {
                let (flows, points) = (fallback.flows, narrowed(&fallback));
                label(flows, format!("ran {used}"));
                let text = format!(
                    "{scheme}: {flows} of {of} flows ran {used} instead of {asked}{}{}",
                    fallback.reason,
                    at(&points)
                );
                out.mismatches.push(mismatch(
                    "cc",
                    scheme,
                    [asked, used],
                    (flows, of),
                    points,
                    text,
                ));
            }
            let lost_ecn = count(&runs, TransportFacts::ecn_downgraded, |t| {
                (t.ecn_requested.as_str(), t.ecn_mode.as_str())
            });
            for ((asked, used), fallback) in lost_ecn {
                let (flows, points) = (fallback.flows, narrowed(&fallback));
                label(flows, format!("ECN {used}"));
                let ran = if used == EcnMode::Off.name() {
                    "ran without ECN".to_owned()
                } else {
                    format!("ran ECN {used}")
                };
                let text = format!(
                    "{scheme}: {flows} of {of} flows {ran}, requested was {asked}{}",
                    at(&points)
                );
                out.mismatches.push(mismatch(
                    "ecn",
                    scheme,
                    [asked, used],
                    (flows, of),
                    points,
                    text,
                ));
            }
            if partial > 0 {
                parts.push(format!("{} fell back", share(partial, of)));
            }
            // A fallback states the effect of a failed negotiation; the mismatches state its cause.
            let ran_says =
                |r: &&SchemeOverride| ["ecn", "delay-option"].contains(&r.switch.as_str());
            let fell_back = !parts.is_empty();
            let set = replaced().filter(|r| !(fell_back && ran_says(r))).map(part);
            let parts: Vec<String> = set.chain(parts).collect();
            out.labels.push((scheme.clone(), labelled(scheme, &parts)));
            out.ran.push(ran(all()));
        }
        out
    }

    /// Returns the label of a scheme.
    pub fn label<'a>(&'a self, scheme: &'a str) -> &'a str {
        self.labels.iter().find(|(s, _)| s == scheme).map_or(scheme, |(_, label)| label)
    }

    /// Returns each scheme with its label.
    pub fn labels(&self) -> BTreeMap<String, String> {
        self.labels.iter().cloned().collect()
    }

    /// Returns each scheme with the effective congestion controls and ECN modes of its flows.
    pub fn ran(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels.iter().map(|(s, _)| s.as_str()).zip(self.ran.iter().map(String::as_str))
    }

    /// Returns the title with the labels that it does not cover.
    pub(crate) fn title(&self, title: &str) -> String {
        let other: Vec<&str> =
            self.labels.iter().filter(|(s, l)| s != l).map(|(_, l)| l.as_str()).collect();
        if other.is_empty() { title.to_owned() } else { format!("{title}: {}", other.join(", ")) }
    }
}

/// Returns `cc=cubic`, with the host groups if not all are affected.
fn part(replaced: &SchemeOverride) -> String {
    let SchemeOverride { switch, value, hosts, .. } = replaced;
    if hosts.is_empty() {
        format!("{switch}={value}")
    } else {
        format!("{switch}={value} at {}", hosts.join(" and "))
    }
}

/// Returns the label of a scheme that its settings alone give, before any run.
pub(crate) fn planned_label(scheme: &str, replaced: &[lowtide_scenario::ReplacedSwitch]) -> String {
    let of = replaced.iter().filter(|r| r.scheme == scheme);
    let parts: Vec<String> = of.map(|r| part(&manifest_entry(r))).collect();
    labelled(scheme, &parts)
}

/// Returns a share in percent.
fn share(part: usize, of: usize) -> String {
    match 100.0 * part as f64 / of as f64 {
        percent if percent < 0.01 => "<0.01 %".to_owned(),
        percent if percent < 1.0 => format!("{percent:.2} %"),
        percent => format!("{percent:.0} %"),
    }
}

fn labelled(scheme: &str, parts: &[String]) -> String {
    if parts.is_empty() { scheme.to_owned() } else { format!("{scheme} ({})", parts.join(", ")) }
}

/// Converts a replaced switch to the manifest's form.
pub(crate) fn manifest_entry(of: &lowtide_scenario::ReplacedSwitch) -> SchemeOverride {
    SchemeOverride {
        scheme: of.scheme.clone(),
        switch: of.switch.to_owned(),
        named: of.scheme_value.clone(),
        value: of.value.clone(),
        hosts: of.hosts.clone(),
    }
}

fn settings(replaced: &SchemeOverride, of: usize) -> Mismatch {
    let SchemeOverride { scheme, switch, named, value, hosts } = replaced;
    let place =
        if hosts.is_empty() { String::new() } else { format!(" at {}", hosts.join(" and ")) };
    Mismatch {
        kind: "settings",
        scheme: scheme.clone(),
        switch: switch.clone(),
        asked: named.clone(),
        used: value.clone(),
        hosts: hosts.clone(),
        flows: of,
        of,
        points: Vec::new(),
        text: format!("{scheme}: settings replace its {switch} = {named} by {value}{place}"),
    }
}

fn mismatch(
    kind: &'static str,
    scheme: &str,
    [asked, used]: [&str; 2],
    (flows, of): (usize, usize),
    points: Vec<SweepPoint>,
    text: String,
) -> Mismatch {
    Mismatch {
        kind,
        scheme: scheme.to_owned(),
        switch: kind.to_owned(),
        asked: asked.to_owned(),
        used: used.to_owned(),
        hosts: Vec::new(),
        flows,
        of,
        points,
        text,
    }
}

/// Limit on points in a sentence.
const MAX_POINTS: usize = 3;

fn at(points: &[SweepPoint]) -> String {
    match points {
        [] => String::new(),
        few if few.len() <= MAX_POINTS => {
            let names: Vec<String> = few.iter().map(point_text).collect();
            format!(", at {}", names.join("; "))
        }
        many => format!(", at {} points", many.len()),
    }
}

/// Returns the effective transports, with counts if there are several.
fn ran<'a>(all: impl Iterator<Item = &'a TransportFacts>) -> String {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for facts in all {
        let text = kind(&facts.cc_used, &facts.ecn_mode);
        match kinds.iter_mut().find(|(kind, _)| *kind == text) {
            Some((_, flows)) => *flows += facts.flows,
            None => kinds.push((text, facts.flows)),
        }
    }
    match &kinds[..] {
        [] => "no flow was established".to_owned(),
        [(one, _)] => one.clone(),
        many => {
            let texts: Vec<String> =
                many.iter().map(|(kind, flows)| format!("{kind} ({flows} flows)")).collect();
            texts.join("; ")
        }
    }
}
