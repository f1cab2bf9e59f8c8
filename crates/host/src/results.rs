//! From the end of a run to its rows.

use lowtide_sim::Digest;
use lowtide_tcp::{DelayMode, EcnMode, Info, switches};
use lowtide_units::{Bytes, Duration, Instant};

use crate::app::{Progress, Side};
use crate::node::Node;
use crate::outcome::{EndReason, FlowRecord, FlowStatus, Outcome, QueueLevel, QueueRecord};
use crate::world::World;

pub(crate) fn collect(mut world: World<'_>, ended: Instant, reason: EndReason) -> Outcome {
    world.net.finish(ended);
    let flows = (0..world.flows.len() as u32).filter_map(|i| flow_record(&mut world, i)).collect();
    let queues = world.net.ports().map(|p| queue_record(&p)).collect();
    let entities = core::iter::once(world.net.digest()).chain(world.nodes.iter().map(Node::digest));
    let digest = Digest::combine(entities);
    world.counts.hops = world.net.hops();
    world.counts.cut = world.net.ports().map(|p| p.stats.cut).sum();
    world.counts.unrouted = world.net.unrouted();
    count_memory(&mut world);
    let trace = world.tracer.take().map(|t| t.into_trace(&mut world.net));
    Outcome {
        digest,
        ended,
        reason,
        flows,
        queues,
        probes: world.sampler.rows,
        delays: world.delays.rows(),
        queue_samples: world.sampler.queues,
        trace,
        counts: world.counts,
    }
}

/// What the flows that are still open hold.
fn count_memory(world: &mut World<'_>) {
    for handles in world.handles.chunks(2) {
        let mut open = false;
        for handle in handles {
            let node = world.nodes.get_mut(handle.host as usize);
            let conn = handle.conn.zip(node).and_then(|(id, node)| node.endpoint.conn(id));
            if let Some(conn) = conn {
                open = true;
                world.counts.flow_bytes += conn.memory() as u64;
            }
        }
        if open {
            world.counts.open_flows += 1;
            world.counts.flow_bytes += (size_of_val(handles) + size_of::<Progress>()) as u64;
        }
    }
}

/// The connection as it is, or as it was when it was released.
fn look(world: &mut World<'_>, side: Side) -> Option<Info> {
    let handle = world.handles.get(side.index() as usize)?;
    let Some(id) = handle.conn else { return handle.last };
    let node = world.nodes.get_mut(handle.host as usize)?;
    node.endpoint.conn(id).map(|c| c.info())
}

fn flow_record(world: &mut World<'_>, id: u32) -> Option<FlowRecord> {
    let client = look(world, Side::client(id));
    let server = look(world, Side::client(id).peer());
    let progress: Progress = *world.flows.get(id as usize)?;
    let flow = progress.flow;
    let sender = &world.nodes.get(flow.src as usize)?.config;
    let receiver = &world.nodes.get(flow.dst as usize)?.config;
    let status = match (progress.delivered_at, progress.failed) {
        (Some(_), _) => FlowStatus::Complete,
        (None, Some(_)) => FlowStatus::Failed,
        (None, None) => FlowStatus::Unfinished,
    };
    let counters = client.map(|c| c.counters).unwrap_or_default();
    let mode = client.map_or(EcnMode::Off, |c| c.ecn);
    let guesses = client.map(|c| c.delack).unwrap_or_default();
    Some(FlowRecord {
        id,
        group: flow.group,
        src: flow.src,
        dst: flow.dst,
        src_port: progress.ports.0,
        dst_port: progress.ports.1,
        size: flow.size.map(Bytes::as_u64),
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
        delack_timeouts: server.map_or(0, |s| u64::from(s.delack_timeouts)),
        delack_time: server.map_or(Duration::ZERO, |s| s.delack_time),
        delack_found: u64::from(guesses.found),
        delack_missed: u64::from(guesses.missed),
        delack_imagined: u64::from(guesses.imagined),
        delay_reductions: counters.delay_reductions,
        heard_ce_bytes: counters.delivered_ce,
        signals: progress.signals,
        marked_bytes: server.map_or(0, |s| s.marked_bytes),
        received_bytes: server.map_or(0, |s| s.received_bytes),
        srtt: client.and_then(|c| c.srtt),
        mss: client.map(|c| c.mss),
        cc: sender.cc,
        feedback: sender.feedback,
        ack: receiver.ack,
        ecn: mode != EcnMode::Off,
        ecn_wish: switches::get_text(sender, "ecn").unwrap_or_default(),
        ecn_mode: mode.name(),
        feedback_used: mode.feedback(sender.feedback),
        ack_used: server.map_or(EcnMode::Off, |s| s.ecn).ack(receiver.ack),
        delay_option: client.is_some_and(|c| c.delay == DelayMode::On),
        cc_used: client.map_or(sender.cc, |c| c.cc),
        status,
        error: progress.failed.map(lowtide_tcp::CloseReason::name),
    })
}

fn queue_record(port: &lowtide_net::PortView<'_>) -> QueueRecord {
    let stats = &port.stats;
    QueueRecord {
        name: port.name.to_string(),
        at_switch: port.at_switch,
        rate_bps: port.rate.as_bps(),
        packets: stats.packets,
        bytes: stats.bytes,
        marks: stats.marks,
        drops: stats.drops,
        aqm_drops: stats.aqm_drops,
        lost: stats.lost,
        busy: stats.busy,
        levels: stats
            .levels
            .iter()
            .map(|l| QueueLevel { packets: l.packets, time: l.time, arrivals: l.arrivals })
            .collect(),
        max_bytes: stats.max_bytes,
    }
}
