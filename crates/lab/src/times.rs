//! Durations of flows: completion times and slowdown, of all flows and by size class.
//!
//! Contract: times are right-censored by the end of the run, and no statistic silently omits a
//! flow. Mean and maximum exist only if every flow with a size completed. A quantile exists only if
//! the missing times cannot change it. Each flow is censored at its own age, as late flows are
//! younger. A lower bound accompanies the mean.

use std::collections::BTreeMap;
use std::sync::Arc;

use lowtide_rows::{FlowRow, FlowStatus, StallReason};
use lowtide_units::Quantile;
use serde::Serialize;

use crate::censored::{CensoredSample, CensoredTime};

/// Durations of flows: completion times in milliseconds, or slowdowns. A slowdown is the completion
/// time over the ideal time of the flow: a handshake, then its packets back to back over the
/// slowest line of its path, never limited by a window. It is at least 1.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct CompletionTimes {
    /// Mean, if every flow completed.
    pub mean: Option<f64>,
    /// Lower bound of the mean: a censored flow takes at least its age. Equals the mean if every
    /// flow completed; `None` if one failed.
    pub mean_at_least: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// Maximum, if every flow completed.
    pub max: Option<f64>,
}

/// The flows of a group in one size class.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SizeClassFacts {
    /// Lower end of the sizes, exclusive.
    pub above_bytes: u64,
    /// Upper end of the sizes, inclusive; null for the last class.
    pub up_to_bytes: Option<u64>,
    /// Number of flows.
    pub flows: usize,
    /// Flows censored by the end of the run.
    pub unfinished: usize,
    /// Censored flows by what they waited for; see [`crate::GroupFacts::blocked_on`].
    pub blocked_on: BTreeMap<String, usize>,
    /// Flows whose connection failed.
    pub failed: usize,
    /// Flows that began during the warm-up; all statistics of flows count them.
    pub in_warmup: usize,
    /// Completion times.
    pub fct_ms: CompletionTimes,
    /// Completion times over the ideal ones.
    pub slowdown: CompletionTimes,
    /// The durations behind these statistics.
    #[serde(skip)]
    pub(crate) samples: FlowSamples,
}

/// The durations of a set of flows in one run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct FlowSamples {
    /// Completion times, picoseconds.
    pub(crate) fct: Arc<CensoredSample>,
    /// Slowdowns, millionths.
    pub(crate) slowdown: Arc<CensoredSample>,
}

impl FlowSamples {
    pub(crate) fn new(flows: &[&FlowRow], ended_ps: u64) -> Self {
        Self {
            fct: Arc::new(completion_sample(flows, ended_ps)),
            slowdown: Arc::new(slowdown_sample(flows, ended_ps)),
        }
    }
}

/// Counts the flows with a size that were censored, by what they waited for.
pub(crate) fn blocked_on(flows: &[&FlowRow]) -> BTreeMap<String, usize> {
    let mut out = BTreeMap::new();
    for flow in
        flows.iter().filter(|f| f.status == FlowStatus::Unfinished && f.size_bytes.is_some())
    {
        let what = flow.blocked_on.map_or("unknown", StallReason::name);
        *out.entry(what.to_owned()).or_default() += 1;
    }
    out
}

/// Counts the flows with a size that began before the end of the warm-up.
pub(crate) fn in_warmup(flows: &[&FlowRow], warmup_ps: u64) -> usize {
    flows.iter().filter(|f| f.size_bytes.is_some() && f.start_ps < warmup_ps).count()
}

impl SizeClassFacts {
    /// Returns the name of the class in summary rows, as `10 kB-100 kB` or `10 MB-`.
    pub fn name(&self) -> String {
        let from = if self.above_bytes == 0 { "0 B".to_owned() } else { bytes(self.above_bytes) };
        format!("{from}-{}", self.up_to_bytes.map_or_else(String::new, bytes))
    }
}

pub(crate) fn bytes(n: u64) -> String {
    match n {
        n if n % 1_000_000 == 0 => format!("{} MB", n / 1_000_000),
        n if n % 1000 == 0 => format!("{} kB", n / 1000),
        n => format!("{n} B"),
    }
}

/// Returns the non-empty size classes of `flows`; none if all flows have one size. `ends` are their
/// upper ends in bytes, ascending, inclusive; the last class has none.
pub(crate) fn by_size_class(
    flows: &[&FlowRow],
    (warmup_ps, ended_ps): (u64, u64),
    ends: &[u64],
) -> Vec<SizeClassFacts> {
    if ends.is_empty() {
        return Vec::new();
    }
    let mut sizes = flows.iter().filter_map(|f| f.size_bytes);
    let Some(first) = sizes.next() else { return Vec::new() };
    if sizes.all(|s| s == first) {
        return Vec::new();
    }
    let above = std::iter::once(0).chain(ends.iter().copied());
    let up_to = ends.iter().copied().map(Some).chain([None]);
    let class = |(above_bytes, up_to_bytes): (u64, Option<u64>)| {
        let holds = |size: u64| {
            (size > above_bytes || above_bytes == 0) && up_to_bytes.is_none_or(|most| size <= most)
        };
        let of: Vec<&FlowRow> =
            flows.iter().copied().filter(|f| f.size_bytes.is_some_and(holds)).collect();
        let count = |status: FlowStatus| of.iter().filter(|f| f.status == status).count();
        (!of.is_empty()).then(|| {
            let samples = FlowSamples::new(&of, ended_ps);
            SizeClassFacts {
                above_bytes,
                up_to_bytes,
                flows: of.len(),
                unfinished: count(FlowStatus::Unfinished),
                blocked_on: blocked_on(&of),
                failed: count(FlowStatus::Failed),
                in_warmup: in_warmup(&of, warmup_ps),
                fct_ms: CompletionTimes::new(&samples.fct, PS_PER_MS),
                slowdown: CompletionTimes::new(&samples.slowdown, SLOWDOWN_SCALE),
                samples,
            }
        })
    };
    above.zip(up_to).filter_map(class).collect()
}

/// Returns the flows that have a size.
fn sized<'a>(
    flows: &'a [&FlowRow],
    ended_ps: u64,
) -> impl Iterator<Item = (&'a FlowRow, CensoredTime)> {
    let with = flows.iter().copied().filter(|f| f.size_bytes.is_some());
    with.map(move |flow| (flow, CensoredTime::of_flow(flow, ended_ps)))
}

/// Units of slowdown per 1.0.
pub(crate) const SLOWDOWN_SCALE: u64 = 1_000_000;

/// Picoseconds per millisecond.
pub(crate) const PS_PER_MS: u64 = 1_000_000_000;

/// Returns the completion times of the flows that have a size, picoseconds.
pub(crate) fn completion_sample(flows: &[&FlowRow], ended_ps: u64) -> CensoredSample {
    sample_of(sized(flows, ended_ps).map(|(_, timed)| timed))
}

/// Collects durations, picoseconds.
pub(crate) fn sample_of(all: impl Iterator<Item = CensoredTime>) -> CensoredSample {
    CensoredSample::new(all.map(|timed| ((), timed)), 0, |(), ps| Some(ps))
}

/// Returns the slowdown of a flow that takes `ps`, in millionths.
pub(crate) fn slowdown_of(flow: &FlowRow, ps: u64) -> Option<u64> {
    let ideal = flow.ideal_ps.filter(|ideal| *ideal > 0)?;
    u64::try_from(u128::from(ps) * u128::from(SLOWDOWN_SCALE) / u128::from(ideal)).ok()
}

/// Returns the slowdowns of the flows that have a size, in millionths; none without any ideal time.
pub(crate) fn slowdown_sample(flows: &[&FlowRow], ended_ps: u64) -> CensoredSample {
    // Without any ideal time nothing can be bounded.
    if sized(flows, ended_ps).all(|(flow, _)| flow.ideal_ps.is_none()) {
        return CensoredSample::default();
    }
    CensoredSample::new(sized(flows, ended_ps), SLOWDOWN_SCALE, |flow, ps| slowdown_of(flow, ps))
}

impl CompletionTimes {
    /// Statistics of `all`, whose values are in 1 / `scale`: [`PS_PER_MS`] or [`SLOWDOWN_SCALE`].
    pub(crate) fn new(all: &CensoredSample, scale: u64) -> Self {
        let quantile = |q| all.quantile(q).map(|v| v as f64 / scale as f64);
        Self {
            mean: all.mean().map(|v| v / scale as f64),
            mean_at_least: all.mean_at_least().map(|v| v / scale as f64),
            p50: quantile(Quantile::P50),
            p95: quantile(Quantile::P95),
            p99: quantile(Quantile::P99),
            p999: quantile(Quantile::P999),
            max: all.max().map(|v| v as f64 / scale as f64),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use lowtide_rows::{EcnCounters, Role, TcpCounters};

    use super::*;

    /// A flow of 1 MB.
    pub(crate) fn flow(start_ms: u64, fct_ms: Option<u64>, status: FlowStatus) -> FlowRow {
        let start_ps = start_ms * 1_000_000_000;
        let fct_ps = fct_ms.map(|t| t * 1_000_000_000);
        FlowRow {
            flow: 0,
            group: "short".into(),
            role: Role::Flow,
            src: "".into(),
            dst: "".into(),
            src_deployment: None,
            dst_deployment: None,
            sport: 0,
            dport: 0,
            size_bytes: Some(1_000_000),
            start_ps,
            established_ps: None,
            delivered_ps: fct_ps.map(|t| start_ps + t),
            fct_ps,
            transfer_ps: None,
            ideal_ps: None,
            delivered_bytes: 1_000_000,
            delivered_after_warmup_bytes: 1_000_000,
            tcp: TcpCounters {
                bytes_retrans: Some(0),
                data_segs_out: Some(0),
                rto_count: Some(0),
                fast_retransmits: Some(0),
                undos: Some(0),
                ecn_reductions: Some(0),
                delack_timeouts: Some(0),
                delack_time_ps: Some(0),
                delack_detected: Some(0),
                delack_missed: Some(0),
                delack_false_positives: Some(0),
                delay_reductions: Some(0),
                delivered_ce_bytes: Some(0),
            },
            ecn_counters: Some(EcnCounters::default()),
            received_ce_bytes: Some(0),
            received_bytes: Some(0),
            srtt_ns: None,
            srtt_quantised_ns: None,
            mss_bytes: None,
            cc: "".into(),
            cc_used: "".into(),
            feedback: "".into(),
            ack: "".into(),
            ecn: false,
            ecn_requested: "".into(),
            ecn_mode: "".into(),
            feedback_used: None,
            ack_used: "".into(),
            delay_option: false,
            status,
            blocked_on: (status != FlowStatus::Complete).then_some(StallReason::Rto),
            error: None,
        }
    }

    fn complete(times: impl IntoIterator<Item = u64>) -> Vec<FlowRow> {
        times.into_iter().map(|t| flow(0, Some(t), FlowStatus::Complete)).collect()
    }

    fn times(flows: &[FlowRow], ended_ms: u64) -> CompletionTimes {
        let flows: Vec<&FlowRow> = flows.iter().collect();
        CompletionTimes::new(&completion_sample(&flows, ended_ms * PS_PER_MS), PS_PER_MS)
    }

    #[test]
    fn completion_times_have_a_mean_and_supported_quantiles() {
        let t = times(&complete(1..=10), 100);
        assert_eq!((t.mean, t.p50, t.p99, t.max), (Some(5.5), Some(5.0), None, Some(10.0)));
        assert_eq!(times(&complete(1..=100), 100).p99, Some(99.0));
        assert_eq!(times(&[], 100), CompletionTimes::default());
    }

    #[test]
    fn an_unfinished_flow_removes_the_mean_but_no_quantile_it_cannot_change() {
        let mut flows = complete(1..=9);
        flows.push(flow(50, None, FlowStatus::Unfinished));
        let t = times(&flows, 100);
        assert_eq!((t.mean, t.max), (None, None));
        assert_eq!(t.p50, Some(5.0), "it took at least 50 ms");
        assert_eq!(t.mean_at_least, Some(9.5), "45 ms and 50 ms of ten flows");
        flows[9] = flow(98, None, FlowStatus::Unfinished);
        assert_eq!(times(&flows, 100).p50, None, "it could have been one of the fast ones");
        flows[9] = flow(98, None, FlowStatus::Failed);
        assert_eq!(times(&flows, 100).p50, Some(5.0), "it never completes");
        assert_eq!(times(&flows, 100).mean_at_least, None, "infinite values have no mean");
        let late: Vec<_> = (0..10).map(|_| flow(0, None, FlowStatus::Unfinished)).collect();
        let none = CompletionTimes { mean_at_least: Some(100.0), ..CompletionTimes::default() };
        assert_eq!(times(&late, 100), none);
        flows[9] = flow(200, None, FlowStatus::Unfinished);
        assert_eq!(times(&flows, 100).mean_at_least, Some(4.5), "it had not begun");
    }

    fn sized(size: u64, fct_ms: u64, ideal_ms: u64) -> FlowRow {
        FlowRow {
            size_bytes: Some(size),
            ideal_ps: Some(ideal_ms * 1_000_000_000),
            ..flow(0, Some(fct_ms), FlowStatus::Complete)
        }
    }

    #[test]
    fn slowdown_is_the_time_over_the_ideal_of_each_flow() {
        let flows = [sized(1, 2, 1), sized(2, 9, 3), sized(3, 4, 4)];
        let flows: Vec<&FlowRow> = flows.iter().collect();
        let slow = CompletionTimes::new(&slowdown_sample(&flows, 1), SLOWDOWN_SCALE);
        assert_eq!((slow.mean, slow.p50, slow.max), (Some(2.0), Some(2.0), Some(3.0)));
        assert_eq!(slow.mean_at_least, slow.mean);
        let unknown = [FlowRow { ideal_ps: None, ..sized(1, 2, 1) }];
        let unknown: Vec<&FlowRow> = unknown.iter().collect();
        assert_eq!(slowdown_sample(&unknown, 1), CensoredSample::default());
        // 4 ms with an ideal of 2 ms, and one flow that never opened, whose slowdown is at least 1.
        let ps = |ms: u64| ms * 1_000_000_000;
        let open = FlowRow { ideal_ps: Some(ps(2)), ..flow(6, None, FlowStatus::Unfinished) };
        let cut = [sized(1, 3, 1), open, flow(10, None, FlowStatus::Unfinished)];
        let slow = slowdown_sample(&cut.iter().collect::<Vec<_>>(), ps(10));
        let slow = CompletionTimes::new(&slow, SLOWDOWN_SCALE);
        assert_eq!((slow.mean, slow.mean_at_least), (None, Some(2.0)));
    }

    #[test]
    fn classes_are_those_of_the_paper_with_their_upper_end() {
        let flows: Vec<FlowRow> = [1, 10_000, 10_001, 100_000, 20_000_000]
            .map(|size| sized(size, size.min(50), 1))
            .into();
        let flows: Vec<&FlowRow> = flows.iter().collect();
        let ends = [10_000, 100_000, 1_000_000, 10_000_000];
        let found = by_size_class(&flows, (0, 1), &ends);
        let shown: Vec<(String, usize)> = found.iter().map(|c| (c.name(), c.flows)).collect();
        let expected = [("0 B-10 kB", 2), ("10 kB-100 kB", 2), ("10 MB-", 1)];
        assert_eq!(shown, expected.map(|(name, n)| (name.to_owned(), n)));
        assert_eq!(found[0].fct_ms.mean, Some(25.5));
        assert!(by_size_class(&flows[..1], (0, 1), &ends).is_empty(), "one size needs no classes");
        let own: Vec<(String, usize)> =
            by_size_class(&flows, (0, 1), &[10_000]).iter().map(|c| (c.name(), c.flows)).collect();
        assert_eq!(own, [("0 B-10 kB".to_owned(), 2), ("10 kB-".to_owned(), 3)]);
        assert!(by_size_class(&flows, (0, 1), &[]).is_empty());
    }
}
