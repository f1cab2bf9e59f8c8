//! The table of runs.

use crate::table::{group, names, table};

names! {
    /// The reason why a run ended.
    EndReason:
    /// The end time was reached.
    Time = "time";
    /// All awaited flows were delivered or failed, and all awaited queries are complete: with an
    /// open loop the counted ones, else those with a size.
    Done = "done";
    /// No event was pending.
    Idle = "idle";
    /// The caller stopped it.
    Interrupted = "interrupted";
}

group! {
    /// Work of a run, and packets that it lost.
    #[derive(Copy, Eq, Default)]
    RunCounts:
    hops: u64, "packets", "Packets serialised by any output queue, hosts and ACKs included.";
    events: u64, "", "Events taken from the event queue.";
    segments: u64, "segments", "TCP segments handed to a connection.";
    rejected: u64, "segments", "Segments dropped as malformed or unacceptable.";
    link_down_drops: u64, "packets", "Packets lost on failed links, after the warm-up.";
    no_route_drops: u64, "packets", "Packets dropped after the warm-up because a switch had no route to their host.";
}

table! {
    #[derive(Eq)]
    RunRow, "runs", "One run.":
    digest: String, "", "Digest of the observable physics, 16 hexadecimal digits.";
    reason: EndReason, "", "Cause of the end of the run: time, done or idle.";
    ended_ps: u64, "ps", "End of the run.";
    warmup_ps: u64, "ps", "Start of the statistics of queues and goodput.";
    counted_until_ps: Option<u64>, "ps", "End of counted arrivals, from which on the load only goes on; null without an open loop.";
    offered_load_ppm: Option<u32>, "1/1000000", "Largest offered load of a tier of the network, payload over its lines, if the limit of an open loop cut the run; else null.";
    offered_load_tier: Option<String>, "", "The tier with that load.";
    flows: u64, "", "Flows of the run, with those that are not counted.";
    complete: u64, "", "Flows whose bytes were all delivered.";
    unfinished: u64, "", "Finite flows that are right-censored by the end of the run.";
    failed: u64, "", "Flows whose connection failed.";
    endless: u64, "", "Unlimited flows, which ran until the end.";
    /// Its work.
    counts: RunCounts;
}
