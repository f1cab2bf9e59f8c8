//! The results of one run: plain rows, no analysis.

use lowtide_rows::{
    BufferPoolRow, CollectiveRow, DelayRow, EndReason, FlowRow, ProbeRow, QueryRow, Queue,
    QueueSampleRow, RunCounts, VariableRow,
};
use lowtide_units::Instant;

use super::trace::Trace;

/// Memory at the end of a run, for speed figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryCounts {
    /// Flows with an open connection.
    pub open_flows: u64,
    /// Memory of those connections at both ends, in bytes.
    pub flow_bytes: u64,
    /// Output ports, including host ports.
    pub ports: u64,
    /// Memory of those ports, in bytes ([`lowtide_net::Network::port_memory`]).
    pub port_bytes: u64,
}

/// The results of one run.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Digest of the observable behaviour.
    pub digest: u64,
    /// End time.
    pub ended: Instant,
    /// The reason for the end.
    pub reason: EndReason,
    /// One row per flow by number: the flows of the setup, then the query connections that were
    /// opened.
    pub flows: Vec<FlowRow>,
    /// One row per started query, by client, then number.
    pub queries: Vec<QueryRow>,
    /// One row per rank of a collective and iteration.
    pub collectives: Vec<CollectiveRow>,
    /// One row per output queue.
    pub queues: Vec<Queue>,
    /// One row per shared memory; may be empty.
    pub buffer_pools: Vec<BufferPoolRow>,
    /// Sender samples, by time, then flow.
    pub probes: Vec<ProbeRow>,
    /// Variables of their controls, by time, then flow.
    pub variables: Vec<VariableRow>,
    /// Queueing delays of sampled senders, by time.
    pub delays: Vec<DelayRow>,
    /// Queue samples, by time, then queue.
    pub queue_samples: Vec<QueueSampleRow>,
    /// The trace of the traced flows; `None` without any.
    pub trace: Option<Trace>,
    /// Work counters.
    pub counts: RunCounts,
    /// Memory at the end.
    pub memory: MemoryCounts,
}
