//! A small run with every kind of row and every kind of gap.

use lowtide_host::{
    DelayRow, Disturbance, EcnCounters, EndCondition, EndReason, FlowRecord, FlowStatus, Outcome,
    ProbePlan, ProbeRow, QueueLevel, QueueRecord, QueueSample, RunCounts, Setup, StallReason,
};
use lowtide_net::Blueprint;
use lowtide_record::{DirectoryStatus, Manifest, ManifestRun, RunKey, SweepPoint};
use lowtide_units::{Duration, Instant};

pub(crate) fn setup(seed: u64) -> Setup {
    Setup {
        seed,
        end: EndCondition { at: Duration::from_ms(100), when_done: true },
        warmup: Duration::from_ms(10),
        network: Blueprint {
            hosts: vec!["sender0".into(), "receiver0".into()],
            ..Blueprint::default()
        },
        hosts: Vec::new(),
        host_groups: Vec::new(),
        flows: Vec::new(),
        query_clients: Vec::new(),
        traffic_groups: vec!["short".into()],
        traffic_classes: Vec::new(),
        packet_classes: Vec::new(),
        disturbance: Disturbance::default(),
        probes: ProbePlan::default(),
    }
}

fn flow(id: u32, status: FlowStatus) -> FlowRecord {
    let done = status == FlowStatus::Complete;
    FlowRecord {
        id,
        group: 0,
        server_sends: false,
        src: 0,
        dst: 1,
        src_port: 40_000,
        dst_port: 5001,
        size: done.then_some(10_000),
        start: Instant::from_ps(1_000),
        established: done.then_some(Instant::from_ps(5_000)),
        delivered_at: done.then_some(Instant::from_ps(25_000)),
        delivered: 10_000,
        delivered_after_warmup: 4_000,
        retx_bytes: 1448,
        segments_sent: 8,
        rto_count: 1,
        fast_retransmits: 0,
        ecn_reductions: 2,
        delack_timeouts: 3,
        delack_time: Duration::from_ms(120),
        delack_detected: 2,
        delack_missed: 1,
        delack_false_positives: 0,
        delay_reductions: 0,
        delivered_ce_bytes: 1448,
        ecn_counters: EcnCounters { data_segments: 8, cwr_segments: 2, ..EcnCounters::default() },
        ce_bytes: 2896,
        received_bytes: 11_448,
        srtt: done.then_some(Duration::from_us(120)),
        srtt_shown: done.then_some(Duration::from_ms(1)),
        mss: done.then_some(1448),
        cc: "dctcp",
        cc_used: "dctcp",
        feedback: "dctcp",
        ack: "dctcp",
        ecn: true,
        ecn_requested: "rfc3168".to_owned(),
        ecn_mode: "rfc3168",
        feedback_used: Some("dctcp"),
        ack_used: "dctcp",
        delay_option: false,
        status,
        stall_reason: (status != FlowStatus::Complete).then_some(StallReason::Rto),
        error: (status == FlowStatus::Failed).then_some("reset, \"by\" peer"),
    }
}

pub(crate) fn outcome(digest: u64) -> Outcome {
    Outcome {
        digest,
        ended: Instant::from_ps(60_000_000_000),
        reason: EndReason::Time,
        flows: vec![
            flow(0, FlowStatus::Complete),
            flow(1, FlowStatus::Unfinished),
            flow(2, FlowStatus::Failed),
        ],
        queries: Vec::new(),
        queues: vec![QueueRecord {
            name: "switch0->receiver0".into(),
            at_switch: true,
            rate_bps: 1_000_000_000,
            packets: 100,
            bytes: 150_000,
            marks: 7,
            drops: 1,
            aqm_drops: 0,
            lost: 0,
            link_down_drops: 0,
            busy: Duration::from_ms(25),
            levels: vec![
                QueueLevel { packets: 0, time: Duration::from_ms(40), arrivals: 60 },
                QueueLevel { packets: 3, time: Duration::from_ms(10), arrivals: 40 },
            ],
            max_bytes: 4500,
            classes: Vec::new(),
        }],
        buffer_pools: Vec::new(),
        probes: (0..3)
            .map(|i| ProbeRow {
                at: Instant::from_ps(i * 1_000_000),
                flow: 0,
                cwnd: 14_480 + i,
                ssthresh: (i > 0).then_some(9000),
                srtt: None,
                srtt_shown: None,
                rto: Duration::from_ms(200),
                in_flight: 2896,
                alpha_q20: Some(1 << 20),
                queueing_delay: (i > 1).then_some(Duration::from_ns(1_230)),
                acked: 10,
            })
            .collect(),
        delays: vec![DelayRow {
            at: Instant::from_ps(9),
            flow: 0,
            computed: Duration::from_ns(1_231),
            actual: Duration::from_ns(1_230),
        }],
        queue_samples: vec![QueueSample {
            at: Instant::from_ps(7),
            queue: 0,
            packets: 3,
            bytes: 4500,
        }],
        trace: None,
        counts: RunCounts {
            hops: 200,
            events: 300,
            segments: 190,
            rejected: 0,
            ..RunCounts::default()
        },
    }
}

pub(crate) fn key(run: u32, scheme: &str, size: &str, seed: u64) -> RunKey {
    let point = SweepPoint(vec![("traffic.short.size".into(), size.into())]);
    RunKey { run, scheme: scheme.into(), point, seed }
}

pub(crate) fn keys() -> Vec<RunKey> {
    let mut keys = Vec::new();
    for scheme in ["sack", "dctcp"] {
        for seed in 1..=3 {
            keys.push(key(keys.len() as u32, scheme, "10 kB", seed));
        }
    }
    keys
}

pub(crate) fn manifest() -> Manifest {
    Manifest {
        schema: lowtide_record::MANIFEST_SCHEMA.into(),
        status: DirectoryStatus::Interrupted,
        version: "0.1.0".into(),
        scenario: "small".into(),
        title: "A small one".into(),
        description: None,
        scenario_hash: "0123456789abcdef".into(),
        command: "lowtide run small".into(),
        backend: None,
        digest: None,
        schemes: vec!["sack".into(), "dctcp".into()],
        replaced: Vec::new(),
        points: vec![keys()[0].point.clone()],
        seeds: vec![1, 2, 3],
        settings: Vec::new(),
        wall_seconds: 0.0,
        hops: 0,
        flows: 0,
        unfinished: 0,
        failed: 0,
        runs: Vec::new(),
        files: Vec::new(),
    }
}

pub(crate) fn runs() -> Vec<ManifestRun> {
    keys().into_iter().map(run).collect()
}

pub(crate) fn run(key: RunKey) -> ManifestRun {
    let digest = lowtide_record::digest_text(key.seed);
    ManifestRun {
        key,
        hash: "00aa".into(),
        digest,
        wall_seconds: 0.5,
        threads: Some(1),
        size_classes: vec![10_000],
        measured: None,
    }
}
