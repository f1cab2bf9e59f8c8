//! Requested and effective transport of each flow.
//!
//! Contract: every result is labelled by the effective transport. A scheme keeps its name as its
//! key. Its label adds each switch that settings replace ([`SchemeOverride`]), and each congestion
//! control and ECN mode that flows fell back to. Only flows with a complete handshake count: the
//! others negotiated nothing.

use std::collections::BTreeMap;

use lowtide_record::{Manifest, SchemeOverride, SweepPoint};
use lowtide_rows::FlowRow;
use lowtide_tcp::{EcnMode, cc};
use serde::Serialize;

use crate::facts::RunFacts;
use crate::naming::point_text;
use crate::results::Results;

/// Number of flows of a traffic group with the same requested and effective transport.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TransportFacts {
    /// Congestion control that the sender requested.
    pub cc: String,
    /// Congestion control that was effective.
    pub cc_used: String,
    /// Setting `ecn` of the end that opened the connection.
    pub ecn_requested: String,
    /// ECN mode that was negotiated: `off`, `rfc3168` or `accecn`; `unknown` if an end does not
    /// report it.
    pub ecn_mode: String,
    /// Whether the delay option was negotiated.
    pub delay_option: bool,
    /// Number of flows.
    pub flows: usize,
}

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

impl TransportFacts {
    /// Returns the transports of a group's flows, in the order of their first flows.
    pub(crate) fn of(flows: &[&FlowRow]) -> Vec<Self> {
        let mut out: Vec<Self> = Vec::new();
        for flow in flows.iter().filter(|f| f.established_ps.is_some()) {
            if let Some(known) = out.iter_mut().find(|facts| facts.are_of(flow)) {
                known.flows += 1;
                continue;
            }
            out.push(Self {
                cc: flow.cc.to_string(),
                cc_used: flow.cc_used.to_string(),
                ecn_requested: flow.ecn_requested.to_string(),
                ecn_mode: flow.ecn_mode.to_string(),
                delay_option: flow.delay_option,
                flows: 1,
            });
        }
        out
    }

    /// Returns whether a flow has this transport.
    fn are_of(&self, flow: &FlowRow) -> bool {
        *self.cc == *flow.cc
            && *self.cc_used == *flow.cc_used
            && *self.ecn_requested == *flow.ecn_requested
            && *self.ecn_mode == *flow.ecn_mode
            && self.delay_option == flow.delay_option
    }

    /// Returns whether another congestion control than the requested one was effective.
    fn fell_back(&self) -> bool {
        // Linux calls this congestion control `reno`.
        let own = |name: &str| if name == "reno" { "newreno".to_owned() } else { name.to_owned() };
        !self.cc_used.is_empty() && own(&self.cc) != own(&self.cc_used)
    }

    /// Returns the reason of a fallback, if the registry knows it.
    fn reason(&self) -> &'static str {
        match cc::REGISTRY.find(&self.cc).map(|entry| entry.requires) {
            Some(wants) if wants.host_stamps && !self.delay_option => {
                ": the delay option was not agreed"
            }
            Some(wants) if wants.ecn && self.ecn_mode == EcnMode::Off.name() => {
                ": ECN was not agreed"
            }
            _ => "",
        }
    }

    /// Returns whether ECN was requested, but another mode or none was negotiated.
    fn ecn_downgraded(&self) -> bool {
        let (classic, accurate) = (EcnMode::Classic.name(), EcnMode::AccEcn.name());
        let asks = [classic, accurate].contains(&self.ecn_requested.as_str());
        let known = [EcnMode::Off.name(), classic].contains(&self.ecn_mode.as_str());
        asks && known && self.ecn_mode != self.ecn_requested
    }
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
    /// Computes the transports of results, whose schemes the manifest names.
    pub fn new(manifest: &Manifest, results: &Results) -> Self {
        let mut out = Self::default();
        for scheme in &manifest.schemes {
            let runs: Vec<&RunFacts> =
                results.runs.iter().filter(|r| r.key.scheme == *scheme).collect();
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

    /// Returns manifest and results for display: with labels instead of keys.
    pub(crate) fn relabelled(&self, manifest: &Manifest, results: &Results) -> (Manifest, Results) {
        let (mut manifest, mut results) = (manifest.clone(), results.clone());
        let rename = |scheme: &mut String| *scheme = self.label(scheme).to_owned();
        manifest.title = self.title(&manifest.title);
        manifest.schemes.iter_mut().for_each(rename);
        manifest.runs.iter_mut().for_each(|run| rename(&mut run.key.scheme));
        results.runs.iter_mut().for_each(|run| rename(&mut run.key.scheme));
        results.summary.iter_mut().for_each(|row| rename(&mut row.subject.scheme));
        results.findings.iter_mut().for_each(|finding| rename(&mut finding.scheme));
        results.tails.iter_mut().for_each(|row| rename(&mut row.scheme));
        results.ratios.iter_mut().for_each(|ratio| {
            rename(&mut ratio.a);
            rename(&mut ratio.b);
        });
        (manifest, results)
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

/// Returns the effective congestion control and ECN mode of a flow: `dctcp, ECN rfc3168`.
pub(crate) fn transport_of(flow: &FlowRow) -> String {
    if flow.established_ps.is_none() {
        return NEVER_OPENED.to_owned();
    }
    kind(&flow.cc_used, &flow.ecn_mode)
}

const NEVER_OPENED: &str = "nothing: its handshake was not completed";

fn kind(cc_used: &str, ecn_mode: &str) -> String {
    let [cc, mode] = [cc_used, ecn_mode].map(|name| if name.is_empty() { "unknown" } else { name });
    format!("{cc}, ECN {mode}")
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

#[cfg(test)]
mod tests {
    use lowtide_rows::FlowStatus;

    use super::*;

    fn facts(cc: [&str; 2], ecn: [&str; 2]) -> TransportFacts {
        TransportFacts {
            cc: cc[0].to_owned(),
            cc_used: cc[1].to_owned(),
            ecn_requested: ecn[0].to_owned(),
            ecn_mode: ecn[1].to_owned(),
            delay_option: false,
            flows: 1,
        }
    }

    #[test]
    fn a_fallback_compares_controls_by_all_their_names() {
        for (cc, falls_back) in [
            (["dx", "newreno"], true),
            (["newreno", "reno"], false),
            (["dctcp", "dctcp"], false),
            // A kernel that does not report it.
            (["dctcp", ""], false),
        ] {
            assert_eq!(facts(cc, ["off", "off"]).fell_back(), falls_back, "{cc:?}");
        }
        assert_eq!(facts(["dctcp", "newreno"], ["off", "off"]).reason(), ": ECN was not agreed");
        assert_eq!(facts(["mine", "newreno"], ["off", "off"]).reason(), "");
    }

    #[test]
    fn ecn_is_downgraded_only_if_requested() {
        for (ecn, lost) in [
            (["rfc3168", "off"], true),
            (["accecn", "rfc3168"], true),
            (["accecn", "off"], true),
            (["accecn", "accecn"], false),
            (["rfc3168", "rfc3168"], false),
            // Only accepted, never requested.
            (["passive", "off"], false),
            (["off", "off"], false),
            (["accecn", "unknown"], false),
        ] {
            assert_eq!(facts(["newreno"; 2], ecn).ecn_downgraded(), lost, "{ecn:?}");
        }
    }

    #[test]
    fn flows_without_a_handshake_negotiated_nothing() {
        use crate::times::tests::flow;
        let asked =
            FlowRow { cc: "dx".into(), cc_used: "dx".into(), ..flow(0, None, FlowStatus::Failed) };
        let opened =
            FlowRow { cc_used: "newreno".into(), established_ps: Some(1), ..asked.clone() };
        let facts = TransportFacts::of(&[&asked, &opened, &opened]);
        let [facts] = &facts[..] else { panic!("{facts:?}") };
        assert_eq!((facts.flows, facts.fell_back()), (2, true));
        assert_eq!(transport_of(&asked), NEVER_OPENED);
        assert_eq!(transport_of(&opened), "newreno, ECN unknown");
    }
}
