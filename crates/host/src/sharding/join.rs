//! Joins the shards of a finished run, so that its rows equal those of a run without shards.

use std::mem;

use lowtide_net::Partition;
use lowtide_units::Instant;

use super::cross_shard_log::CrossShardLog;
use super::shard::Shard;
use super::split::ShardedRun;
use crate::app::{ConnHandle, ConnProgress, ConnSide};
use crate::applications::exchange::Exchange;
use crate::applications::query_clients::QueryClient;
use crate::node::Node;
use crate::world::World;

/// A finished shard.
struct FinishedShard<'a> {
    world: World<'a>,
    shard: Box<Shard>,
}

/// Joins a run that ended at `ended`, and finishes its network.
pub(super) fn join<'a>(
    sharded: ShardedRun<'a>,
    partition: &Partition,
    ended: Instant,
) -> World<'a> {
    let ShardedRun { mut whole, processes, global_sched } = sharded;
    let mut pieces: Vec<FinishedShard<'_>> = Vec::new();
    for process in processes {
        let mut world = process.shard.world;
        world.net.finish(ended);
        let shard = world.shard.take().expect("the run is split");
        pieces.push(FinishedShard { world, shard });
    }
    let mut log = CrossShardLog::new(global_sched);
    for FinishedShard { world, shard } in &mut pieces {
        log.take(shard, &world.flows);
    }
    log.sort();
    whole.net.join(pieces.iter_mut().map(|piece| &mut piece.world.net), partition);
    join_hosts(&mut whole, &mut pieces);
    join_connections(&mut whole, &mut pieces, &log);
    join_query_clients(&mut whole, &mut pieces);
    for FinishedShard { world, shard } in &mut pieces {
        let ranks = whole.collectives.ranks.iter_mut().zip(&mut world.collectives.ranks);
        let own = ranks.filter(|(rank, _)| shard.map.shard_of(rank.host) == shard.id);
        own.for_each(|(rank, done)| mem::swap(rank, done));
    }
    log.attribute_costs(&mut whole);
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

/// Joins each connection from its two ends.
fn join_connections(whole: &mut World<'_>, pieces: &mut [FinishedShard<'_>], log: &CrossShardLog) {
    let last = pieces.iter().filter_map(|piece| piece.shard.numbers.last()).max();
    let count = last.map_or(0, |last| *last as usize + 1);
    whole.flows = vec![ConnProgress::new(0, 0, 0, None); count];
    whole.handles = (0..2 * count).map(|_| ConnHandle::at(0)).collect();
    for client_end in [true, false] {
        for FinishedShard { world, shard } in pieces.iter_mut() {
            for (index, &number) in shard.numbers.iter().enumerate() {
                let progress = world.flows[index];
                let here = |host| shard.map.shard_of(host) == shard.id;
                let (client, server) = (here(progress.client), here(progress.server));
                // First everything at the client's end, then the server's end from other shards.
                if client != client_end {
                    continue;
                }
                let known = &mut whole.flows[number as usize];
                *known = if client { progress } else { join_ends(known, &progress, log) };
                known.peer_index = number;
                for (side, host, here) in [
                    (ConnSide::client(number), progress.client, client),
                    (ConnSide::client(number).peer(), progress.server, server),
                ] {
                    let own = &mut world.handles[side.with_flow(index as u32).index() as usize];
                    if here {
                        let handle = mem::replace(own, ConnHandle::at(0));
                        whole.handles[side.index() as usize] = ConnHandle { host, ..handle };
                    }
                }
            }
        }
    }
}

/// Joins the two ends of a connection across shards.
fn join_ends(client: &ConnProgress, server: &ConnProgress, log: &CrossShardLog) -> ConnProgress {
    let receiver = if client.server_sends { client } else { server };
    ConnProgress {
        delivered: receiver.delivered,
        delivered_at: receiver.delivered_at,
        received: receiver.received,
        delivered_in_warmup: receiver.delivered_in_warmup,
        ecn_counters: client.ecn_counters.plus(&server.ecn_counters),
        failed: log.failure(client, server),
        ..*client
    }
}

/// Takes each query client, and its exchanges, from the client's shard.
fn join_query_clients(whole: &mut World<'_>, pieces: &mut [FinishedShard<'_>]) {
    let specs = &whole.setup.query_clients;
    let mut list: Vec<Option<QueryClient>> = specs.iter().map(|_| None).collect();
    let count = whole.flows.len().saturating_sub(whole.query_clients.first);
    let mut exchanges: Vec<Option<Exchange>> = (0..count).map(|_| None).collect();
    for FinishedShard { world, shard } in pieces {
        let own = mem::take(&mut world.query_clients.list).into_iter().zip(specs).enumerate();
        for (i, (query_client, _)) in
            own.filter(|(_, (_, spec))| shard.map.shard_of(spec.client) == shard.id)
        {
            // A client without queries may have no connection; its first number is never used.
            let first = shard.numbers.get(query_client.first as usize).copied().unwrap_or_default();
            list[i] = Some(query_client.with_first(first));
        }
        let indices = world.query_clients.first..;
        for (index, exchange) in indices.zip(mem::take(&mut world.query_clients.exchanges)) {
            if !exchange.client_is_remote {
                let number = shard.numbers[index];
                exchanges[number as usize - whole.query_clients.first] = Some(exchange);
            }
        }
    }
    whole.query_clients.list = list.into_iter().flatten().collect();
    whole.query_clients.exchanges = exchanges.into_iter().flatten().collect();
}
