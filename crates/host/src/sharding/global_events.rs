//! Global events, which belong to no shard: samples of all shards, and link failures.

use std::mem;

use lowtide_net::Network;
use lowtide_sim::partition::{GlobalWorld, LogicalProcess};
use lowtide_sim::{Entity, Scheduler};
use lowtide_units::{Duration, Instant};

use super::run_shard::RunShard;
use super::split::ShardedRun;
use crate::app::{ConnSide, REMOTE_HOST};
use crate::results::probe::Sampler;
use crate::tables::{Table, missing};
use crate::world::PROBE;

pub(super) struct GlobalEvents {
    interval: Option<Duration>,
    sampler: Sampler,
    /// Of each sampled sender: its shard, its local side, the flow number.
    senders: Vec<(usize, ConnSide, u32)>,
    /// Of each sampled port: its shard, its local index.
    ports: Vec<(usize, u32)>,
}

impl GlobalEvents {
    pub(super) fn new(shards: &mut ShardedRun<'_>) -> Self {
        let sampler = mem::take(&mut shards.whole.sampler);
        let worlds = || shards.processes.iter().map(|process| &process.shard.world).enumerate();
        let sender = |side: &ConnSide| {
            let number = side.flow() as u32;
            // A connection across shards is in both; the sending host is in one.
            let at = |world: &crate::world::World<'_>| {
                let here = side.with_flow(world.find_flow(number)?);
                (world.handles.row(here).host != REMOTE_HOST).then_some(here)
            };
            let found = worlds().find_map(|(shard, world)| Some((shard, at(world)?, number)));
            found.unwrap_or_else(|| missing("sampled connections", number))
        };
        let port = |port: &u32| {
            let near = worlds()
                .find_map(|(shard, world)| Some((shard, world.net.local_port_at_near_end(*port)?)));
            near.unwrap_or_else(|| missing("sampled ports", port))
        };
        Self {
            interval: shards.whole.setup.probes.interval,
            senders: sampler.senders.iter().map(sender).collect(),
            ports: sampler.ports.iter().map(port).collect(),
            sampler,
        }
    }

    /// Returns the samples.
    pub(super) fn into_sampler(self) -> Sampler {
        self.sampler
    }

    fn sample(&mut self, now: Instant, shards: &mut [&mut LogicalProcess<RunShard<'_>>]) {
        for &(shard, side, number) in &self.senders {
            // Only open connections are sampled.
            if let Some((_, conn)) = shards[shard].shard.world.open_conn(side) {
                self.sampler.sample_sender(now, number, conn);
            }
        }
        for (i, &(shard, port)) in self.ports.iter().enumerate() {
            let (packets, bytes) = shards[shard].shard.world.net.queue_now(now, port);
            self.sampler.note_queue(now, self.sampler.ports[i], packets, bytes);
        }
    }
}

impl<'a> GlobalWorld<RunShard<'a>> for GlobalEvents {
    fn handle(
        &mut self,
        now: Instant,
        entity: Entity,
        shards: &mut [&mut LogicalProcess<RunShard<'a>>],
        busy: bool,
        sched: &mut Scheduler,
    ) {
        match (entity.kind(), self.interval) {
            (Network::LINK_KIND, _) => {
                for process in shards.iter_mut() {
                    process.shard.world.net.on_link_event(now, entity.index());
                }
            }
            (PROBE, Some(interval)) => {
                self.sample(now, shards);
                // Sampling does not keep a run alive, with or without shards.
                if busy {
                    sched.at(now + interval, Entity::new(PROBE, 0));
                }
            }
            (kind, _) => unreachable!("no global event has kind {kind}"),
        }
    }
}
