//! A run before its first event, taken apart.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use lowtide_net::{Network, Partition};
use lowtide_sim::partition::LogicalProcess;
use lowtide_sim::{Entity, Scheduler};
use lowtide_tcp::Transmit;
use lowtide_units::Instant;

use super::run_shard::RunShard;
use super::termination_check::TerminationCheck;
use crate::app::{ConnHandle, ConnProgress};
use crate::delay_comparison::DelayComparison;
use crate::event_key::EventKey;
use crate::exchange::Exchange;
use crate::node::Node;
use crate::outcome::RunCounts;
use crate::probe::Sampler;
use crate::query_clients::QueryClients;
use crate::run::scheduler;
use crate::shard::{Shard, ShardMap};
use crate::world::{FLOW_START, PROBE, QUERY_CLIENT, World};

/// A run in parts.
pub(super) struct ShardedRun<'a> {
    /// What is left of the whole.
    pub(super) whole: World<'a>,
    pub(super) processes: Vec<LogicalProcess<RunShard<'a>>>,
    /// What belongs to no part.
    pub(super) global_sched: Scheduler,
}

/// A host that is in another part.
const REMOTE_HOST: u32 = u32::MAX;

pub(super) fn split<'a>(mut whole: World<'a>, cut: &Partition) -> ShardedRun<'a> {
    let setup = whole.setup;
    let count = cut.shards();
    let mut agenda = scheduler(setup);
    whole.net.prime(&mut agenda);
    if setup.probes.interval.is_some() {
        agenda.at(Instant::ZERO, Entity::new(PROBE, 0));
    }
    let mut scheds: Vec<Scheduler> = (0..count).map(|_| scheduler(setup)).collect();
    let part = |host: u32| cut.hosts().get(host as usize).map_or(0, |p| usize::from(*p));
    for (flow, i) in whole.flows.iter().zip(0..).filter(|(f, _)| !f.server_sends) {
        scheds[part(flow.client)].at(flow.start, Entity::new(FLOW_START, i));
    }
    for ((start, spec), i) in whole.query_clients.starts().zip(&setup.query_clients).zip(0..) {
        scheds[part(spec.client)].at(start, Entity::new(QUERY_CLIENT, i));
    }

    let nets = whole.net.split(&setup.network, cut);
    let common = Arc::new(shard_map(cut, whole.flows.len()));
    let mut worlds: Vec<World<'a>> = nets
        .into_iter()
        .zip(0..)
        .map(|(net, part)| World {
            shard: Some(Box::new(empty_shard(part, Arc::clone(&common)))),
            ..empty_world(&whole, net)
        })
        .collect();
    for (node, host) in mem::take(&mut whole.nodes).into_iter().zip(0..) {
        worlds[part(host)].nodes.push(node);
    }
    deal_connections(&mut whole, &mut worlds, &common);
    distribute_query_clients(&mut whole, &mut worlds, &part);
    let shares = worlds.into_iter().zip(scheds).map(|(world, sched)| {
        let outlast = TerminationCheck::new(&world, cut.lookahead());
        LogicalProcess { shard: RunShard { world, termination_check: outlast }, sched }
    });
    ShardedRun { processes: shares.collect(), whole, global_sched: agenda }
}

fn shard_map(cut: &Partition, flows: usize) -> ShardMap {
    let mut counts = vec![0; cut.shards()];
    let place = |part: &u16| {
        counts[usize::from(*part)] += 1;
        counts[usize::from(*part)] - 1
    };
    ShardMap {
        shards: cut.hosts().to_vec(),
        local_hosts: cut.hosts().iter().map(place).collect(),
        completed: (0..flows.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
    }
}

fn empty_shard(part: u16, common: Arc<ShardMap>) -> Shard {
    Shard {
        map: common,
        id: part,
        numbers: Vec::new(),
        current_event: EventKey::START,
        completed: 0,
        flow_ends: Vec::new(),
        costs: Vec::new(),
        claims: Vec::new(),
        remote_requests: Vec::new(),
    }
}

/// A part of `whole` without hosts and connections.
fn empty_world<'a>(whole: &World<'a>, net: Network) -> World<'a> {
    World {
        setup: whole.setup,
        net,
        nodes: Vec::<Node>::new(),
        flows: Vec::new(),
        handles: Vec::new(),
        query_clients: QueryClients::NONE,
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

/// Each connection goes to the parts of its ends.
fn deal_connections(whole: &mut World<'_>, worlds: &mut [World<'_>], common: &ShardMap) {
    let flows = mem::take(&mut whole.flows);
    whole.handles = Vec::new();
    let mut writers = mem::take(&mut whole.writers);
    let host =
        |number: u32| common.local_hosts.get(number as usize).copied().unwrap_or(REMOTE_HOST);
    for (number, progress) in flows.into_iter().enumerate() {
        let (client, server) = (progress.client, progress.server);
        let ends = [common.shard_of(client), common.shard_of(server)].map(usize::from);
        let places = ends.map(|part| worlds[part].flows.len() as u32);
        let apart = ends[0] != ends[1];
        for (end, part) in ends.into_iter().enumerate().take(1 + usize::from(apart)) {
            let world = &mut worlds[part];
            world.flows.push(ConnProgress { peer_index: places[1 - end], ..progress });
            let at = |number, here| ConnHandle::at(if here { host(number) } else { REMOTE_HOST });
            world.handles.push(at(client, !apart || end == 0));
            world.handles.push(at(server, !apart || end == 1));
            if let Some(writer) = writers.get_mut(number) {
                world.writers.push(writer.take());
            }
            if let Some(apart) = &mut world.shard {
                apart.numbers.push(number as u32);
            }
        }
    }
}

/// Askers go with their clients; of what a connection carries, the server's part has a piece of its own.
fn distribute_query_clients(
    whole: &mut World<'_>,
    worlds: &mut [World<'_>],
    part: &dyn Fn(u32) -> usize,
) {
    let first = whole.query_clients.first as u32;
    for world in worlds.iter_mut() {
        let numbers = world.shard.as_ref().map_or(&[][..], |apart| &apart.numbers[..]);
        world.query_clients.first = numbers.partition_point(|number| *number < first);
    }
    let specs = &whole.setup.query_clients;
    for (asking, spec) in mem::take(&mut whole.query_clients.list).into_iter().zip(specs) {
        let own = part(spec.client);
        for (number, world) in worlds.iter_mut().enumerate() {
            if number != own {
                world.query_clients.list.push(asking.idle_copy());
            }
        }
        let world = &mut worlds[own];
        let first = world.local_flow(asking.first);
        world.query_clients.list.push(asking.with_first(first));
    }
    for (exchange, number) in mem::take(&mut whole.query_clients.exchanges).into_iter().zip(first..)
    {
        let asker = exchange.query_client;
        let client = specs.get(asker as usize).map_or(0, |spec| part(spec.client));
        let mut exchange = Some(exchange);
        for (part, world) in worlds.iter_mut().enumerate() {
            let place = world.query_clients.first + world.query_clients.exchanges.len();
            let here = world.shard.as_ref().and_then(|apart| apart.numbers.get(place));
            if here == Some(&number) {
                let own = if part == client { exchange.take() } else { None };
                world.query_clients.exchanges.push(own.unwrap_or_else(|| Exchange::remote(asker)));
            }
        }
    }
}
