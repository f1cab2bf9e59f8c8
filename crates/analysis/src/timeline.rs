//! Time of one direction, packet by packet: the reason why each segment was not sent before.
//!
//! Contract: an interval ends with a segment of the sender, and is assigned by what that segment
//! waited for: a timer, a window that an ACK opened, or the application. ACKs count from the time
//! at which their effect can pass the capture point: the round trip between capture and sender
//! later, at a capture near the sender at once. The sender's TSecr names the ACK that it had.

use std::collections::VecDeque;

use super::budget::{State, TimeBudget};
use super::rounds::Rounds;
use super::sender::ReductionCause;
use super::series::StateBins;

/// ACKs in flight to the sender that are remembered.
const MAX_PENDING: usize = 1024;
/// A segment within this part of a round trip after its trigger was sent at once, or paced.
const PROMPT_PART: u64 = 4;

/// Reason of a segment's transmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SendReason {
    New,
    /// Repaired by SACK, duplicate ACKs or RACK.
    Repair,
    /// A retransmission timer or a tail loss probe.
    Timer,
    /// A probe of a closed window.
    WindowProbe,
}

/// A segment with payload of the sender.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of a segment")]
#[derive(Clone, Copy, Debug)]
pub(super) struct SentSegment {
    pub(super) time: u64,
    pub(super) end: u64,
    pub(super) len: u32,
    pub(super) reason: SendReason,
    /// Present and least round trip between the capture and the sender.
    pub(super) delay: u64,
    pub(super) least_delay: u64,
    pub(super) at_sender: bool,
    /// Nothing tells whether packets were lost before the capture.
    pub(super) blind: bool,
    /// Smaller than a full segment.
    pub(super) short: bool,
    /// CWR.
    pub(super) cwr: bool,
    /// TSecr.
    pub(super) echo: Option<u32>,
    /// Smoothed round trip of the path and its minimum.
    pub(super) trip: Option<(u64, u64)>,
}

/// An ACK of the sender's data.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceivedAck {
    pub(super) time: u64,
    pub(super) ack: u64,
    /// End of the receive window, if the window scale is known.
    pub(super) edge: Option<u64>,
    pub(super) window: u16,
    pub(super) tsval: Option<u32>,
    /// No payload, or a full segment, which is assumed not to end a message: the application does
    /// not answer it.
    pub(super) no_message: bool,
    /// A duplicate, or with SACK blocks: a sign of loss or reordering.
    pub(super) gap: bool,
    pub(super) ece: bool,
    /// Time for which a timer of the receiver held it back.
    pub(super) delayed: u64,
    pub(super) trip: Option<(u64, u64)>,
    /// Age of the newest data that it covers.
    pub(super) rtt: Option<u64>,
    pub(super) mss: u32,
}

/// Start of the connection, and the end of its handshake if the capture has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Opening {
    pub(super) start: u64,
    pub(super) established: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct SenderTimeline {
    started: bool,
    /// Time up to which the budget is assigned.
    cursor: u64,
    pending: VecDeque<ReceivedAck>,
    ack: u64,
    highest: u64,
    edge: Option<u64>,
    edge_at_cursor: Option<u64>,
    window_at_cursor: Option<u64>,
    edge_moved: u64,
    /// The greatest edge, which the sender may not have seen.
    newest_edge: Option<u64>,
    windows_misread: bool,
    last_ack: u64,
    /// Signs of loss since the last advance.
    gap_since: Option<u64>,
    closed_since: Option<u64>,
    /// The ACK that left nothing in flight.
    emptied: Option<(u64, ReceivedAck)>,
    recovery_point: Option<u64>,
    /// A timer fired then, and no ACK has advanced since.
    timer_fired: Option<u64>,
    short_segment: bool,
    greatest_flight: u64,
    budget: TimeBudget,
    /// The states over time, if they are drawn.
    pub(super) states: Option<StateBins<{ State::ALL.len() }>>,
    pub(super) rounds: Rounds,
    /// Small segments that waited for the ACK of another one.
    pub(super) nagle: u64,
    /// The greatest receive window that limited.
    pub(super) limiting_window: Option<u64>,
}

impl SenderTimeline {
    pub(super) fn new(traced: bool) -> Self {
        Self { states: traced.then(StateBins::new), ..Self::default() }
    }

    /// Draws the state from the cursor to `until`.
    fn draw(&mut self, until: u64, state: State) {
        if let Some(states) = &mut self.states {
            states.add(self.cursor, until, state as usize);
        }
    }

    fn start(&mut self, opening: Opening) {
        if !std::mem::replace(&mut self.started, true) {
            let end = opening.established.unwrap_or(opening.start);
            self.cursor = opening.start;
            self.draw(end, State::Handshake);
            self.budget.add(State::Handshake, &[], end.saturating_sub(opening.start));
            self.cursor = end;
        }
    }

    /// Assigns the time from the cursor to `until`.
    fn assign(&mut self, until: u64, state: State, or: &[State]) {
        let ns = until.saturating_sub(self.cursor);
        self.draw(until, state);
        self.budget.add(state, or, ns);
        self.rounds.on_time(state, ns);
        self.cursor = self.cursor.max(until);
        if state == State::ReceiveWindow
            && ns > 0
            && let Some(window) = self.window_at_cursor
        {
            self.limiting_window = Some(self.limiting_window.map_or(window, |w| w.max(window)));
        }
    }

    /// Assigns the wait for the ACK of all data, after which the sender had no more: a window could
    /// have limited it until then. It is the window's by priority, as in `tcpi_busy_time`, but no
    /// round of a window.
    fn await_ack(&mut self, until: u64) {
        let ns = until.saturating_sub(self.cursor);
        self.draw(until, State::SenderWindow);
        self.budget.add(State::SenderWindow, &[State::NoData], ns);
        self.cursor = self.cursor.max(until);
    }

    /// Processes the window of a SYN or SYN-ACK, which is not scaled.
    pub(super) fn on_syn(&mut self, window: u16) {
        self.edge = Some(u64::from(window));
        (self.edge_at_cursor, self.newest_edge) = (self.edge, self.edge);
    }

    pub(super) fn on_ack(&mut self, opening: Opening, ack: ReceivedAck) {
        self.start(opening);
        self.newest_edge = self.newest_edge.max(ack.edge.filter(|_| !self.windows_misread));
        if self.pending.len() >= MAX_PENDING
            && let Some(oldest) = self.pending.pop_front()
        {
            self.apply(&oldest, oldest.time);
        }
        self.pending.push_back(ack);
    }

    /// Applies the ACKs that the sender has at `time`.
    fn release(&mut self, d: &SentSegment) {
        let time = d.time;
        while let Some(next) = self.pending.front().copied() {
            let had = d.echo.zip(next.tsval).map(|(e, v)| e.wrapping_sub(v).cast_signed() >= 0);
            let effective = next.time.saturating_add(d.delay);
            if !had.unwrap_or(effective <= time) || next.time.saturating_add(d.least_delay) > time {
                break;
            }
            self.pending.pop_front();
            self.apply(&next, effective.min(time));
        }
    }

    /// Applies an ACK whose effect may pass the capture at `time`.
    fn apply(&mut self, a: &ReceivedAck, time: u64) {
        let advanced = a.ack > self.ack;
        let newly = a.ack.saturating_sub(self.ack);
        if self.recovery_point.is_some_and(|point| a.ack >= point) {
            self.assign(time, State::Recovery, &[]);
            self.recovery_point = None;
        }
        match (self.closed_since, a.window == 0) {
            (None, true) => {
                self.closed_since = Some(time);
                if self.highest > self.ack && self.recovery_point.is_none() {
                    self.assign(time, State::ReceiveWindow, &[State::SenderWindow]);
                }
            }
            (Some(_), false) => {
                self.assign(time, State::ZeroWindow, &[]);
                self.closed_since = None;
            }
            _ => {}
        }
        let edge = a.edge.filter(|_| !self.windows_misread);
        if edge.is_some_and(|e| self.edge.is_none_or(|old| e > old)) {
            self.edge_moved = time;
        }
        self.edge = edge.max(self.edge.filter(|_| edge.is_some()));
        self.ack = self.ack.max(a.ack);
        self.last_ack = time;
        if a.gap {
            self.gap_since.get_or_insert(time);
        } else if advanced {
            self.gap_since = None;
        }
        if a.ece {
            self.rounds.on_ece();
        }
        if let Some(rtt) = a.rtt {
            self.rounds.on_trip(rtt + time.saturating_sub(a.time));
        }
        self.timer_fired = self.timer_fired.filter(|_| !advanced);
        self.rounds.record.on_ack((self.ack, newly), self.highest, a.ece, a.gap);
        if advanced {
            self.emptied = (self.ack >= self.highest).then_some((time, *a));
            let recovering = self.recovery_point.is_some();
            let mss = u64::from(a.mss);
            self.rounds.on_ack((time, self.ack), self.highest, a.trip, mss, recovering);
        }
    }

    /// Processes a segment of the sender.
    pub(super) fn on_sent(&mut self, opening: Opening, d: &SentSegment) {
        self.start(opening);
        let flight_before = self.highest > self.ack || !self.pending.is_empty();
        self.release(d);
        if self.newest_edge.is_some_and(|edge| d.end > edge + 1) {
            // No sender exceeds the window: it was misread.
            self.windows_misread = true;
            (self.edge, self.edge_at_cursor) = (None, None);
            (self.window_at_cursor, self.newest_edge) = (None, None);
        }
        match d.reason {
            SendReason::Timer => {
                self.waited(self.last_ack.min(d.time), flight_before, d);
                self.assign(d.time, State::Timeout, &[]);
                self.recovery_point = Some(self.highest.max(d.end));
                self.timer_fired = Some(d.time);
                self.rounds.on_loss();
                self.rounds.record.on_reduction(ReductionCause::Timer, self.highest);
            }
            SendReason::Repair => {
                let since = self.gap_since.unwrap_or(d.time).min(d.time);
                if self.recovery_point.is_none() {
                    self.waited(since, flight_before, d);
                    self.recovery_point = Some(self.highest);
                    self.rounds.record.on_reduction(ReductionCause::Loss, self.highest);
                }
                self.assign(d.time, State::Recovery, &[]);
                self.rounds.on_loss();
            }
            SendReason::WindowProbe => self.assign(d.time, State::ZeroWindow, &[]),
            SendReason::New => {
                self.waited(d.time, flight_before, d);
                if d.cwr {
                    self.rounds.record.on_reduction(ReductionCause::Mark, self.highest);
                }
            }
        }
        self.highest = self.highest.max(d.end);
        let flight = self.highest - self.ack.min(self.highest);
        self.greatest_flight = self.greatest_flight.max(flight);
        self.rounds.on_flight(flight);
        let lag = (d.reason == SendReason::New).then(|| d.time.saturating_sub(self.last_ack));
        self.rounds.record.on_sent(flight, self.recovery_point.is_some(), lag);
        self.short_segment = d.short;
        self.edge_at_cursor = self.edge;
        self.window_at_cursor = self.edge.map(|edge| edge.saturating_sub(self.ack));
        self.emptied = None;
    }

    /// Assigns the time to `until`, in which the sender did not send `d`.
    fn waited(&mut self, until: u64, flight_before: bool, d: &SentSegment) {
        use State::{DelayedAck, NoData, ReceiveWindow, Recovery, SenderWindow, ZeroWindow};
        if until <= self.cursor {
            return;
        }
        if self.recovery_point.is_some() {
            return self.assign(until, Recovery, &[]);
        }
        if self.closed_since.is_some() {
            return self.assign(until, ZeroWindow, &[]);
        }
        // Away from the sender, its queue varies the delay.
        let part = if d.at_sender { PROMPT_PART } else { PROMPT_PART / 2 };
        let prompt = d.trip.map_or(1_000_000, |(now, _)| now / part);
        let idle: &[State] = if d.blind { &[State::Timeout] } else { &[] };
        // Away from the sender it is not exact which ACKs a segment waited for.
        let left = self.edge_at_cursor.map(|edge| edge.saturating_sub(self.highest));
        let nearly = self.window_at_cursor.zip(left).is_some_and(|(all, left)| left < all / 4);
        if self.edge_at_cursor.is_some_and(|edge| d.end > edge) {
            if until.saturating_sub(self.edge_moved) <= prompt {
                return self.assign(until, ReceiveWindow, &[]);
            }
            return self.assign(until, NoData, &[ReceiveWindow]);
        }
        if let Some((at, last)) = self.emptied.filter(|_| flight_before) {
            if until.saturating_sub(at) > prompt || !last.no_message {
                self.await_ack(at.min(until));
                return self.assign(until, NoData, idle);
            }
            if self.short_segment && d.short {
                // Nagle's algorithm (RFC 896) held it back until this ACK.
                self.nagle += 1;
                return self.assign(until, DelayedAck, &[]);
            }
            self.assign(at.saturating_sub(last.delayed).min(until), SenderWindow, &[NoData]);
            self.assign(at.min(until), DelayedAck, &[]);
            return self.assign(until, SenderWindow, &[NoData]);
        }
        if !flight_before {
            return self.assign(until, NoData, idle);
        }
        if nearly && !d.at_sender {
            return self.assign(until, ReceiveWindow, &[SenderWindow, NoData]);
        }
        let since = until.saturating_sub(self.cursor.max(self.last_ack));
        let unused =
            self.highest - self.ack.min(self.highest) + u64::from(d.len) < self.greatest_flight;
        match (since > prompt, self.short_segment) {
            (true, true) => self.assign(until, NoData, &[]),
            (true, false) | (false, true) => self.assign(until, NoData, &[SenderWindow]),
            (false, false) if unused => self.assign(until, SenderWindow, &[NoData]),
            (false, false) => self.assign(until, SenderWindow, &[]),
        }
    }

    /// Ends the direction at `end`, and returns its budget and the time of waiting for its last
    /// ACK.
    pub(super) fn finish(&mut self, opening: Opening, end: u64) -> (TimeBudget, u64) {
        self.start(opening);
        while let Some(next) = self.pending.pop_front() {
            self.apply(&next, next.time.min(end));
        }
        let last = self.emptied.map_or(end, |(at, _)| at.min(end));
        let wait = last.saturating_sub(self.cursor);
        let unacked = self.highest > self.ack;
        if unacked && self.timer_fired.is_some() {
            self.assign(end, State::Timeout, &[]);
        } else if self.closed_since.is_some() {
            self.assign(end, State::ZeroWindow, &[State::NoData]);
        } else if unacked && self.recovery_point.is_some() {
            self.assign(end, State::Recovery, &[]);
        } else if unacked {
            self.assign(end, State::Unknown, &[State::SenderWindow, State::NoData, State::Timeout]);
        }
        self.await_ack(last);
        self.assign(end, State::NoData, &[]);
        let mut budget = self.budget.clone();
        budget.reassign(State::SenderWindow, State::NoData, self.rounds.plateau_ns);
        (budget, wait)
    }
}
