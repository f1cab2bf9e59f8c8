//! The subject of a metric.

use lowtide_record::{RunKey, SweepPoint};
use serde::Serialize;

/// A metric of a scheme at a point: of a traffic group, a queue, a buffer pool, or whole runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MetricSubject {
    /// The scheme.
    pub scheme: String,
    /// The point of the sweep.
    pub point: SweepPoint,
    /// The traffic group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The flow size class, such as `10 kB-100 kB`, or the class of a queue; absent for the whole
    /// group or queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The buffer pool, such as `switch0.0`. Without group, queue and pool the subject is the whole
    /// run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// Its name, the path inside a run: `fct_ms.mean`.
    pub metric: &'static str,
    /// Its unit; empty for a plain count.
    pub unit: &'static str,
}

impl MetricSubject {
    /// A metric of whole runs of the scheme and the point of `key`.
    pub(crate) fn of(key: &RunKey, metric: &'static str, unit: &'static str) -> Self {
        Self {
            scheme: key.scheme.clone(),
            point: key.point.clone(),
            group: None,
            class: None,
            queue: None,
            memory: None,
            metric,
            unit,
        }
    }

    /// Whether it is this metric of all flows of `group`.
    pub fn is_group_metric(&self, group: &str, metric: &str) -> bool {
        self.group.as_deref() == Some(group) && self.class.is_none() && self.metric == metric
    }

    /// Whether it is this metric of all of `queue`.
    pub fn is_queue_metric(&self, queue: &str, metric: &str) -> bool {
        self.queue.as_deref() == Some(queue) && self.class.is_none() && self.metric == metric
    }

    /// Whether it is this metric of whole runs.
    pub fn is_run_metric(&self, metric: &str) -> bool {
        self.group.is_none()
            && self.queue.is_none()
            && self.memory.is_none()
            && self.metric == metric
    }
}
