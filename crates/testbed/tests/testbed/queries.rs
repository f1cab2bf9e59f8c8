//! Queries: requests to one or several servers, and their answers.

use lowtide_record::RunTables;
use lowtide_rows::{EndReason, FlowStatus, QueryRow, Role};
use lowtide_testbed::StackKind;

use crate::{run, setup_of};

/// Two clients; each query goes to two of four servers. Every hundredth packet of the servers is
/// lost.
pub(crate) const QUERIES: &str = r#"
schema = 1
title = "Queries"
[run]
duration = "20 s"
[topology]
kind = "star"
link-rate = "100 Mbit/s"
link-delay = "100 us"
[switch]
buffer = "200 pkt"
[pipe.lossy]
on = "servers"
direction = "up"
loss = "1 %"
[transport]
profile = "linux"
scheme = "sack"
[transport.sender]
rto-min = "20 ms"
[hosts.clients]
count = 2
[hosts.servers]
count = 4
[traffic.ask]
kind = "partition-aggregate"
from = "clients"
to = "servers"
loop = "closed"
queries = 20
fan-out = 2
answer-each = "20 kB"
jitter = "1 ms"
deadline = "1 s"
[probes]
interval = "5 ms"
groups = ["ask"]
"#;

const PER_REQUEST: (&str, &str) = ("traffic.ask.connections", "per-request");

/// Checks what holds over every stack: each query is complete, its bytes are those of its
/// connections, and so is its cost.
fn check(tables: &RunTables, connections: usize) {
    assert_eq!(tables.run.reason, EndReason::Done);
    assert_eq!(tables.queries.len(), 40);
    for query in &tables.queries {
        assert_eq!((query.status, query.fan_out), (FlowStatus::Complete, 2), "{query:?}");
        // Without its SYN or SYN-ACK a query takes over a second.
        let in_time = query.qct_ps.map(|took| took <= 1_000_000_000_000);
        assert_eq!((query.answer_bytes, query.deadline_met), (40_000, in_time), "{query:?}");
        // 40 kB at 100 Mbit/s, and the path of a request and an answer: 4 x 100 us.
        assert!(query.qct_ps.is_some_and(|took| took > 3_600_000_000), "{query:?}");
    }
    for pair in tables.queries.windows(2).filter(|w| w[0].query_client == w[1].query_client) {
        assert!(pair[0].end_ps.is_some_and(|end| end <= pair[1].start_ps), "a closed loop");
    }
    assert_eq!(tables.flows.len(), connections);
    assert!(tables.flows.iter().all(|f| f.role == Role::Answers && f.sport == 5001));
    let read: u64 = tables.flows.iter().map(|f| f.delivered_bytes).sum();
    assert_eq!(read, 40 * 40_000);
    let sent_again: u64 = tables.flows.iter().filter_map(|f| f.tcp.bytes_retrans).sum();
    let attributed: u64 = tables.queries.iter().map(|q| q.bytes_retrans).sum();
    let timeouts: u64 = tables.flows.iter().filter_map(|f| f.tcp.rto_count).sum();
    assert!(sent_again > 0, "over 1100 packets at 1 %");
    // Requests are sent again too, and counted by the client's end. A segment that is sent again
    // because the last ACK of an answer was lost, which 1 % of at most 80 are, is of no query.
    assert!(attributed + 4 * 1448 >= sent_again, "{attributed} of {sent_again}");
    assert!(tables.queries.iter().map(|q| q.timeouts).sum::<u64>() >= timeouts);
}

/// The servers of each query, as its connections say; only of one query per connection.
fn servers(tables: &RunTables) -> Vec<String> {
    tables.flows.iter().map(|f| f.src.to_string()).collect()
}

pub(crate) fn ours_are_answered_and_drawn_as_in_the_simulator() {
    let setup = setup_of(QUERIES, &[PER_REQUEST]);
    let made = run(&setup, StackKind::Lowtide, &[]);
    check(&made.tables, 80);
    let simulated = lowtide_host::run(&setup, &mut |_| false).unwrap();
    let drawn: Vec<String> = simulated.flows.iter().map(|f| f.src.to_string()).collect();
    assert_eq!(servers(&made.tables), drawn);
    let counted = |rows: &[QueryRow]| rows.iter().filter(|q| q.is_counted()).count();
    assert_eq!(counted(&made.tables.queries), counted(&simulated.queries));
    let made = run(&setup_of(QUERIES, &[]), StackKind::Lowtide, &[]);
    check(&made.tables, 8);
    assert!(made.tables.probes.iter().any(|p| p.cwnd_bytes > 0), "servers are sampled");
}

pub(crate) fn kernels_answer_over_connections_that_last_or_end() {
    let made = run(&setup_of(QUERIES, &[]), StackKind::Kernel, &[]);
    check(&made.tables, 8);
    let made = run(&setup_of(QUERIES, &[PER_REQUEST]), StackKind::Kernel, &[]);
    check(&made.tables, 80);
    assert!(made.tables.flows.iter().all(|f| f.status == FlowStatus::Complete));
}

pub(crate) fn either_end_may_be_ours() {
    for except in ["servers", "clients"] {
        check(&run(&setup_of(QUERIES, &[]), StackKind::Kernel, &[except]).tables, 8);
    }
}

pub(crate) fn those_of_a_dead_path_fail_and_the_next_ones_follow() {
    let set = [
        ("pipe.lossy.loss", "100 %"),
        ("traffic.ask.queries", "3"),
        ("transport.sender.syn-retries", "0"),
    ];
    let made = run(&setup_of(QUERIES, &set), StackKind::Lowtide, &[]);
    let tables = &made.tables;
    assert_eq!((tables.run.reason, tables.queries.len()), (EndReason::Done, 6));
    for query in &tables.queries {
        assert_eq!(query.status, FlowStatus::Failed, "{query:?}");
        assert_eq!(query.error.as_deref(), Some("timed out"), "{query:?}");
    }
}
