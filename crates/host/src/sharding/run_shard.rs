//! A shard of a run as the threads see it.

use lowtide_net::CrossShardPacket;
use lowtide_sim::partition::ShardWorld;
use lowtide_sim::{Entity, Scheduler};
use lowtide_units::Instant;

use super::shard::RemoteRequest;
use super::termination_check::TerminationCheck;
use crate::event_key::EventKey;
use crate::world::World;

/// Several racks and their hosts.
pub(super) struct RunShard<'a> {
    pub(super) world: World<'a>,
    pub(super) termination_check: TerminationCheck,
}

/// A message from another shard.
pub(super) enum ShardMessage {
    Packet(CrossShardPacket),
    /// The query of a request that a packet carries. It arrives before the packet.
    Request(RemoteRequest),
}

impl lowtide_sim::World for RunShard<'_> {
    fn handle(&mut self, now: Instant, entity: Entity, sched: &mut Scheduler) {
        self.world.own_shard_mut().current_event = EventKey { at: now, entity };
        self.world.handle(now, entity, sched);
    }

    fn wants_prefetch(&self) -> bool {
        self.world.wants_prefetch()
    }

    fn prefetch(&self, coming: impl Iterator<Item = Entity>) {
        self.world.prefetch(coming);
    }

    fn finished(&self) -> bool {
        false
    }
}

impl ShardWorld for RunShard<'_> {
    type Message = ShardMessage;

    fn export_messages(
        &mut self,
        until: Instant,
        post: &mut dyn FnMut(usize, ShardMessage),
    ) -> Option<Instant> {
        for (to, request) in self.world.own_shard_mut().remote_requests.drain(..) {
            post(to, ShardMessage::Request(request));
        }
        self.world
            .net
            .export_packets(until, &mut |to, crossing| post(to, ShardMessage::Packet(crossing)))
    }

    fn has_exports(&self) -> bool {
        self.world.net.has_exports()
    }

    fn import_message(&mut self, mail: ShardMessage, sched: &mut Scheduler) {
        match mail {
            ShardMessage::Packet(crossing) => self.world.net.import_packet(&crossing, sched),
            ShardMessage::Request(RemoteRequest { connection: index, query }) => {
                self.world.query_clients.exchange(index as usize).on_remote_request(query);
            }
        }
    }

    fn completed(&self) -> usize {
        self.world.own_shard().completed
    }

    fn cannot_finish_before(&mut self, until: Instant) -> bool {
        self.termination_check.cannot_finish_before(&mut self.world, until)
    }
}
