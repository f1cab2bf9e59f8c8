//! A run that is over, put together again, so that its rows are those of a run that never was in parts.

use std::mem;

use lowtide_net::Partition;
use lowtide_units::Instant;

use super::cross_shard_log::CrossShardLog;
use super::split::ShardedRun;
use crate::app::{ConnHandle, ConnProgress, ConnSide};
use crate::exchange::Exchange;
use crate::node::Node;
use crate::query_clients::QueryClient;
use crate::shard::Shard;
use crate::world::World;

/// One part, over.
struct FinishedShard<'a> {
    world: World<'a>,
    shard: Box<Shard>,
}

/// The whole of a run that ended at `ended`, its network finished.
pub(super) fn join<'a>(parts: ShardedRun<'a>, cut: &Partition, ended: Instant) -> World<'a> {
    let ShardedRun { mut whole, processes: shares, global_sched: agenda } = parts;
    let mut pieces: Vec<FinishedShard<'_>> = Vec::new();
    for share in shares {
        let mut world = share.shard.world;
        world.net.finish(ended);
        if let Some(apart) = world.shard.take() {
            pieces.push(FinishedShard { world, shard: apart });
        }
    }
    let mut notes = CrossShardLog::new(agenda);
    for FinishedShard { world, shard: apart } in &mut pieces {
        notes.take(apart, &world.flows);
    }
    notes.sort();
    whole.net.join(pieces.iter_mut().map(|piece| &mut piece.world.net), cut);
    join_hosts(&mut whole, &mut pieces);
    join_connections(&mut whole, &mut pieces, &notes);
    join_query_clients(&mut whole, &mut pieces);
    notes.attribute_costs(&mut whole);
    for piece in &pieces {
        whole.counts.segments += piece.world.counts.segments;
        whole.counts.rejected += piece.world.counts.rejected;
    }
    whole
}

fn join_hosts(whole: &mut World<'_>, pieces: &mut [FinishedShard<'_>]) {
    let mut nodes: Vec<Option<Node>> = whole.setup.hosts.iter().map(|_| None).collect();
    for node in pieces.iter_mut().flat_map(|piece| mem::take(&mut piece.world.nodes)) {
        let number = node.number as usize;
        nodes[number] = Some(node);
    }
    whole.nodes = nodes.into_iter().flatten().collect();
}

/// Each connection from its two ends.
fn join_connections(
    whole: &mut World<'_>,
    pieces: &mut [FinishedShard<'_>],
    notes: &CrossShardLog,
) {
    let last = pieces.iter().filter_map(|piece| piece.shard.numbers.last()).max();
    let count = last.map_or(0, |last| *last as usize + 1);
    whole.flows = vec![ConnProgress::new(0, 0, 0, None); count];
    whole.handles = (0..2 * count).map(|_| ConnHandle::at(0)).collect();
    for client_end in [true, false] {
        for FinishedShard { world, shard: apart } in pieces.iter_mut() {
            for (place, &number) in apart.numbers.iter().enumerate() {
                let progress = world.flows[place];
                let here = |host| apart.map.shard_of(host) == apart.id;
                let (client, server) = (here(progress.client), here(progress.server));
                // First all that have the client's end, then what others know of the server's.
                if client != client_end {
                    continue;
                }
                let known = &mut whole.flows[number as usize];
                *known = if client { progress } else { join_ends(known, &progress, notes) };
                known.peer_index = number;
                for (side, host, here) in [
                    (ConnSide::client(number), progress.client, client),
                    (ConnSide::client(number).peer(), progress.server, server),
                ] {
                    let own = &mut world.handles[side.with_flow(place as u32).index() as usize];
                    if here {
                        let handle = mem::replace(own, ConnHandle::at(0));
                        whole.handles[side.index() as usize] = ConnHandle { host, ..handle };
                    }
                }
            }
        }
    }
}

/// A connection between two parts, as each end knows it.
fn join_ends(client: &ConnProgress, server: &ConnProgress, notes: &CrossShardLog) -> ConnProgress {
    let receiver = if client.server_sends { client } else { server };
    ConnProgress {
        delivered: receiver.delivered,
        delivered_at: receiver.delivered_at,
        delivered_in_warmup: receiver.delivered_in_warmup,
        ecn_counters: client.ecn_counters.and(&server.ecn_counters),
        failed: notes.failure(client, server),
        ..*client
    }
}

/// Each asker, and what its connections carry, from the client's part.
fn join_query_clients(whole: &mut World<'_>, pieces: &mut [FinishedShard<'_>]) {
    let specs = &whole.setup.query_clients;
    let mut list: Vec<Option<QueryClient>> = specs.iter().map(|_| None).collect();
    let count = whole.flows.len().saturating_sub(whole.query_clients.first);
    let mut exchanges: Vec<Option<Exchange>> = (0..count).map(|_| None).collect();
    for FinishedShard { world, shard: apart } in pieces {
        let own = mem::take(&mut world.query_clients.list).into_iter().zip(specs).enumerate();
        for (i, (asking, _)) in
            own.filter(|(_, (_, spec))| apart.map.shard_of(spec.client) == apart.id)
        {
            let first = apart.numbers.get(asking.first as usize).copied().unwrap_or_default();
            list[i] = Some(asking.with_first(first));
        }
        let places = world.query_clients.first..;
        for (place, exchange) in places.zip(mem::take(&mut world.query_clients.exchanges)) {
            if let Some(&number) = apart.numbers.get(place).filter(|_| !exchange.client_is_remote) {
                exchanges[number as usize - whole.query_clients.first] = Some(exchange);
            }
        }
    }
    whole.query_clients.list = list.into_iter().flatten().collect();
    whole.query_clients.exchanges = exchanges.into_iter().flatten().collect();
}
