//! Parameters and helpers common to all workloads of single flows: number, endpoints, start.
//!
//! Flow `i` goes from source `i mod S` to destination `i mod D` and starts `i` spacings after the
//! start. If both are one host, the next destination is taken, so that a group of hosts can send
//! among its own members. Two lists that contain only one host are rejected.

use lowtide_schema::DefaultValue::{Is, Required};
use lowtide_schema::{Param, ValueKind};
use lowtide_units::Instant;

use crate::api::{Traffic, WorkloadArgs};
use crate::endpoints::{nth, nth_other, self_traffic_error};
use crate::error::WorkloadError;
use crate::{Flow, WritePattern};

/// `count`.
pub const COUNT: Param = Param {
    name: "count",
    kind: ValueKind::Count { min: 1, max: 1_000_000 },
    default: Is("1"),
    doc: "Number of flows; flow `i` goes from source `i mod sources` to destination `i mod destinations`.",
    source: "lowtide",
};

/// `size`.
pub const SIZE: Param = Param {
    name: "size",
    kind: ValueKind::Or { kind: &ValueKind::SIZE, word: "unlimited" },
    default: Required,
    doc: "Payload bytes of each flow; `unlimited` sends until the run ends.",
    source: "ns-3 `BulkSendApplication::MaxBytes`",
};

/// `start`.
pub const START: Param = Param {
    name: "start",
    kind: ValueKind::TIME,
    default: Is("0 s"),
    doc: "Time at which the first flow opens its connection.",
    source: "ns-3 `Application::StartTime`",
};

/// `spacing`.
pub const SPACING: Param = Param {
    name: "spacing",
    kind: ValueKind::TIME,
    default: Is("0 s"),
    doc: "Time from the start of one flow to the start of the next.",
    source: "lowtide",
};

/// `duration`.
pub const DURATION: Param = Param {
    name: "duration",
    kind: ValueKind::Or { kind: &ValueKind::TIME, word: "off" },
    default: Is("off"),
    doc: "Time from opening after which a flow of `unlimited` size stops writing; its send buffer is still sent.",
    source: "lowtide",
};

/// Makes the flows, each with this write pattern. The workload declares [`COUNT`], [`SIZE`],
/// [`START`] and [`SPACING`].
///
/// # Errors
/// A flow has no destination but its source.
pub fn round_robin_flows(
    args: &WorkloadArgs,
    write_pattern: WritePattern,
) -> Result<Traffic, WorkloadError> {
    let (size, start, spacing) = (
        args.values.find_bytes("size"),
        args.values.duration("start"),
        args.values.duration("spacing"),
    );
    let flow = |i| {
        let src = nth(&args.sources, i)?;
        let dst = nth_other(&args.destinations, i, src)?;
        let start = Instant::ZERO + start + spacing * i;
        Some(Flow { group: args.group, src, dst, size, start, write_pattern })
    };
    let flows = (0..args.values.count("count")).map(flow).collect::<Option<Vec<Flow>>>();
    let flows = flows.ok_or_else(|| self_traffic_error(args))?;
    Ok(Traffic { flows, ..Traffic::default() })
}
