//! The measure that decides between thresholds: that of the scenario's question, of queries, or of
//! short flows.

use lowtide_host::Setup;
use lowtide_lab::{FlowSet, LabError, RunFacts, ShownEstimate, TailMetric};
use lowtide_stats::{Sample, SeedSamples, compare_means, compare_percentile};
use lowtide_units::{Bytes, Quantile};
use serde::{Deserialize, Serialize};

use super::wrong;

/// Flows up to this size are the short ones.
pub const SHORT_FLOWS: Bytes = Bytes::new(100_000);
/// Name of the class of short flows.
pub(super) const SHORT_CLASS: &str = "0 B-100 kB";

/// A measure that the user asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// The 99th percentile of the slowdown of short flows.
    Tail,
    /// The utilisation of the lines alone.
    Throughput,
    /// The 99th percentile of the completion time of queries.
    Queries,
    /// The 99th percentile of the step time of a collective.
    Steps,
}

impl Goal {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tail, Self::Throughput, Self::Queries, Self::Steps];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tail => "tail",
            Self::Throughput => "throughput",
            Self::Queries => "queries",
            Self::Steps => "steps",
        }
    }
}

/// A statistic over all seeds.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Statistic {
    Mean,
    Percentile(Quantile),
}

/// Flows or queries, and the statistic of them that decides.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Target {
    pub(super) group: String,
    class: Option<&'static str>,
    pub(super) metric: TailMetric,
    statistic: Statistic,
}

/// Ratio of B to A, with its 95 % interval.
pub(super) type RatioWithInterval = (f64, Option<[f64; 2]>);

impl Target {
    /// Returns what decides; `None` if only the utilisation does. Without a goal it is the question
    /// of the scenario, else its queries, else its short flows.
    pub(super) fn of(
        setup: &Setup,
        question: Option<&lowtide_rows::ScenarioQuestion>,
        goal: Option<Goal>,
    ) -> Result<Option<Self>, LabError> {
        let none = |what: &str| wrong(&format!("the scenario has no {what}"));
        match goal {
            Some(Goal::Throughput) => Ok(None),
            Some(Goal::Queries) => Self::queries(setup).map(Some).ok_or_else(|| none("queries")),
            Some(Goal::Steps) => Self::collective(setup)
                .map(Some)
                .ok_or_else(|| none("collective with two iterations")),
            Some(Goal::Tail) => Self::short_flows(setup)
                .map(Some)
                .ok_or_else(|| none("flows of different sizes up to 100 kB")),
            None => match question {
                Some(question) => Ok(Some(Self::question(setup, question))),
                None => Ok(Self::queries(setup)
                    .or_else(|| Self::collective(setup))
                    .or_else(|| Self::short_flows(setup))),
            },
        }
    }

    fn question(setup: &Setup, question: &lowtide_rows::ScenarioQuestion) -> Self {
        let group = setup.traffic_groups.iter().position(|g| *g == question.traffic);
        let asks = |client: &&lowtide_traffic::QueryClientSpec| Some(client.group.into()) == group;
        let metric = if setup.query_clients.iter().any(|c| asks(&c)) {
            TailMetric::QctMs
        } else if setup.collectives.iter().any(|c| Some(c.group.into()) == group) {
            TailMetric::StepMs
        } else if question.measure == "slowdown" {
            TailMetric::Slowdown
        } else {
            TailMetric::FctMs
        };
        let known = [Quantile::P50, Quantile::P95, Quantile::P99, Quantile::P999];
        let percentile = known.into_iter().find(|q| q.name() == question.percentile);
        let statistic = percentile.map_or(Statistic::Mean, Statistic::Percentile);
        Self { group: question.traffic.clone(), class: None, metric, statistic }
    }

    /// The group with the most queries, by the highest percentile that they allow.
    fn queries(setup: &Setup) -> Option<Self> {
        let mut counts = vec![0_u64; setup.traffic_groups.len()];
        for client in &setup.query_clients {
            *counts.get_mut(usize::from(client.group))? += client.queries();
        }
        let (group, most) = counts.into_iter().enumerate().max_by_key(|(_, n)| *n)?;
        Self::highest(&setup.group_name(group as u16), TailMetric::QctMs, most)
    }

    /// The first collective, by the highest percentile that its iterations allow.
    fn collective(setup: &Setup) -> Option<Self> {
        let spec = setup.collectives.first()?;
        Self::highest(&setup.group_name(spec.group), TailMetric::StepMs, spec.iterations.into())
    }

    /// The highest percentile that `count` of a group allow.
    fn highest(group: &str, metric: TailMetric, count: u64) -> Option<Self> {
        // Intervals need the percentile of each seed.
        let known = [Quantile::P99, Quantile::P95, Quantile::P50];
        let percentile = known.into_iter().find(|q| q.is_defined_for(count))?;
        let statistic = Statistic::Percentile(percentile);
        Some(Self { group: group.to_owned(), class: None, metric, statistic })
    }

    /// The short flows of a group.
    pub(super) fn short(group: &str) -> Self {
        Self {
            group: group.to_owned(),
            class: Some(SHORT_CLASS),
            metric: TailMetric::Slowdown,
            statistic: Statistic::Percentile(Quantile::P99),
        }
    }

    /// The group of flows of different sizes with the most short ones.
    fn short_flows(setup: &Setup) -> Option<Self> {
        let count = |i: usize| {
            let mut sizes: Vec<u64> = setup
                .flows
                .iter()
                .filter(|f| usize::from(f.group) == i)
                .filter_map(|f| Some(f.size?.as_u64()))
                .collect();
            let short = sizes.iter().filter(|s| **s <= SHORT_FLOWS.as_u64()).count();
            sizes.sort_unstable();
            sizes.dedup();
            if sizes.len() > 1 { short } else { 0 }
        };
        let groups = (0..setup.traffic_groups.len()).map(|i| (i, count(i)));
        let (group, _) = groups.max_by_key(|(_, n)| *n).filter(|(_, n)| *n > 0)?;
        Some(Self::short(&setup.traffic_groups[group]))
    }

    /// The target in words: `99th percentile of the slowdown of flows up to 100 kB`.
    pub(super) fn words(&self) -> String {
        let statistic = match self.statistic {
            Statistic::Mean => "mean".to_owned(),
            Statistic::Percentile(q) if q == Quantile::P50 => "median".to_owned(),
            Statistic::Percentile(q) => format!("{}th percentile", &q.name()[1..]),
        };
        let of = match (self.metric, self.class) {
            (TailMetric::QctMs, _) => format!("completion time of the queries of `{}`", self.group),
            (TailMetric::StepMs, _) => format!("step time of the collective `{}`", self.group),
            (metric, Some(_)) => format!("{} of flows up to {SHORT_FLOWS}", metric.title()),
            (metric, None) => format!("{} of the flows of `{}`", metric.title(), self.group),
        };
        format!("{statistic} of the {of}")
    }

    pub(super) const fn unit(&self) -> &'static str {
        match self.metric {
            TailMetric::Slowdown => "",
            _ => "ms",
        }
    }

    fn set(&self) -> FlowSet<'_> {
        FlowSet { group: &self.group, class: self.class, metric: self.metric }
    }

    /// Flows or queries of these runs: all, and those that did not complete.
    pub(super) fn counts(&self, runs: &[&RunFacts]) -> (usize, usize) {
        let samples = runs.iter().filter_map(|run| self.set().sample(run));
        samples.fold((0, 0), |(all, cut), s| {
            (all + s.count() as usize, cut + s.cut_off().len() + s.failed() as usize)
        })
    }

    /// The statistic over the seeds of these runs.
    pub(super) fn value(&self, runs: &[&RunFacts]) -> ShownEstimate {
        let none = Sample::empty(self.metric.range());
        let samples = self.set().samples(runs, &none);
        ShownEstimate::from(match self.statistic {
            Statistic::Mean => samples.mean(),
            Statistic::Percentile(q) => samples.percentile(q),
        })
    }

    /// B over A, whose runs are of the same seeds.
    pub(super) fn ratio(&self, a: &[&RunFacts], b: &[&RunFacts]) -> Option<RatioWithInterval> {
        let range = self.metric.range();
        let none = Sample::empty(range);
        let found = match self.statistic {
            Statistic::Percentile(q) => {
                let [a, b] = [a, b].map(|runs| self.set().samples(runs, &none));
                compare_percentile(&a, &b, q, 0.0)
            }
            Statistic::Mean => {
                let mean = |run: &&RunFacts| {
                    let sample = self.set().sample(run)?;
                    SeedSamples::new(vec![sample]).mean().point.value()
                };
                let [a, b] = [a, b].map(|runs| runs.iter().map(mean).collect::<Vec<_>>());
                compare_means(&a, &b, range, 0.0)
            }
        };
        Some((found.ratio?, found.interval.confidence()))
    }
}

/// 99th percentile of the slowdown of the short flows of a group.
pub(super) fn short_tail(group: &str, runs: &[&RunFacts]) -> ShownEstimate {
    Target::short(group).value(runs)
}
