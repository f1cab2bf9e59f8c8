//! What belongs to no part: samples of all of them, and links that fail between any of them.

use std::mem;

use lowtide_net::Network;
use lowtide_sim::partition::{GlobalWorld as Conducts, LogicalProcess};
use lowtide_sim::{Entity, Scheduler};
use lowtide_units::{Duration, Instant};

use super::run_shard::RunShard;
use super::split::ShardedRun;
use crate::app::ConnSide;
use crate::probe::Sampler;
use crate::world::PROBE;

pub(super) struct GlobalEvents {
    interval: Option<Duration>,
    sampler: Sampler,
    /// Of each sampled sender: its part, its side there, the number of the flow.
    senders: Vec<(usize, ConnSide, u32)>,
    /// Of each sampled port: its part, its place there.
    ports: Vec<(usize, u32)>,
}

impl GlobalEvents {
    pub(super) fn new(parts: &mut ShardedRun<'_>) -> Self {
        let sampler = mem::take(&mut parts.whole.sampler);
        let worlds = || parts.processes.iter().map(|share| &share.shard.world).enumerate();
        let sender = |side: &ConnSide| {
            let number = side.flow() as u32;
            // A connection between two parts is in both; the sending host is in one.
            let at = |world: &crate::world::World<'_>| {
                let here = side.with_flow(world.local_flow(number));
                let handle = world.handles.get(here.index() as usize)?;
                world.nodes.get(handle.host as usize).map(|_| here)
            };
            let found = worlds().find_map(|(part, world)| Some((part, at(world)?)))?;
            Some((found.0, found.1, number))
        };
        let port = |port: &u32| {
            worlds()
                .find_map(|(part, world)| Some((part, world.net.local_port_at_near_end(*port)?)))
        };
        Self {
            interval: parts.whole.setup.probes.interval,
            senders: sampler.senders.iter().filter_map(sender).collect(),
            ports: sampler.ports.iter().filter_map(port).collect(),
            sampler,
        }
    }

    /// What was sampled.
    pub(super) fn into_sampler(self) -> Sampler {
        self.sampler
    }

    fn sample(&mut self, now: Instant, parts: &mut [&mut LogicalProcess<RunShard<'_>>]) {
        for &(part, side, number) in &self.senders {
            let Some(share) = parts.get_mut(part) else { continue };
            let world = &mut share.shard.world;
            let Some(handle) = world.handles.get(side.index() as usize) else { continue };
            let Some(id) = handle.conn else { continue };
            if let Some(conn) = world.conn(side, id) {
                self.sampler.sample_sender(now, number, conn);
            }
        }
        for (i, &(part, port)) in self.ports.iter().enumerate() {
            if let (Some(share), Some(&number)) = (parts.get_mut(part), self.sampler.ports.get(i)) {
                let (packets, bytes) = share.shard.world.net.queue_now(now, port);
                self.sampler.note_queue(now, number, packets, bytes);
            }
        }
    }
}

impl<'a> Conducts<RunShard<'a>> for GlobalEvents {
    fn handle(
        &mut self,
        now: Instant,
        entity: Entity,
        parts: &mut [&mut LogicalProcess<RunShard<'a>>],
        busy: bool,
        sched: &mut Scheduler,
    ) {
        match (entity.kind(), self.interval) {
            (Network::LINK_KIND, _) => {
                for share in parts.iter_mut() {
                    share.shard.world.net.on_link_event(now, entity.index());
                }
            }
            (PROBE, Some(interval)) => {
                self.sample(now, parts);
                // As in the whole: sampling does not keep a run alive.
                if busy {
                    sched.at(now + interval, Entity::new(PROBE, 0));
                }
            }
            _ => {}
        }
    }
}
