//! A run that is over, put together again, so that its rows are those of a run that never was in parts.

use std::mem;

use lowtide_net::Cut;
use lowtide_units::Instant;

use super::notes::Notes;
use super::split::Parts;
use crate::apart::Apart;
use crate::app::{Handle, Progress, Side};
use crate::askers::Asking;
use crate::exchange::Exchange;
use crate::node::Node;
use crate::world::World;

/// One part, over.
struct Piece<'a> {
    world: World<'a>,
    apart: Box<Apart>,
}

/// The whole of a run that ended at `ended`, its network finished.
pub(super) fn join<'a>(parts: Parts<'a>, cut: &Cut, ended: Instant) -> World<'a> {
    let Parts { mut whole, shares, agenda } = parts;
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    for share in shares {
        let mut world = share.region.world;
        world.net.finish(ended);
        if let Some(apart) = world.apart.take() {
            pieces.push(Piece { world, apart });
        }
    }
    let mut notes = Notes::new(agenda);
    for Piece { world, apart } in &mut pieces {
        notes.take(apart, &world.flows);
    }
    notes.sort();
    whole.net.join(pieces.iter_mut().map(|piece| &mut piece.world.net), cut);
    join_hosts(&mut whole, &mut pieces);
    join_connections(&mut whole, &mut pieces, &notes);
    join_askers(&mut whole, &mut pieces);
    notes.settle(&mut whole);
    for piece in &pieces {
        whole.counts.segments += piece.world.counts.segments;
        whole.counts.rejected += piece.world.counts.rejected;
    }
    whole
}

fn join_hosts(whole: &mut World<'_>, pieces: &mut [Piece<'_>]) {
    let mut nodes: Vec<Option<Node>> = whole.setup.hosts.iter().map(|_| None).collect();
    for node in pieces.iter_mut().flat_map(|piece| mem::take(&mut piece.world.nodes)) {
        let number = node.number as usize;
        nodes[number] = Some(node);
    }
    whole.nodes = nodes.into_iter().flatten().collect();
}

/// Each connection from its two ends.
fn join_connections(whole: &mut World<'_>, pieces: &mut [Piece<'_>], notes: &Notes) {
    let last = pieces.iter().filter_map(|piece| piece.apart.numbers.last()).max();
    let count = last.map_or(0, |last| *last as usize + 1);
    whole.flows = vec![Progress::new(0, 0, 0, None); count];
    whole.handles = (0..2 * count).map(|_| Handle::at(0)).collect();
    for client_end in [true, false] {
        for Piece { world, apart } in pieces.iter_mut() {
            for (place, &number) in apart.numbers.iter().enumerate() {
                let progress = world.flows[place];
                let here = |host| apart.common.part(host) == apart.part;
                let (client, server) = (here(progress.client), here(progress.server));
                // First all that have the client's end, then what others know of the server's.
                if client != client_end {
                    continue;
                }
                let known = &mut whole.flows[number as usize];
                *known = if client { progress } else { both(known, &progress, notes) };
                known.there = number;
                for (side, host, here) in [
                    (Side::client(number), progress.client, client),
                    (Side::client(number).peer(), progress.server, server),
                ] {
                    let own = &mut world.handles[side.of(place as u32).index() as usize];
                    if here {
                        let handle = mem::replace(own, Handle::at(0));
                        whole.handles[side.index() as usize] = Handle { host, ..handle };
                    }
                }
            }
        }
    }
}

/// A connection between two parts, as each end knows it.
fn both(client: &Progress, server: &Progress, notes: &Notes) -> Progress {
    let receiver = if client.answers { client } else { server };
    Progress {
        delivered: receiver.delivered,
        delivered_at: receiver.delivered_at,
        delivered_in_warmup: receiver.delivered_in_warmup,
        signals: client.signals.and(&server.signals),
        failed: notes.failure(client, server),
        ..*client
    }
}

/// Each asker, and what its connections carry, from the client's part.
fn join_askers(whole: &mut World<'_>, pieces: &mut [Piece<'_>]) {
    let specs = &whole.setup.askers;
    let mut list: Vec<Option<Asking>> = specs.iter().map(|_| None).collect();
    let count = whole.flows.len().saturating_sub(whole.askers.first);
    let mut exchanges: Vec<Option<Exchange>> = (0..count).map(|_| None).collect();
    for Piece { world, apart } in pieces {
        let own = mem::take(&mut world.askers.list).into_iter().zip(specs).enumerate();
        for (i, (asking, _)) in
            own.filter(|(_, (_, spec))| apart.common.part(spec.client) == apart.part)
        {
            let first = apart.numbers.get(asking.first as usize).copied().unwrap_or_default();
            list[i] = Some(asking.with_first(first));
        }
        let places = world.askers.first..;
        for (place, exchange) in places.zip(mem::take(&mut world.askers.exchanges)) {
            if let Some(&number) = apart.numbers.get(place).filter(|_| !exchange.away) {
                exchanges[number as usize - whole.askers.first] = Some(exchange);
            }
        }
    }
    whole.askers.list = list.into_iter().flatten().collect();
    whole.askers.exchanges = exchanges.into_iter().flatten().collect();
}
