//! Converts the result of a run to the simulator's tables. Unknown values are null.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::sync::Arc;

use lowtide_host::{MemoryCounts, Outcome, Setup};
use lowtide_record::{RunTables, TimingReport};
use lowtide_rows::{
    EndReason, FlowRow, FlowStatus, ProbeRow, Queue, QueueSampleRow, Role, RunCounts, SharedText,
    StallReason, TcpCounters,
};
use lowtide_sim::Digest;
use lowtide_tcp::{EcnMode, switches};
use lowtide_units::{Bytes, Duration, Instant, Quantile};

use crate::apps::{Apps, ClientFlow, PORT, ServerFlow};
use crate::plan::HostPlan;
use crate::run::RunOutput;
use crate::socket_info::SocketInfo;

/// Both ends of a flow.
struct Ends<'a> {
    number: u32,
    client: &'a ClientFlow,
    server: Option<&'a ServerFlow>,
}

/// Observations of a run.
pub(crate) struct Observations {
    /// By host index.
    pub(crate) apps: Vec<Apps>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) queue_samples: Vec<QueueSampleRow>,
    pub(crate) no_route_drops: u64,
    pub(crate) ended: Instant,
    pub(crate) reason: EndReason,
}

impl Observations {
    /// From a run and its own bottleneck.
    pub(crate) fn of(done: RunOutput) -> Self {
        let offset = done.clock_offset.as_ps();
        let mut queue_samples = done.report.samples;
        for sample in &mut queue_samples {
            sample.time_ps = sample.time_ps.saturating_sub(offset);
        }
        Self {
            queues: done.report.ports,
            queue_samples,
            no_route_drops: done.report.no_route_drops,
            apps: done.apps,
            ended: done.ended,
            reason: done.reason,
        }
    }
}

/// All rows of a run.
pub(crate) fn tables(setup: &Setup, plans: &[HostPlan], done: Observations) -> RunTables {
    let flows: Vec<FlowRow> = ends(plans, &done).iter().map(|e| flow_row(setup, e)).collect();
    let queues = &done.queues;
    let segments_in = |socket_info: &Option<SocketInfo>| {
        socket_info.as_ref().and_then(|l| l.segments_in).unwrap_or(0)
    };
    let clients = done.apps.iter().flat_map(|a| &a.outgoing).map(|f| segments_in(&f.last_info));
    let servers = done.apps.iter().flat_map(|a| &a.incoming).map(|f| segments_in(&f.last_info));
    let counts = RunCounts {
        hops: queues.iter().map(|q| q.served.packets).sum(),
        no_route_drops: done.no_route_drops,
        link_down_drops: queues.iter().map(|q| q.losses.link_down_drops).sum(),
        segments: clients.chain(servers).sum(),
        ..RunCounts::default()
    };
    let outcome = Outcome {
        digest: digest(&flows, queues),
        ended: done.ended,
        reason: done.reason,
        probes: probes(setup, &done),
        queue_samples: done.queue_samples,
        flows,
        queries: Vec::new(),
        queues: done.queues,
        buffer_pools: Vec::new(),
        delays: Vec::new(),
        trace: None,
        counts,
        memory: MemoryCounts::default(),
    };
    RunTables::new(setup, outcome)
}

/// Flows by number, each with both ends.
fn ends<'a>(plans: &[HostPlan], done: &'a Observations) -> Vec<Ends<'a>> {
    let incoming = done.apps.iter().flat_map(|a| &a.incoming);
    let servers: BTreeMap<SocketAddrV4, &ServerFlow> = incoming.map(|f| (f.peer, f)).collect();
    let hosts = plans.iter().zip(&done.apps);
    let flows = hosts.flat_map(|(plan, apps)| apps.outgoing.iter().map(move |f| (plan.address, f)));
    let mut all: Vec<Ends<'a>> = flows
        .map(|(address, client)| {
            let from = SocketAddrV4::new(address, client.port);
            let server = servers.get(&from).copied().filter(|_| client.opened.is_some());
            Ends { number: client.flow, client, server }
        })
        .collect();
    all.sort_by_key(|e| e.number);
    all
}

fn flow_row(setup: &Setup, ends: &Ends<'_>) -> FlowRow {
    let flow = &setup.flows[ends.number as usize];
    let config = |host: u32| setup.hosts.get(host as usize).map(|h| &h.config);
    let (sending, receiving) = (config(flow.src), config(flow.dst));
    let (client, server) = (ends.client, ends.server);
    let sender = client.last_info.clone().unwrap_or_default();
    let receiver = server.and_then(|s| s.last_info.clone()).unwrap_or_default();
    let delivered_at = server.and_then(|s| s.completed_at);
    let status = match (delivered_at, client.failed) {
        (Some(_), _) => FlowStatus::Complete,
        (None, Some(_)) => FlowStatus::Failed,
        (None, None) => FlowStatus::Unfinished,
    };
    // The first write on an open connection has no separate time.
    let opened = client.opened.filter(|_| !setup.opens_early(flow.group));
    let start = opened.or_else(|| setup.flow_start(ends.number)).unwrap_or(flow.start);
    let since = |from: Instant| delivered_at.map(|at| at.saturating_since(from).as_ps());
    let cc = sending.map_or("", |c| c.cc);
    let ecn = sender.ecn == Some(true);
    let ecn_requested = sending.and_then(|c| switches::get_text(c, "ecn").ok()).unwrap_or_default();
    // The kernel does not report the mode: RFC 3168, unless the scenario asks for another.
    let ecn_mode = match sender.ecn_mode {
        Some(mode) => mode.name(),
        None if ecn && ecn_requested.starts_with("accecn") => "unknown",
        None if ecn => EcnMode::Classic.name(),
        None => EcnMode::Off.name(),
    };
    // The kernel has one receiver and one feedback decoder per congestion control.
    let feedback_used = match sender.ecn_mode {
        Some(mode) => sending.and_then(|c| mode.feedback(c.feedback)),
        None => ecn.then_some("kernel"),
    };
    let ack_used = match receiver.ecn_mode {
        Some(mode) => receiving.map_or("", |c| mode.ack(c.ack)),
        None => "kernel",
    };
    FlowRow {
        flow: ends.number,
        group: setup.group_name(flow.group).into(),
        role: Role::Flow,
        src: setup.host_name(flow.src).into(),
        dst: setup.host_name(flow.dst).into(),
        src_deployment: setup.deployment_class(flow.src),
        dst_deployment: setup.deployment_class(flow.dst),
        sport: client.port,
        dport: PORT,
        size_bytes: flow.size.map(Bytes::as_u64),
        start_ps: start.as_ps(),
        counted: Some(setup.counts_flow(flow.group, ends.number, start)),
        established_ps: client.established.map(Instant::as_ps),
        delivered_ps: delivered_at.map(Instant::as_ps),
        fct_ps: since(start),
        transfer_ps: client.established.and_then(|at| since(at.max(start))),
        // It follows from the network and is added by the analysis.
        ideal_ps: None,
        delivered_bytes: server.map_or(0, |s| s.bytes),
        delivered_after_warmup_bytes: server.map_or(0, |s| s.bytes - s.warmup_bytes),
        tcp: TcpCounters {
            delack_timeouts: receiver.tcp.delack_timeouts,
            delack_time_ps: receiver.tcp.delack_time_ps,
            ..sender.tcp
        },
        // Segments are not observed on the wire.
        ecn_counters: None,
        received_ce_bytes: receiver.received_ce_bytes,
        received_bytes: receiver.received_bytes,
        srtt_ns: sender.srtt.map(Duration::as_ns),
        srtt_quantised_ns: sender.srtt_quantised.or(sender.srtt).map(Duration::as_ns),
        mss_bytes: sender.mss,
        cc_used: if sender.cc.is_empty() { cc } else { sender.cc.as_str() }.into(),
        cc: cc.into(),
        feedback: sending.map_or("", |c| c.feedback).into(),
        ack: receiving.map_or("", |c| c.ack).into(),
        ecn,
        ecn_requested: ecn_requested.into(),
        ecn_mode: ecn_mode.into(),
        feedback_used: feedback_used.map(SharedText::from),
        ack_used: ack_used.into(),
        delay_option: sender.delay_option,
        status,
        blocked_on: (status != FlowStatus::Complete && flow.size.is_some())
            .then(|| stopped(client))
            .flatten(),
        error: client.failed.map(|reason| reason.name().into()),
    }
}

/// Stall reason of an incomplete flow, as far as its end reports it.
fn stopped(client: &ClientFlow) -> Option<StallReason> {
    match (client.opened, client.established) {
        (None, _) => Some(StallReason::NotStarted),
        (Some(_), None) => Some(StallReason::Handshake),
        // The kernel does not say which of its timers is armed.
        (Some(_), Some(_)) => None,
    }
}

fn probes(setup: &Setup, done: &Observations) -> Vec<ProbeRow> {
    let samples = done.apps.iter().flat_map(|a| &a.samples);
    let names: Vec<Arc<str>> =
        setup.traffic_groups.iter().map(|name| name.as_str().into()).collect();
    let group = |flow: u32| {
        let group = setup.flows.get(flow as usize).map(|f| usize::from(f.group));
        group.and_then(|group| names.get(group)).cloned().unwrap_or_default()
    };
    let row = |s: &crate::apps::SenderSample| {
        let info = &s.info;
        Some(ProbeRow {
            time_ps: s.at.as_ps(),
            flow: s.flow,
            group: group(s.flow),
            cwnd_bytes: info.cwnd?,
            ssthresh_bytes: info.ssthresh,
            srtt_ns: info.srtt.map(Duration::as_ns),
            srtt_quantised_ns: info.srtt_quantised.or(info.srtt).map(Duration::as_ns),
            rto_ns: info.rto?.as_ns(),
            in_flight_bytes: info.in_flight?,
            dctcp_alpha_q20: info.alpha_q20,
            queueing_delay_ns: info.queueing_delay.map(Duration::as_ns),
            bytes_acked: info.acked?,
        })
    };
    let mut rows: Vec<ProbeRow> = samples.filter_map(row).collect();
    rows.sort_by_key(|r| (r.time_ps, r.flow));
    rows
}

/// Digest of the observations, in real time: no two runs have the same.
fn digest(flows: &[FlowRow], queues: &[Queue]) -> u64 {
    let flows = flows.iter().flat_map(|f| {
        [f.established_ps.unwrap_or(0), f.delivered_ps.unwrap_or(0), f.delivered_bytes]
    });
    let queues = queues.iter().flat_map(|q| {
        let arrivals: u64 = q.levels.iter().map(|l| l.arrivals).sum();
        let time =
            q.levels.iter().fold(0_u64, |sum, l| sum.wrapping_mul(31).wrapping_add(l.time_ps));
        [q.served.packets, q.served.marks, q.served.overflow_drops, arrivals, time]
    });
    Digest::combine(flows.chain(queues))
}

/// Timing accuracy of the run.
pub(crate) fn measured(done: &RunOutput, mut differences: Vec<String>) -> TimingReport {
    differences.extend(done.differences.iter().cloned());
    let report = &done.report;
    let late = &report.fidelity.lateness;
    let us = |ns: u64| ns as f64 / 1e3;
    // Lateness has its own columns.
    let mut remarks = Vec::new();
    if report.fidelity.no_buffer > 0 {
        remarks.push("some packets found no room at the bottleneck".to_owned());
    }
    remarks.push(format!("the bottleneck ran with {}", report.fidelity.scheduling));
    let strays = &report.ingress_drops;
    TimingReport {
        differences,
        packets: late.count(),
        late_packets: report.fidelity.late_packets,
        tolerance_us: us(report.fidelity.tolerance.as_ns()),
        late_mean_us: us(late.mean()),
        late_p50_us: us(late.nearest_rank(Quantile::P50)),
        late_p99_us: us(late.nearest_rank(Quantile::P99)),
        late_max_us: us(late.max()),
        steal_ms: us(report.fidelity.steal.as_us()),
        refused: report.fidelity.device_drops,
        strays: strays.malformed + strays.unknown_destination + report.no_device_drops,
        remarks,
    }
}
