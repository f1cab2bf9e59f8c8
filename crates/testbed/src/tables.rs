//! Converts the result of a run to the simulator's tables. Unknown values are null.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;

use lowtide_host::{
    EcnCounters, EndReason, FlowRecord, FlowStatus, Outcome, ProbeRow, QueueRecord, QueueSample,
    RunCounts, Setup, StallReason,
};
use lowtide_record::{FlowRow, RunTables, TimingReport};
use lowtide_sim::Digest;
use lowtide_tcp::{EcnMode, switches};
use lowtide_units::{Bytes, Duration, Instant};

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
    pub(crate) queues: Vec<QueueRecord>,
    pub(crate) queue_samples: Vec<QueueSample>,
    pub(crate) no_route_drops: u64,
    pub(crate) ended: Instant,
    pub(crate) reason: EndReason,
}

impl Observations {
    /// From a run and its own bottleneck.
    pub(crate) fn of(done: RunOutput) -> Self {
        let queue = |p: &lowtide_bottleneck::PortReport| {
            QueueRecord::new(&p.name, p.at_switch, p.rate, &p.stats)
        };
        let sample = |q: &lowtide_bottleneck::PortQueueSample| QueueSample {
            at: Instant::ZERO + q.at.since_start().saturating_sub(done.clock_offset),
            queue: q.port,
            packets: q.packets,
            bytes: q.bytes,
        };
        Self {
            queues: done.report.ports.iter().map(queue).collect(),
            queue_samples: done.report.samples.iter().map(sample).collect(),
            no_route_drops: done.report.no_route_drops,
            apps: done.apps,
            ended: done.ended,
            reason: done.reason,
        }
    }
}

/// All rows of a run.
pub(crate) fn tables(setup: &Setup, plans: &[HostPlan], done: &Observations) -> RunTables {
    let ends = ends(plans, done);
    let flows: Vec<FlowRecord> = ends.iter().map(|e| flow_record(setup, e)).collect();
    let queues = &done.queues;
    let segments_in = |socket_info: &Option<SocketInfo>| {
        socket_info.as_ref().and_then(|l| l.segments_in).unwrap_or(0)
    };
    let clients = done.apps.iter().flat_map(|a| &a.outgoing).map(|f| segments_in(&f.last_info));
    let servers = done.apps.iter().flat_map(|a| &a.incoming).map(|f| segments_in(&f.last_info));
    let counts = RunCounts {
        hops: queues.iter().map(|q| q.packets).sum(),
        no_route_drops: done.no_route_drops,
        link_down_drops: queues.iter().map(|q| q.link_down_drops).sum(),
        segments: clients.chain(servers).sum(),
        ..RunCounts::default()
    };
    let outcome = Outcome {
        digest: digest(&flows, queues),
        ended: done.ended,
        reason: done.reason,
        queue_samples: done.queue_samples.clone(),
        probes: probes(done),
        flows,
        queries: Vec::new(),
        queues: queues.clone(),
        buffer_pools: Vec::new(),
        delays: Vec::new(),
        trace: None,
        counts,
    };
    let mut tables = RunTables::new(setup, &outcome);
    for (row, ends) in tables.flows.iter_mut().zip(&ends) {
        clear_unknown_columns(row, ends);
    }
    tables
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

fn flow_record(setup: &Setup, ends: &Ends<'_>) -> FlowRecord {
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
    let known = |value: Option<u64>| value.unwrap_or_default();
    let start = client.opened.or_else(|| setup.flow_start(ends.number)).unwrap_or(flow.start);
    FlowRecord {
        id: ends.number,
        group: flow.group,
        server_sends: false,
        src: flow.src,
        dst: flow.dst,
        src_port: client.port,
        dst_port: PORT,
        size: flow.size.map(Bytes::as_u64),
        start,
        established: client.established,
        delivered_at,
        delivered: server.map_or(0, |s| s.bytes),
        delivered_after_warmup: server.map_or(0, |s| s.bytes - s.warmup_bytes),
        retx_bytes: known(sender.retransmitted_bytes),
        segments_sent: known(sender.data_segments_out),
        rto_count: known(sender.timeouts),
        fast_retransmits: known(sender.fast_retransmits),
        ecn_reductions: known(sender.ecn_reductions),
        delack_timeouts: known(receiver.delack_timeouts),
        delack_time: receiver.delack_time.unwrap_or(Duration::ZERO),
        delack_detected: known(sender.delack_detected),
        delack_missed: known(sender.delack_missed),
        delack_false_positives: known(sender.delack_false_positives),
        delay_reductions: known(sender.delay_reductions),
        delivered_ce_bytes: known(sender.delivered_ce_bytes),
        ecn_counters: EcnCounters::default(),
        ce_bytes: known(receiver.received_ce_bytes),
        received_bytes: known(receiver.received_bytes),
        srtt: sender.srtt,
        srtt_shown: sender.srtt_quantised.or(sender.srtt),
        mss: sender.mss,
        cc: sending.map_or("", |c| c.cc),
        feedback: sending.map_or("", |c| c.feedback),
        ack: receiving.map_or("", |c| c.ack),
        ecn: sender.ecn == Some(true),
        ecn_requested: sending.and_then(|c| switches::get_text(c, "ecn").ok()).unwrap_or_default(),
        ecn_mode: mode(&sender).name(),
        feedback_used: sending.and_then(|c| mode(&sender).feedback(c.feedback)),
        ack_used: receiving.map_or("", |c| mode(&receiver).ack(c.ack)),
        delay_option: sender.delay_option,
        cc_used: sending.map_or("", |c| c.cc),
        status,
        stall_reason: (status != FlowStatus::Complete && flow.size.is_some())
            .then(|| stopped(client))
            .flatten(),
        error: client.failed.map(lowtide_tcp::CloseReason::name),
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

/// ECN mode of an end. The kernel does not report the mode: RFC 3168, unless the scenario asks for
/// another.
fn mode(socket_info: &SocketInfo) -> EcnMode {
    match (socket_info.ecn_mode, socket_info.ecn) {
        (Some(mode), _) => mode,
        (None, Some(true)) => EcnMode::Classic,
        (None, _) => EcnMode::Off,
    }
}

/// Clears columns that neither end counts.
fn clear_unknown_columns(row: &mut FlowRow, ends: &Ends<'_>) {
    let sender = ends.client.last_info.clone().unwrap_or_default();
    let receiver = ends.server.and_then(|s| s.last_info.clone()).unwrap_or_default();
    row.bytes_retrans = sender.retransmitted_bytes;
    row.data_segs_out = sender.data_segments_out;
    row.rto_count = sender.timeouts;
    row.fast_retransmits = sender.fast_retransmits;
    row.ecn_reductions = sender.ecn_reductions;
    row.delack_timeouts = receiver.delack_timeouts;
    row.delack_time_ps = receiver.delack_time.map(Duration::as_ps);
    row.delack_detected = sender.delack_detected;
    row.delack_missed = sender.delack_missed;
    row.delack_false_positives = sender.delack_false_positives;
    row.delay_reductions = sender.delay_reductions;
    row.delivered_ce_bytes = sender.delivered_ce_bytes;
    // Packets are not inspected one by one here.
    row.data_segs_out_after_warmup = None;
    row.ect_segs_out_after_warmup = None;
    row.cwr_segs_out_after_warmup = None;
    row.data_segs_in_after_warmup = None;
    row.ce_segs_in_after_warmup = None;
    row.acks_in_after_warmup = None;
    row.ece_acks_in_after_warmup = None;
    row.received_ce_bytes = receiver.received_ce_bytes;
    row.received_bytes = receiver.received_bytes;
    if !sender.cc.is_empty() {
        row.cc_used.clone_from(&sender.cc);
    }
    // The kernel has one receiver and one feedback decoder per congestion control.
    if sender.ecn_mode.is_none() {
        row.feedback_used = sender.ecn.filter(|on| *on).map(|_| "kernel".to_owned());
        if row.ecn && row.ecn_requested.starts_with("accecn") {
            "unknown".clone_into(&mut row.ecn_mode);
        }
    }
    if receiver.ecn_mode.is_none() {
        "kernel".clone_into(&mut row.ack_used);
    }
}

fn probes(done: &Observations) -> Vec<ProbeRow> {
    let samples = done.apps.iter().flat_map(|a| &a.samples);
    let row = |s: &crate::apps::SenderSample| {
        let socket_info = &s.info;
        Some(ProbeRow {
            at: s.at,
            flow: s.flow,
            cwnd: socket_info.cwnd?,
            ssthresh: socket_info.ssthresh,
            srtt: socket_info.srtt,
            srtt_shown: socket_info.srtt_quantised.or(socket_info.srtt),
            rto: socket_info.rto?,
            in_flight: socket_info.in_flight?,
            alpha_q20: socket_info.alpha_q20,
            queueing_delay: socket_info.queueing_delay,
            acked: socket_info.acked?,
        })
    };
    let mut rows: Vec<ProbeRow> = samples.filter_map(row).collect();
    rows.sort_by_key(|r| (r.at, r.flow));
    rows
}

/// Digest of the observations, in real time: no two runs have the same.
fn digest(flows: &[FlowRecord], queues: &[QueueRecord]) -> u64 {
    let at = |t: Option<Instant>| t.map_or(0, Instant::as_ps);
    let flows = flows.iter().flat_map(|f| [at(f.established), at(f.delivered_at), f.delivered]);
    let queues = queues.iter().flat_map(|q| {
        let arrivals: u64 = q.levels.iter().map(|l| l.arrivals).sum();
        let time =
            q.levels.iter().fold(0_u64, |sum, l| sum.wrapping_mul(31).wrapping_add(l.time.as_ps()));
        [q.packets, q.marks, q.drops, arrivals, time]
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
        late_p50_us: us(late.percentile(50)),
        late_p99_us: us(late.percentile(99)),
        late_max_us: us(late.max()),
        steal_ms: us(report.fidelity.steal.as_us()),
        refused: report.fidelity.device_drops,
        strays: strays.malformed + strays.unknown_destination + report.no_device_drops,
        remarks,
    }
}
