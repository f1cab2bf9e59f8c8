//! What a figure is about.

use lowtide_record::{RunKey, SweepPoint};
use serde::Serialize;

/// A metric of a scheme at a point: of a traffic group, of a queue, of a memory, or of whole runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MetricSubject {
    /// The scheme.
    pub scheme: String,
    /// The point of the sweep.
    pub point: SweepPoint,
    /// The traffic group it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The range of flow sizes that it is about, as `10 kB-100 kB`, or the class of a queue; absent for all
    /// of a group or a queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The queue it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The memory it is about, as `switch0.0`. Without group, queue and memory it is about the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// Its name, as the path inside a run: `fct_ms.mean`.
    pub metric: &'static str,
    /// Its unit; empty for a plain count.
    pub unit: &'static str,
}

impl MetricSubject {
    /// About whole runs of the scheme and the point of `key`.
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

    /// Whether it is about all flows of `group`, and this metric.
    pub fn is_group_metric(&self, group: &str, metric: &str) -> bool {
        self.group.as_deref() == Some(group) && self.class.is_none() && self.metric == metric
    }

    /// Whether it is about all of `queue`, and this metric.
    pub fn is_queue_metric(&self, queue: &str, metric: &str) -> bool {
        self.queue.as_deref() == Some(queue) && self.class.is_none() && self.metric == metric
    }

    /// Whether it is about whole runs, and this metric.
    pub fn is_run_metric(&self, metric: &str) -> bool {
        self.group.is_none()
            && self.queue.is_none()
            && self.memory.is_none()
            && self.metric == metric
    }
}
