//! A run before its first event, taken apart.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use lowtide_net::{Cut, Network};
use lowtide_sim::partition::Share;
use lowtide_sim::{Entity, Scheduler};
use lowtide_tcp::Transmit;
use lowtide_units::Instant;

use super::outlast::Outlast;
use super::part::Part;
use crate::apart::{Apart, Common};
use crate::app::{Handle, Progress};
use crate::askers::Askers;
use crate::delays::Delays;
use crate::exchange::Exchange;
use crate::moment::Moment;
use crate::node::Node;
use crate::outcome::Counts;
use crate::probe::Sampler;
use crate::run::scheduler;
use crate::world::{ASK, FLOW_START, PROBE, World};

/// A run in parts.
pub(super) struct Parts<'a> {
    /// What is left of the whole.
    pub(super) whole: World<'a>,
    pub(super) shares: Vec<Share<Part<'a>>>,
    /// What belongs to no part.
    pub(super) agenda: Scheduler,
}

/// A host that is in another part.
const ELSEWHERE: u32 = u32::MAX;

pub(super) fn split<'a>(mut whole: World<'a>, cut: &Cut) -> Parts<'a> {
    let setup = whole.setup;
    let count = cut.parts();
    let mut agenda = scheduler(setup);
    whole.net.prime(&mut agenda);
    if setup.probes.interval.is_some() {
        agenda.at(Instant::ZERO, Entity::new(PROBE, 0));
    }
    let mut scheds: Vec<Scheduler> = (0..count).map(|_| scheduler(setup)).collect();
    let part = |host: u32| cut.hosts().get(host as usize).map_or(0, |p| usize::from(*p));
    for (flow, i) in whole.flows.iter().zip(0..).filter(|(f, _)| !f.answers) {
        scheds[part(flow.client)].at(flow.start, Entity::new(FLOW_START, i));
    }
    for ((start, spec), i) in whole.askers.starts().zip(&setup.askers).zip(0..) {
        scheds[part(spec.client)].at(start, Entity::new(ASK, i));
    }

    let nets = whole.net.split(&setup.network, cut);
    let common = Arc::new(common(cut, whole.flows.len()));
    let mut worlds: Vec<World<'a>> = nets
        .into_iter()
        .zip(0..)
        .map(|(net, part)| World {
            apart: Some(Box::new(apart(part, Arc::clone(&common)))),
            ..blank(&whole, net)
        })
        .collect();
    for (node, host) in mem::take(&mut whole.nodes).into_iter().zip(0..) {
        worlds[part(host)].nodes.push(node);
    }
    deal_connections(&mut whole, &mut worlds, &common);
    deal_askers(&mut whole, &mut worlds, &part);
    let shares = worlds.into_iter().zip(scheds).map(|(world, sched)| {
        let outlast = Outlast::new(&world, cut.lookahead());
        Share { region: Part { world, outlast }, sched }
    });
    Parts { shares: shares.collect(), whole, agenda }
}

fn common(cut: &Cut, flows: usize) -> Common {
    let mut counts = vec![0; cut.parts()];
    let place = |part: &u16| {
        counts[usize::from(*part)] += 1;
        counts[usize::from(*part)] - 1
    };
    Common {
        parts: cut.hosts().to_vec(),
        places: cut.hosts().iter().map(place).collect(),
        over: (0..flows.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
    }
}

fn apart(part: u16, common: Arc<Common>) -> Apart {
    Apart {
        common,
        part,
        numbers: Vec::new(),
        moment: Moment::START,
        over: 0,
        ends: Vec::new(),
        costs: Vec::new(),
        claims: Vec::new(),
        asked: Vec::new(),
    }
}

/// A part of `whole` without hosts and connections.
fn blank<'a>(whole: &World<'a>, net: Network) -> World<'a> {
    World {
        setup: whole.setup,
        net,
        nodes: Vec::<Node>::new(),
        flows: Vec::new(),
        handles: Vec::new(),
        askers: Askers::NONE,
        writers: Vec::new(),
        sampler: Sampler::default(),
        delays: Delays::default(),
        tracer: None,
        counts: Counts::default(),
        ready: Vec::new(),
        outgoing: Transmit::default(),
        warm: whole.warm,
        end: whole.end,
        unfinished: 0,
        done: false,
        apart: None,
    }
}

/// Each connection goes to the parts of its ends.
fn deal_connections(whole: &mut World<'_>, worlds: &mut [World<'_>], common: &Common) {
    let flows = mem::take(&mut whole.flows);
    whole.handles = Vec::new();
    let mut writers = mem::take(&mut whole.writers);
    let host = |number: u32| common.places.get(number as usize).copied().unwrap_or(ELSEWHERE);
    for (number, progress) in flows.into_iter().enumerate() {
        let (client, server) = (progress.client, progress.server);
        let ends = [common.part(client), common.part(server)].map(usize::from);
        let places = ends.map(|part| worlds[part].flows.len() as u32);
        let apart = ends[0] != ends[1];
        for (end, part) in ends.into_iter().enumerate().take(1 + usize::from(apart)) {
            let world = &mut worlds[part];
            world.flows.push(Progress { there: places[1 - end], ..progress });
            let at = |number, here| Handle::at(if here { host(number) } else { ELSEWHERE });
            world.handles.push(at(client, !apart || end == 0));
            world.handles.push(at(server, !apart || end == 1));
            if let Some(writer) = writers.get_mut(number) {
                world.writers.push(writer.take());
            }
            if let Some(apart) = &mut world.apart {
                apart.numbers.push(number as u32);
            }
        }
    }
}

/// Askers go with their clients; of what a connection carries, the server's part has a piece of its own.
fn deal_askers(whole: &mut World<'_>, worlds: &mut [World<'_>], part: &dyn Fn(u32) -> usize) {
    let first = whole.askers.first as u32;
    for world in worlds.iter_mut() {
        let numbers = world.apart.as_ref().map_or(&[][..], |apart| &apart.numbers[..]);
        world.askers.first = numbers.partition_point(|number| *number < first);
    }
    let specs = &whole.setup.askers;
    for (asking, spec) in mem::take(&mut whole.askers.list).into_iter().zip(specs) {
        let own = part(spec.client);
        for (number, world) in worlds.iter_mut().enumerate() {
            if number != own {
                world.askers.list.push(asking.nobody());
            }
        }
        let world = &mut worlds[own];
        let first = world.flow_place(asking.first);
        world.askers.list.push(asking.with_first(first));
    }
    for (exchange, number) in mem::take(&mut whole.askers.exchanges).into_iter().zip(first..) {
        let asker = exchange.asker;
        let client = specs.get(asker as usize).map_or(0, |spec| part(spec.client));
        let mut exchange = Some(exchange);
        for (part, world) in worlds.iter_mut().enumerate() {
            let place = world.askers.first + world.askers.exchanges.len();
            let here = world.apart.as_ref().and_then(|apart| apart.numbers.get(place));
            if here == Some(&number) {
                let own = if part == client { exchange.take() } else { None };
                world.askers.exchanges.push(own.unwrap_or_else(|| Exchange::away(asker)));
            }
        }
    }
}
