//! Compares the prediction with a short simulation.
//!
//! Contract: the simulated network meets the assumptions of the analysis: one link, N endless DCTCP
//! flows, one-step reductions, one ACK per segment. Hosts send no bursts. Statistics start after
//! the flows have converged. Queue lengths are those that arriving packets find.

use lowtide_scenario::{RunPlan, Scenario};
use lowtide_stats::{ValueRange, seed_mean};
use lowtide_units::Duration;
use serde::Serialize;

use lowtide_lab::{LabError, QueueFacts, ResourceLimits, RunFacts, simulate_within};

use crate::FRAMING_BYTES;
use crate::analysis::{Sizing, SizingInput, SteadyState};

const TEMPLATE: &str = include_str!("check.toml");
/// Bytes of an ACK on the wire.
const ACK_WIRE_BYTES: u64 = 52 + FRAMING_BYTES as u64;
/// The bottleneck queue.
const BOTTLENECK: &str = "switch0->switch1";
/// RTTs and sawtooth periods of the warm-up, and of the measurement.
const WARMUP: (f64, f64) = (400.0, 20.0);
const MEASURED: (f64, f64) = (800.0, 60.0);
/// Tolerance of a prediction: this share, or this many packets.
const TOLERANCE: (f64, f64) = (0.15, 2.0);
/// Tolerance of the utilisation, which may only be lower by this much.
const UTILISATION_TOLERANCE: f64 = 0.01;
/// Packets that one run of a check may send; more take minutes.
const MAX_PACKETS: f64 = 30e6;

/// A simulation compared with the prediction.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SimulationCheck {
    /// Seeds that were run.
    pub seeds: usize,
    /// Measured interval of each run, in milliseconds of simulated time.
    pub measured_ms: f64,
    /// Every quantity.
    pub rows: Vec<CheckedQuantity>,
    /// Packets dropped, all runs together.
    pub drops: u64,
    /// Differences, with their cause if the numbers show it.
    pub remarks: Vec<String>,
}

/// One quantity.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CheckedQuantity {
    /// `queue_max`, `queue_min`, `amplitude`, `queue_mean` or `utilisation`.
    pub quantity: &'static str,
    /// The statistic that is measured.
    pub measured_as: &'static str,
    /// The unit; empty for a share.
    pub unit: &'static str,
    /// Value by the analysis; null if it makes no prediction.
    pub predicted: Option<f64>,
    /// Mean over seeds.
    pub measured: Option<f64>,
    /// Its 95 % interval; null when all seeds agree, or for one.
    pub ci95: Option<[f64; 2]>,
    /// Whether they differ by more than 15 % and two packets (of the share: by more than 0.01).
    pub differs: bool,
}

/// The scenario of the check.
///
/// # Errors
/// The RTT is shorter than its own serialization times, or the simulation would take too long.
pub fn check_scenario(input: &SizingInput, sizing: &Sizing) -> Result<Scenario, LabError> {
    let rate = input.rate;
    // Several senders share the switch at link rate; a single one must be faster than the link.
    let host_rate = if input.flows > 1 { rate.as_bps() } else { rate.as_bps().saturating_mul(2) };
    let sending =
        |bytes: u64, bps: u64| u128::from(bytes) * 8 * 1_000_000_000_000 / u128::from(bps);
    let one_way = |bytes: u64| sending(bytes, host_rate) * 2 + sending(bytes, rate.as_bps());
    let fixed = one_way(u64::from(input.wire_bytes())) + one_way(ACK_WIRE_BYTES);
    let rest = u128::from(input.rtt.as_ps()).checked_sub(fixed).filter(|r| *r > 0);
    let delay = rest.and_then(|r| u64::try_from(r / 6).ok()).ok_or_else(|| LabError::InvalidRequest {
        message: format!(
            "a round trip of {} leaves no time on the wire: three links serialise a segment and its ACK \
             in {:.1} us",
            input.rtt,
            fixed as f64 / 1e6
        ),
        help: Some("use a longer --rtt, or --no-check for the analysis alone".to_owned()),
    })?;
    let period = sizing.predicted.map_or(1.0, |p| p.period_rtts);
    // A steady-state queue makes RTTs longer.
    let queue = (sizing.k_packets as f64 + f64::from(input.flows)) / sizing.bdp_packets;
    let rtts = |(least, periods): (f64, f64)| (periods * period).max(least) * (1.0 + queue);
    let (warmup, measured) = (rtts(WARMUP), rtts(MEASURED));
    let packets = (warmup + measured) * sizing.bdp_packets;
    if packets > MAX_PACKETS {
        return Err(LabError::InvalidRequest {
            message: format!("the check would send {:.0} million packets a run", packets / 1e6),
            help: Some("use --no-check for the analysis alone".to_owned()),
        });
    }
    let span = |rtts: f64| {
        let ps = rtts * input.rtt.as_ps() as f64;
        format!("{} ns", (ps / 1e3).ceil() as u64)
    };
    let bps = |bps: u64| format!("{bps} bit/s");
    let keys = [
        ("run.duration", span(warmup + measured)),
        ("run.warmup", span(warmup)),
        ("topology.link-rate", bps(host_rate)),
        ("topology.link-delay", format!("{delay} ps")),
        ("topology.bottleneck-rate", bps(rate.as_bps())),
        ("topology.bottleneck-delay", format!("{delay} ps")),
        ("topology.mtu", format!("{} B", input.mtu.max(9000))),
        ("switch.mark.k", format!("{} pkt", sizing.k_packets)),
        ("transport.connection.mtu", input.mtu.to_string()),
        ("transport.sender.dctcp.shift-g", sizing.shift_g.to_string()),
        ("hosts.senders.count", input.flows.to_string()),
        ("traffic.flows.count", input.flows.to_string()),
    ];
    let template = Scenario::parse(TEMPLATE, "plan-check.toml")?;
    Ok(keys.iter().try_fold(template, |s, (key, value)| s.with_override(key, value))?)
}

/// Runs the check and compares it with the prediction.
///
/// # Errors
/// A run failed, or does not fit into `limits`.
pub fn run_check(
    input: &SizingInput,
    sizing: &Sizing,
    plan: &RunPlan,
    jobs: usize,
    limits: ResourceLimits<'_>,
) -> Result<SimulationCheck, LabError> {
    let results = simulate_within(plan, jobs, limits)?;
    let runs = &results.runs;
    let rows = rows(sizing, runs);
    let remarks = remarks(input, sizing, &rows);
    let drops = runs.iter().map(|run| run.losses.drops).sum();
    let warmup = Duration::as_ps(plan_warmup(plan)) as f64 / 1e9;
    let measured_ms = runs.first().map_or(0.0, |r| r.ended_ms - warmup);
    Ok(SimulationCheck { seeds: runs.len(), measured_ms, rows, drops, remarks })
}

fn plan_warmup(plan: &RunPlan) -> Duration {
    let run = plan.runs.first().and_then(|r| r.setup().ok());
    run.map_or(Duration::ZERO, |s| s.warmup)
}

/// The bottleneck queue of every run.
fn bottlenecks(runs: &[RunFacts]) -> impl Iterator<Item = Option<&QueueFacts>> {
    runs.iter().map(|r| r.queue(BOTTLENECK))
}

/// Reads a quantity from a queue.
type Read<'a> = &'a dyn Fn(&QueueFacts) -> Option<f64>;

fn rows(sizing: &Sizing, runs: &[RunFacts]) -> Vec<CheckedQuantity> {
    let p = sizing.predicted.as_ref();
    let number = |v: Option<u32>| v.map(f64::from);
    let row =
        |quantity, measured_as, unit: &'static str, predicted: Option<f64>, read: Read<'_>| {
            let values: Vec<Option<f64>> = bottlenecks(runs).map(|q| q.and_then(read)).collect();
            let range = if unit.is_empty() { ValueRange::SHARE } else { ValueRange::NOT_NEGATIVE };
            let over = seed_mean(&values, range);
            let measured = over.point.value();
            let differs = predicted.zip(measured).is_some_and(|(p, m)| {
                let off = (m - p).abs();
                if unit.is_empty() {
                    off > UTILISATION_TOLERANCE
                } else {
                    off > (TOLERANCE.0 * p.abs()).max(TOLERANCE.1)
                }
            });
            CheckedQuantity {
                quantity,
                measured_as,
                unit,
                predicted,
                measured,
                ci95: over.interval.confidence(),
                differs,
            }
        };
    let high = |q: &QueueFacts| number(q.seen.p99_packets);
    let low = |q: &QueueFacts| number(q.seen.p1_packets);
    vec![
        row(
            "queue_max",
            "99th percentile on packet arrival",
            "packets",
            p.map(|p| p.queue_max_packets),
            &high,
        ),
        row(
            "queue_min",
            "1st percentile on packet arrival",
            "packets",
            p.map(|p| p.queue_min_packets.max(0.0)),
            &low,
        ),
        row("amplitude", "99 % less 1 %", "packets", p.map(clamped_amplitude), &|q| {
            Some(high(q)? - low(q)?)
        }),
        row("queue_mean", "mean on packet arrival", "packets", p.map(clamped_mean), &|q| {
            q.seen.mean_packets
        }),
        row("utilisation", "fraction of the time", "", p.map(|p| p.utilisation), &|q| {
            q.utilisation
        }),
    ]
}

/// Amplitude with the minimum clamped at zero, as a queue is never negative.
fn clamped_amplitude(p: &SteadyState) -> f64 {
    p.queue_max_packets - p.queue_min_packets.max(0.0)
}

fn clamped_mean(p: &SteadyState) -> f64 {
    f64::midpoint(p.queue_max_packets, p.queue_min_packets.max(0.0))
}

fn remarks(input: &SizingInput, sizing: &Sizing, rows: &[CheckedQuantity]) -> Vec<String> {
    let mut out = Vec::new();
    let of = |quantity: &str| rows.iter().find(|r| r.quantity == quantity);
    let both = |quantity: &str| {
        of(quantity).filter(|r| r.differs).and_then(|r| r.predicted.zip(r.measured))
    };
    if let Some((p, m)) = both("amplitude") {
        let few = sizing.predicted.map(|p| p.critical_window_packets).filter(|w| *w < 4.0);
        let few = few.map_or_else(String::new, |w| {
            format!("; windows of about {w:.1} segments cannot be cut below 2 either")
        });
        out.push(if m < p {
            format!(
                "the queue swings {m:.0} packets, not {p:.0}: the analysis has all flows in phase, and \
                 {} flows fall out of step (DCTCP §3.3 says so of its N = 40){few}",
                input.flows
            )
        } else {
            format!(
                "the queue swings {m:.0} packets, more than {p:.0}: windows are whole segments, marks \
                 take longer than one round trip to act while the queue is there, and a flow's alpha \
                 lags by 1/g windows"
            )
        });
    }
    if let Some((p, m)) = both("queue_max") {
        let crowded = 2.0 * f64::from(input.flows) > sizing.bdp_packets + sizing.k_packets as f64;
        out.push(if m > p && crowded {
            format!(
                "the queue reaches {m:.0} packets, not {p:.0}: windows do not fall below 2 segments"
            )
        } else {
            format!("the queue reaches {m:.0} packets, not K + N = {p:.0}")
        });
    }
    if let Some((p, m)) = both("queue_min") {
        out.push(format!("the queue falls to {m:.0} packets, not {p:.0}"));
    }
    if let Some((p, m)) = both("utilisation") {
        out.push(format!(
            "the link is used for {:.1} % of the time, not {:.1} %",
            m * 100.0,
            p * 100.0
        ));
    }
    if input.burst_packets > 0 {
        out.push(
            "the simulated hosts send no bursts: the margin for bursts only makes the queue longer"
                .to_owned(),
        );
    }
    out
}
