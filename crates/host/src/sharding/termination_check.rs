//! Checks that the run cannot finish within the next window, so no shard can run past the end.
//!
//! Contract: one witness suffices, and doubt means no. A flow continues until `until`, at most a
//! lookahead after the events done, if it starts no earlier. It also continues if it is healthy,
//! its client has unsent bytes, and no packet reaches the server within a lookahead. It is healthy
//! if no timer at the client can end it so soon ([`Connection::is_making_progress`]). Then the
//! server's end has acknowledged data, so it is established and has nothing to retransmit, and a
//! live end sends no RST. A query client continues if its next query is not due before `until`, or
//! not until a lookahead after the outstanding one.
//!
//! [`Connection::is_making_progress`]: lowtide_tcp::Connection::is_making_progress

use std::cmp::Reverse;

use lowtide_net::{Blueprint, LinkSpec, NodeId};
use lowtide_units::{Bytes, Duration, Instant};

use crate::app::ConnSide;
use crate::setup::Setup;
use crate::tables::Table;
use crate::world::World;

/// Maximum flows examined before it gives up.
const TRIES: usize = 16;
/// IP bytes of the smallest packet.
const SMALLEST: u64 = 40;

/// The possible witnesses of one shard: flows and query clients.
#[derive(Debug, Default)]
pub(super) struct TerminationCheck {
    lookahead: Duration,
    /// Local indices of sized flows with their client here that are not known to be complete.
    flows: Vec<u32>,
    /// The first flow to examine.
    at: usize,
    /// Query clients here.
    query_clients: Vec<u32>,
    /// Flows within this shard also cannot reach their server within a lookahead.
    local_beyond_lookahead: bool,
    /// No timer aborts a connection within a lookahead.
    no_early_timeout: bool,
}

/// The state of a flow.
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
        let shard = world.own_shard();
        let here = |host: u32| shard.map.shard_of(host) == shard.id;
        let flows = world.flows.iter().zip(0..);
        let own = flows.filter(|(f, _)| f.is_awaited(setup) && f.size.is_some() && here(f.client));
        let mut flows: Vec<u32> = own.map(|(_, index)| index).collect();
        // The last to start are examined first.
        flows.sort_by_key(|index| {
            let flow = &world.flows[*index as usize];
            Reverse((flow.start, flow.size))
        });
        let query_clients =
            setup.query_clients.iter().zip(0..).filter(|(spec, _)| here(spec.client));
        Self {
            lookahead,
            flows,
            at: 0,
            query_clients: query_clients.map(|(_, i)| i).collect(),
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
        let goes_on = |client_index: &u32| {
            let spec = world.setup.query_clients.row(*client_index);
            let query_client = world.query_clients.list.row(*client_index);
            query_client.cannot_finish_before(spec, until, self.lookahead)
        };
        self.query_clients.iter().any(goes_on)
    }

    fn check_flow(&self, world: &mut World<'_>, index: u32, until: Instant) -> Continuation {
        let (flow, shard) = (*world.flows.row(index as usize), world.own_shard());
        if flow.is_over() || shard.map.is_over(flow.number) {
            return Continuation::Completed;
        }
        if flow.start >= until {
            return Continuation::Continues;
        }
        let leaves = shard.map.shard_of(flow.server) != shard.id;
        let side = ConnSide::client(index);
        let conn = world.open_conn(side).map(|(_, conn)| conn);
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

/// Returns the minimum delay between any two hosts.
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

/// Returns true if no host aborts a connection before two timeouts, each at least a lookahead.
fn has_no_early_timeout(setup: &Setup, lookahead: Duration) -> bool {
    setup.hosts.iter().all(|host| {
        let config = &host.config;
        !config.keep_alive && config.user_timeout == Duration::ZERO && config.rto_min >= lookahead
    })
}
