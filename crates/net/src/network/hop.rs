//! The path of a packet: from the far end of one line to its place at the next port, or to its host.

use std::hint::cold_path;

use lowtide_sim::{Entity, Scheduler};
use lowtide_units::{Duration, Instant};

use super::{Delivery, Network};
use crate::entered::Entered;
use crate::memory::Found;
use crate::packet::{Moving, Packet, PacketId};
use crate::port::Far;
use crate::scheduler::Arrived;
use crate::{HostId, Occupancy};

/// A packet that has reached its host, and is still where the network keeps it.
#[derive(Debug)]
#[must_use = "it stays where it is until it is taken or left"]
pub struct Landed {
    /// The host.
    pub host: HostId,
    id: PacketId,
    /// See [`Delivery::came`].
    came: Instant,
}

impl Network {
    /// The event of the port of that number has come: its first packet arrives at the far end of the line.
    ///
    /// Returns it when it has reached its host, or `None` when it went on from a switch (or was
    /// dropped there).
    pub fn on_port_event(
        &mut self,
        now: Instant,
        number: u32,
        sched: &mut Scheduler,
    ) -> Option<Delivery> {
        self.land(now, number, sched).map(|landed| self.take(landed))
    }

    /// The same where the packet stays for whoever looks at it before it is taken ([`Network::take`]) or left
    /// ([`Network::leave`]), one of which must follow.
    #[inline]
    pub fn land(&mut self, now: Instant, number: u32, sched: &mut Scheduler) -> Option<Landed> {
        let port = self.place(number);
        let this = self.ports.get_mut(port as usize)?;
        if !this.is_plain_far() {
            cold_path();
            let arrived = self.arrive_special(now, port, sched)?;
            return self.go_on_special(now, (number, port), arrived, sched);
        }
        let arrived = this.arrive()?;
        self.go_on(now, (number, port), arrived, sched)
    }

    /// See [`Self::go_on`].
    #[inline(never)]
    fn go_on_special(
        &mut self,
        now: Instant,
        port: (u32, u32),
        arrived: Arrived,
        sched: &mut Scheduler,
    ) -> Option<Landed> {
        self.go_on(now, port, arrived, sched)
    }

    /// A packet has arrived at the far end of the port of that number and place.
    #[expect(
        clippy::inline_always,
        reason = "every hop: one copy for plain ports, one for the others"
    )]
    #[inline(always)]
    fn go_on(
        &mut self,
        now: Instant,
        (number, port): (u32, u32),
        arrived: Arrived,
        sched: &mut Scheduler,
    ) -> Option<Landed> {
        let Arrived { packet, departure, next } = arrived;
        if let Some(next) = next {
            sched.at(next, Entity::new(Self::PORT_KIND, number));
        }
        let id = packet.id;
        if id == PacketId::GONE {
            cold_path();
            return None;
        }
        let this = &self.ports[port as usize];
        match this.far() {
            Far::Host(host) => Some(Landed { host, id, came: departure + this.delay() }),
            Far::Switch(switch) => {
                let Some(next) = self.routes.port(switch, packet) else {
                    self.no_way(now, switch, id);
                    return None;
                };
                let departure = self.enqueue(now, next, packet, sched);
                if self.waits
                    && let Some(departure) = departure
                {
                    self.note_wait(now, next, packet, departure);
                }
                None
            }
        }
    }

    /// A packet that has landed.
    #[inline]
    pub fn landed(&self, landed: &Landed) -> &Packet {
        self.pool.packet(landed.id)
    }

    /// A packet that has landed is taken out.
    #[expect(clippy::needless_pass_by_value, reason = "it is there only once")]
    pub fn take(&mut self, landed: Landed) -> Delivery {
        let Landed { host, id, came } = landed;
        let waited = if self.waits { self.pool.head(id).waited } else { 0 };
        let waited = Duration::from_ns(u64::from(waited));
        let watched = self.watch.as_mut().map_or(0, |watch| watch.leaves(id));
        Delivery { host, packet: self.pool.take(id), came, waited, watched }
    }

    /// A packet that has landed is not needed any more.
    #[expect(clippy::needless_pass_by_value, reason = "it is there only once")]
    #[inline]
    pub fn leave(&mut self, landed: Landed) {
        self.pool.leave(landed.id);
    }

    /// The packet came to `port` and will have left at `departure`: the rest of that time it waits.
    #[cold]
    fn note_wait(&mut self, now: Instant, port: u32, packet: Moving, departure: Instant) {
        let on_line = self.ports[port as usize].line().serialization(packet.size);
        self.pool.wait(packet.id, departure.saturating_since(now + on_line));
    }

    /// A packet comes to `port`. When it will have left, if that is known, or `None` if it is dropped.
    ///
    /// A function of its own: within its callers it has too few registers.
    #[inline(never)]
    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        port: u32,
        packet: Moving,
        sched: &mut Scheduler,
    ) -> Option<Instant> {
        if self.watch.is_some() || !self.ports[port as usize].is_plain() {
            return self.enqueue_special(now, port, packet, sched);
        }
        let (entered, departure) = self.take_in(now, port, packet, Found::UNSHARED, sched);
        (!matches!(entered, Entered::Dropped(_))).then_some(departure)
    }

    /// A packet comes to a port where its departure is known, and finds so much of a shared memory. What becomes
    /// of it, and when it leaves if it does.
    #[expect(
        clippy::inline_always,
        reason = "every hop: one copy for plain ports, one for those with shared memory, one for the others"
    )]
    #[inline(always)]
    pub(super) fn take_in(
        &mut self,
        now: Instant,
        port: u32,
        packet: Moving,
        shared: Found,
        sched: &mut Scheduler,
    ) -> (Entered, Instant) {
        let this = &mut self.ports[port as usize];
        let entered = this.enter(now, packet, shared, &self.pool);
        let departure = this.departure_of(now, packet.size);
        match entered {
            Entered::Queued => {}
            Entered::Marked => self.pool.set_ce(packet.id),
            Entered::Dropped(_) => {
                cold_path();
                self.pool.discard(packet.id);
                return (entered, departure);
            }
        }
        let mut arrival = departure + this.delay();
        if let Far::Host(host) = this.far()
            && let Some(late) = self.lateness.get_mut(host.0 as usize)
        {
            arrival = late.delay(arrival, self.host_jitter);
        }
        if this.commit(packet, departure, arrival) {
            if this.crosses() {
                self.awaits_hand_over(port);
            } else {
                sched.at(arrival, Entity::new(Self::PORT_KIND, this.number()));
            }
        }
        (entered, departure)
    }

    /// Notes what became of a packet that is watched, and when it leaves, if it does.
    #[cold]
    #[inline(never)]
    pub(super) fn note_passage(
        &mut self,
        at: (Instant, u32),
        packet: Moving,
        found: Occupancy,
        entered: (Entered, Instant),
    ) {
        let service = self.ports[at.1 as usize].line().serialization(packet.size);
        if let Some(watch) = &mut self.watch {
            watch.passes(at, (packet.id, packet.size), found, entered, service);
        }
    }

    /// The queue that a packet finds which is watched, in a port where its departure is known.
    #[cold]
    pub(super) fn found(&mut self, now: Instant, port: u32) -> Occupancy {
        self.ports[port as usize].queue(now)
    }
}
