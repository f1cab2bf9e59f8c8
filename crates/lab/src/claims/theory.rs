//! A curve that an analysis gives, to stand beside what was simulated: `theory` of a figure's curve.
//!
//! Contract: all that the analysis needs stands in the file; what it does not ask for is refused, and so is
//! what it cannot hold.

use lowtide_units::{parse_bytes, parse_duration, parse_rate};
use serde::Deserialize;

use super::figure::Kind;
use crate::figure::Dot;
use crate::theory::dctcp::Sawtooth;
use crate::theory::{DomainError, dx, path_packets};

/// An analysis and the network that it is of.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Theory {
    is: Analysis,
    /// Of the line.
    rate: String,
    /// The round trip without a queue.
    rtt: String,
    /// A packet, framing counted where the line has any.
    packet: String,
    /// Of `dctcp-queue`, in packets.
    #[serde(default)]
    k: Option<f64>,
    /// Of `dctcp-queue`: how many flows.
    #[serde(default)]
    flows: Option<f64>,
    /// Of `dx-converge`: the windows with which it begins, in packets.
    #[serde(default)]
    start: Option<[f64; 2]>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Analysis {
    /// The queue of DCTCP over time: DCTCP eq. 3 to 10. Where in its period it begins says nothing.
    DctcpQueue,
    /// The window of DX without a queue, over the number of flows: DX §IV-C.
    DxIdeal,
    /// That with the longest queue that the analysis has.
    DxSteady,
    /// One window over the other where two flows of DX converge.
    DxConverge,
    /// Both windows are the same.
    Fairness,
    /// Both together fill the line and no queue.
    Efficiency,
}

/// Points of a curve over time.
const POINTS: u32 = 800;
/// Decisions of two flows until they are together.
const DECISIONS: usize = 4_000;

impl Theory {
    /// What is wrong with it in a figure of that kind.
    pub(super) fn check(&self, kind: Kind) -> Result<(), String> {
        let fits = match self.is {
            Analysis::DctcpQueue => Kind::Trace,
            Analysis::DxIdeal | Analysis::DxSteady => Kind::Over,
            Analysis::DxConverge | Analysis::Fairness | Analysis::Efficiency => Kind::Plane,
        };
        if fits != kind {
            return Err(format!("this analysis goes with `kind = \"{}\"`", fits.name()));
        }
        let queue = self.is == Analysis::DctcpQueue;
        if queue != self.k.is_some() || queue != self.flows.is_some() {
            return Err("`k` and `flows` go with `dctcp-queue`, which needs both".to_owned());
        }
        if (self.is == Analysis::DxConverge) != self.start.is_some() {
            return Err("`start` goes with `dx-converge`, which needs it".to_owned());
        }
        self.dots(&[1.0], [0.0, 1.0]).map(drop)
    }

    /// The curve: at these numbers of flows, or over a horizontal axis from and to (seconds, or packets).
    pub(super) fn dots(&self, flows: &[f64], axis: [f64; 2]) -> Result<Vec<Dot>, String> {
        let rate = parse_rate(&self.rate).map_err(|e| e.to_string())?.as_bps() as f64;
        let rtt = parse_duration(&self.rtt).map_err(|e| e.to_string())?.as_ps() as f64 / 1e12;
        let packet = parse_bytes(&self.packet).map_err(|e| e.to_string())?.as_u64() as f64;
        self.at(path_packets(rate, rtt, packet), rtt, flows, axis).map_err(|e| e.to_string())
    }

    fn at(
        &self,
        path: f64,
        rtt: f64,
        flows: &[f64],
        [from, to]: [f64; 2],
    ) -> Result<Vec<Dot>, DomainError> {
        let over = |window: fn(f64, f64) -> Result<f64, DomainError>| {
            flows.iter().map(|n| Ok(Dot::new(*n, window(path, *n)?))).collect()
        };
        match self.is {
            Analysis::DctcpQueue => {
                let [k, flows] = [self.k, self.flows].map(|v| v.unwrap_or(f64::NAN));
                let tooth = Sawtooth::new(path, k, flows)?;
                let step = (to - from) / f64::from(POINTS);
                let time = (0..=POINTS).map(|i| f64::from(i) * step);
                Ok(time.map(|t| Dot::new(from + t, tooth.queue_at(t, rtt))).collect())
            }
            Analysis::DxIdeal => over(dx::ideal_window),
            Analysis::DxSteady => over(dx::steady_window),
            Analysis::DxConverge => {
                let pairs = dx::converge(path, self.start.unwrap_or([f64::NAN; 2]))?;
                Ok(pairs.take(DECISIONS).map(|[a, b]| Dot::new(a, b)).collect())
            }
            Analysis::Fairness => Ok(vec![Dot::new(from, from), Dot::new(to, to)]),
            Analysis::Efficiency => {
                dx::ideal_window(path, 1.0)?;
                Ok(vec![Dot::new(0.0, path), Dot::new(path, 0.0)])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn theory(text: &str) -> Theory {
        let line = "rate = \"10 Gbit/s\"\nrtt = \"200 us\"\npacket = \"1500 B\"\n";
        toml::from_str(&format!("{line}{text}")).unwrap()
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
        let line = |is: &str| theory(&format!("is = \"{is}\"")).dots(&[], [0.0, 300.0]).unwrap();
        assert_eq!(line("fairness"), [Dot::new(0.0, 0.0), Dot::new(300.0, 300.0)]);
        assert!((line("efficiency")[0].y - 166.67).abs() < 0.01);
    }

    #[test]
    fn what_does_not_belong_is_refused() {
        let converge = "is = \"dx-converge\"\nstart = [164.0, 2.0]";
        for (text, kind, says) in [
            ("is = \"dx-ideal\"", Kind::Trace, "goes with `kind = \"over\"`"),
            ("is = \"dctcp-queue\"\nk = 40", Kind::Trace, "`k` and `flows`"),
            ("is = \"fairness\"\nk = 40\nflows = 2", Kind::Plane, "`k` and `flows`"),
            ("is = \"dx-converge\"", Kind::Plane, "`start` goes with"),
            ("is = \"dx-converge\"\nstart = [164.0, 1.0]", Kind::Plane, "more than one packet"),
            ("is = \"dctcp-queue\"\nk = -1\nflows = 2", Kind::Trace, "K must be zero"),
        ] {
            let error = theory(text).check(kind).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
        assert_eq!(theory(converge).check(Kind::Plane), Ok(()));
        let slow = Theory { rate: "10 kB".to_owned(), ..theory(converge) };
        assert!(slow.check(Kind::Plane).is_err());
        assert!(toml::from_str::<Theory>("is = \"dx-ideal\"").is_err());
    }
}
