//! One connection of a capture, packet by packet.

use std::net::SocketAddr;

use lowtide_capture::Observed;
use lowtide_wire::Flags;

use super::copies::Copies;
use super::half::{NEAR, Settings, Surroundings};
use super::halves::Halves;
use super::opening::{Mode, Opening};

/// Payload of a full segment where no SYN tells: Ethernet with timestamps.
const USUAL_MSS: u32 = 1448;

/// Where the capture was taken, as the round trips to both ends tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Vantage {
    /// At this end, or close to it.
    At(usize),
    /// Somewhere between.
    Between,
    /// There is no telling.
    Unknown,
}

#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) ends: [SocketAddr; 2],
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) packets: u64,
    pub(super) opening: Opening,
    /// By the end that sends the data.
    pub(super) halves: Halves,
    /// Packets of which options are missing.
    pub(super) options_lost: u64,
    /// The time went backwards.
    pub(super) backwards: u64,
    /// Packets of each end, copies left out; and those without SYN and RST.
    pub(super) sent: [u64; 2],
    pub(super) established: [u64; 2],
    /// TTL or hop limit of each end's packets: the greatest.
    pub(super) hop_limits: [u8; 2],
    copies: Copies,
}

impl Flow {
    pub(super) fn new(ends: [SocketAddr; 2], time: u64, settings: Settings) -> Self {
        Self {
            ends,
            first: time,
            last: time,
            packets: 0,
            opening: Opening::default(),
            halves: Halves::new(settings),
            options_lost: 0,
            backwards: 0,
            sent: [0; 2],
            established: [0; 2],
            hop_limits: [0; 2],
            copies: Copies::default(),
        }
    }

    /// A SYN that belongs to a new connection between the same ports.
    pub(super) fn is_over(&self, from: usize, seen: &Observed) -> bool {
        let segment = &seen.segment;
        if !segment.flags.contains(Flags::SYN) || segment.flags.contains(Flags::ACK) {
            return false;
        }
        match self.halves[from].stream.isn() {
            Some(isn) => isn != segment.seq,
            None => self.packets > 0 && self.opening.client != Some(from),
        }
    }

    /// Payload of a full segment from that end.
    pub(super) fn mss(&self, from: usize, payload: u32) -> u32 {
        let largest = self.halves[from].stream.largest.max(payload);
        let agreed = self.opening.payload(from).unwrap_or(USUAL_MSS);
        if largest == 0 { agreed } else { agreed.min(largest) }
    }

    /// Least round trip of the whole path, nanoseconds.
    pub(super) fn round_trip(&self) -> Option<u64> {
        let [a, b] = [0, 1].map(|i: usize| self.way(i));
        match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
        }
    }

    /// Least time from the capture to the end that is not `from` and back.
    pub(super) fn way(&self, from: usize) -> Option<u64> {
        let opening = &self.opening;
        let answer = opening.syn_ack.map(|o| o.time);
        let handshake = match opening.client {
            Some(client) if client == from => opening.syn.map(|o| o.time).zip(answer),
            Some(_) => answer.zip(opening.acked),
            None => None,
        };
        let handshake = handshake.map(|(a, b)| b.saturating_sub(a));
        [handshake, self.halves[from].delays.min()].into_iter().flatten().min()
    }

    pub(super) fn vantage(&self) -> Vantage {
        match (self.way(0), self.way(1)) {
            (Some(to_1), Some(to_0)) if to_1 > to_0.saturating_mul(NEAR) => Vantage::At(0),
            (Some(to_1), Some(to_0)) if to_0 > to_1.saturating_mul(NEAR) => Vantage::At(1),
            (Some(_), Some(_)) => Vantage::Between,
            _ => Vantage::Unknown,
        }
    }

    pub(super) fn mode(&self) -> Mode {
        self.opening.mode()
    }

    /// A packet from the end `from`, captured at point number `point`.
    pub(super) fn on_packet(&mut self, time: u64, from: usize, seen: &Observed, point: usize) {
        let segment = &seen.segment;
        self.backwards += u64::from(time < self.last);
        let time = time.max(self.last);
        if self.copies.is_copy(time, from, point, seen) {
            self.halves[from].copies += 1;
            return;
        }
        let silence = if self.packets == 0 { 0 } else { time - self.last };
        self.last = time;
        self.packets += 1;
        self.sent[from] += 1;
        self.hop_limits[from] = self.hop_limits[from].max(seen.hop_limit);
        self.options_lost += u64::from(seen.options_lost);
        if segment.flags.contains(Flags::SYN) {
            self.opening.on_syn(time, from, segment, seen.options_lost);
            self.halves[from].stream.open(segment.seq);
            if let Some(stamps) = segment.options.timestamps {
                self.halves[from].delays.stamp(time, stamps.value);
                if segment.flags.contains(Flags::ACK) {
                    self.halves[1 - from].delays.echo(time, stamps.echo);
                }
            }
            if segment.flags.contains(Flags::ACK) {
                self.halves[1 - from].stream.begin_at(segment.ack);
                // Its ACK comes with the handshake encoding, for the data of this end.
                self.halves[from].echo.skip_handshake_ack();
            }
            return;
        }
        if segment.flags.contains(Flags::RST) {
            self.halves[from].reset.get_or_insert(time);
            return;
        }
        self.established[from] += 1;
        self.opening.on_segment(time, from);
        if segment.flags.contains(Flags::ACK) {
            let other = 1 - from;
            let around = self.around(other, from, 0, (time, silence));
            self.halves[other].on_ack(segment, &around);
        }
        let around = self.around(from, 1 - from, segment.payload_len, (time, silence));
        self.halves[from].on_segment(segment, &around);
    }

    /// What the data of `sender` meets; `payload` is that of the packet at hand.
    fn around(
        &self,
        sender: usize,
        receiver: usize,
        payload: u32,
        (time, silence): (u64, u64),
    ) -> Surroundings {
        Surroundings {
            time,
            mode: self.mode(),
            mss: self.mss(sender, payload),
            round_trip: self.round_trip(),
            to_sender: self.way(receiver),
            usual_to_sender: self.halves[receiver].delays.usual_by_timestamp(),
            silence,
        }
    }

    /// The capture is over.
    pub(super) fn finish(&mut self) {
        self.halves.known_mut().for_each(|h| h.echo.finish());
    }
}
