//! The flows of a pair of classes at a share, beside the same flows before the move.

use serde::Serialize;

use super::effect::Effect;
use super::statistics::Percentiles;

/// Name of the sizes of all flows.
pub(crate) const ALL_SIZES: &str = "all";

/// Flows of a pair of classes at a share.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RolloutRow {
    /// Moved share of the hosts, percent.
    pub share_percent: f64,
    /// Moved hosts.
    pub moved_hosts: u32,
    /// The classes of sender and receiver: `old>new`.
    pub pair: &'static str,
    /// Range of flow sizes, or `all`.
    pub sizes: String,
    /// Flows with a size, of all seeds.
    pub flows: usize,
    /// Of these, censored by the end of the run.
    pub unfinished: usize,
    /// Of these, failed.
    pub failed: usize,
    /// Completion time over the ideal time.
    pub slowdown: Percentiles,
    /// Slowdown of the same flows with no host moved; null at a share of 0.
    pub before: Option<Percentiles>,
    /// `slowdown` over `before`, paired by seed; null at a share of 0.
    pub ratio: Option<Percentiles>,
    /// Effect on the 99th percentile; null at a share of 0.
    pub effect: Option<Effect>,
}
