//! Subject of a metric.

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
    /// Range of flow sizes, as `10 kB-100 kB`, or class of a queue; absent for the whole group or
    /// queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The buffer pool, as `switch0.0`. Without group, queue and pool the subject is the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_pool: Option<String>,
    /// Name, as the path inside a run: `fct_ms.mean`.
    pub metric: &'static str,
    /// Unit; empty for a plain count.
    pub unit: &'static str,
}

impl MetricSubject {
    /// Creates a subject of whole runs of the scheme and point of `key`.
    pub(crate) fn of(key: &RunKey, metric: &'static str, unit: &'static str) -> Self {
        Self {
            scheme: key.scheme.clone(),
            point: key.point.clone(),
            group: None,
            class: None,
            queue: None,
            buffer_pool: None,
            metric,
            unit,
        }
    }

    /// Returns whether this is `metric` of all flows of `group`.
    pub fn is_group_metric(&self, group: &str, metric: &str) -> bool {
        self.group.as_deref() == Some(group) && self.class.is_none() && self.metric == metric
    }

    /// Returns whether this is `metric` of all of `queue`.
    pub fn is_queue_metric(&self, queue: &str, metric: &str) -> bool {
        self.queue.as_deref() == Some(queue) && self.class.is_none() && self.metric == metric
    }

    /// Returns whether this is `metric` of whole runs.
    pub fn is_run_metric(&self, metric: &str) -> bool {
        self.group.is_none()
            && self.queue.is_none()
            && self.buffer_pool.is_none()
            && self.metric == metric
    }
}
