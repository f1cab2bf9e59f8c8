//! Throughput over time: convergence, fairness and variation of flows.
//!
//! Contract: everything follows from samples of a byte counter per flow. A flow's rate is the
//! difference of two samples over their time distance; times at which a flow has no sample do not
//! count. The fair share is the mean rate of the flows at that time.

use std::collections::BTreeMap;

/// Rates of several flows over time.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Rates {
    /// End of each interval, picoseconds.
    ends: Vec<u64>,
    /// One row per flow, Mbit/s.
    flows: Vec<Vec<f64>>,
}

impl Rates {
    /// Computes rates from samples of (time in picoseconds, flow, total bytes), between `from` and
    /// `to`, at multiples of `every`.
    pub(crate) fn new(
        samples: impl Iterator<Item = (u64, u64, f64)>,
        every: u64,
        (from, to): (u64, u64),
    ) -> Self {
        let mut by_time: BTreeMap<u64, BTreeMap<u64, f64>> = BTreeMap::new();
        for (time, flow, bytes) in samples {
            if time % every.max(1) == 0 && (from..=to).contains(&time) {
                by_time.entry(time).or_default().insert(flow, bytes);
            }
        }
        let all = by_time.values().map(BTreeMap::len).max().unwrap_or(0);
        by_time.retain(|_, flows| flows.len() == all);
        let times: Vec<u64> = by_time.keys().copied().collect();
        let numbers: Vec<u64> =
            by_time.values().next().map_or_else(Vec::new, |f| f.keys().copied().collect());
        let rate = |flow: &u64| {
            let bytes: Vec<f64> =
                by_time.values().filter_map(|flows| flows.get(flow).copied()).collect();
            let steps = bytes.windows(2).zip(times.windows(2));
            steps.map(|(b, t)| (b[1] - b[0]) * 8e6 / (t[1] - t[0]) as f64).collect()
        };
        Self {
            flows: numbers.iter().map(rate).collect(),
            ends: times.into_iter().skip(1).collect(),
        }
    }

    /// Returns the time from `from` until every flow is within `share` of the mean rate and remains
    /// there, in picoseconds; it counts to the end of the first such interval. `None` if they do
    /// not converge, or for a single flow.
    pub(crate) fn convergence_time(&self, from: u64, share: f64) -> Option<u64> {
        let stays = (0..self.ends.len()).rev().take_while(|i| self.is_fair(*i, share)).last()?;
        self.ends.get(stays).map(|end| end.saturating_sub(from))
    }

    /// Returns the time to the end of the first such interval, even if they diverge later.
    pub(crate) fn first_fair_time(&self, from: u64, share: f64) -> Option<u64> {
        let first = (0..self.ends.len()).find(|i| self.is_fair(*i, share))?;
        self.ends.get(first).map(|end| end.saturating_sub(from))
    }

    /// Returns whether every flow is within `share` of the mean rate; false for a single flow.
    fn is_fair(&self, interval: usize, share: f64) -> bool {
        let rates = || self.flows.iter().filter_map(|f| f.get(interval).copied());
        let mean = rates().sum::<f64>() / self.flows.len() as f64;
        self.flows.len() > 1 && mean > 0.0 && rates().all(|r| (r - mean).abs() <= share * mean)
    }

    /// Standard deviation (n - 1) of each flow's rate over the intervals, as a mean over the flows,
    /// Mbit/s.
    pub(crate) fn rate_stddev(&self) -> Option<f64> {
        self.mean_over_flows(|rates| variance(rates).map(f64::sqrt))
    }

    /// Mean rate of a flow, Mbit/s.
    pub(crate) fn mean(&self) -> Option<f64> {
        self.mean_over_flows(mean)
    }

    /// Mean rate of the slowest flow, Mbit/s.
    pub(crate) fn slowest(&self) -> Option<f64> {
        let of_flows: Option<Vec<f64>> = self.flows.iter().map(|rates| mean(rates)).collect();
        of_flows?.into_iter().reduce(f64::min)
    }

    /// Jain's index per interval, as a mean over the intervals; `None` for a single flow.
    pub(crate) fn jain(&self) -> Option<f64> {
        let index = |i: usize| {
            let rates = || self.flows.iter().filter_map(|f| f.get(i).copied());
            let squares: f64 = rates().map(|r| r * r).sum();
            let sum: f64 = rates().sum();
            (squares > 0.0).then(|| sum * sum / (self.flows.len() as f64 * squares))
        };
        let found: Vec<f64> = (0..self.ends.len()).filter_map(index).collect();
        let enough = self.flows.len() > 1 && !found.is_empty();
        enough.then(|| found.iter().sum::<f64>() / found.len() as f64)
    }

    fn mean_over_flows(&self, of: impl Fn(&[f64]) -> Option<f64>) -> Option<f64> {
        let found: Option<Vec<f64>> = self.flows.iter().map(|rates| of(rates)).collect();
        let found = found.filter(|all| !all.is_empty())?;
        Some(found.iter().sum::<f64>() / found.len() as f64)
    }
}

/// `None` without values.
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Variance (n - 1); `None` for a single value.
fn variance(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (values.len() > 1).then(|| squares / (n - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;

    /// Rates of flows whose counters grow by these bytes each millisecond, from zero.
    fn rates(flows: &[&[u32]]) -> Rates {
        let mut samples = Vec::new();
        for (flow, steps) in flows.iter().enumerate() {
            let mut bytes = 0.0;
            samples.push((0, flow as u64, bytes));
            for (i, step) in steps.iter().enumerate() {
                bytes += f64::from(*step);
                samples.push(((i as u64 + 1) * MS, flow as u64, bytes));
            }
        }
        Rates::new(samples.into_iter(), MS, (0, u64::MAX))
    }

    #[test]
    fn convergence_is_when_all_flows_stay_near_their_share() {
        // Near at 2 ms, apart at 3 ms, near from 4 ms on.
        let found = rates(&[&[900, 510, 900, 520, 490, 505], &[100, 490, 100, 480, 510, 495]]);
        assert_eq!(found.convergence_time(0, 0.05), Some(4 * MS));
        assert_eq!(found.convergence_time(3 * MS, 0.05), Some(MS));
        assert_eq!(found.first_fair_time(0, 0.05), Some(2 * MS));
        assert_eq!(found.convergence_time(0, 0.015), Some(6 * MS), "only the last interval");
        assert_eq!(found.convergence_time(0, 0.001), None);
        assert_eq!(
            rates(&[&[1, 1, 1]]).convergence_time(0, 0.5),
            None,
            "one flow has no other to share with"
        );
        assert_eq!(rates(&[&[1, 1, 1]]).first_fair_time(0, 0.5), None);
        assert_eq!(found.first_fair_time(0, 0.001), None);
    }

    #[test]
    fn variation_and_fairness_average_over_intervals() {
        let found = rates(&[&[1000, 3000], &[2000, 2000]]);
        // 8 and 24 Mbit/s: s.d. 8 x sqrt(2); the other flow does not vary.
        let expected = 8.0 * 2.0_f64.sqrt() / 2.0;
        assert!((found.rate_stddev().unwrap() - expected).abs() < 1e-9);
        assert_eq!(found.mean(), Some(16.0));
        let jain = f64::midpoint(9.0 / (2.0 * 5.0), 25.0 / (2.0 * 13.0));
        assert!((found.jain().unwrap() - jain).abs() < 1e-12);
        assert_eq!(Rates::default().rate_stddev(), None);
    }

    #[test]
    fn only_times_at_which_all_have_a_sample_count() {
        let mut samples = vec![(0, 1, 0.0), (0, 2, 0.0), (MS, 1, 1000.0)];
        samples.extend([(2 * MS, 1, 2000.0), (2 * MS, 2, 4000.0), (2 * MS + 1, 1, 9e9)]);
        let found = Rates::new(samples.into_iter(), MS, (0, 10 * MS));
        assert_eq!(found.ends, [2 * MS]);
        assert_eq!(found.flows, [[8.0], [16.0]]);
    }
}
