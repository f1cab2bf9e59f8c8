//! Durations of flows: completion times and slowdown, of all flows and by size class.
//!
//! Contract: times are right-censored by the end of the run, and no statistic silently omits a
//! flow. Mean and maximum exist only if every flow with a size completed. A quantile exists only if
//! the missing times cannot change it. Each flow is censored at its own age, as late flows are
//! younger. A lower bound accompanies the mean.

use std::collections::BTreeMap;

use lowtide_rows::{FlowRow, FlowStatus, StallReason};
use lowtide_stats::{PointValue, Sample, SeedSamples};
use lowtide_units::Quantile;
use serde::Serialize;

use crate::samples::FlowSamples;

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
    /// Further flows that began during the warm-up and are not counted.
    pub in_warmup: usize,
    /// Completion times.
    pub fct_ms: CompletionTimes,
    /// Completion times over the ideal ones.
    pub slowdown: CompletionTimes,
    /// The durations behind these statistics.
    #[serde(skip)]
    pub(crate) samples: FlowSamples,
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

/// Counts the flows with a size that are not counted because they began during the warm-up.
pub(crate) fn in_warmup(flows: &[&FlowRow], warmup_ps: u64) -> usize {
    let early = |f: &&&FlowRow| f.size_bytes.is_some() && f.start_ps < warmup_ps;
    flows.iter().filter(early).filter(|f| !f.is_counted()).count()
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

/// Returns the size classes of `flows` that have counted ones; none if all have one size. `ends`
/// are their upper ends in bytes, ascending, inclusive; the last class has none.
pub(crate) fn by_size_class(
    flows: &[&FlowRow],
    (warmup_ps, ended_ps): (u64, u64),
    ends: &[u64],
) -> Vec<SizeClassFacts> {
    if ends.is_empty() {
        return Vec::new();
    }
    let mut sizes = flows.iter().filter(|f| f.is_counted()).filter_map(|f| f.size_bytes);
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
        let all: Vec<&FlowRow> =
            flows.iter().copied().filter(|f| f.size_bytes.is_some_and(holds)).collect();
        let of: Vec<&FlowRow> = all.iter().copied().filter(|f| f.is_counted()).collect();
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
                in_warmup: in_warmup(&all, warmup_ps),
                fct_ms: CompletionTimes::new(&samples.fct_ms),
                slowdown: CompletionTimes::new(&samples.slowdown),
                samples,
            }
        })
    };
    above.zip(up_to).filter_map(class).collect()
}

impl CompletionTimes {
    /// Statistics of one run, in the unit of the sample.
    pub(crate) fn new(sample: &Sample) -> Self {
        let all = SeedSamples::new(vec![sample]);
        let quantile = |q| all.percentile(q).point.value();
        let (mean, mean_at_least) = match all.mean().point {
            PointValue::Exact { value } => (Some(value), Some(value)),
            PointValue::Between { low, .. } => (None, Some(low)),
            _ => (None, None),
        };
        Self {
            mean,
            mean_at_least,
            p50: quantile(Quantile::P50),
            p95: quantile(Quantile::P95),
            p99: quantile(Quantile::P99),
            p999: quantile(Quantile::P999),
            max: mean.and_then(|_| sample.complete().last().copied()),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use lowtide_rows::{EcnCounters, Role, TcpCounters};

    use super::*;
    use crate::samples::PS_PER_MS;

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
            counted: None,
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
        CompletionTimes::new(&FlowSamples::new(&flows, ended_ms * PS_PER_MS).fct_ms)
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

    fn slowdown(flows: &[FlowRow], ended_ms: u64) -> FlowSamples {
        FlowSamples::new(&flows.iter().collect::<Vec<_>>(), ended_ms * PS_PER_MS)
    }

    #[test]
    fn slowdown_is_the_time_over_the_ideal_of_each_flow() {
        let slow = slowdown(&[sized(1, 2, 1), sized(2, 9, 3), sized(3, 4, 4)], 1);
        let slow = CompletionTimes::new(&slow.slowdown);
        assert_eq!((slow.mean, slow.p50, slow.max), (Some(2.0), Some(2.0), Some(3.0)));
        assert_eq!(slow.mean_at_least, slow.mean);
        let unknown = FlowRow { ideal_ps: None, ..sized(1, 2, 1) };
        assert_eq!(slowdown(&[unknown], 1).slowdown.count(), 0);
        // 4 ms with an ideal of 2 ms, and one flow that never opened, whose slowdown is at least 1.
        let ideal_ps = Some(2 * PS_PER_MS);
        let open = FlowRow { ideal_ps, ..flow(6, None, FlowStatus::Unfinished) };
        let cut = [sized(1, 3, 1), open, flow(10, None, FlowStatus::Unfinished)];
        let slow = CompletionTimes::new(&slowdown(&cut, 10).slowdown);
        assert_eq!((slow.mean, slow.mean_at_least), (None, Some(2.0)));
    }

    #[test]
    fn a_flow_faster_than_its_ideal_time_is_an_error() {
        let found = slowdown(&[sized(1, 2, 1), sized(2, 3, 4)], 1);
        assert_eq!((found.below_one, found.slowdown.count()), (Some(0.75), 0));
        assert_eq!(slowdown(&[sized(1, 2, 2)], 1).below_one, None);
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
