//! Whether something that the run waits for certainly goes on: as long as that is so, no part can do
//! anything after the end of the run.
//!
//! Contract: one witness is enough, and doubt is no. A flow goes on until `until`, at most a lookahead from what is
//! done, if it starts no earlier; or if it is well and its client has bytes that it has never sent, as long
//! as no packet gets to the server within a lookahead. It is well when no timer can end it so soon
//! ([`Connection::is_making_progress`]) at the client; the server's end has acknowledged data, so it is established and
//! has nothing to repeat, and no RST comes from an end that lives. An asker goes on if its next query is not due
//! before `until`, or not for a lookahead after the one that is under way.
//!
//! [`Connection::is_making_progress`]: lowtide_tcp::Connection::is_making_progress

use std::cmp::Reverse;

use lowtide_net::{Blueprint, LinkSpec, NodeId};
use lowtide_units::{Bytes, Duration, Instant};

use crate::app::ConnSide;
use crate::setup::Setup;
use crate::world::World;

/// So many flows are looked at before it says that it does not know.
const TRIES: usize = 16;
/// IP bytes of the smallest packet.
const SMALLEST: u64 = 40;

/// The flows and askers of one part that may be witnesses.
#[derive(Debug, Default)]
pub(super) struct TerminationCheck {
    lookahead: Duration,
    /// Flows with a size whose clients are here, as far as they are not known to be over: places.
    flows: Vec<u32>,
    /// Where to look first.
    at: usize,
    /// Askers here.
    query_clients: Vec<u32>,
    /// A flow within this part cannot reach its server within a lookahead either.
    local_beyond_lookahead: bool,
    /// No timer gives a connection up within a lookahead.
    no_early_timeout: bool,
}

/// What can be said of a flow.
enum Continuation {
    Completed,
    Continues,
    Unknown,
}

impl TerminationCheck {
    pub(super) fn new(world: &World<'_>, lookahead: Duration) -> Self {
        let setup = world.setup;
        if !setup.end.when_done {
            return Self::default();
        }
        let Some(apart) = &world.shard else { return Self::default() };
        let here = |host: u32| apart.map.shard_of(host) == apart.id;
        let flows = world.flows.iter().zip(0..);
        let own = flows.filter(|(f, _)| !f.server_sends && f.size.is_some() && here(f.client));
        let mut flows: Vec<u32> = own.map(|(_, place)| place).collect();
        // The last to start are those to look at first.
        flows.sort_by_key(|place| {
            let flow = &world.flows[*place as usize];
            Reverse((flow.start, flow.size))
        });
        let askers = setup.query_clients.iter().zip(0..).filter(|(spec, _)| here(spec.client));
        Self {
            lookahead,
            flows,
            at: 0,
            query_clients: askers.map(|(_, i)| i).collect(),
            local_beyond_lookahead: min_host_delay(&setup.network) >= lookahead,
            no_early_timeout: has_no_early_timeout(setup, lookahead),
        }
    }

    pub(super) fn cannot_finish_before(&mut self, world: &mut World<'_>, until: Instant) -> bool {
        let mut tries = 0;
        while tries < TRIES.min(self.flows.len()) {
            self.at %= self.flows.len();
            match self.check_flow(world, self.flows[self.at], until) {
                Continuation::Continues => return true,
                Continuation::Completed => {
                    self.flows.swap_remove(self.at);
                }
                Continuation::Unknown => {
                    self.at += 1;
                    tries += 1;
                }
            }
        }
        let goes_on = |asker: &u32| {
            let spec = world.setup.query_clients.get(*asker as usize);
            let asking = world.query_clients.list.get(*asker as usize);
            spec.zip(asking)
                .is_some_and(|(spec, a)| a.cannot_finish_before(spec, until, self.lookahead))
        };
        self.query_clients.iter().any(goes_on)
    }

    fn check_flow(&self, world: &mut World<'_>, place: u32, until: Instant) -> Continuation {
        let (Some(&flow), Some(apart)) = (world.flows.get(place as usize), &world.shard) else {
            return Continuation::Completed;
        };
        if flow.is_over() || apart.map.is_over(flow.number) {
            return Continuation::Completed;
        }
        if flow.start >= until {
            return Continuation::Continues;
        }
        let leaves = apart.map.shard_of(flow.server) != apart.id;
        let side = ConnSide::client(place);
        let id = world.handles.get(side.index() as usize).and_then(|h| h.conn);
        let conn = id.and_then(|id| world.conn(side, id));
        let size = flow.size.map_or(0, Bytes::as_u64);
        let sends = |conn: &mut lowtide_tcp::Connection| {
            conn.sent_upto() < size && conn.is_making_progress()
        };
        let goes_on = self.no_early_timeout
            && (leaves || self.local_beyond_lookahead)
            && conn.is_some_and(sends);
        if goes_on { Continuation::Continues } else { Continuation::Unknown }
    }
}

/// The least time from any host to any other.
fn min_host_delay(plan: &Blueprint) -> Duration {
    let least = |from_host: bool| {
        let line = move |link: &LinkSpec| {
            let back = matches!(link.b, NodeId::Host(_));
            let line = link.line(back == from_host);
            let bytes = Bytes::new(SMALLEST + link.framing.overhead());
            line.rate.serialization(bytes) + line.delay
        };
        let hosts = plan
            .links
            .iter()
            .filter(|link| matches!((link.a, link.b), (NodeId::Host(_), _) | (_, NodeId::Host(_))));
        hosts.map(line).min().unwrap_or(Duration::ZERO)
    };
    least(true) + least(false)
}

/// No host gives a peer up sooner than after two timeouts, each longer than a lookahead.
fn has_no_early_timeout(setup: &Setup, lookahead: Duration) -> bool {
    setup.hosts.iter().all(|host| {
        let config = &host.config;
        !config.keep_alive && config.user_timeout == Duration::ZERO && config.rto_min >= lookahead
    })
}
