//! Traces of chosen flows: every segment at both ends, every change of the sender, every packet at
//! the ports on the path.
//!
//! Contract: read-only; the digest does not depend on tracing. An untraced run pays one branch per
//! segment sent or received. The world calls in this order: the cause of an action
//! ([`Tracer::received`], [`Tracer::timer`], [`Tracer::opened`]), its transmissions
//! ([`Tracer::sent`]), the resulting state ([`Tracer::on_sender_state`]).

mod rows;

use lowtide_net::Network;
use lowtide_tcp::{Connection, Counters, Info, State};
use lowtide_units::Instant;
use lowtide_wire::{Flags, Segment, SeqNum};

pub use rows::{
    SegmentEvent, SegmentRow, SenderEvents, SenderPhase, SenderRow, Trace, TracedFlow, Trigger,
};

use crate::app::{ConnProgress, ConnSide};
use crate::node::address;

/// The trace state of one side.
#[derive(Clone, Copy, Debug, Default)]
struct StreamState {
    isn: Option<SeqNum>,
    /// One past the highest offset sent.
    snd_max: u64,
}

impl StreamState {
    /// Returns the stream offset of a sequence number of this side, near the highest one sent.
    fn offset(&self, seq: SeqNum) -> u64 {
        // A side that has not sent its SYN has no stream yet.
        let Some(isn) = self.isn else { return 0 };
        let near = i64::from(seq.diff(isn.add(1).add(self.snd_max)));
        self.snd_max.saturating_add_signed(near)
    }
}

/// Records the traced flows of a run.
#[derive(Debug)]
pub(crate) struct Tracer {
    /// Index in `trace.flows` by flow number.
    index: Vec<Option<u32>>,
    /// Two per traced flow.
    sides: Vec<StreamState>,
    /// The last row and the counters of each traced flow's sender.
    last: Vec<Option<(SenderRow, Counters)>>,
    trigger: Trigger,
    cause: u64,
    trace: Trace,
}

impl Tracer {
    /// Returns a tracer; `None` if there is nothing to trace. Unknown flows are ignored.
    pub(crate) fn new(
        wanted: &[u32],
        all: &[ConnProgress],
        net: &mut Network,
    ) -> Option<Box<Self>> {
        let mut ids: Vec<u32> = wanted.to_vec();
        ids.sort_unstable();
        ids.dedup();
        let ends = |id: u32| {
            let conn = all.get(id as usize)?;
            Some(TracedFlow { id, client: address(conn.client), server: address(conn.server) })
        };
        let flows: Vec<TracedFlow> = ids.into_iter().filter_map(ends).collect();
        let answers_from = all.iter().take_while(|p| !p.server_sends).count() as u32;
        let most = flows.last()?.id as usize;
        let mut index = vec![None; most + 1];
        for (i, flow) in flows.iter().enumerate() {
            index[flow.id as usize] = Some(i as u32);
        }
        let conns: Vec<u32> = flows
            .iter()
            .map(|f| ConnSide::client(f.id))
            .flat_map(|side| [side.index(), side.peer().index()])
            .collect();
        net.trace(&conns);
        Some(Box::new(Self {
            index,
            sides: vec![StreamState::default(); conns.len()],
            last: vec![None; flows.len()],
            trigger: Trigger::default(),
            cause: 0,
            trace: Trace { flows, first_query_conn: answers_from, ..Trace::default() },
        }))
    }

    /// Takes all rows before the returned time; no others before it will follow. It is at most
    /// `now`, the time of the last event.
    pub(crate) fn take_final(&mut self, now: Instant, net: &mut Network) -> (Trace, Instant) {
        let (hop_records, until) = net.take_final_hop_records(now);
        let part = Trace {
            flows: self.trace.flows.clone(),
            first_query_conn: self.trace.first_query_conn,
            segments: before(&mut self.trace.segments, |row| row.at < until),
            hop_records,
            senders: before(&mut self.trace.senders, |row| row.at < until),
        };
        (part, until)
    }

    /// Returns the rows that were not taken.
    pub(crate) fn into_trace(self, net: &mut Network) -> Trace {
        Trace { hop_records: net.take_hop_records(), ..self.trace }
    }

    /// Returns the index of a traced flow; `None` if the flow of this side is not traced.
    fn index(&self, side: ConnSide) -> Option<usize> {
        self.index.get(side.flow()).copied().flatten().map(|p| p as usize)
    }

    /// Records that the application opened a connection.
    pub(crate) fn opened(&mut self) {
        (self.trigger, self.cause) = (Trigger::Open, 0);
    }

    /// Records that a segment arrived at `side`; `packet` is its number.
    #[cold]
    #[inline(never)]
    pub(crate) fn received(&mut self, at: Instant, side: ConnSide, segment: &Segment, packet: u64) {
        (self.trigger, self.cause) = (Trigger::Segment, packet);
        self.note(at, side.peer(), SegmentEvent::Received, segment, packet);
    }

    /// Marks the segment that arrived last as rejected.
    #[cold]
    #[inline(never)]
    pub(crate) fn rejected(&mut self, side: ConnSide) {
        let flow = side.flow() as u32;
        if let Some(row) = self.trace.segments.last_mut().filter(|r| r.flow == flow) {
            row.event = SegmentEvent::Rejected;
        }
    }

    /// Records that a timer of a side fired between these two states.
    #[cold]
    #[inline(never)]
    pub(crate) fn timer(&mut self, before: &Info, after: &Info) {
        self.cause = 0;
        let (was, is) = (&before.counters, &after.counters);
        self.trigger = if is.rto_count > was.rto_count {
            Trigger::Rto
        } else if is.loss_probes > was.loss_probes {
            Trigger::LossProbe
        } else if is.fast_retransmits > was.fast_retransmits {
            Trigger::Reordering
        } else if after.delack_timeouts > before.delack_timeouts {
            Trigger::DelayedAck
        } else {
            Trigger::Timer
        };
    }

    /// Records that `side` sent a segment; `packet` is its number.
    #[cold]
    #[inline(never)]
    pub(crate) fn sent(&mut self, at: Instant, side: ConnSide, segment: &Segment, packet: u64) {
        self.note(at, side, SegmentEvent::Sent, segment, packet);
    }

    #[cold]
    #[inline(never)]
    fn note(
        &mut self,
        at: Instant,
        from: ConnSide,
        event: SegmentEvent,
        segment: &Segment,
        packet: u64,
    ) {
        // Most flows are not traced.
        let Some(index) = self.index(from) else { return };
        let (own, peer) = (2 * index + usize::from(!from.is_client()), 2 * index);
        let peer = peer + usize::from(from.is_client());
        let syn = segment.flags.contains(Flags::SYN);
        if syn && event == SegmentEvent::Sent {
            self.sides[own].isn = Some(segment.seq);
        }
        let stream = if syn { 0 } else { self.sides[own].offset(segment.seq) };
        let acked = self.sides[peer].offset(segment.ack);
        let end = stream + u64::from(segment.payload_len);
        let retransmission = segment.payload_len > 0 && stream < self.sides[own].snd_max;
        let sent = event == SegmentEvent::Sent;
        if sent {
            self.sides[own].snd_max = self.sides[own].snd_max.max(end);
        }
        self.trace.segments.push(SegmentRow {
            at,
            flow: from.flow() as u32,
            packet,
            from_client: from.is_client(),
            event,
            trigger: if sent { self.trigger } else { Trigger::Segment },
            cause: if sent { self.cause } else { 0 },
            segment: *segment,
            stream,
            acked: if segment.flags.contains(Flags::ACK) { acked } else { 0 },
            retransmission: retransmission && sent,
        });
    }

    /// Records the sender state of `side` after it acted, if it changed. Resets the cause.
    pub(crate) fn on_sender_state(&mut self, at: Instant, side: ConnSide, conn: &Connection) {
        let (trigger, cause) = (self.trigger, self.cause);
        (self.trigger, self.cause) = (Trigger::default(), 0);
        let sends = side.is_client() != self.trace.server_sends(side.flow() as u32);
        // Most flows are not traced, and of these only the sender.
        let Some(index) = self.index(side).filter(|_| sends) else { return };
        let info = conn.info();
        let (before, counters) = match &self.last[index] {
            Some((row, counters)) => (Some(*row), *counters),
            None => (None, Counters::default()),
        };
        let mut events = SenderEvents::default();
        let now = &info.counters;
        events.add(SenderEvents::CWND_REDUCED, now.ecn_reductions > counters.ecn_reductions);
        let fast = now.fast_retransmits > counters.fast_retransmits;
        events.add(SenderEvents::FAST_RETRANSMIT, fast);
        events.add(SenderEvents::RTO, now.rto_count > counters.rto_count);
        events.add(SenderEvents::UNDO, now.undos > counters.undos);
        events.add(SenderEvents::LOSS_PROBE, now.loss_probes > counters.loss_probes);
        let in_handshake = before.is_none_or(|b| b.phase == SenderPhase::Handshake);
        events.add(SenderEvents::ESTABLISHED, in_handshake && info.state.is_synchronised());
        let phase = phase(&info, before.map(|b| b.phase), now.rto_count > counters.rto_count);
        let repairs = |p: SenderPhase| matches!(p, SenderPhase::Recovery | SenderPhase::Timeout);
        let over = before.is_some_and(|b| repairs(b.phase)) && !repairs(phase);
        events.add(SenderEvents::RECOVERED, over);
        let row = SenderRow {
            at,
            flow: side.flow() as u32,
            trigger,
            cause,
            events,
            state: info.state,
            phase,
            cwnd: info.snd_cwnd,
            ssthresh: info.snd_ssthresh,
            srtt: info.srtt,
            rttvar: info.rttvar,
            rto: info.rto,
            in_flight: info.in_flight,
            alpha_q20: conn.alpha_q20(),
            acked: info.bytes_acked,
            snd_wnd: info.snd_wnd,
            mss: info.mss,
            limited_by: info.limited_by,
        };
        let same = |b: &SenderRow| SenderRow { at, trigger, cause, events, ..*b } == row;
        if !events.is_empty() || !before.is_some_and(|b| same(&b)) {
            self.trace.senders.push(row);
            self.last[index] = Some((row, *now));
        }
    }
}

/// Takes the rows at the front for which `early` holds.
fn before<R>(rows: &mut Vec<R>, early: impl Fn(&R) -> bool) -> Vec<R> {
    let count = rows.partition_point(early);
    rows.drain(..count).collect()
}

fn phase(info: &Info, before: Option<SenderPhase>, timeout: bool) -> SenderPhase {
    if matches!(info.state, State::SynSent | State::SynReceived) {
        SenderPhase::Handshake
    } else if info.in_recovery && (timeout || before == Some(SenderPhase::Timeout)) {
        SenderPhase::Timeout
    } else if info.in_recovery {
        SenderPhase::Recovery
    } else if info.snd_ssthresh.is_none_or(|s| info.snd_cwnd < s) {
        SenderPhase::SlowStart
    } else {
        SenderPhase::Avoidance
    }
}
