//! What all workloads of single flows share: how many, from where to where, when.
//!
//! Flow `i` goes from source `i mod S` to destination `i mod D` and starts `i` spacings after the
//! start. Where that would send a host to itself the next destination is taken, so that a group of
//! hosts can send among its own members; a pair of lists with nothing but one host is refused.

use lowtide_units::Instant;

use crate::api::{Args, Traffic};
use crate::param::{Param, ParamKind};
use crate::refusal::Refusal;
use crate::{Flow, Source};

/// `count`.
pub(crate) const COUNT: Param = Param {
    name: "count",
    kind: ParamKind::Count { min: 1, max: 1_000_000 },
    default: Some("1"),
    doc: "How many flows; flow `i` goes from source `i mod sources` to destination `i mod destinations`.",
};

/// `size`.
pub(crate) const SIZE: Param = Param {
    name: "size",
    kind: ParamKind::SizeOrUnlimited,
    default: None,
    doc: "Payload bytes of each flow; `unlimited` sends until the run ends.",
};

/// `start`.
pub(crate) const START: Param = Param {
    name: "start",
    kind: ParamKind::Time,
    default: Some("0 s"),
    doc: "When the first flow opens its connection.",
};

/// `spacing`.
pub(crate) const SPACING: Param = Param {
    name: "spacing",
    kind: ParamKind::Time,
    default: Some("0 s"),
    doc: "Time from the start of one flow to the start of the next.",
};

/// `lasts`.
pub(crate) const LASTS: Param = Param {
    name: "lasts",
    kind: ParamKind::Optional(&ParamKind::Time),
    default: Some("off"),
    doc: "So long after its opening a flow of `unlimited` size stops: what its send buffer holds then is still sent.",
};

/// The flows, each with this source.
pub(crate) fn deal(args: &Args, source: Source) -> Result<Traffic, Refusal> {
    let (size, start, spacing) = (args.size("size"), args.time("start"), args.time("spacing"));
    let flow = |i| {
        let src = nth(&args.sources, i)?;
        let dst = other(&args.destinations, i, src)?;
        let start = Instant::ZERO + start + spacing * i;
        Some(Flow { group: args.group, src, dst, size, start, source })
    };
    let flows = (0..args.count("count")).map(flow).collect::<Option<Vec<Flow>>>();
    let flows = flows.ok_or_else(|| to_itself(args))?;
    Ok(Traffic { flows, askers: Vec::new() })
}

/// What is wrong when the hosts leave nobody to send to.
pub(crate) fn to_itself(args: &Args) -> Refusal {
    let message = format!("[traffic.{}] sends from a host to itself", args.name);
    Refusal::at("to", message, "name another host in `to`")
}

/// Element `i mod length`, or the next one where that is `host` itself.
pub(crate) fn other(hosts: &[u32], i: u64, host: u32) -> Option<u32> {
    [i, i + 1].into_iter().filter_map(|i| nth(hosts, i)).find(|other| *other != host)
}

/// Element `i mod length`.
fn nth(hosts: &[u32], i: u64) -> Option<u32> {
    let index = i.checked_rem(hosts.len() as u64)?;
    hosts.get(usize::try_from(index).ok()?).copied()
}
