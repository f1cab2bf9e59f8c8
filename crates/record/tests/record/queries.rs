//! The table of queries exists only if there are queries.

use crate::common::{keys, manifest, outcome, runs, setup};
use lowtide_host::{SegmentEvent, SegmentRow, Trace, Trigger};
use lowtide_net::{HopOutcome, HopRecord, Occupancy};
use lowtide_record::{QUERIES, RecordError, RunDir, RunTables, TABLES, TraceTables, read_table};
use lowtide_rows::{FlowStatus, QueryRow};
use lowtide_units::Instant;
use lowtide_wire::Segment;

/// A run in which every second seed has queries: one answered, one censored, one lost.
fn tables(seed: u64) -> RunTables {
    let mut outcome = outcome(seed);
    let answered = QueryRow {
        group: "short".into(),
        query_client: 2,
        query: 0,
        client: "receiver0".into(),
        fan_out: 40,
        start_ps: 1_000,
        end_ps: Some(9_000),
        qct_ps: Some(8_000),
        answer_bytes: 1_000_000,
        deadline_met: Some(true),
        timeouts: seed,
        bytes_retrans: 1_448,
        in_warmup: true,
        counted: Some(false),
        status: FlowStatus::Complete,
        error: None,
    };
    let cut = QueryRow {
        query: 1,
        end_ps: None,
        qct_ps: None,
        deadline_met: None,
        status: FlowStatus::Unfinished,
        in_warmup: false,
        counted: Some(true),
        ..answered.clone()
    };
    let lost = QueryRow {
        query: 2,
        status: FlowStatus::Failed,
        error: Some("timed out".into()),
        deadline_met: Some(false),
        ..cut.clone()
    };
    if seed.is_multiple_of(2) {
        outcome.queries = vec![answered, cut, lost];
    }
    RunTables::new(&setup(seed), outcome)
}

#[test]
fn queries_round_trip_and_runs_without_queries_have_none() {
    let temp = tempfile::tempdir().unwrap();
    let (dir, _) = RunDir::begin(temp.path(), &manifest(), false).unwrap();
    for run in runs() {
        dir.save_run(&run, &tables(run.key.seed)).unwrap();
    }
    let (_, kept) = dir.load_run(&keys()[1], "00aa").expect("the run of seed 2");
    assert_eq!(kept.queries, tables(2).queries);
    dir.merge(&runs()).unwrap();
    let mut reader = dir.reader().unwrap();
    for key in keys() {
        let read = reader.take(key.run).unwrap().unwrap();
        assert_eq!(read.queries, tables(key.seed).queries, "{}", key.run);
        assert_eq!(read.queries.is_empty(), key.seed != 2);
    }

    let table = read_table(&dir.table(QUERIES).unwrap()).unwrap();
    for column in table.columns() {
        let c = &column.name;
        assert!(column.description.ends_with('.'), "{c}");
        assert!(!c.ends_with("_ps") || column.unit == "ps", "{c}");
        assert!(!c.ends_with("_bytes") || column.unit == "bytes", "{c}");
    }
    let done = dir.finish(manifest(), &[]).unwrap();
    assert_eq!(done.files.len(), TABLES.len() + 1);
    assert!(done.files.iter().any(|f| f.path == "queries.parquet"));
}

#[test]
fn without_query_clients_there_is_no_table_and_the_error_says_why() {
    let temp = tempfile::tempdir().unwrap();
    let (dir, _) = RunDir::begin(temp.path(), &manifest(), false).unwrap();
    for run in runs() {
        dir.save_run(&run, &tables(1)).unwrap();
    }
    dir.merge(&runs()).unwrap();
    assert!(!temp.path().join("queries.parquet").exists());
    let error = dir.table(QUERIES).unwrap_err();
    assert!(matches!(error, RecordError::NoTable { name: QUERIES, .. }));
    assert!(error.to_string().contains("the scenario has no queries"), "{error}");
}

#[test]
fn the_sender_of_a_connection_of_queries_is_the_server() {
    let at = Instant::ZERO;
    let segment = |flow, from_client| SegmentRow {
        at,
        flow,
        packet: 1,
        from_client,
        event: SegmentEvent::Sent,
        trigger: Trigger::Segment,
        cause: 0,
        segment: Segment::default(),
        stream: 0,
        acked: 0,
        retransmission: false,
    };
    let passage = |src_conn| HopRecord {
        at,
        port: 0,
        packet: 0,
        src_conn,
        size: 1_500,
        backlog: Occupancy::default(),
        decision: HopOutcome::Queued,
        start: at,
        departure: at,
    };
    let mut outcome = outcome(1);
    outcome.trace = Some(Trace {
        first_query_conn: 1,
        segments: vec![segment(0, true), segment(1, true), segment(1, false)],
        hop_records: vec![passage(0), passage(2), passage(3)],
        ..Trace::default()
    });
    let tables = TraceTables::new(&outcome);
    let places: Vec<&str> = tables.segments.iter().map(|s| s.place.as_str()).collect();
    assert_eq!(places, ["sender", "receiver", "sender"]);
    let hops: Vec<(u32, bool)> = tables.hops.iter().map(|h| (h.flow, h.from_sender)).collect();
    assert_eq!(hops, [(0, true), (1, false), (1, true)]);
}
