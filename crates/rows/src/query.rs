//! The tables of queries and of collectives.

use crate::flow::FlowStatus;
use crate::table::table;

table! {
    #[derive(Eq)]
    QueryRow, "queries", "One query: a request to each of several servers at once, and their answers. The table exists only with query clients. If concurrent queries share a connection, each counts its timeouts and retransmissions.":
    group: String, "", "Traffic group.";
    query_client: u32, "", "Number of the query client in its run: one client and its servers.";
    query: u32, "", "Number of the query, from zero for each query client.";
    client: String, "", "The host that sends the query.";
    fan_out: u32, "", "Number of servers that are queried.";
    start_ps: u64, "ps", "Time at which the client sends the query.";
    end_ps: Option<u64>, "ps", "Delivery of the last byte of the last answer to the client's application.";
    qct_ps: Option<u64>, "ps", "Query completion time: from start to end.";
    answer_bytes: u64, "bytes", "Bytes of all its answers.";
    deadline_met: Option<bool>, "", "Whether all answers arrived before the deadline; null without a deadline, or if the run ended before it.";
    timeouts: u64, "", "Retransmission timeouts of its connections, at either end, from request to answer.";
    bytes_retrans: u64, "bytes", "Payload bytes that its connections retransmitted in that time.";
    in_warmup: bool, "", "Whether it began during the warm-up.";
    counted: Option<bool>, "", "Whether statistics count it: docs/reference/measures.md has the rule; null in a table of an earlier version.";
    status: FlowStatus, "", "complete, unfinished or failed.";
    error: Option<String>, "", "Cause of its failure: the end of a connection before its answer.";
}

table! {
    #[derive(Eq)]
    CollectiveRow, "collectives", "One iteration of one rank of a collective. The table exists only with workloads of kind `collective`.":
    group: String, "", "Traffic group.";
    rank: u32, "", "Number of the rank, from zero.";
    host: String, "", "Its host.";
    iteration: u32, "", "Number of the iteration, from zero.";
    start_ps: u64, "ps", "Time at which the rank begins it, after its computation.";
    end_ps: Option<u64>, "ps", "Time at which the rank has all data of it.";
    step_ps: Option<u64>, "ps", "Time from start to end.";
    counted: bool, "", "Whether it began after the warm-up: docs/reference/measures.md has the rule.";
}

impl QueryRow {
    /// Returns whether statistics count the query. Earlier versions counted all after the warm-up.
    pub fn is_counted(&self) -> bool {
        self.counted.unwrap_or(!self.in_warmup)
    }
}
