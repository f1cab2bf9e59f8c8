//! What becomes of the packets of chosen connections at every port, for traces.
//!
//! Contract: it looks and changes nothing, neither the run nor its digest; a network that is not
//! watched pays one branch per hop. A port is watched from the first packet of a chosen connection on
//! that comes to it; from then on every packet there is noted, because those of others are what the
//! chosen ones wait for.

use lowtide_units::Instant;

use crate::Occupancy;
use crate::aqm::AqmVerdict;
use crate::enqueue_outcome::{DropReason, EnqueueOutcome};
use crate::packet::PacketId;

/// What a port decided about a packet, and which of its parts did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HopOutcome {
    /// It took the packet in as it was.
    Queued,
    /// The marker set CE.
    Marked,
    /// The buffer had no room.
    DroppedByBuffer,
    /// The marker dropped it.
    DroppedByMarker,
    /// The line lost it, at random or because its link failed.
    Lost,
}

/// One packet at one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HopRecord {
    /// When it came.
    pub at: Instant,
    /// Number of the port.
    pub port: u32,
    /// Number of the packet, counted from one over the packets of chosen connections; zero for others.
    pub packet: u64,
    /// [`crate::Packet::src_conn`] of it.
    pub src_conn: u32,
    /// Its IP bytes.
    pub size: u32,
    /// The queue that it found, as the port counts it.
    pub backlog: Occupancy,
    /// What became of it.
    pub decision: HopOutcome,
    /// When the line begins to send it; `at` for one that was dropped, or when the marker dropped it at
    /// the head of the queue.
    pub start: Instant,
    /// When the line has sent it; as `start` for one that was dropped. Of a packet that still waits at
    /// the end of the run in a port with classes or drops at dequeue, both are as if it did not wait.
    pub departure: Instant,
}

/// Who is watched, and what was seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct PortTracer {
    /// By number of the connection.
    conns: Vec<bool>,
    /// By number of the port.
    ports: Vec<bool>,
    /// Number and connection of each packet under way, by its place in the pool.
    in_flight: Vec<(u64, u32)>,
    given: u64,
    /// The packet that entered the network last.
    last: u64,
    passages: Vec<HopRecord>,
    /// The last passage of each packet under way, by its place in the pool; `usize::MAX` if nobody
    /// noted it.
    latest: Vec<usize>,
}

impl PortTracer {
    pub(crate) fn new(conns: &[u32], ports: usize) -> Self {
        let most = conns.iter().max().map_or(0, |c| *c as usize + 1);
        let mut watch =
            Self { conns: vec![false; most], ports: vec![false; ports], ..Self::default() };
        for conn in conns {
            watch.conns[*conn as usize] = true;
        }
        watch
    }

    /// A packet of `src_conn` enters the network.
    pub(crate) fn on_send(&mut self, id: PacketId, src_conn: u32) {
        let chosen = self.conns.get(src_conn as usize).is_some_and(|c| *c);
        self.given += u64::from(chosen);
        self.last = if chosen { self.given } else { 0 };
        if id.index() >= self.in_flight.len() {
            self.in_flight.resize(id.index() + 1, (0, 0));
        }
        self.in_flight[id.index()] = (self.last, src_conn);
    }

    /// A packet has reached its host; its number.
    pub(crate) fn trace_id(&self, id: PacketId) -> u64 {
        self.in_flight.get(id.index()).map_or(0, |u| u.0)
    }

    /// A packet of `size` bytes came to `port`; `service` is how long the line needs for it. When it leaves,
    /// if it does.
    #[cold]
    #[inline(never)]
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
        if id.index() >= self.latest.len() {
            self.latest.resize(id.index() + 1, usize::MAX);
        }
        self.latest[id.index()] = if *watched { self.passages.len() } else { usize::MAX };
        if !*watched {
            return;
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
        let passage = HopRecord {
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
        self.passages.push(passage);
    }

    /// The line begins to send a packet, or its marker drops it there, at `at`.
    #[cold]
    pub(crate) fn on_dequeue(
        &mut self,
        id: PacketId,
        at: Instant,
        departure: Instant,
        verdict: AqmVerdict,
    ) {
        let Some(passage) = self.latest(id) else { return };
        passage.start = at;
        passage.departure = departure;
        match verdict {
            AqmVerdict::Forward => {}
            AqmVerdict::Mark => passage.decision = HopOutcome::Marked,
            AqmVerdict::Drop => {
                passage.decision = HopOutcome::DroppedByMarker;
                passage.departure = at;
            }
        }
    }

    /// A packet was marked on its way out of the port.
    #[cold]
    pub(crate) fn on_mark(&mut self, id: PacketId) {
        if let Some(passage) = self.latest(id) {
            passage.decision = HopOutcome::Marked;
        }
    }

    fn latest(&mut self, id: PacketId) -> Option<&mut HopRecord> {
        let &at = self.latest.get(id.index())?;
        self.passages.get_mut(at)
    }

    pub(crate) const fn last(&self) -> u64 {
        self.last
    }

    pub(crate) fn into_hop_records(self) -> Vec<HopRecord> {
        self.passages
    }
}
