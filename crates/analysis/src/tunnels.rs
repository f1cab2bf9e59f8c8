//! Tunnels of a capture, and the ECN fields outside and inside of them.

use std::collections::BTreeMap;

use lowtide_wire::Ecn;
use serde::Serialize;

use super::capture::{DecodedSegment, MAX_TUNNELS, Tunnel};
use super::format::{count, grouped};

/// Limit on the combinations of tunnels; no network has more.
const MAX_COMBINATIONS: usize = 64;

/// Segments in one combination of tunnels.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TunnelSummary {
    /// Tunnels, the outermost first: `ERSPAN II, VXLAN`.
    pub name: String,
    /// TCP segments.
    pub segments: u64,
    /// Segments by the ECN fields outside and inside of the last tunnel; none if nothing but a
    /// mirror or a link is outside.
    pub ecn: Vec<TunnelEcn>,
}

/// Segments with one pair of ECN fields.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TunnelEcn {
    /// Field of the outer header: `Not-ECT`, `ECT(0)`, `ECT(1)` or `CE`.
    pub outer: &'static str,
    /// Field of the inner header.
    pub inner: &'static str,
    /// TCP segments.
    pub segments: u64,
}

type Combination = [Option<Tunnel>; MAX_TUNNELS];

/// Segments of a combination, and by the ECN fields outside and inside.
#[derive(Debug, Default)]
struct Counts {
    segments: u64,
    ecn: BTreeMap<(Ecn, Ecn), u64>,
}

#[derive(Debug, Default)]
pub(super) struct TunnelCounts(BTreeMap<Combination, Counts>);

impl TunnelCounts {
    pub(super) fn on_segment(&mut self, seen: &DecodedSegment) {
        if seen.tunnels[0].is_none()
            || (self.0.len() >= MAX_COMBINATIONS && !self.0.contains_key(&seen.tunnels))
        {
            return;
        }
        let counts = self.0.entry(seen.tunnels).or_default();
        counts.segments += 1;
        if let Some(pair) = seen.tunnel_ecn {
            *counts.ecn.entry(pair).or_default() += 1;
        }
    }

    pub(super) fn summaries(self) -> Vec<TunnelSummary> {
        let summary = |(tunnels, Counts { segments, ecn }): (Combination, Counts)| {
            let names: Vec<&str> = tunnels.into_iter().flatten().map(Tunnel::name).collect();
            let pair = |((outer, inner), segments): ((Ecn, Ecn), u64)| TunnelEcn {
                outer: ecn_name(outer),
                inner: ecn_name(inner),
                segments,
            };
            let ecn = ecn.into_iter().map(pair).collect();
            TunnelSummary { name: names.join(", "), segments, ecn }
        };
        let mut out: Vec<TunnelSummary> = self.0.into_iter().map(summary).collect();
        out.sort_by_key(|t| std::cmp::Reverse(t.segments));
        out
    }
}

const fn ecn_name(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "Not-ECT",
        Ecn::Ect0 => "ECT(0)",
        Ecn::Ect1 => "ECT(1)",
        Ecn::Ce => "CE",
    }
}

/// Returns sentences about the tunnels and about ECN fields that differ.
pub(super) fn remarks(tunnels: &[TunnelSummary]) -> Vec<(bool, String)> {
    if tunnels.is_empty() {
        return Vec::new();
    }
    let named: Vec<String> =
        tunnels.iter().take(8).map(|t| format!("{} ({})", t.name, grouped(t.segments))).collect();
    let more = if tunnels.len() > 8 { "; ..." } else { "" };
    let mut out = vec![(false, format!("Segments in tunnels: {}{more}.", named.join("; ")))];
    let sum = |which: &dyn Fn(&str, &str) -> bool| {
        let pairs = tunnels.iter().flat_map(|t| &t.ecn);
        pairs.filter(|e| which(e.outer, e.inner)).map(|e| e.segments).sum::<u64>()
    };
    let capable = |field: &str| field.starts_with("ECT");
    for (n, warning, what) in [
        (
            sum(&|outer, inner| outer == "CE" && capable(inner)),
            false,
            "CE outside of the tunnel only; counted as CE (RFC 6040 \u{a7}4.2)",
        ),
        (
            sum(&|outer, inner| outer == "CE" && inner == "Not-ECT"),
            true,
            "CE outside of the tunnel and no ECT inside: the end of the tunnel drops them (RFC 6040 \u{a7}4.2)",
        ),
        (
            sum(&|outer, inner| outer != "CE" && inner == "CE"),
            false,
            "CE inside of the tunnel only",
        ),
        (
            sum(&|outer, inner| outer == "Not-ECT" && capable(inner)),
            true,
            "ECT inside of the tunnel only: on the tunnel\u{2019}s path they are dropped instead of marked (RFC 6040 \u{a7}4.1)",
        ),
    ] {
        if n > 0 {
            out.push((warning, format!("{} with {what}.", count(n, "segment"))));
        }
    }
    out
}
