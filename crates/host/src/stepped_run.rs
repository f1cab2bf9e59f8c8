//! A run that can be stopped at chosen times for inspection, to compare two runs.
//!
//! Contract: stepping and inspection change nothing. A stepped run has the same digests as
//! [`crate::run`].

use lowtide_net::Packet;
use lowtide_sim::{Digest, Scheduler, World as _};
use lowtide_units::Instant;

use crate::error::RunError;
use crate::node::Node;
use crate::results::trace::{Trace, Tracer};
use crate::run::begin;
use crate::setup::Setup;
use crate::world::World;

/// An entity with its own digest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EntityName {
    /// An output port, by its number and name.
    Port(u32, String),
    /// A switch, for the packets without a route there.
    Switch(String),
    /// A host, by its number and name: packets delivered to it, and timeouts of its connections.
    Host(u32, String),
}

/// A run in progress.
pub struct SteppedRun<'a> {
    world: World<'a>,
    sched: Scheduler,
}

impl<'a> SteppedRun<'a> {
    /// Returns the run of `setup` before its first event, without sampling and tracing.
    pub fn new(setup: &'a Setup) -> Result<Self, RunError> {
        let (world, sched) = begin(setup)?;
        Ok(Self { world, sched })
    }

    /// Handles the next event, if it is before `until` and before the end, and the run is not
    /// complete.
    pub fn step(&mut self, until: Instant) -> bool {
        if self.world.finished() {
            return false;
        }
        let until = until.min(self.world.end);
        // The run may have no event left before `until`.
        let Some((now, entity)) = self.sched.pop_before(until) else { return false };
        self.world.handle(now, entity, &mut self.sched);
        true
    }

    /// Handles all events before `until`.
    pub fn run_until(&mut self, until: Instant) {
        while self.step(until) {}
    }

    /// Returns the time of the next event; `None` if the run is complete.
    pub fn next_event_time(&self) -> Option<Instant> {
        let next = self.sched.peek_time().filter(|at| *at < self.world.end);
        next.filter(|_| !self.world.finished())
    }

    /// Returns the time of the last event.
    pub fn now(&self) -> Instant {
        self.sched.now()
    }

    /// Returns the current digests of all entities, ports first, hosts last.
    pub fn digests(&self) -> impl Iterator<Item = u64> {
        self.world.net.digests().chain(self.world.nodes.iter().map(Node::digest))
    }

    /// Returns the entity of the digest with that index; `None` beyond the last one.
    pub fn entity(&self, index: usize) -> Option<EntityName> {
        let ports = self.world.net.ports().count();
        let networks = self.world.net.digest_count();
        if let Some(host) = index.checked_sub(networks) {
            let name = self.world.setup.network.hosts.get(host)?;
            return Some(EntityName::Host(host as u32, name.clone()));
        }
        let name = self.world.net.digest_name(index)?.to_owned();
        let port = EntityName::Port(index as u32, name.clone());
        Some(if index < ports { port } else { EntityName::Switch(name) })
    }

    /// Returns the current digest of the entity with that index; `None` beyond the last one.
    pub fn digest(&self, index: usize) -> Option<u64> {
        let networks = self.world.net.digest_count();
        match index.checked_sub(networks) {
            Some(host) => self.world.nodes.get(host).map(Node::digest),
            None => self.world.net.digest_of(index),
        }
    }

    /// Runs to the end. Returns the digest of [`crate::Outcome::digest`].
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

    /// Starts to record every segment at both ends and every packet at every port. Returns the
    /// packets in flight, each with its number in the record.
    pub fn record(&mut self) -> Vec<(u64, Packet)> {
        let all: Vec<u32> = (0..self.world.flows.len() as u32).collect();
        self.world.tracer = Tracer::new(&all, &self.world.flows, &mut self.world.net);
        self.world.net.traced_packets()
    }

    /// Returns the packets in flight, with their numbers in the record.
    pub fn in_flight(&self) -> Vec<(u64, Packet)> {
        self.world.net.traced_packets()
    }

    /// Returns the record.
    pub fn take_record(&mut self) -> Trace {
        let tracer = self.world.tracer.take();
        tracer.map(|t| t.into_trace(&mut self.world.net)).unwrap_or_default()
    }
}
