//! A run that is held at chosen times, to look at it: for comparing two runs.
//!
//! Contract: stepping and looking change nothing. A run in steps comes to the same digests as
//! [`crate::run`].

use lowtide_net::Packet;
use lowtide_sim::{Digest, Scheduler, World as _};
use lowtide_units::Instant;

use crate::error::RunError;
use crate::node::Node;
use crate::run::begin;
use crate::setup::Setup;
use crate::trace::{Trace, Tracer};
use crate::world::World;

/// What has a digest of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EntityName {
    /// An output port, by its number and name.
    Port(u32, String),
    /// A switch, for the packets to which it had no way.
    Switch(String),
    /// A host, by its number and name: what reached it, and timeouts of its connections.
    Host(u32, String),
}

/// A run as it goes on.
pub struct SteppedRun<'a> {
    world: World<'a>,
    sched: Scheduler,
}

impl<'a> SteppedRun<'a> {
    /// The run of `setup` before its first event; nothing is sampled and nothing traced.
    pub fn new(setup: &'a Setup) -> Result<Self, RunError> {
        let (world, sched) = begin(setup)?;
        Ok(Self { world, sched })
    }

    /// Handles the next event, if it is before `until`, before the end of the run, and the run is not over.
    pub fn step(&mut self, until: Instant) -> bool {
        if self.world.finished() {
            return false;
        }
        let until = until.min(self.world.end);
        let Some((now, entity)) = self.sched.pop_before(until) else { return false };
        self.world.handle(now, entity, &mut self.sched);
        true
    }

    /// Handles all events before `until`.
    pub fn run_until(&mut self, until: Instant) {
        while self.step(until) {}
    }

    /// The time of the next event; `None` when the run is over.
    pub fn next_event_time(&self) -> Option<Instant> {
        let next = self.sched.peek_time().filter(|at| *at < self.world.end);
        next.filter(|_| !self.world.finished())
    }

    /// The time of the last event.
    pub fn now(&self) -> Instant {
        self.sched.now()
    }

    /// The digests of all entities at present, ports first, hosts last.
    pub fn digests(&self) -> impl Iterator<Item = u64> {
        self.world.net.digests().chain(self.world.nodes.iter().map(Node::digest))
    }

    /// What has the digest of that place.
    pub fn entity(&self, place: usize) -> Option<EntityName> {
        let ports = self.world.net.ports().count();
        let networks = self.world.net.digest_count();
        if let Some(host) = place.checked_sub(networks) {
            let name = self.world.setup.network.hosts.get(host)?;
            return Some(EntityName::Host(host as u32, name.clone()));
        }
        let name = self.world.net.digest_name(place)?.to_owned();
        let port = EntityName::Port(place as u32, name.clone());
        Some(if place < ports { port } else { EntityName::Switch(name) })
    }

    /// The digest of the entity of that place at present.
    pub fn digest(&self, place: usize) -> Option<u64> {
        let networks = self.world.net.digest_count();
        match place.checked_sub(networks) {
            Some(host) => self.world.nodes.get(host).map(Node::digest),
            None => self.world.net.digest_of(place),
        }
    }

    /// Goes to the end of the run. Its digest: that of [`crate::Outcome::digest`].
    pub fn finish(&mut self) -> u64 {
        self.run_until(Instant::FAR_FUTURE);
        let ended = if self.world.finished() || self.sched.is_empty() {
            self.sched.now()
        } else {
            self.world.end
        };
        self.world.net.finish(ended);
        let hosts = self.world.nodes.iter().map(Node::digest);
        Digest::combine(core::iter::once(self.world.net.digest()).chain(hosts))
    }

    /// From now on records every segment at both ends and every packet at every port. The packets that are
    /// under way, each with the number by which the record will call it.
    pub fn record(&mut self) -> Vec<(u64, Packet)> {
        let all: Vec<u32> = (0..self.world.flows.len() as u32).collect();
        self.world.tracer = Tracer::new(&all, &self.world.flows, &mut self.world.net);
        self.world.net.traced_packets()
    }

    /// Of what is recorded, the packets that are under way now.
    pub fn in_flight(&self) -> Vec<(u64, Packet)> {
        self.world.net.traced_packets()
    }

    /// What was recorded.
    pub fn take_record(&mut self) -> Trace {
        let tracer = self.world.tracer.take();
        tracer.map(|t| t.into_trace(&mut self.world.net)).unwrap_or_default()
    }
}
