//! Recommends K, g and the buffer size by the DCTCP analysis, and checks them by simulation.
//!
//! Contract: the recommendation follows from [`lowtide_lab::theory::dctcp`] alone and takes no
//! time. The check is an ordinary scenario that users can run with other settings. Differences are
//! reported, with their cause if the numbers show it.

use lowtide_tcp::Config;
use lowtide_units::{Duration, Rate};
use serde::Serialize;

use lowtide_lab::LabError;
use lowtide_lab::theory::dctcp::{self, Sawtooth};
use lowtide_lab::theory::{DomainError, bdp_packets};

use crate::FRAMING_BYTES;

/// Minimum window of a Linux sender, in segments.
const WINDOW_FLOOR: f64 = 2.0;
/// IP and TCP headers with timestamps, bytes.
const HEADERS: u32 = 52;
/// Largest shift of g that the congestion control accepts (`dctcp.shift-g`).
const MAX_SHIFT_G: u32 = 10;

/// A bottleneck link and its flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SizingInput {
    /// C.
    pub rate: Rate,
    /// RTT of a full segment over empty queues.
    pub rtt: Duration,
    /// N.
    pub flows: u32,
    /// The largest IP packet, in bytes.
    pub mtu: u32,
    /// Packets that a host sends back to back (DCTCP §3.5: 30 to 40 at 10 Gbit/s).
    pub burst_packets: u32,
    /// The threshold in packets, if it is given.
    pub k: Option<u64>,
    /// g as 2^-shift, if it is given.
    pub shift_g: Option<u32>,
}

/// Result of the analysis. Packets are full-sized; all values are reported as floats.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Sizing {
    /// C x RTT, including framing.
    pub bdp_packets: f64,
    /// Lower bound of K for a queue that never runs empty, for any number of flows (eq. 13).
    pub k_above_packets: f64,
    /// Lower bound of K for this number of flows (eq. 12).
    pub k_above_for_flows_packets: f64,
    /// Margin in K for bursts of hosts (DCTCP §3.5).
    pub burst_packets: u32,
    /// K: as given, or the least integer above eq. 13 plus the bursts.
    pub k_packets: u64,
    /// Upper bound of g (eq. 15).
    pub g_below: f64,
    /// g: as given, or the greatest power of two below eq. 15.
    pub g: f64,
    /// `g` as `dctcp.shift-g`.
    pub shift_g: u32,
    /// The steady state; null if the analysis does not hold.
    pub predicted: Option<SteadyState>,
    /// Packets that the port should be able to buffer: the longest queue and one burst.
    pub buffer_packets: u64,
    /// `buffer_packets` in bytes of IP packets.
    pub buffer_bytes: u64,
    /// Caveats for the reader.
    pub notes: Vec<String>,
}

/// The steady state of N flows in phase.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SteadyState {
    /// W*: the window of a flow at which the queue reaches K.
    pub critical_window_packets: f64,
    /// Alpha by eq. 6.
    pub alpha: f64,
    /// The longest queue (eq. 10).
    pub queue_max_packets: f64,
    /// The shortest queue (eq. 12); below zero the link is idle for part of the period.
    pub queue_min_packets: f64,
    /// Amplitude of the queue (eq. 8, closed form).
    pub amplitude_packets: f64,
    /// Amplitude with alpha by eq. 6.
    pub amplitude_exact_packets: f64,
    /// Period in RTTs (eq. 9).
    pub period_rtts: f64,
    /// Period in microseconds, at the RTT without queues.
    pub period_us: f64,
    /// Utilisation of the link, 0 to 1.
    pub utilisation: f64,
}

impl SizingInput {
    /// One flow on a line of 1 Gbit/s, with nothing given.
    pub(crate) const ONE_FLOW: Self = Self {
        rate: Rate::from_gbps(1),
        rtt: Duration::from_us(1),
        flows: 1,
        mtu: 1500,
        burst_packets: 0,
        k: None,
        shift_g: None,
    };

    /// Bytes of a full packet on the wire.
    pub(crate) const fn wire_bytes(&self) -> u32 {
        self.mtu + FRAMING_BYTES
    }

    fn bdp_packets(&self) -> f64 {
        let seconds = self.rtt.as_ps() as f64 / 1e12;
        bdp_packets(self.rate.as_bps() as f64, seconds, f64::from(self.wire_bytes()))
    }
}

/// Applies the analysis to `input`.
///
/// # Errors
/// The input is outside of the domain of the analysis: no rate, no RTT or no flow.
pub fn recommend(input: &SizingInput) -> Result<Sizing, LabError> {
    let path = input.bdp_packets();
    let flows = f64::from(input.flows);
    let wrong = |e: DomainError| LabError::InvalidRequest { message: e.to_string(), help: None };
    let k_above = dctcp::min_k(path).map_err(wrong)?;
    let k_above_for_flows = dctcp::min_k_for_flows(path, flows).map_err(wrong)?;
    let k = input.k.unwrap_or(k_above as u64 + 1 + u64::from(input.burst_packets));
    let g_below = dctcp::max_g(path, k as f64).map_err(wrong)?;
    let shift_g = input.shift_g.unwrap_or_else(|| shift_below(g_below));
    let mut notes = Vec::new();
    let predicted = match Sawtooth::new(path, k as f64, flows) {
        Ok(sawtooth) => Some(SteadyState::new(&sawtooth, input.rtt)),
        Err(e) => {
            notes.push(format!("no steady state is predicted: {e}"));
            None
        }
    };
    let floor = WINDOW_FLOOR * flows - path;
    notes_on(input, k as f64, k_above, floor, predicted.as_ref(), &mut notes);
    let g = gain(shift_g);
    if g >= g_below {
        notes.push(format!(
            "g = {g} is not below {g_below:.3}: its average does not span a congestion event (eq. 15)"
        ));
    }
    let longest = (k as f64 + flows).max(floor);
    let buffer_packets = longest.ceil() as u64 + u64::from(input.burst_packets);
    Ok(Sizing {
        bdp_packets: path,
        k_above_packets: k_above,
        k_above_for_flows_packets: k_above_for_flows,
        burst_packets: input.burst_packets,
        k_packets: k,
        g_below,
        g,
        shift_g,
        predicted,
        buffer_packets,
        buffer_bytes: buffer_packets * u64::from(input.mtu),
        notes,
    })
}

fn notes_on(
    input: &SizingInput,
    k: f64,
    k_above: f64,
    floor: f64,
    predicted: Option<&SteadyState>,
    notes: &mut Vec<String>,
) {
    if k <= k_above {
        notes.push(format!(
            "K = {k} is not above {k_above:.1}: for some number of flows the queue runs empty (eq. 13)"
        ));
    }
    if floor > k {
        notes.push(format!(
            "a window keeps {WINDOW_FLOOR} segments at least, so {} flows leave {floor:.0} packets \
             waiting, more than K: marks cannot shorten this queue",
            input.flows
        ));
    } else if predicted.is_some_and(|p| p.critical_window_packets < 2.0 * WINDOW_FLOOR) {
        notes.push(
            "flows have only a few packets each: the analysis is made for many, and a window keeps 2 \
             segments at least"
                .to_owned(),
        );
    }
    if input.burst_packets == 0 {
        notes.push(format!(
            "the analysis has no bursts: hosts with segmentation offload send up to {} packets of {} B \
             at once, and need a larger K (DCTCP §3.5): --burst-packets adds a burst, `lowtide \
             advise` measures what a fabric needs",
            gso_packets(input.mtu, &Config::default()),
            input.mtu,
        ));
    }
    notes.push(
        "the buffer is that of the steady state: flows that open together bring their initial windows \
         on top"
            .to_owned(),
    );
}

/// Full packets that a host with segmentation offload passes to its NIC at once, at least one.
pub(crate) fn gso_packets(mtu: u32, host: &Config) -> u32 {
    let fit = host.largest_burst() / u64::from(mtu.saturating_sub(HEADERS).max(1));
    u32::try_from(fit).unwrap_or(u32::MAX).max(1)
}

/// g of a shift.
fn gain(shift: u32) -> f64 {
    0.5_f64.powi(shift as i32)
}

/// The least shift whose g is below `bound`.
fn shift_below(bound: f64) -> u32 {
    (0..MAX_SHIFT_G).find(|s| gain(*s) < bound).unwrap_or(MAX_SHIFT_G)
}

impl SteadyState {
    fn new(s: &Sawtooth, rtt: Duration) -> Self {
        Self {
            critical_window_packets: s.critical_window(),
            alpha: s.alpha(),
            queue_max_packets: s.q_max(),
            queue_min_packets: s.q_min(),
            amplitude_packets: s.amplitude(),
            amplitude_exact_packets: s.amplitude_exact(),
            period_rtts: s.period(),
            period_us: s.period() * rtt.as_ps() as f64 / 1e6,
            utilisation: s.utilisation(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(flows: u32) -> SizingInput {
        SizingInput {
            rate: Rate::from_gbps(10),
            rtt: Duration::from_us(100),
            flows,
            mtu: 1500,
            burst_packets: 0,
            k: None,
            shift_g: None,
        }
    }

    #[test]
    fn a_burst_of_forty_packets_needs_the_papers_k_of_65_at_10_gbits() {
        // DCTCP §3.5: 20 packets by eq. 13, over 60 with bursts of 30 to 40; §4.1 takes 65.
        let wide = SizingInput { rtt: Duration::from_us(170), ..input(2) };
        assert_eq!(recommend(&wide).unwrap().k_packets, 20);
        let k = recommend(&SizingInput { burst_packets: 40, ..wide }).unwrap().k_packets;
        assert!((60..=65).contains(&k), "{k}");
    }

    #[test]
    fn the_sizing_respects_its_bounds() {
        let sizing = recommend(&input(10)).unwrap();
        assert!((sizing.bdp_packets - 81.27).abs() < 0.01, "{}", sizing.bdp_packets);
        assert_eq!((sizing.k_packets, sizing.shift_g), (12, 4));
        assert!(sizing.k_packets as f64 > sizing.k_above_packets && sizing.g < sizing.g_below);
        let predicted = sizing.predicted.unwrap();
        assert!((predicted.queue_max_packets - 22.0).abs() < 1e-9, "K + N");
        assert!((predicted.utilisation - 1.0).abs() < 1e-9);
        assert_eq!((sizing.buffer_packets, sizing.buffer_bytes), (22, 33_000));
    }

    #[test]
    fn a_given_k_and_g_are_used_and_judged() {
        let given = SizingInput { k: Some(5), shift_g: Some(1), ..input(10) };
        let sizing = recommend(&given).unwrap();
        assert_eq!((sizing.k_packets, sizing.g), (5, 0.5));
        let says = |part: &str| sizing.notes.iter().any(|n| n.contains(part));
        assert!(says("eq. 13") && says("eq. 15"), "{:?}", sizing.notes);
    }

    #[test]
    fn too_many_flows_get_a_sizing_without_prediction() {
        let sizing = recommend(&input(200)).unwrap();
        assert_eq!(sizing.predicted, None);
        assert!(sizing.notes.iter().any(|n| n.contains("cannot shorten")), "{:?}", sizing.notes);
        assert!(sizing.buffer_packets as f64 >= 400.0 - sizing.bdp_packets);
        assert!(recommend(&input(0)).is_err());
    }
}
