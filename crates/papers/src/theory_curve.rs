//! An analytic curve beside the simulated ones: `theory` of a figure's curve.
//!
//! Contract: the file states all parameters of the analysis. Parameters that it does not use and
//! values outside of its domain are rejected.

use lowtide_charts::Dot;
use lowtide_lab::theory::dctcp::Sawtooth;
use lowtide_lab::theory::{DomainError, bdp_packets, dx};
use lowtide_units::{parse_bytes, parse_duration, parse_rate};
use serde::Deserialize;

use super::figure_kind::FigureKind;

/// An analysis and what it needs.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum TheoryCurve {
    /// The queue of DCTCP over time, for `flows` flows with threshold `k` in packets: DCTCP eq. 3
    /// to 10. The phase at which it starts is arbitrary.
    DctcpQueue { on: PathParams, k: f64, flows: f64 },
    /// The window of DX without a queue, over the number of flows: DX §IV-C.
    DxIdeal { on: PathParams },
    /// The window of DX with the longest queue of the analysis, over the number of flows.
    DxSteady { on: PathParams },
    /// The window of one DX flow over that of the other while they converge from `start`, in
    /// packets.
    DxConverge { on: PathParams, start: [f64; 2] },
    /// The line of equal windows.
    Fairness {},
    /// The line on which the observed signal is the true one.
    Truth {},
    /// The line on which both windows together fill the link without a queue.
    Efficiency { on: PathParams },
}

/// The path of an analysis.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PathParams {
    rate: String,
    /// RTT without queues.
    rtt: String,
    /// Packet size, including any framing.
    packet: String,
}

/// Points of a time series: ten per pixel of a page, so that steep teeth keep their tips.
const POINTS: u32 = 8_000;
/// Window updates of two flows until they have converged.
const DECISIONS: usize = 4_000;

impl TheoryCurve {
    /// Returns the error of the curve in a figure of that kind.
    pub(super) fn check(&self, kind: FigureKind) -> Result<(), String> {
        let fits = match self {
            Self::DctcpQueue { .. } => FigureKind::Trace,
            Self::DxIdeal { .. } | Self::DxSteady { .. } => FigureKind::Over,
            Self::DxConverge { .. } | Self::Fairness {} | Self::Efficiency { .. } => {
                FigureKind::Plane
            }
            Self::Truth {} => FigureKind::Scatter,
        };
        if fits != kind {
            return Err(format!("this analysis goes with `kind = \"{}\"`", fits.name()));
        }
        self.dots(&[1.0], [0.0, 1.0]).map(drop)
    }

    /// The points of the curve: for these numbers of flows, or over the axis range (seconds or
    /// packets).
    pub(super) fn dots(&self, flows: &[f64], [from, to]: [f64; 2]) -> Result<Vec<Dot>, String> {
        let wrong = |e: DomainError| e.to_string();
        let over = |on: &PathParams, window: fn(f64, f64) -> Result<f64, DomainError>| {
            let path = on.bdp_packets()?;
            flows.iter().map(|n| Ok(Dot::new(*n, window(path, *n).map_err(wrong)?))).collect()
        };
        match self {
            Self::DctcpQueue { on, k, flows } => {
                let tooth = Sawtooth::new(on.bdp_packets()?, *k, *flows).map_err(wrong)?;
                let (rtt, step) = (on.rtt()?, (to - from) / f64::from(POINTS));
                let time = (0..=POINTS).map(|i| f64::from(i) * step);
                Ok(time.map(|t| Dot::new(from + t, tooth.queue_at(t, rtt))).collect())
            }
            Self::DxIdeal { on } => over(on, dx::ideal_window),
            Self::DxSteady { on } => over(on, dx::steady_window),
            Self::DxConverge { on, start } => {
                let pairs = dx::converge(on.bdp_packets()?, *start).map_err(wrong)?;
                Ok(pairs.take(DECISIONS).map(|[a, b]| Dot::new(a, b)).collect())
            }
            Self::Fairness {} | Self::Truth {} => Ok(vec![Dot::new(from, from), Dot::new(to, to)]),
            Self::Efficiency { on } => {
                let path = dx::ideal_window(on.bdp_packets()?, 1.0).map_err(wrong)?;
                Ok(vec![Dot::new(0.0, path), Dot::new(path, 0.0)])
            }
        }
    }
}

impl PathParams {
    /// RTT in seconds.
    fn rtt(&self) -> Result<f64, String> {
        parse_duration(&self.rtt).map(|d| d.as_ps() as f64 / 1e12).map_err(|e| e.to_string())
    }

    /// C x RTT.
    fn bdp_packets(&self) -> Result<f64, String> {
        let rate = parse_rate(&self.rate).map_err(|e| e.to_string())?.as_bps() as f64;
        let packet = parse_bytes(&self.packet).map_err(|e| e.to_string())?.as_u64() as f64;
        Ok(bdp_packets(rate, self.rtt()?, packet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ON: &str = "on = { rate = \"10 Gbit/s\", rtt = \"200 us\", packet = \"1500 B\" }";

    fn theory(text: &str) -> TheoryCurve {
        toml::from_str(&format!("{text}\n{ON}")).unwrap()
    }

    #[test]
    fn windows_over_the_number_of_flows() {
        let dots = theory("is = \"dx-steady\"").dots(&[2.0, 10.0], [0.0, 0.0]).unwrap();
        assert_eq!(dots.iter().map(|d| d.x).collect::<Vec<_>>(), [2.0, 10.0]);
        assert!((dots[0].y - 84.33).abs() < 0.01 && (dots[1].y - 17.67).abs() < 0.01);
    }

    #[test]
    fn a_queue_over_time_begins_with_the_axis() {
        let queue = theory("is = \"dctcp-queue\"\nk = 40\nflows = 2");
        let dots = queue.dots(&[], [0.25, 0.26]).unwrap();
        assert_eq!((dots[0].x, dots.last().map(|d| d.x)), (0.25, Some(0.26)));
        let most = dots.iter().map(|d| d.y).fold(0.0, f64::max);
        assert!((41.0..=42.0).contains(&most), "K + N, not {most}");
    }

    #[test]
    fn lines_of_a_plane() {
        let fairness = TheoryCurve::Fairness {}.dots(&[], [0.0, 300.0]).unwrap();
        assert_eq!(fairness, [Dot::new(0.0, 0.0), Dot::new(300.0, 300.0)]);
        let efficiency = theory("is = \"efficiency\"").dots(&[], [0.0, 300.0]).unwrap();
        assert!((efficiency[0].y - 166.67).abs() < 0.01);
    }

    #[test]
    fn unused_parameters_and_invalid_values_are_rejected() {
        for (text, says) in [
            ("is = \"dctcp-queue\"\nk = 40", "missing field `flows`"),
            ("is = \"fairness\"", "unknown field `on`"),
            ("is = \"dx-converge\"", "missing field `start`"),
            ("is = \"dx-ideal\"\nk = 40", "unknown field `k`"),
            ("is = \"dx-fast\"", "unknown variant `dx-fast`"),
        ] {
            let error = toml::from_str::<TheoryCurve>(&format!("{text}\n{ON}")).unwrap_err();
            assert!(error.to_string().contains(says), "{text}: {error}");
        }
        let error = toml::from_str::<TheoryCurve>("is = \"dx-ideal\"").unwrap_err();
        assert!(error.to_string().contains("missing field `on`"), "{error}");
        for (text, kind, says) in [
            ("is = \"dx-ideal\"", FigureKind::Trace, "goes with `kind = \"over\"`"),
            (
                "is = \"dx-converge\"\nstart = [164.0, 1.0]",
                FigureKind::Plane,
                "more than one packet",
            ),
            ("is = \"dctcp-queue\"\nk = -1\nflows = 2", FigureKind::Trace, "K must be zero"),
        ] {
            let error = theory(text).check(kind).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
        let converge = theory("is = \"dx-converge\"\nstart = [164.0, 2.0]");
        assert_eq!(converge.check(FigureKind::Plane), Ok(()));
        let rate = ON.replace("10 Gbit/s", "10 kB");
        let slow: TheoryCurve = toml::from_str(&format!("is = \"efficiency\"\n{rate}")).unwrap();
        assert!(slow.check(FigureKind::Plane).is_err());
    }
}
