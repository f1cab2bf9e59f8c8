//! A metric of the summary as a measure: of a traffic group, a queue, a buffer pool or a run.

use std::collections::BTreeMap;

use lowtide_lab::RunFacts;
use lowtide_lab::summary::{self, BUFFER_POOL, GROUP, QUERY, QUEUE, QUEUE_CLASS, RUN, SIZE_CLASS};
use lowtide_stats::ValueRange;
use serde::Deserialize;

use crate::source::RunData;

/// A metric of a traffic group, a queue, a buffer pool or a run, with its name in `summary.json`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricMeasure {
    /// Its name, such as `fct_ms.mean`.
    #[serde(rename = "metric")]
    pub name: String,
    /// The traffic group.
    #[serde(default)]
    pub group: Option<String>,
    /// Restricts the group to flows in this size range, such as `10 kB-100 kB`, or the queue to
    /// this class.
    #[serde(default)]
    pub class: Option<String>,
    /// The queue.
    #[serde(default)]
    pub queue: Option<String>,
    /// The shared buffer pool, such as `switch0.0`. Without group, queue and pool the metric is of
    /// the run.
    #[serde(default, rename = "buffer-pool")]
    pub buffer_pool: Option<String>,
    /// The scheme; optional if there is only one.
    #[serde(default)]
    pub scheme: Option<String>,
    /// Values of swept keys.
    #[serde(default)]
    pub at: BTreeMap<String, String>,
}

impl MetricMeasure {
    /// Its unit.
    pub(crate) fn unit(&self) -> &'static str {
        self.definition().0
    }

    /// The possible range of its value.
    pub(super) fn range(&self) -> ValueRange {
        self.definition().1
    }

    fn definition(&self) -> (&'static str, ValueRange) {
        fn of<F>(known: &[summary::Metric<F>], name: &str) -> Option<(&'static str, ValueRange)> {
            known.iter().find(|m| m.name == name).map(|m| (m.unit, m.range()))
        }
        let name = self.name.as_str();
        let found = match (&self.group, &self.queue, &self.buffer_pool) {
            (Some(_), ..) if self.class.is_some() => of(SIZE_CLASS, name),
            (Some(_), ..) => of(GROUP, name).or_else(|| of(QUERY, name)),
            (_, Some(_), _) if self.class.is_some() => of(QUEUE_CLASS, name),
            (_, Some(_), _) => of(QUEUE, name),
            (_, _, Some(_)) => of(BUFFER_POOL, name),
            _ => of(RUN, name),
        };
        // `check` has verified the name.
        found.unwrap_or(("", ValueRange::ANY))
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let class = self.class.is_some();
        let known: Vec<&str> = match (&self.group, &self.queue, &self.buffer_pool) {
            (Some(_), None, None) if class => SIZE_CLASS.iter().map(|m| m.name).collect(),
            (Some(_), None, None) => {
                GROUP.iter().map(|m| m.name).chain(QUERY.iter().map(|m| m.name)).collect()
            }
            (None, Some(_), None) if class => QUEUE_CLASS.iter().map(|m| m.name).collect(),
            (None, Some(_), None) => QUEUE.iter().map(|m| m.name).collect(),
            (None, None, Some(_)) if !class => BUFFER_POOL.iter().map(|m| m.name).collect(),
            (None, None, None) if !class && RUN.iter().any(|m| m.name == self.name) => {
                return Ok(());
            }
            _ => {
                let of = "of a `group`, of a `queue` or of a `buffer-pool`";
                return Err(format!("`{}` is {of}", self.name));
            }
        };
        if known.contains(&self.name.as_str()) {
            return Ok(());
        }
        Err(format!("there is no metric `{}`; there are {}", self.name, known.join(", ")))
    }

    pub(super) fn values(&self, of: RunData<'_>) -> Result<Vec<Option<f64>>, String> {
        let runs =
            of.run_of_each_seed(&format!("`{}`", self.name), self.scheme.as_deref(), &self.at)?;
        let value = |run: &RunFacts| match (&self.group, &self.queue, &self.buffer_pool) {
            (Some(name), _, _) => self.of_group(run, name),
            (None, Some(name), _) => self.of_queue(run, name),
            (None, None, Some(name)) => {
                let pool = run.buffer_pool(name).ok_or_else(|| {
                    missing("buffer-pool", name, run.buffer_pools.iter().map(|m| m.name.as_str()))
                })?;
                Ok(BUFFER_POOL.iter().find(|m| m.name == self.name).and_then(|m| m.of(pool)))
            }
            (None, None, None) => {
                Ok(RUN.iter().find(|m| m.name == self.name).and_then(|m| m.of(run)))
            }
        };
        runs.into_iter().map(value).collect()
    }

    /// Its value for a queue of a run.
    fn of_queue(&self, run: &RunFacts, name: &str) -> Result<Option<f64>, String> {
        let queue = run
            .queue(name)
            .ok_or_else(|| missing("queue", name, run.queues.iter().map(|q| q.name.as_str())))?;
        let Some(class) = &self.class else {
            return Ok(QUEUE.iter().find(|m| m.name == self.name).and_then(|m| m.of(queue)));
        };
        let of_class = queue.class(class).ok_or_else(|| {
            missing("class", class, queue.classes.iter().map(|c| c.name.as_str()))
        })?;
        Ok(QUEUE_CLASS.iter().find(|m| m.name == self.name).and_then(|m| m.of(of_class)))
    }

    /// Its value for a traffic group of a run. A class without flows has no value.
    fn of_group(&self, run: &RunFacts, name: &str) -> Result<Option<f64>, String> {
        if let Some(metric) = QUERY.iter().find(|m| m.name == self.name) {
            let names = run.queries.iter().map(|q| q.name.as_str());
            let queries =
                run.queries(name).ok_or_else(|| missing("group of queries", name, names))?;
            return Ok(metric.of(queries));
        }
        let group = run
            .group(name)
            .ok_or_else(|| missing("group", name, run.groups.iter().map(|g| g.name.as_str())))?;
        Ok(match &self.class {
            None => GROUP.iter().find(|m| m.name == self.name).and_then(|m| m.of(group)),
            Some(class) => {
                let metric = SIZE_CLASS.iter().find(|m| m.name == self.name);
                metric.zip(group.class(class)).and_then(|(m, class)| m.of(class))
            }
        })
    }
}

fn missing<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    format!("there is no {what} `{name}`; there are {}", known.join(", "))
}
