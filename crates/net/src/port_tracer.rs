//! Traces of the packets of chosen connections at every port.
//!
//! Contract: tracing changes neither the run nor its digest; an untraced network pays one branch
//! per hop. A port is traced from the first packet of a chosen connection on. From then on every
//! packet there is recorded, because the chosen ones wait for the others. A record is final when
//! its packet has left the port: it is dropped, reaches the next port, or is delivered.

use std::collections::VecDeque;

use lowtide_units::Instant;

use crate::Occupancy;
use crate::aqm::AqmVerdict;
use crate::enqueue_outcome::{DropReason, EnqueueOutcome};
use crate::packet_pool::PacketId;

/// The outcome at a port, and the component that decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HopOutcome {
    /// Enqueued unmarked.
    Queued,
    /// The marker set CE.
    Marked,
    /// The buffer was full.
    DroppedByBuffer,
    /// The marker dropped it.
    DroppedByMarker,
    /// The line lost it, at random or by a link failure.
    Lost,
}

/// One packet at one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HopRecord {
    /// Arrival time.
    pub at: Instant,
    /// Number of the port.
    pub port: u32,
    /// Number of the packet, counted from one over the packets of chosen connections; zero for
    /// others.
    pub packet: u64,
    /// Its [`crate::Packet::src_conn`].
    pub src_conn: u32,
    /// Its IP bytes.
    pub size: u32,
    /// The queue that it found, as the port counts it.
    pub backlog: Occupancy,
    /// The outcome.
    pub decision: HopOutcome,
    /// Start of transmission; `at` for a packet that was dropped on arrival. If the marker dropped
    /// it at the head of the queue, the time of that drop.
    pub start: Instant,
    /// End of transmission; equals `start` for a dropped packet. For a packet that still waits at
    /// the end of the run, at a port with departure events, both are as if it did not wait.
    pub departure: Instant,
}

/// The traced connections and the records.
#[derive(Clone, Debug, Default)]
pub(crate) struct PortTracer {
    /// By connection number.
    conns: Vec<bool>,
    /// By port number.
    ports: Vec<bool>,
    /// Number and connection of each packet in flight, by pool slot.
    in_flight: Vec<(u64, u32)>,
    given: u64,
    /// The last packet sent.
    last: u64,
    /// Records that were not taken yet, and whether each is final.
    records: VecDeque<(HopRecord, bool)>,
    /// Number of records taken so far.
    taken: usize,
    /// Number of the latest record of each packet in flight, by pool slot; `usize::MAX` if there is
    /// none.
    latest: Vec<usize>,
}

impl PortTracer {
    pub(crate) fn new(conns: &[u32], ports: usize) -> Self {
        let most = conns.iter().max().map_or(0, |c| *c as usize + 1);
        let mut tracer =
            Self { conns: vec![false; most], ports: vec![false; ports], ..Self::default() };
        for conn in conns {
            tracer.conns[*conn as usize] = true;
        }
        tracer
    }

    /// Registers a packet of `src_conn` that is sent.
    pub(crate) fn on_send(&mut self, id: PacketId, src_conn: u32) {
        let chosen = self.conns.get(src_conn as usize).is_some_and(|c| *c);
        self.given += u64::from(chosen);
        self.last = if chosen { self.given } else { 0 };
        // The packet that had the slot before is gone.
        self.on_leave(id);
        if id.index() >= self.in_flight.len() {
            self.in_flight.resize(id.index() + 1, (0, 0));
        }
        self.in_flight[id.index()] = (self.last, src_conn);
    }

    /// Returns the number of a packet at its host.
    pub(crate) fn trace_id(&self, id: PacketId) -> u64 {
        self.in_flight.get(id.index()).map_or(0, |u| u.0)
    }

    /// Handles the delivery of a packet. Returns its number.
    pub(crate) fn on_deliver(&mut self, id: PacketId) -> u64 {
        self.on_leave(id);
        self.trace_id(id)
    }

    /// Makes the latest record of a packet final.
    fn on_leave(&mut self, id: PacketId) {
        if let Some((_, last)) = self.latest(id) {
            *last = true;
            self.latest[id.index()] = usize::MAX;
        }
    }

    /// Records a packet of `size` bytes at `port`; `service` is its serialisation time. Its
    /// departure, unless it is dropped, follows from that.
    #[cold]
    pub(crate) fn on_enqueue(
        &mut self,
        (at, port): (Instant, u32),
        (id, size): (PacketId, u32),
        found: Occupancy,
        (entered, departure): (EnqueueOutcome, Instant),
        service: lowtide_units::Duration,
    ) {
        let (packet, src_conn) = self.in_flight.get(id.index()).copied().unwrap_or_default();
        let Some(watched) = self.ports.get_mut(port as usize) else { return };
        *watched |= packet > 0;
        let watched = *watched;
        self.on_leave(id);
        if !watched {
            return;
        }
        let dropped = matches!(entered, EnqueueOutcome::Dropped(_));
        if !dropped {
            if id.index() >= self.latest.len() {
                self.latest.resize(id.index() + 1, usize::MAX);
            }
            self.latest[id.index()] = self.taken + self.records.len();
        }
        let decision = match entered {
            EnqueueOutcome::Queued => HopOutcome::Queued,
            EnqueueOutcome::Marked => HopOutcome::Marked,
            EnqueueOutcome::Dropped(DropReason::BufferFull) => HopOutcome::DroppedByBuffer,
            EnqueueOutcome::Dropped(DropReason::Marker) => HopOutcome::DroppedByMarker,
            EnqueueOutcome::Dropped(DropReason::Lost) => HopOutcome::Lost,
        };
        let (start, departure) = match entered {
            EnqueueOutcome::Dropped(_) => (at, at),
            _ => (Instant::from_ps(departure.as_ps().saturating_sub(service.as_ps())), departure),
        };
        let record = HopRecord {
            at,
            port,
            packet,
            src_conn,
            size,
            backlog: found,
            decision,
            start,
            departure,
        };
        self.records.push_back((record, dropped));
    }

    /// Records the start of transmission, or a drop at the head of the queue, at `at`.
    #[cold]
    pub(crate) fn on_dequeue(
        &mut self,
        id: PacketId,
        at: Instant,
        departure: Instant,
        verdict: AqmVerdict,
    ) {
        let Some((record, last)) = self.latest(id) else { return };
        record.start = at;
        record.departure = departure;
        match verdict {
            AqmVerdict::Forward => {}
            AqmVerdict::Mark => record.decision = HopOutcome::Marked,
            AqmVerdict::Drop => {
                record.decision = HopOutcome::DroppedByMarker;
                record.departure = at;
                *last = true;
            }
        }
    }

    /// Records a mark at dequeue.
    #[cold]
    pub(crate) fn on_mark(&mut self, id: PacketId) {
        if let Some((record, _)) = self.latest(id) {
            record.decision = HopOutcome::Marked;
        }
    }

    fn latest(&mut self, id: PacketId) -> Option<&mut (HopRecord, bool)> {
        let &at = self.latest.get(id.index())?;
        self.records.get_mut(at.checked_sub(self.taken)?)
    }

    pub(crate) const fn last(&self) -> u64 {
        self.last
    }

    /// Takes the records before `now` that precede every record which is not final. Returns them
    /// with the time up to which there will be no others.
    pub(crate) fn take_final(&mut self, now: Instant) -> (Vec<HopRecord>, Instant) {
        let open = self.records.iter().find(|(_, last)| !last).map_or(now, |(open, _)| open.at);
        let until = open.min(now);
        let count = self.records.iter().take_while(|(record, _)| record.at < until).count();
        self.taken += count;
        (self.records.drain(..count).map(|(record, _)| record).collect(), until)
    }

    pub(crate) fn into_hop_records(self) -> Vec<HopRecord> {
        self.records.into_iter().map(|(record, _)| record).collect()
    }
}
