//! Converts the outcome of a run to table rows.

use lowtide_host::{
    BufferPoolRecord, ClassRecord, EndReason, FlowRecord, FlowStatus, Outcome, QueryRecord,
    QueueRecord, Setup,
};
use lowtide_net::{Blueprint, PortSpec};
use lowtide_units::{Duration, Instant, Quantile};

use crate::digest::hex;
use crate::quantile::LevelWeight;
use crate::rows::{
    BufferPoolRow, ClassRow, DelayRow, FlowRow, LevelRow, LinkRow, ProbeRow, QueryRow, QueueRow,
    QueueSampleRow, RunRow,
};
use crate::trace::TraceTables;

/// All rows of one run.
#[derive(Clone, PartialEq, Debug)]
pub struct RunTables {
    /// The run itself.
    pub run: RunRow,
    /// Its flows, by number.
    pub flows: Vec<FlowRow>,
    /// Its queries, by query client then number; empty without query clients.
    pub queries: Vec<QueryRow>,
    /// Its queues, by number.
    pub queues: Vec<QueueRow>,
    /// Their classes, by queue then place in the list; empty if there are none.
    pub classes: Vec<ClassRow>,
    /// Shared buffer pools, by switch; empty if there are none.
    pub buffer_pools: Vec<BufferPoolRow>,
    /// Their histograms, by queue then length.
    pub levels: Vec<LevelRow>,
    /// Its links, by number.
    pub links: Vec<LinkRow>,
    /// Its sampled senders, by time then flow.
    pub probes: Vec<ProbeRow>,
    /// Its computed and true queueing delays, by time.
    pub delays: Vec<DelayRow>,
    /// Its sampled queues, by time then queue.
    pub queue_samples: Vec<QueueSampleRow>,
    /// Its traced flows.
    pub trace: TraceTables,
}

impl RunTables {
    /// The rows of `outcome`, which came from `setup`. Names missing in the setup are replaced by
    /// the number (`group 3`, `host 7`).
    pub fn new(setup: &Setup, outcome: &Outcome) -> Self {
        let observed_ps = outcome.ended.since_start().saturating_sub(setup.warmup).as_ps();
        let flows: Vec<FlowRow> = outcome.flows.iter().map(|f| flow_row(setup, f)).collect();
        let group_of = |flow: u32| {
            flows
                .binary_search_by_key(&flow, |f| f.flow)
                .map_or_else(|_| String::new(), |i| flows[i].group.clone())
        };
        let queue_name = |queue: u32| {
            outcome.queues.get(queue as usize).map_or_else(String::new, |q| q.name.clone())
        };
        let marks = Markers::new(setup, outcome);
        let numbered = || outcome.queues.iter().enumerate().map(|(i, q)| (i as u32, q));
        Self {
            run: run_row(setup, outcome),
            queries: outcome.queries.iter().map(|q| query_row(setup, q)).collect(),
            queues: numbered()
                .map(|(i, q)| queue_row((i, q), marks.of_queue(i), observed_ps))
                .collect(),
            classes: numbered().flat_map(|(i, q)| class_rows(setup, (i, q), marks)).collect(),
            buffer_pools: outcome.buffer_pools.iter().map(buffer_pool_row).collect(),
            levels: numbered().flat_map(|(i, q)| level_rows(i, q)).collect(),
            links: numbered().map(|(i, q)| link_row(i, q, observed_ps)).collect(),
            probes: outcome
                .probes
                .iter()
                .map(|p| ProbeRow {
                    time_ps: p.at.as_ps(),
                    flow: p.flow,
                    group: group_of(p.flow),
                    cwnd_bytes: p.cwnd,
                    ssthresh_bytes: p.ssthresh,
                    srtt_ns: p.srtt.map(Duration::as_ns),
                    srtt_quantised_ns: p.srtt_shown.map(Duration::as_ns),
                    rto_ns: p.rto.as_ns(),
                    in_flight_bytes: p.in_flight,
                    dctcp_alpha_q20: p.alpha_q20,
                    queueing_delay_ns: p.queueing_delay.map(Duration::as_ns),
                    bytes_acked: p.acked,
                })
                .collect(),
            delays: outcome
                .delays
                .iter()
                .map(|d| DelayRow {
                    time_ps: d.at.as_ps(),
                    flow: d.flow,
                    group: group_of(d.flow),
                    computed_ns: d.computed.as_ns(),
                    actual_ns: d.actual.as_ns(),
                })
                .collect(),
            queue_samples: outcome
                .queue_samples
                .iter()
                .map(|s| QueueSampleRow {
                    time_ps: s.at.as_ps(),
                    queue: s.queue,
                    name: queue_name(s.queue),
                    packets: s.packets,
                    bytes: s.bytes,
                })
                .collect(),
            trace: TraceTables::new(outcome),
            flows,
        }
    }

    /// The run's digest as in the tables.
    pub fn digest(&self) -> &str {
        &self.run.digest
    }
}

fn run_row(setup: &Setup, outcome: &Outcome) -> RunRow {
    let count = |status, sized| {
        let of = |f: &&FlowRecord| f.status == status && f.size.is_some() == sized;
        outcome.flows.iter().filter(of).count() as u64
    };
    let counts = outcome.counts;
    RunRow {
        digest: hex(outcome.digest),
        reason: match outcome.reason {
            EndReason::Time => "time",
            EndReason::Done => "done",
            EndReason::Idle => "idle",
            EndReason::Interrupted => "interrupted",
        }
        .to_owned(),
        ended_ps: outcome.ended.as_ps(),
        warmup_ps: setup.warmup.as_ps(),
        flows: outcome.flows.len() as u64,
        complete: count(FlowStatus::Complete, true),
        unfinished: count(FlowStatus::Unfinished, true),
        failed: count(FlowStatus::Failed, true) + count(FlowStatus::Failed, false),
        endless: count(FlowStatus::Unfinished, false),
        hops: counts.hops,
        events: counts.events,
        segments: counts.segments,
        rejected: counts.rejected,
        link_down_drops: counts.link_down_drops,
        no_route_drops: counts.no_route_drops,
    }
}

fn host_name(setup: &Setup, id: u32) -> String {
    setup.network.hosts.get(id as usize).cloned().unwrap_or_else(|| format!("host {id}"))
}

fn group_name(setup: &Setup, group: u16) -> String {
    let name = setup.traffic_groups.get(group as usize).cloned();
    name.unwrap_or_else(|| format!("group {group}"))
}

fn query_row(setup: &Setup, q: &QueryRecord) -> QueryRow {
    QueryRow {
        group: group_name(setup, q.group),
        query_client: q.query_client,
        query: q.number,
        client: host_name(setup, q.client),
        fan_out: q.fan_out,
        start_ps: q.start.as_ps(),
        end_ps: q.end.map(Instant::as_ps),
        qct_ps: q.end.map(|end| end.saturating_since(q.start).as_ps()),
        answer_bytes: q.bytes,
        deadline_met: q.deadline_met,
        timeouts: q.timeouts,
        bytes_retrans: q.retx_bytes,
        in_warmup: q.in_warmup,
        status: q.status.name().to_owned(),
        error: q.error.map(str::to_owned),
    }
}

fn flow_row(setup: &Setup, f: &FlowRecord) -> FlowRow {
    let since = |from: Instant| f.delivered_at.map(|at| at.saturating_since(from).as_ps());
    FlowRow {
        flow: f.id,
        group: group_name(setup, f.group),
        role: if f.server_sends { FlowRow::ANSWERS } else { "flow" }.to_owned(),
        src: host_name(setup, f.src),
        dst: host_name(setup, f.dst),
        sport: f.src_port,
        dport: f.dst_port,
        size_bytes: f.size,
        start_ps: f.start.as_ps(),
        established_ps: f.established.map(Instant::as_ps),
        delivered_ps: f.delivered_at.map(Instant::as_ps),
        fct_ps: since(f.start),
        transfer_ps: f.established.and_then(since),
        // It follows from the network and is added by the analysis.
        ideal_ps: None,
        delivered_bytes: f.delivered,
        delivered_after_warmup_bytes: f.delivered_after_warmup,
        bytes_retrans: Some(f.retx_bytes),
        data_segs_out: Some(f.segments_sent),
        rto_count: Some(f.rto_count),
        fast_retransmits: Some(f.fast_retransmits),
        ecn_reductions: Some(f.ecn_reductions),
        delack_timeouts: Some(f.delack_timeouts),
        delack_time_ps: Some(f.delack_time.as_ps()),
        delack_detected: Some(f.delack_detected),
        delack_missed: Some(f.delack_missed),
        delack_false_positives: Some(f.delack_false_positives),
        delay_reductions: Some(f.delay_reductions),
        delivered_ce_bytes: Some(f.delivered_ce_bytes),
        data_segs_out_after_warmup: Some(f.ecn_counters.data_segments),
        ect_segs_out_after_warmup: Some(f.ecn_counters.ect_segments),
        cwr_segs_out_after_warmup: Some(f.ecn_counters.cwr_segments),
        data_segs_in_after_warmup: Some(f.ecn_counters.arrived_segments),
        ce_segs_in_after_warmup: Some(f.ecn_counters.ce_segments),
        acks_in_after_warmup: Some(f.ecn_counters.acks),
        ece_acks_in_after_warmup: Some(f.ecn_counters.ece_acks),
        received_ce_bytes: Some(f.ce_bytes),
        received_bytes: Some(f.received_bytes),
        srtt_ns: f.srtt.map(Duration::as_ns),
        srtt_quantised_ns: f.srtt_shown.map(Duration::as_ns),
        mss_bytes: f.mss,
        cc: f.cc.to_owned(),
        cc_used: f.cc_used.to_owned(),
        feedback: f.feedback.to_owned(),
        ack: f.ack.to_owned(),
        ecn: f.ecn,
        ecn_requested: f.ecn_requested.clone(),
        ecn_mode: f.ecn_mode.to_owned(),
        feedback_used: f.feedback_used.map(str::to_owned),
        ack_used: f.ack_used.to_owned(),
        delay_option: f.delay_option,
        status: f.status.name().to_owned(),
        blocked_on: f.stall_reason.map(|reason| reason.name().to_owned()),
        error: f.error.map(str::to_owned),
    }
}

/// The markers of the queues of a run.
#[derive(Clone, Copy)]
struct Markers<'a> {
    /// `None` if the queues are not those of the network.
    network: Option<&'a Blueprint>,
}

impl<'a> Markers<'a> {
    fn new(setup: &'a Setup, outcome: &Outcome) -> Self {
        let network = &setup.network;
        Self { network: (outcome.queues.len() == 2 * network.links.len()).then_some(network) }
    }

    fn port(self, queue: u32) -> Option<(&'a Blueprint, &'a PortSpec)> {
        let network = self.network?;
        let link = network.links.get(queue as usize / 2)?;
        Some((network, &link.line(queue % 2 == 1).port))
    }

    fn of_queue(self, queue: u32) -> Option<String> {
        self.port(queue)?.1.mark.sets_ce().map(str::to_owned)
    }

    fn of_class(self, queue: u32, class: u32) -> Option<String> {
        let (network, port) = self.port(queue)?;
        let classes = network.class_sets.get(port.classes?.0 as usize)?;
        classes.get(class as usize)?.mark.sets_ce().map(str::to_owned)
    }
}

fn queue_row(
    (queue, q): (u32, &QueueRecord),
    marker: Option<String>,
    observed_ps: u64,
) -> QueueRow {
    let time = |quantile| LevelWeight::Time.quantile(&q.levels, quantile);
    let seen = |quantile| LevelWeight::Arrivals.quantile(&q.levels, quantile);
    QueueRow {
        queue,
        name: q.name.clone(),
        at_switch: q.at_switch,
        rate_bps: q.rate_bps,
        observed_ps,
        packets: q.packets,
        bytes: q.bytes,
        marks: q.marks,
        drops: q.drops,
        aqm_drops: q.aqm_drops,
        marker,
        lost: q.lost,
        link_down_drops: q.link_down_drops,
        max_bytes: q.max_bytes,
        mean_packets: LevelWeight::Time.mean(&q.levels),
        p50_packets: time(Quantile::P50),
        p99_packets: time(Quantile::P99),
        p999_packets: time(Quantile::P999),
        max_packets: q.levels.last().map(|l| l.packets),
        arrivals: LevelWeight::Arrivals.total(&q.levels),
        seen_mean_packets: LevelWeight::Arrivals.mean(&q.levels),
        seen_p1_packets: seen(Quantile::P1),
        seen_p50_packets: seen(Quantile::P50),
        seen_p99_packets: seen(Quantile::P99),
        seen_p999_packets: seen(Quantile::P999),
    }
}

fn class_rows<'a>(
    setup: &'a Setup,
    (queue, q): (u32, &'a QueueRecord),
    marks: Markers<'a>,
) -> impl Iterator<Item = ClassRow> + 'a {
    (0_u32..).zip(&q.classes).map(move |(number, c): (u32, &ClassRecord)| {
        let time = |quantile| LevelWeight::Time.quantile(&c.levels, quantile);
        let class = setup.packet_classes.get(number as usize).cloned();
        ClassRow {
            queue,
            name: q.name.clone(),
            number,
            class: class.unwrap_or_else(|| format!("class {number}")),
            marker: marks.of_class(queue, number),
            packets: c.packets,
            bytes: c.bytes,
            marks: c.marks,
            drops: c.drops,
            aqm_drops: c.aqm_drops,
            max_bytes: c.max_bytes,
            mean_packets: LevelWeight::Time.mean(&c.levels),
            p50_packets: time(Quantile::P50),
            p99_packets: time(Quantile::P99),
            p999_packets: time(Quantile::P999),
            max_packets: c.levels.last().map(|l| l.packets),
        }
    })
}

fn buffer_pool_row(pool: &BufferPoolRecord) -> BufferPoolRow {
    BufferPoolRow {
        switch: pool.switch.clone(),
        buffer_pool: pool.group,
        size_bytes: pool.size,
        reserved_bytes: pool.reserved,
        held_bytes: pool.held,
        peak_bytes: pool.peak,
    }
}

fn level_rows(queue: u32, q: &QueueRecord) -> impl Iterator<Item = LevelRow> {
    q.levels.iter().map(move |l| LevelRow {
        queue,
        name: q.name.clone(),
        packets: l.packets,
        time_ps: l.time.as_ps(),
        arrivals: l.arrivals,
    })
}

fn link_row(link: u32, q: &QueueRecord, observed_ps: u64) -> LinkRow {
    LinkRow {
        link,
        name: q.name.clone(),
        rate_bps: q.rate_bps,
        observed_ps,
        busy_ps: q.busy.as_ps(),
        packets: q.packets,
        bytes: q.bytes,
        utilisation: (observed_ps > 0).then(|| q.busy.as_ps() as f64 / observed_ps as f64),
    }
}
