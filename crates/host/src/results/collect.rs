//! Collects the rows at the end of a run.

use std::mem;
use std::sync::Arc;

use lowtide_rows::{EndReason, FlowRow, FlowStatus, Queue, Role, SharedText, StallReason};
use lowtide_sim::Digest;
use lowtide_tcp::{DelayMode, EcnMode, switches};
use lowtide_traffic::WritePattern;
use lowtide_units::{Bytes, Duration, Instant};

use super::outcome::{MemoryCounts, Outcome};
use super::sender_summary::SenderSummary;
use super::stall_reason;
use super::tcp_counters::tcp_counters;
use crate::app::{ConnProgress, ReceiverCounters};
use crate::node::Node;
use crate::tables::Table;
use crate::world::World;

/// Returns the rows of a run after [`lowtide_net::Network::finish`].
pub(crate) fn collect(mut world: World<'_>, ended: Instant, reason: EndReason) -> Outcome {
    let queries = world.query_rows(ended);
    let mut memory = memory_of_flows(&mut world);
    // The rows of many finished flows take the place of their states.
    for node in &mut world.nodes {
        node.endpoint.clear_time_waits();
    }
    let queues: Vec<Queue> = world.net.ports().collect();
    let entities = core::iter::once(world.net.digest()).chain(world.nodes.iter().map(Node::digest));
    let digest = Digest::combine(entities);
    world.counts.hops = world.net.hops();
    world.counts.link_down_drops = queues.iter().map(|q| q.losses.link_down_drops).sum();
    world.counts.no_route_drops = world.net.no_route_drops();
    memory.ports = queues.len() as u64;
    memory.port_bytes = world.net.port_memory() as u64;
    let trace = world.tracer.take().map(|t| t.into_trace(&mut world.net));
    let groups = world.flows.iter().map(|f| f.group).max().map_or(0, |last| last + 1);
    let names: Vec<Arc<str>> = (0..groups).map(|g| world.setup.group_name(g).into()).collect();
    let group = |flow: u32| Arc::clone(&names[world.flows.row(flow as usize).group as usize]);
    let mut probes = mem::take(&mut world.sampler.rows);
    for row in &mut probes {
        row.group = group(row.flow);
    }
    let mut variables = mem::take(&mut world.sampler.variables);
    for row in &mut variables {
        row.group = group(row.flow);
    }
    let mut delays = world.delays.take_rows();
    for row in &mut delays {
        row.group = group(row.flow);
    }
    let names: Vec<Arc<str>> = queues.iter().map(|q| q.name.as_str().into()).collect();
    let mut queue_samples = mem::take(&mut world.sampler.queues);
    for row in &mut queue_samples {
        row.name = Arc::clone(&names[row.queue as usize]);
    }
    let flows = flow_rows(&mut world, ended);
    Outcome {
        digest,
        ended,
        reason,
        flows,
        queries,
        collectives: world.collectives.rows(world.setup),
        buffer_pools: world.net.buffer_pools().collect(),
        queues,
        probes,
        variables,
        delays,
        queue_samples,
        trace,
        counts: world.counts,
        memory,
    }
}

/// Sums the memory of the open flows.
fn memory_of_flows(world: &mut World<'_>) -> MemoryCounts {
    let mut memory = MemoryCounts::default();
    for handles in world.handles.chunks(2) {
        let mut open = false;
        for handle in handles {
            let node = world.nodes.row_mut(handle.host);
            // Closed connections have no memory.
            let conn = handle.conn.id().and_then(|id| node.endpoint.conn(id));
            if let Some(conn) = conn {
                open = true;
                memory.flow_bytes += conn.memory() as u64;
            }
        }
        if open {
            memory.open_flows += 1;
            memory.flow_bytes += (size_of_val(handles) + size_of::<ConnProgress>()) as u64;
        }
    }
    memory
}

/// Flows between two returns of memory to the system.
const RETURN_EVERY: u32 = 1 << 14;

/// Returns the rows of all flows. They take the place of the states, which are freed from the last
/// to the first: the end of a table can be returned to the system.
fn flow_rows(world: &mut World<'_>, ended: Instant) -> Vec<FlowRow> {
    let count = world.flows.len();
    let mut rows = Vec::with_capacity(count);
    for id in (0..count as u32).rev() {
        rows.extend(flow_row(world, id, ended));
        if id.is_multiple_of(RETURN_EVERY) {
            world.flows.truncate(id as usize);
            world.flows.shrink_to_fit();
            world.handles.truncate(2 * id as usize);
            world.handles.shrink_to_fit();
        }
    }
    rows.reverse();
    rows
}

/// Returns the row of a flow, and frees the states of its ends; `None` for a query connection that
/// was never used, and for a flow of the load that had not begun.
fn flow_row(world: &mut World<'_>, id: u32, ended: Instant) -> Option<FlowRow> {
    let progress: ConnProgress = *world.flows.row(id as usize);
    let beyond = world.setup.is_load(id) && progress.start >= ended;
    if progress.start == Instant::FAR_FUTURE || (beyond && !progress.server_sends) {
        return None;
    }
    let counted = if progress.server_sends {
        world.counts_answer(id, progress.start)
    } else {
        Some(world.setup.counts_flow(progress.group, id, progress.start))
    };
    let pattern = world.setup.flows.get(id as usize).map(|flow| flow.write_pattern);
    let of_collective = pattern == Some(WritePattern::OnReceipt);
    let (side, src) = progress.sender(id);
    let sender = world.take_sender(side);
    let receiver = progress.received.or_else(|| {
        let (_, conn) = world.open_conn(side.peer())?;
        Some(ReceiverCounters::from(&conn.info()))
    });
    let dst = if progress.server_sends { progress.client } else { progress.server };
    let opener = &world.nodes.row(progress.client).config;
    let sending = &world.nodes.row(src).config;
    let receiving = &world.nodes.row(dst).config;
    let (client_port, server_port) = progress.ports;
    let (src_port, dst_port) =
        if progress.server_sends { (server_port, client_port) } else { (client_port, server_port) };
    let status = match (progress.delivered_at, progress.failed) {
        (Some(_), _) => FlowStatus::Complete,
        (None, Some(_)) => FlowStatus::Failed,
        (None, None) => FlowStatus::Unfinished,
    };
    let stopped = (status != FlowStatus::Complete && progress.size.is_some())
        .then(|| stopped_by(&progress, sender.as_ref(), ended));
    let mode = sender.as_ref().map_or(EcnMode::Off, |s| s.ecn);
    let since = |from: Instant| progress.delivered_at.map(|at| at.saturating_since(from).as_ps());
    Some(FlowRow {
        flow: id,
        group: world.setup.group_name(progress.group).into(),
        role: if progress.server_sends { Role::Answers } else { Role::Flow },
        src: world.setup.host_name(src).into(),
        dst: world.setup.host_name(dst).into(),
        src_deployment: world.setup.deployment_class(src),
        dst_deployment: world.setup.deployment_class(dst),
        sport: src_port,
        dport: dst_port,
        // Rows of collectives have their times.
        size_bytes: progress.size.filter(|_| !of_collective).map(Bytes::as_u64),
        start_ps: progress.start.as_ps(),
        counted,
        established_ps: progress.established.map(Instant::as_ps),
        delivered_ps: progress.delivered_at.map(Instant::as_ps),
        fct_ps: since(progress.start),
        transfer_ps: progress.established.and_then(|at| since(at.max(progress.start))),
        // It follows from the network and is added by the analysis.
        ideal_ps: None,
        delivered_bytes: progress.delivered,
        delivered_after_warmup_bytes: progress.delivered - progress.delivered_in_warmup,
        tcp: tcp_counters(
            sender.as_ref().map(SenderSummary::counters),
            receiver.map(|r| (r.delack_timeouts, r.delack_time)),
        ),
        ecn_counters: Some(progress.ecn_counters),
        received_ce_bytes: Some(receiver.map_or(0, |s| s.received_ce_bytes)),
        received_bytes: Some(receiver.map_or(0, |s| s.received_bytes)),
        srtt_ns: sender.as_ref().and_then(|s| s.srtt).map(Duration::as_ns),
        srtt_quantised_ns: sender.as_ref().and_then(|s| s.srtt_quantised).map(Duration::as_ns),
        mss_bytes: sender.as_ref().map(|s| s.mss),
        cc: sending.cc.into(),
        cc_used: sender.as_ref().map_or(sending.cc, |s| s.cc).into(),
        feedback: sending.feedback.into(),
        ack: receiving.ack.into(),
        ecn: mode != EcnMode::Off,
        ecn_requested: switches::get_text(opener, "ecn").unwrap_or_default().into(),
        ecn_mode: mode.name().into(),
        feedback_used: mode.feedback(sending.feedback).map(SharedText::from),
        ack_used: receiver.map_or(EcnMode::Off, |s| s.ecn).ack(receiving.ack).into(),
        delay_option: sender.as_ref().is_some_and(|s| s.delay == DelayMode::On),
        blocked_on: stopped,
        status,
        error: progress.failed.map(|reason| reason.name().into()),
    })
}

/// Returns the stall reason of an incomplete flow at the end of the run.
fn stopped_by(
    progress: &ConnProgress,
    sender: Option<&SenderSummary>,
    ended: Instant,
) -> StallReason {
    match sender {
        _ if progress.established.is_none() && progress.start > ended => StallReason::NotStarted,
        Some(sender) if progress.established.is_some() => stall_reason::of_sender(ended, sender),
        _ => StallReason::Handshake,
    }
}
