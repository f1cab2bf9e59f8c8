//! A small run with every kind of row and every kind of gap.

use lowtide_host::{Counting, Disturbance, EndCondition, MemoryCounts, Outcome, ProbePlan, Setup};
use lowtide_net::Blueprint;
use lowtide_record::{DirectoryStatus, Manifest, ManifestRun, RunKey, SweepPoint};
use lowtide_rows::{
    DelayRow, DeploymentClass, EcnCounters, EndReason, FlowRow, FlowStatus, Level, ProbeRow, Queue,
    QueueSampleRow, Role, RunCounts, ServedCounters, StallReason, TcpCounters,
};
use lowtide_units::{Duration, Instant};

pub(crate) fn setup(seed: u64) -> Setup {
    Setup {
        seed,
        end: EndCondition { at: Duration::from_ms(100), when_done: true },
        warmup: Duration::from_ms(10),
        counting: Counting::default(),
        network: Blueprint {
            hosts: vec!["sender0".into(), "receiver0".into()],
            ..Blueprint::default()
        },
        hosts: Vec::new(),
        host_groups: Vec::new(),
        flows: Vec::new(),
        query_clients: Vec::new(),
        collectives: Vec::new(),
        traffic_groups: vec!["short".into()],
        traffic_classes: Vec::new(),
        early_groups: Vec::new(),
        packet_classes: Vec::new(),
        disturbance: Disturbance::default(),
        probes: ProbePlan::default(),
    }
}

fn flow(id: u32, status: FlowStatus) -> FlowRow {
    let done = status == FlowStatus::Complete;
    FlowRow {
        flow: id,
        group: "short".into(),
        role: Role::Flow,
        src: "sender0".into(),
        dst: "receiver0".into(),
        src_deployment: Some(DeploymentClass::Old),
        dst_deployment: None,
        sport: 40_000,
        dport: 5001,
        size_bytes: done.then_some(10_000),
        start_ps: 1_000,
        counted: Some(done),
        established_ps: done.then_some(5_000),
        delivered_ps: done.then_some(25_000),
        fct_ps: done.then_some(24_000),
        transfer_ps: done.then_some(20_000),
        ideal_ps: None,
        delivered_bytes: 10_000,
        delivered_after_warmup_bytes: 4_000,
        tcp: TcpCounters {
            bytes_retrans: Some(1448),
            data_segs_out: Some(8),
            rto_count: Some(1),
            fast_retransmits: Some(0),
            undos: Some(0),
            ecn_reductions: Some(2),
            delack_timeouts: Some(3),
            delack_time_ps: Some(120_000_000_000),
            delack_detected: Some(2),
            delack_missed: Some(1),
            delack_false_positives: Some(0),
            delay_reductions: Some(0),
            delivered_ce_bytes: Some(1448),
        },
        ecn_counters: Some(EcnCounters {
            data_segs_out_after_warmup: 8,
            cwr_segs_out_after_warmup: 2,
            ..EcnCounters::default()
        }),
        received_ce_bytes: Some(2896),
        received_bytes: Some(11_448),
        srtt_ns: done.then_some(120_000),
        srtt_quantised_ns: done.then_some(1_000_000),
        mss_bytes: done.then_some(1448),
        cc: "dctcp".into(),
        cc_used: "dctcp".into(),
        feedback: "dctcp".into(),
        ack: "dctcp".into(),
        ecn: true,
        ecn_requested: "rfc3168".into(),
        ecn_mode: "rfc3168".into(),
        feedback_used: Some("dctcp".into()),
        ack_used: "dctcp".into(),
        delay_option: false,
        status,
        blocked_on: (status != FlowStatus::Complete).then_some(StallReason::Rto),
        error: (status == FlowStatus::Failed).then(|| "reset, \"by\" peer".into()),
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
        collectives: Vec::new(),
        queues: vec![Queue {
            name: "switch0->receiver0".into(),
            at_switch: true,
            rate_bps: 1_000_000_000,
            served: ServedCounters {
                packets: 100,
                bytes: 150_000,
                marks: 7,
                overflow_drops: 1,
                aqm_drops: 0,
            },
            busy_ps: 25_000_000_000,
            levels: vec![
                Level { packets: 0, time_ps: 40_000_000_000, arrivals: 60 },
                Level { packets: 3, time_ps: 10_000_000_000, arrivals: 40 },
            ],
            max_bytes: 4500,
            ..Queue::default()
        }],
        buffer_pools: Vec::new(),
        probes: (0..3)
            .map(|i| ProbeRow {
                time_ps: i * 1_000_000,
                flow: 0,
                group: "short".into(),
                cwnd_bytes: 14_480 + i,
                ssthresh_bytes: (i > 0).then_some(9000),
                srtt_ns: None,
                srtt_quantised_ns: None,
                rto_ns: 200_000_000,
                in_flight_bytes: 2896,
                pacing_rate_bps: (i > 0).then_some(9_000_000),
                dctcp_alpha_q20: Some(1 << 20),
                queueing_delay_ns: (i > 1).then_some(1_230),
                bytes_acked: 10,
            })
            .collect(),
        variables: Vec::new(),
        delays: vec![DelayRow {
            time_ps: 9,
            flow: 0,
            group: "short".into(),
            computed_ns: 1_231,
            actual_ns: 1_230,
            rtt_ns: 54_321,
        }],
        queue_samples: vec![QueueSampleRow {
            time_ps: 7,
            queue: 0,
            name: "switch0->receiver0".into(),
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
        memory: MemoryCounts::default(),
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
        program: "0123456789abcdef".into(),
        selection: None,
        scenario: "small".into(),
        title: "A small one".into(),
        description: None,
        scenario_hash: "0123456789abcdef".into(),
        command: "lowtide run small".into(),
        backend: None,
        digest: None,
        schemes: vec!["sack".into(), "dctcp".into()],
        replaced: Vec::new(),
        question: None,
        points: vec![keys()[0].point.clone()],
        seeds: vec![1, 2, 3],
        settings: Vec::new(),
        shared: Vec::new(),
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
        shared_from: None,
    }
}
