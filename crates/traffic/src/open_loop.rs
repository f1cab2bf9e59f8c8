//! Arrival times of open loops.
//!
//! The load may go on beyond the counted arrivals ([`WorkloadContext::load_end`]). The counted ones
//! are the same with and without it.

use lowtide_schema::Value;
use lowtide_units::{Duration, Instant};

use crate::api::{WorkloadArgs, WorkloadContext};
use crate::error::WorkloadError;
use crate::query_client::ArrivalTimes;

/// Most connections of a group that only keep the load up, for each counted arrival.
const LOAD_PER_COUNTED: usize = 100;

/// Bounds of that number. The upper one is about 0.2 GB before the run starts.
const LOAD_BOUNDS: [usize; 2] = [20_000, 500_000];

/// Limits of the arrivals of one process.
#[derive(Clone, Copy, Debug)]
pub struct ArrivalLimits {
    /// Most counted arrivals.
    pub most: u64,
    /// More counted arrivals than this are an error.
    pub limit: u64,
    /// Name of the arrivals in that error, as `connections`.
    pub what: &'static str,
    /// Processes of the group, which share the limit of its load.
    pub processes: usize,
}

/// Returns arrival times from `start`, each a gap after the previous one: the counted ones, then
/// those of the load. The first is one gap after the start. The workload declares [`START`].
///
/// # Errors
/// More counted arrivals than the limit.
///
/// [`START`]: crate::round_robin::START
pub fn arrival_times(
    args: &WorkloadArgs,
    ctx: &WorkloadContext,
    limits: ArrivalLimits,
    mut gap: impl FnMut() -> Duration,
) -> Result<ArrivalTimes, WorkloadError> {
    let ArrivalLimits { most, limit, what, processes } = limits;
    let mut at = Instant::ZERO + args.values.duration("start");
    let mut times = Vec::new();
    while (times.len() as u64) < most {
        at += gap();
        if at >= ctx.end {
            break;
        }
        if times.len() as u64 == limit {
            return Err(WorkloadError::above_limit(&args.name, what, limit));
        }
        times.push(at);
    }
    let counted = times.len();
    let mut until = None;
    if ctx.load_end > ctx.end {
        if at < ctx.end {
            at += gap();
        }
        let most = counted + most_load(args, counted, processes);
        while at < ctx.load_end {
            if times.len() == most {
                until = Some(at);
                break;
            }
            times.push(at);
            at += gap();
        }
    }
    Ok(ArrivalTimes { times, counted, until })
}

/// Returns the most arrivals of one process that only keep the load up.
fn most_load(args: &WorkloadArgs, counted: usize, processes: usize) -> usize {
    // A query may open a connection to each of its servers.
    let opens = args.values.get("connections") == Some(&Value::Name("per-request"));
    let each = if opens { args.destinations.len().max(args.sources.len()) } else { 1 };
    let [least, most] = LOAD_BOUNDS.map(|bound| bound / (processes * each).max(1));
    counted.saturating_mul(LOAD_PER_COUNTED).clamp(least, most)
}
