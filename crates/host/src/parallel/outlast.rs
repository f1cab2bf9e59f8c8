//! Whether something that the run waits for certainly goes on: as long as that is so, no part can do
//! anything after the end of the run.
//!
//! Contract: one witness is enough, and doubt is no. A flow goes on until `until`, at most a lookahead from what is
//! done, if it starts no earlier; or if it is well and its client has bytes that it has never sent, as long
//! as no packet gets to the server within a lookahead. It is well when no timer can end it so soon
//! ([`Connection::is_thriving`]) at the client; the server's end has acknowledged data, so it is established and
//! has nothing to repeat, and no RST comes from an end that lives. An asker goes on if its next query is not due
//! before `until`, or not for a lookahead after the one that is under way.
//!
//! [`Connection::is_thriving`]: lowtide_tcp::Connection::is_thriving

use std::cmp::Reverse;

use lowtide_net::{Blueprint, LinkSpec, NodeId};
use lowtide_units::{Bytes, Duration, Instant};

use crate::app::Side;
use crate::setup::Setup;
use crate::world::World;

/// So many flows are looked at before it says that it does not know.
const TRIES: usize = 16;
/// IP bytes of the smallest packet.
const SMALLEST: u64 = 40;

/// The flows and askers of one part that may be witnesses.
#[derive(Debug, Default)]
pub(super) struct Outlast {
    lookahead: Duration,
    /// Flows with a size whose clients are here, as far as they are not known to be over: places.
    flows: Vec<u32>,
    /// Where to look first.
    at: usize,
    /// Askers here.
    askers: Vec<u32>,
    /// A flow within this part cannot reach its server within a lookahead either.
    far: bool,
    /// No timer gives a connection up within a lookahead.
    patient: bool,
}

/// What can be said of a flow.
enum Is {
    Over,
    GoingOn,
    Unsure,
}

impl Outlast {
    pub(super) fn new(world: &World<'_>, lookahead: Duration) -> Self {
        let setup = world.setup;
        if !setup.end.when_done {
            return Self::default();
        }
        let Some(apart) = &world.apart else { return Self::default() };
        let here = |host: u32| apart.common.part(host) == apart.part;
        let flows = world.flows.iter().zip(0..);
        let own = flows.filter(|(f, _)| !f.answers && f.size.is_some() && here(f.client));
        let mut flows: Vec<u32> = own.map(|(_, place)| place).collect();
        // The last to start are those to look at first.
        flows.sort_by_key(|place| {
            let flow = &world.flows[*place as usize];
            Reverse((flow.start, flow.size))
        });
        let askers = setup.askers.iter().zip(0..).filter(|(spec, _)| here(spec.client));
        Self {
            lookahead,
            flows,
            at: 0,
            askers: askers.map(|(_, i)| i).collect(),
            far: nearest(&setup.network) >= lookahead,
            patient: is_patient(setup, lookahead),
        }
    }

    pub(super) fn outlasts(&mut self, world: &mut World<'_>, until: Instant) -> bool {
        let mut tries = 0;
        while tries < TRIES.min(self.flows.len()) {
            self.at %= self.flows.len();
            match self.look(world, self.flows[self.at], until) {
                Is::GoingOn => return true,
                Is::Over => {
                    self.flows.swap_remove(self.at);
                }
                Is::Unsure => {
                    self.at += 1;
                    tries += 1;
                }
            }
        }
        let goes_on = |asker: &u32| {
            let spec = world.setup.askers.get(*asker as usize);
            let asking = world.askers.list.get(*asker as usize);
            spec.zip(asking).is_some_and(|(spec, a)| a.outlasts(spec, until, self.lookahead))
        };
        self.askers.iter().any(goes_on)
    }

    fn look(&self, world: &mut World<'_>, place: u32, until: Instant) -> Is {
        let (Some(&flow), Some(apart)) = (world.flows.get(place as usize), &world.apart) else {
            return Is::Over;
        };
        if flow.is_over() || apart.common.is_over(flow.number) {
            return Is::Over;
        }
        if flow.start >= until {
            return Is::GoingOn;
        }
        let leaves = apart.common.part(flow.server) != apart.part;
        let side = Side::client(place);
        let id = world.handles.get(side.index() as usize).and_then(|h| h.conn);
        let conn = id.and_then(|id| world.conn(side, id));
        let size = flow.size.map_or(0, Bytes::as_u64);
        let sends =
            |conn: &mut lowtide_tcp::Connection| conn.sent_upto() < size && conn.is_thriving();
        let goes_on = self.patient && (leaves || self.far) && conn.is_some_and(sends);
        if goes_on { Is::GoingOn } else { Is::Unsure }
    }
}

/// The least time from any host to any other.
fn nearest(plan: &Blueprint) -> Duration {
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
fn is_patient(setup: &Setup, lookahead: Duration) -> bool {
    setup.hosts.iter().all(|host| {
        let config = &host.config;
        !config.keep_alive && config.user_timeout == Duration::ZERO && config.rto_min >= lookahead
    })
}
