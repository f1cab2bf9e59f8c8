//! Converts the outcome of a run to table rows.

use std::sync::Arc;

use lowtide_host::{Outcome, Setup};
use lowtide_net::{Blueprint, PortSpec};
use lowtide_rows::{
    BufferPoolRow, ClassRow, CollectiveRow, DelayRow, FlowRow, FlowStatus, LengthStatistics,
    LevelRow, LevelWeight, LinkRow, ProbeRow, QueryRow, Queue, QueueRow, QueueSampleRow, RunRow,
    VariableRow,
};
use lowtide_units::Quantile;

use crate::digest::hex;
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
    /// Its iterations of collectives, by rank then number; empty without collectives.
    pub collectives: Vec<CollectiveRow>,
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
    /// Variables of their controls, by time then flow.
    pub variables: Vec<VariableRow>,
    /// Its computed and true queueing delays, by time.
    pub delays: Vec<DelayRow>,
    /// Its sampled queues, by time then queue.
    pub queue_samples: Vec<QueueSampleRow>,
    /// Its traced flows.
    pub trace: TraceTables,
}

impl RunTables {
    /// The rows of `outcome`, which came from `setup`.
    pub fn new(setup: &Setup, outcome: Outcome) -> Self {
        let observed_ps = outcome.ended.since_start().saturating_sub(setup.warmup).as_ps();
        let marks = Markers::new(setup, &outcome);
        let queues: Vec<NumberedQueue<'_>> = (0..)
            .zip(&outcome.queues)
            .map(|(number, queue)| NumberedQueue {
                number,
                name: queue.name.as_str().into(),
                queue,
                observed_ps,
            })
            .collect();
        Self {
            run: run_row(setup, &outcome),
            queues: queues.iter().map(|q| q.row(marks.of_queue(q.number))).collect(),
            classes: queues.iter().flat_map(|q| q.class_rows(setup, marks)).collect(),
            levels: queues.iter().flat_map(NumberedQueue::level_rows).collect(),
            links: queues.iter().map(NumberedQueue::link_row).collect(),
            trace: TraceTables::new(&outcome),
            flows: outcome.flows,
            queries: outcome.queries,
            collectives: outcome.collectives,
            buffer_pools: outcome.buffer_pools,
            probes: outcome.probes,
            variables: outcome.variables,
            delays: outcome.delays,
            queue_samples: outcome.queue_samples,
        }
    }

    /// The run's digest as in the tables.
    pub fn digest(&self) -> &str {
        &self.run.digest
    }
}

fn run_row(setup: &Setup, outcome: &Outcome) -> RunRow {
    let count = |status, sized| {
        let of = |f: &&FlowRow| f.status == status && f.size_bytes.is_some() == sized;
        outcome.flows.iter().filter(of).count() as u64
    };
    RunRow {
        digest: hex(outcome.digest),
        reason: outcome.reason,
        ended_ps: outcome.ended.as_ps(),
        warmup_ps: setup.warmup.as_ps(),
        counted_until_ps: setup.counting.open_loop.map(|open| open.counted_until.as_ps()),
        // They follow from the network and are added by the analysis.
        offered_load_ppm: None,
        offered_load_tier: None,
        flows: outcome.flows.len() as u64,
        complete: count(FlowStatus::Complete, true),
        unfinished: count(FlowStatus::Unfinished, true),
        failed: count(FlowStatus::Failed, true) + count(FlowStatus::Failed, false),
        endless: count(FlowStatus::Unfinished, false),
        counts: outcome.counts,
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

/// A queue of a run, for the tables that describe it.
struct NumberedQueue<'a> {
    number: u32,
    name: Arc<str>,
    queue: &'a Queue,
    observed_ps: u64,
}

impl NumberedQueue<'_> {
    fn row(&self, marker: Option<String>) -> QueueRow {
        let levels = &self.queue.levels;
        let seen = |quantile| LevelWeight::Arrivals.quantile(levels, quantile);
        QueueRow {
            queue: self.number,
            name: Arc::clone(&self.name),
            at_switch: self.queue.at_switch,
            rate_bps: self.queue.rate_bps,
            observed_ps: self.observed_ps,
            drops: self.queue.drops(),
            served: self.queue.served,
            marker,
            losses: self.queue.losses,
            length: self.queue.length(),
            arrivals: LevelWeight::Arrivals.total(levels),
            seen_mean_packets: LevelWeight::Arrivals.mean(levels),
            seen_p1_packets: seen(Quantile::P1),
            seen_p50_packets: seen(Quantile::P50),
            seen_p99_packets: seen(Quantile::P99),
            seen_p999_packets: seen(Quantile::P999),
        }
    }

    fn class_rows(&self, setup: &Setup, marks: Markers<'_>) -> impl Iterator<Item = ClassRow> {
        (0_u32..).zip(&self.queue.classes).map(move |(number, c)| {
            let class = setup.packet_classes.get(number as usize).cloned();
            ClassRow {
                queue: self.number,
                name: Arc::clone(&self.name),
                number,
                class: class.unwrap_or_else(|| format!("class {number}")),
                marker: marks.of_class(self.number, number),
                drops: c.served.drops(),
                served: c.served,
                length: LengthStatistics::new(c.max_bytes, &c.levels),
            }
        })
    }

    fn level_rows(&self) -> impl Iterator<Item = LevelRow> {
        self.queue.levels.iter().map(|level| LevelRow {
            queue: self.number,
            name: Arc::clone(&self.name),
            level: *level,
        })
    }

    fn link_row(&self) -> LinkRow {
        let (busy_ps, observed_ps) = (self.queue.busy_ps, self.observed_ps);
        LinkRow {
            link: self.number,
            name: Arc::clone(&self.name),
            rate_bps: self.queue.rate_bps,
            observed_ps,
            busy_ps,
            packets: self.queue.served.packets,
            bytes: self.queue.served.bytes,
            utilisation: (observed_ps > 0).then(|| busy_ps as f64 / observed_ps as f64),
        }
    }
}
