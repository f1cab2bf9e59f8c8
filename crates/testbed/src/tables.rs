//! Converts the result of a run to the simulator's tables. Unknown values are null.

use std::collections::BTreeMap;
use std::sync::Arc;

use lowtide_host::{MemoryCounts, Outcome, Query, Setup};
use lowtide_record::{RunTables, TimingReport};
use lowtide_rows::{
    EndReason, FlowRow, FlowStatus, ProbeRow, QueryRow, Queue, QueueSampleRow, Role, RunCounts,
    SharedText, StallReason, TcpCounters, VariableRow,
};
use lowtide_sim::Digest;
use lowtide_tcp::{EcnMode, switches};
use lowtide_units::{Bytes, Duration, Instant, Quantile, Rate, Unit};

use crate::apps::client_conn::ClientConn;
use crate::apps::context::{PORT, Received};
use crate::apps::flow_client::FlowClient;
use crate::apps::query_client::{QueryApp, QueryConn};
use crate::apps::{Apps, SenderSample};
use crate::run::RunOutput;

/// A connection of the run as its row needs it.
struct RowSource<'a> {
    conn: &'a ClientConn,
    /// Bytes read at the receiving end, if it is known.
    received: Received,
    role: Role,
    group: u16,
    /// Sending and receiving host.
    src: u32,
    dst: u32,
    size: Option<u64>,
    start: Instant,
    counted: Option<bool>,
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
pub(crate) fn tables(setup: &Setup, done: Observations) -> RunTables {
    let flows: Vec<FlowRow> = sources(setup, &done).iter().map(|s| flow_row(setup, s)).collect();
    let queries = queries(setup, &done);
    let queues = &done.queues;
    let segments = |conn: &ClientConn| -> u64 {
        let ends = [&conn.client, &conn.server].into_iter().flatten();
        ends.filter_map(|info| info.segments_in).sum()
    };
    let counts = RunCounts {
        hops: queues.iter().map(|q| q.served.packets).sum(),
        no_route_drops: done.no_route_drops,
        link_down_drops: queues.iter().map(|q| q.losses.link_down_drops).sum(),
        segments: sources(setup, &done).iter().map(|s| segments(s.conn)).sum(),
        ..RunCounts::default()
    };
    let probes = probes(setup, &done);
    let outcome = Outcome {
        digest: digest(&flows, queues),
        ended: done.ended,
        reason: done.reason,
        variables: variables(&probes),
        probes,
        queue_samples: done.queue_samples,
        flows,
        queries,
        collectives: Vec::new(),
        queues: done.queues,
        buffer_pools: Vec::new(),
        delays: Vec::new(),
        trace: None,
        counts,
        memory: MemoryCounts::default(),
    };
    RunTables::new(setup, outcome)
}

/// Connections by number: flows, and those that query clients opened.
fn sources<'a>(setup: &Setup, done: &'a Observations) -> Vec<RowSource<'a>> {
    let incoming = done.apps.iter().flat_map(|a| &a.incoming);
    let read: BTreeMap<u32, Received> =
        incoming.filter_map(|server| Some((server.number?, server.received))).collect();
    let flow = |client: &'a FlowClient| {
        let conn = &client.conn;
        let flow = &setup.flows[conn.number as usize];
        // The first write on an open connection has no separate time.
        let opened = conn.opened.filter(|_| !setup.opens_early(flow.group));
        let start = opened.or_else(|| setup.flow_start(conn.number)).unwrap_or(flow.start);
        RowSource {
            conn,
            received: read.get(&conn.number).copied().unwrap_or_default(),
            role: Role::Flow,
            group: flow.group,
            src: flow.src,
            dst: flow.dst,
            size: flow.size.map(Bytes::as_u64),
            start,
            counted: Some(setup.counts_flow(flow.group, conn.number, start)),
        }
    };
    let answers = |app: &'a QueryApp, query: &'a QueryConn| {
        let spec = &setup.query_clients[app.number as usize];
        let start = query.conn.opened?;
        let number = app.client.query_of(query.conn.number);
        Some(RowSource {
            conn: &query.conn,
            received: query.received,
            role: Role::Answers,
            group: spec.group,
            src: query.server,
            dst: spec.client,
            size: query.received.size,
            start,
            counted: number.map(|number| setup.counts_query(&spec.schedule, number, start)),
        })
    };
    let clients = done.apps.iter().flat_map(|a| &a.queries);
    let answers = clients.flat_map(|app| app.conns.iter().filter_map(move |q| answers(app, q)));
    let mut all: Vec<RowSource<'a>> =
        done.apps.iter().flat_map(|a| &a.flows).map(flow).chain(answers).collect();
    all.sort_by_key(|source| source.conn.number);
    all
}

/// Queries in the order of their clients.
fn queries(setup: &Setup, done: &Observations) -> Vec<QueryRow> {
    let mut apps: Vec<&QueryApp> = done.apps.iter().flat_map(|a| &a.queries).collect();
    apps.sort_by_key(|app| app.number);
    let warm = Instant::ZERO + setup.warmup;
    let rows = apps.into_iter().flat_map(|app| {
        let spec = &setup.query_clients[app.number as usize];
        let row = move |(query, number): (&Query, u32)| {
            query.row(setup, spec, app.number, number, warm, done.ended)
        };
        app.client.queries.iter().zip(0..).map(row)
    });
    rows.collect()
}

fn flow_row(setup: &Setup, source: &RowSource<'_>) -> FlowRow {
    let &RowSource { conn: client, received, role, group, src, dst, size, start, counted } = source;
    let config = |host: u32| setup.hosts.get(host as usize).map(|h| &h.config);
    let (sending, receiving) = (config(src), config(dst));
    let ends =
        (client.client.clone().unwrap_or_default(), client.server.clone().unwrap_or_default());
    let ports = (client.port, PORT);
    let (opener, (sender, receiver), (sport, dport)) = match role {
        Role::Flow => (sending, ends, ports),
        Role::Answers => (receiving, (ends.1, ends.0), (ports.1, ports.0)),
    };
    let delivered_at = received.completed_at;
    let status = match (delivered_at, client.failed) {
        (Some(_), _) => FlowStatus::Complete,
        (None, Some(_)) => FlowStatus::Failed,
        (None, None) => FlowStatus::Unfinished,
    };
    let since = |from: Instant| delivered_at.map(|at| at.saturating_since(from).as_ps());
    let cc = sending.map_or("", |c| c.cc);
    let ecn = sender.ecn == Some(true);
    let ecn_requested = opener.and_then(|c| switches::get_text(c, "ecn").ok()).unwrap_or_default();
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
        flow: client.number,
        group: setup.group_name(group).into(),
        role,
        src: setup.host_name(src).into(),
        dst: setup.host_name(dst).into(),
        src_deployment: setup.deployment_class(src),
        dst_deployment: setup.deployment_class(dst),
        sport,
        dport,
        size_bytes: size,
        start_ps: start.as_ps(),
        counted,
        established_ps: client.established.map(Instant::as_ps),
        delivered_ps: delivered_at.map(Instant::as_ps),
        fct_ps: since(start),
        transfer_ps: client.established.and_then(|at| since(at.max(start))),
        // It follows from the network and is added by the analysis.
        ideal_ps: None,
        delivered_bytes: received.bytes,
        delivered_after_warmup_bytes: received.bytes - received.warmup_bytes,
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
        blocked_on: (status != FlowStatus::Complete && size.is_some())
            .then(|| stopped(client))
            .flatten(),
        error: client.failed.map(|reason| reason.name().into()),
    }
}

/// Stall reason of an incomplete flow, as far as its end reports it.
fn stopped(client: &ClientConn) -> Option<StallReason> {
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
    let groups: BTreeMap<u32, u16> =
        sources(setup, done).iter().map(|s| (s.conn.number, s.group)).collect();
    let group = |connection: u32| {
        let group = groups.get(&connection).map(|group| usize::from(*group));
        group.and_then(|group| names.get(group)).cloned().unwrap_or_default()
    };
    let row = |s: &SenderSample| {
        let info = &s.info;
        Some(ProbeRow {
            time_ps: s.at.as_ps(),
            flow: s.connection,
            group: group(s.connection),
            cwnd_bytes: info.cwnd?,
            ssthresh_bytes: info.ssthresh,
            srtt_ns: info.srtt.map(Duration::as_ns),
            srtt_quantised_ns: info.srtt_quantised.or(info.srtt).map(Duration::as_ns),
            rto_ns: info.rto?.as_ns(),
            in_flight_bytes: info.in_flight?,
            pacing_rate_bps: info.pacing_rate.map(Rate::as_bps),
            dctcp_alpha_q20: info.alpha_q20,
            queueing_delay_ns: info.queueing_delay.map(Duration::as_ns),
            bytes_acked: info.acked?,
        })
    };
    let mut rows: Vec<ProbeRow> = samples.filter_map(row).collect();
    rows.sort_by_key(|r| (r.time_ps, r.flow));
    rows
}

/// The variables that both stacks report, which is alpha.
fn variables(probes: &[ProbeRow]) -> Vec<VariableRow> {
    let alpha = |p: &ProbeRow| {
        let (unit, value) = Unit::Q20.shown(p.dctcp_alpha_q20?);
        Some(VariableRow {
            time_ps: p.time_ps,
            flow: p.flow,
            group: Arc::clone(&p.group),
            variable: "alpha".into(),
            unit: unit.into(),
            value,
        })
    };
    probes.iter().filter_map(alpha).collect()
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
