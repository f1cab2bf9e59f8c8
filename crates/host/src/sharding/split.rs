//! Splits a run into shards before its first event.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use lowtide_net::{Network, Partition};
use lowtide_rows::RunCounts;
use lowtide_sim::partition::LogicalProcess;
use lowtide_sim::{Entity, Scheduler};
use lowtide_tcp::Transmit;
use lowtide_units::Instant;

use super::run_shard::RunShard;
use super::shard::{Shard, ShardMap};
use super::termination_check::TerminationCheck;
use crate::app::{ConnHandle, ConnProgress, REMOTE_HOST};
use crate::applications::exchange::Exchange;
use crate::applications::query_clients::QueryClients;
use crate::event_key::EventKey;
use crate::node::Node;
use crate::results::delay_comparison::DelayComparison;
use crate::results::probe::Sampler;
use crate::run::scheduler;
use crate::tables::Table;
use crate::world::{COLLECTIVE, FLOW_START, PROBE, QUERY_CLIENT, World};

/// A run split into shards.
pub(super) struct ShardedRun<'a> {
    /// The remainder of the whole.
    pub(super) whole: World<'a>,
    pub(super) processes: Vec<LogicalProcess<RunShard<'a>>>,
    /// Global events.
    pub(super) global_sched: Scheduler,
}

pub(super) fn split<'a>(mut whole: World<'a>, partition: &Partition) -> ShardedRun<'a> {
    let setup = whole.setup;
    let count = partition.shards();
    let mut global_sched = scheduler(setup);
    whole.net.prime(&mut global_sched);
    if setup.probes.interval.is_some() {
        global_sched.at(Instant::ZERO, Entity::new(PROBE, 0));
    }
    let mut scheds: Vec<Scheduler> = (0..count).map(|_| scheduler(setup)).collect();
    let common = Arc::new(shard_map(partition, whole.flows.len()));
    let shard = |host: u32| usize::from(common.shard_of(host));
    for (flow, i) in whole.flows.iter().zip(0..).filter(|(f, _)| !f.server_sends) {
        scheds[shard(flow.client)].at(whole.opening(flow), Entity::new(FLOW_START, i));
    }
    let actions = whole.query_clients.first_actions(setup, &whole.flows);
    for ((at, spec), i) in actions.zip(&setup.query_clients).zip(0..) {
        scheds[shard(spec.client)].at(at, Entity::new(QUERY_CLIENT, i));
    }
    for ((at, host), i) in whole.collectives.first_events(setup).zip(0..) {
        scheds[shard(host)].at(at, Entity::new(COLLECTIVE, i));
    }

    let nets = whole.net.split(&setup.network, partition);
    let mut worlds: Vec<World<'a>> = nets
        .into_iter()
        .zip(0..)
        .map(|(net, shard)| World {
            shard: Some(Box::new(empty_shard(shard, Arc::clone(&common)))),
            ..empty_world(&whole, net)
        })
        .collect();
    for (node, host) in mem::take(&mut whole.nodes).into_iter().zip(0..) {
        worlds[shard(host)].nodes.push(node);
    }
    deal_connections(&mut whole, &mut worlds, &common);
    distribute_query_clients(&mut whole, &mut worlds, &shard);
    let processes = worlds.into_iter().zip(scheds).map(|(world, sched)| {
        let termination_check = TerminationCheck::new(&world, partition.lookahead());
        LogicalProcess { shard: RunShard { world, termination_check }, sched }
    });
    ShardedRun { processes: processes.collect(), whole, global_sched }
}

fn shard_map(partition: &Partition, flows: usize) -> ShardMap {
    let mut counts = vec![0; partition.shards()];
    let index = |shard: &u16| {
        counts[usize::from(*shard)] += 1;
        counts[usize::from(*shard)] - 1
    };
    ShardMap {
        shards: partition.hosts().to_vec(),
        local_hosts: partition.hosts().iter().map(index).collect(),
        completed: (0..flows.div_ceil(u64::BITS as usize)).map(|_| AtomicU64::new(0)).collect(),
    }
}

fn empty_shard(shard: u16, common: Arc<ShardMap>) -> Shard {
    Shard {
        map: common,
        id: shard,
        numbers: Vec::new(),
        current_event: EventKey::START,
        completed: 0,
        flow_ends: Vec::new(),
        costs: Vec::new(),
        claims: Vec::new(),
        remote_requests: Vec::new(),
    }
}

/// Returns a shard of `whole` without hosts and connections.
fn empty_world<'a>(whole: &World<'a>, net: Network) -> World<'a> {
    World {
        setup: whole.setup,
        net,
        nodes: Vec::<Node>::new(),
        flows: Vec::new(),
        handles: Vec::new(),
        query_clients: QueryClients::NONE,
        // Each shard runs the ranks on its hosts.
        collectives: whole.collectives.clone(),
        writers: Vec::new(),
        sampler: Sampler::default(),
        delays: DelayComparison::default(),
        tracer: None,
        counts: RunCounts::default(),
        ready: Vec::new(),
        outgoing: Transmit::default(),
        warmup_end: whole.warmup_end,
        end: whole.end,
        unfinished: 0,
        done: false,
        shard: None,
    }
}

/// Distributes each connection to the shards of its ends.
fn deal_connections(whole: &mut World<'_>, worlds: &mut [World<'_>], common: &ShardMap) {
    let flows = mem::take(&mut whole.flows);
    whole.handles = Vec::new();
    let mut writers = mem::take(&mut whole.writers);
    for (number, progress) in flows.into_iter().enumerate() {
        let (client, server) = (progress.client, progress.server);
        let ends = [common.shard_of(client), common.shard_of(server)].map(usize::from);
        let indices = ends.map(|shard| worlds[shard].flows.len() as u32);
        let crosses = ends[0] != ends[1];
        for (end, shard) in ends.into_iter().enumerate().take(1 + usize::from(crosses)) {
            let world = &mut worlds[shard];
            world.flows.push(ConnProgress { peer_index: indices[1 - end], ..progress });
            let at = |number, here| {
                ConnHandle::at(if here { common.local_host(number) } else { REMOTE_HOST })
            };
            world.handles.push(at(client, !crosses || end == 0));
            world.handles.push(at(server, !crosses || end == 1));
            // There are no writers if every flow is written at once; queries have none.
            if let Some(writer) = writers.get_mut(number) {
                world.writers.push(writer.take());
            }
            world.own_shard_mut().numbers.push(number as u32);
        }
    }
}

/// Distributes query clients to the shards of their hosts; the server's shard gets its own exchange
/// per connection.
fn distribute_query_clients(
    whole: &mut World<'_>,
    worlds: &mut [World<'_>],
    shard: &dyn Fn(u32) -> usize,
) {
    let first = whole.query_clients.first as u32;
    for world in worlds.iter_mut() {
        let numbers = &world.own_shard().numbers;
        world.query_clients.first = numbers.partition_point(|number| *number < first);
    }
    let specs = &whole.setup.query_clients;
    for (query_client, spec) in mem::take(&mut whole.query_clients.list).into_iter().zip(specs) {
        let own = shard(spec.client);
        for (number, world) in worlds.iter_mut().enumerate() {
            if number != own {
                world.query_clients.list.push(query_client.idle_copy());
            }
        }
        let world = &mut worlds[own];
        // A client without queries may have no connection; its first number is never used.
        let first = world.find_flow(query_client.first).unwrap_or_default();
        world.query_clients.list.push(query_client.with_first(first));
    }
    for (exchange, number) in mem::take(&mut whole.query_clients.exchanges).into_iter().zip(first..)
    {
        let query_client = exchange.query_client;
        let client = shard(specs.row(query_client).client);
        let mut exchange = Some(exchange);
        for (shard, world) in worlds.iter_mut().enumerate() {
            let index = world.query_clients.first + world.query_clients.exchanges.len();
            // Other shards may have no connection left.
            let here = world.own_shard().numbers.get(index);
            if here == Some(&number) {
                let own = if shard == client { exchange.take() } else { None };
                world
                    .query_clients
                    .exchanges
                    .push(own.unwrap_or_else(|| Exchange::remote(query_client)));
            }
        }
    }
}
