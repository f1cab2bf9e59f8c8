//! Parameters and helpers common to all workloads of single flows: number, endpoints, start.
//!
//! Flow `i` goes from source `i mod S` to destination `i mod D` and starts `i` spacings after the
//! start. If both are one host, the next destination is taken, so that a group of hosts can send
//! among its own members. Two lists that contain only one host are rejected.

use lowtide_units::Instant;

use crate::api::{Traffic, WorkloadArgs};
use crate::error::WorkloadError;
use crate::param::{WorkloadParam, WorkloadParamKind};
use crate::{Flow, WritePattern};

/// `count`.
pub(crate) const COUNT: WorkloadParam = WorkloadParam {
    name: "count",
    kind: WorkloadParamKind::Count { min: 1, max: 1_000_000 },
    default: Some("1"),
    doc: "Number of flows; flow `i` goes from source `i mod sources` to destination `i mod destinations`.",
};

/// `size`.
pub(crate) const SIZE: WorkloadParam = WorkloadParam {
    name: "size",
    kind: WorkloadParamKind::SizeOrUnlimited,
    default: None,
    doc: "Payload bytes of each flow; `unlimited` sends until the run ends.",
};

/// `start`.
pub(crate) const START: WorkloadParam = WorkloadParam {
    name: "start",
    kind: WorkloadParamKind::Time,
    default: Some("0 s"),
    doc: "Time at which the first flow opens its connection.",
};

/// `spacing`.
pub(crate) const SPACING: WorkloadParam = WorkloadParam {
    name: "spacing",
    kind: WorkloadParamKind::Time,
    default: Some("0 s"),
    doc: "Time from the start of one flow to the start of the next.",
};

/// `duration`.
pub(crate) const DURATION: WorkloadParam = WorkloadParam {
    name: "duration",
    kind: WorkloadParamKind::Optional(&WorkloadParamKind::Time),
    default: Some("off"),
    doc: "Time from opening after which a flow of `unlimited` size stops writing; its send buffer is still sent.",
};

/// Makes the flows, each with this write pattern.
pub(crate) fn round_robin_flows(
    args: &WorkloadArgs,
    write_pattern: WritePattern,
) -> Result<Traffic, WorkloadError> {
    let (size, start, spacing) = (args.size("size"), args.time("start"), args.time("spacing"));
    let flow = |i| {
        let src = nth(&args.sources, i)?;
        let dst = nth_other(&args.destinations, i, src)?;
        let start = Instant::ZERO + start + spacing * i;
        Some(Flow { group: args.group, src, dst, size, start, write_pattern })
    };
    let flows = (0..args.count("count")).map(flow).collect::<Option<Vec<Flow>>>();
    let flows = flows.ok_or_else(|| self_traffic_error(args))?;
    Ok(Traffic { flows, query_clients: Vec::new() })
}

/// Returns the error for a host that has no destination except itself.
pub(crate) fn self_traffic_error(args: &WorkloadArgs) -> WorkloadError {
    let message = format!("[traffic.{}] sends from a host to itself", args.name);
    WorkloadError::at("to", message, "name another host in `to`")
}

/// Returns element `i mod length`, or the next one if that is `host`.
pub(crate) fn nth_other(hosts: &[u32], i: u64, host: u32) -> Option<u32> {
    [i, i + 1].into_iter().filter_map(|i| nth(hosts, i)).find(|other| *other != host)
}

/// Returns element `i mod length`.
fn nth(hosts: &[u32], i: u64) -> Option<u32> {
    let index = i.checked_rem(hosts.len() as u64)?;
    hosts.get(usize::try_from(index).ok()?).copied()
}
