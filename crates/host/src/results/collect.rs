//! Collects the rows at the end of a run.

use lowtide_net::{BufferPoolStats, ClassStats, LevelStats, PortStats};
use lowtide_sim::Digest;
use lowtide_tcp::{DelayMode, EcnMode, Info, switches};
use lowtide_units::{Bytes, Duration, Instant, Rate};

use super::outcome::{
    BufferPoolRecord, ClassRecord, EndReason, FlowRecord, FlowStatus, Outcome, QueueLevel,
    QueueRecord, StallReason,
};
use crate::app::ConnProgress;
use crate::node::Node;
use crate::tables::Table;
use crate::world::World;

/// Returns the rows of a run after [`lowtide_net::Network::finish`].
pub(crate) fn collect(mut world: World<'_>, ended: Instant, reason: EndReason) -> Outcome {
    let flows =
        (0..world.flows.len() as u32).filter_map(|i| flow_record(&mut world, i, ended)).collect();
    let queries = world.query_rows(ended);
    let queues = world
        .net
        .ports()
        .map(|p| QueueRecord::new(p.name, p.at_switch, p.rate, &p.stats))
        .collect();
    let memories = world.net.buffer_pools().map(|m| memory_record(&m)).collect();
    let entities = core::iter::once(world.net.digest()).chain(world.nodes.iter().map(Node::digest));
    let digest = Digest::combine(entities);
    world.counts.hops = world.net.hops();
    world.counts.link_down_drops = world.net.ports().map(|p| p.stats.link_down_drops).sum();
    world.counts.no_route_drops = world.net.no_route_drops();
    count_memory(&mut world);
    world.counts.ports = world.net.ports().count() as u64;
    world.counts.port_bytes = world.net.port_memory() as u64;
    let trace = world.tracer.take().map(|t| t.into_trace(&mut world.net));
    Outcome {
        digest,
        ended,
        reason,
        flows,
        queries,
        queues,
        buffer_pools: memories,
        probes: world.sampler.rows,
        delays: world.delays.rows(),
        queue_samples: world.sampler.queues,
        trace,
        counts: world.counts,
    }
}

/// Sums the memory of the open flows.
fn count_memory(world: &mut World<'_>) {
    for handles in world.handles.chunks(2) {
        let mut open = false;
        for handle in handles {
            let node = world.nodes.row_mut(handle.host);
            // Closed connections have no memory.
            let conn = handle.conn.and_then(|id| node.endpoint.conn(id));
            if let Some(conn) = conn {
                open = true;
                world.counts.flow_bytes += conn.memory() as u64;
            }
        }
        if open {
            world.counts.open_flows += 1;
            world.counts.flow_bytes += (size_of_val(handles) + size_of::<ConnProgress>()) as u64;
        }
    }
}

/// Returns the row of a flow; `None` for a query connection that was never used.
fn flow_record(world: &mut World<'_>, id: u32, ended: Instant) -> Option<FlowRecord> {
    let progress: ConnProgress = *world.flows.row(id as usize);
    if progress.start == Instant::FAR_FUTURE {
        return None;
    }
    let (side, src) = progress.sender(id);
    let (sender, receiver) = (world.info(side), world.info(side.peer()));
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
        .then(|| stall_reason(&progress, sender.as_ref(), ended));
    let counters = sender.map(|s| s.counters).unwrap_or_default();
    let mode = sender.map_or(EcnMode::Off, |s| s.ecn);
    let guesses = sender.map(|s| s.delack_detection).unwrap_or_default();
    Some(FlowRecord {
        id,
        group: progress.group,
        server_sends: progress.server_sends,
        src,
        dst,
        src_port,
        dst_port,
        size: progress.size.map(Bytes::as_u64),
        start: progress.start,
        established: progress.established,
        delivered_at: progress.delivered_at,
        delivered: progress.delivered,
        delivered_after_warmup: progress.delivered - progress.delivered_in_warmup,
        retx_bytes: counters.bytes_retrans,
        segments_sent: counters.data_segs_out,
        rto_count: counters.rto_count,
        fast_retransmits: counters.fast_retransmits,
        ecn_reductions: counters.ecn_reductions,
        delack_timeouts: receiver.map_or(0, |s| u64::from(s.delack_timeouts)),
        delack_time: receiver.map_or(Duration::ZERO, |s| s.delack_time),
        delack_detected: u64::from(guesses.true_positives),
        delack_missed: u64::from(guesses.false_negatives),
        delack_false_positives: u64::from(guesses.false_positives),
        delay_reductions: counters.delay_reductions,
        delivered_ce_bytes: counters.delivered_ce_bytes,
        ecn_counters: progress.ecn_counters,
        ce_bytes: receiver.map_or(0, |s| s.received_ce_bytes),
        received_bytes: receiver.map_or(0, |s| s.received_bytes),
        srtt: sender.and_then(|s| s.srtt),
        srtt_shown: sender.and_then(|s| s.srtt_quantised),
        mss: sender.map(|s| s.mss),
        cc: sending.cc,
        feedback: sending.feedback,
        ack: receiving.ack,
        ecn: mode != EcnMode::Off,
        ecn_requested: switches::get_text(opener, "ecn").unwrap_or_default(),
        ecn_mode: mode.name(),
        feedback_used: mode.feedback(sending.feedback),
        ack_used: receiver.map_or(EcnMode::Off, |s| s.ecn).ack(receiving.ack),
        delay_option: sender.is_some_and(|s| s.delay == DelayMode::On),
        cc_used: sender.map_or(sending.cc, |s| s.cc),
        status,
        stall_reason: stopped,
        error: progress.failed.map(lowtide_tcp::CloseReason::name),
    })
}

/// Returns the stall reason of an incomplete flow at the end of the run.
fn stall_reason(progress: &ConnProgress, sender: Option<&Info>, ended: Instant) -> StallReason {
    match sender {
        _ if progress.established.is_none() && progress.start > ended => StallReason::NotStarted,
        Some(sender) if progress.established.is_some() => StallReason::of_sender(ended, sender),
        _ => StallReason::Handshake,
    }
}

impl QueueRecord {
    /// Returns the row of an output queue; `name` is that of its node and the next one.
    pub fn new(name: &str, at_switch: bool, rate: Rate, stats: &PortStats) -> Self {
        Self {
            name: name.to_owned(),
            at_switch,
            rate_bps: rate.as_bps(),
            packets: stats.packets,
            bytes: stats.bytes,
            marks: stats.marks,
            drops: stats.drops,
            aqm_drops: stats.aqm_drops,
            lost: stats.lost,
            link_down_drops: stats.link_down_drops,
            busy: stats.busy,
            levels: levels(&stats.levels),
            max_bytes: stats.max_bytes,
            classes: stats.classes.iter().map(class_record).collect(),
        }
    }
}

fn class_record(stats: &ClassStats) -> ClassRecord {
    ClassRecord {
        packets: stats.packets,
        bytes: stats.bytes,
        marks: stats.marks,
        drops: stats.drops,
        aqm_drops: stats.aqm_drops,
        max_bytes: stats.max_bytes,
        levels: levels(&stats.levels),
    }
}

fn levels(of: &[LevelStats]) -> Vec<QueueLevel> {
    let level =
        |l: &LevelStats| QueueLevel { packets: l.packets, time: l.time, arrivals: l.arrivals };
    of.iter().map(level).collect()
}

fn memory_record(memory: &BufferPoolStats<'_>) -> BufferPoolRecord {
    BufferPoolRecord {
        switch: memory.switch.to_owned(),
        group: memory.group,
        size: memory.size,
        reserved: memory.reserved,
        held: memory.held,
        peak: memory.peak,
    }
}
