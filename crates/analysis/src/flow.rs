//! State of one connection of a capture.

use std::net::SocketAddr;

use super::capture::CapturedPacket;
use lowtide_wire::Flags;

use super::copies::Copies;
use super::direction_state::{AnalysisSettings, NEAR_RTT_RATIO, PacketContext};
use super::direction_states::DirectionStates;
use super::evidence::Event;
use super::handshake::{HandshakeInfo, NegotiatedEcn};
use super::packet_ids::PacketIds;
use super::timeline::Opening;

/// SYNs and SYN-ACKs whose frames are kept.
const MAX_SYN_FRAMES: usize = 8;

/// Location of the capture, derived from the round trips to both ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CaptureLocation {
    /// At this end, or near it.
    At(usize),
    /// Between the ends.
    Between,
    /// The round trips do not tell.
    Unknown,
}

#[derive(Clone, Debug)]
pub(super) struct FlowState {
    pub(super) endpoints: [SocketAddr; 2],
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) packets: u64,
    pub(super) handshake: HandshakeInfo,
    /// States by the end that sends the data.
    pub(super) directions: DirectionStates,
    /// Packets with missing options.
    pub(super) options_lost: u64,
    /// Packets with a timestamp earlier than the one before.
    pub(super) time_backwards: u64,
    /// Packets of each end without copies, and those without SYN and RST.
    pub(super) sent: [u64; 2],
    pub(super) established_packets: [u64; 2],
    /// Greatest TTL or hop limit of each end's packets.
    pub(super) hop_limits: [u8; 2],
    copies: Copies,
    /// Frames of SYNs and SYN-ACKs.
    pub(super) syn_frames: Vec<u64>,
    /// Identifications of each end's packets.
    pub(super) ids: [PacketIds; 2],
}

impl FlowState {
    pub(super) fn new(ends: [SocketAddr; 2], time: u64, settings: AnalysisSettings) -> Self {
        Self {
            endpoints: ends,
            first: time,
            last: time,
            packets: 0,
            handshake: HandshakeInfo::default(),
            directions: DirectionStates::new(settings),
            options_lost: 0,
            time_backwards: 0,
            sent: [0; 2],
            established_packets: [0; 2],
            hop_limits: [0; 2],
            copies: Copies::default(),
            syn_frames: Vec::new(),
            ids: [PacketIds::default(); 2],
        }
    }

    /// Returns whether a SYN opens a new connection between the same ports.
    pub(super) fn is_port_reuse(&self, from: usize, seen: &CapturedPacket) -> bool {
        let segment = &seen.segment;
        if !segment.flags.contains(Flags::SYN) || segment.flags.contains(Flags::ACK) {
            return false;
        }
        match self.directions[from].stream.isn() {
            Some(isn) => isn != segment.seq,
            None => self.packets > 0 && self.handshake.client != Some(from),
        }
    }

    /// Returns the payload of a full segment from end `from` in bytes: by the options of the
    /// handshake, else the usual size of its packets; `payload` is one of them.
    pub(super) fn mss(&self, from: usize, payload: u32) -> u32 {
        let stream = &self.directions[from].stream;
        match (self.handshake.effective_mss(from), stream.largest.max(payload)) {
            (Some(agreed), 0) => agreed,
            (Some(agreed), largest) => agreed.min(largest),
            (None, largest) => stream.usual_payload().unwrap_or(largest),
        }
    }

    /// Returns whether anything tells the payload of a full segment from end `from`.
    pub(super) fn is_mss_known(&self, from: usize) -> bool {
        let usual = self.directions[from].stream.usual_payload();
        self.handshake.effective_mss(from).or(usual).is_some()
    }

    /// Returns the minimum round trip of the whole path, nanoseconds.
    pub(super) fn min_rtt(&self) -> Option<u64> {
        let [a, b] = [0, 1].map(|i: usize| self.min_receiver_rtt(i));
        match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
        }
    }

    /// Returns the minimum round trip from the capture to the end that is not `from`, nanoseconds.
    pub(super) fn min_receiver_rtt(&self, from: usize) -> Option<u64> {
        let opening = &self.handshake;
        let answer = opening.syn_ack.map(|o| o.time);
        let handshake = match opening.client {
            Some(client) if client == from => opening.syn.map(|o| o.time).zip(answer),
            Some(_) => answer.zip(opening.acked),
            None => None,
        };
        let handshake = handshake.map(|(a, b)| b.saturating_sub(a));
        [handshake, self.directions[from].rtt.min()].into_iter().flatten().min()
    }

    pub(super) fn capture_location(&self) -> CaptureLocation {
        match (self.min_receiver_rtt(0), self.min_receiver_rtt(1)) {
            (Some(to_1), Some(to_0)) if to_1 > to_0.saturating_mul(NEAR_RTT_RATIO) => {
                CaptureLocation::At(0)
            }
            (Some(to_1), Some(to_0)) if to_0 > to_1.saturating_mul(NEAR_RTT_RATIO) => {
                CaptureLocation::At(1)
            }
            (Some(_), Some(_)) => CaptureLocation::Between,
            _ => CaptureLocation::Unknown,
        }
    }

    pub(super) fn negotiated_ecn(&self) -> NegotiatedEcn {
        self.handshake.negotiated_ecn()
    }

    /// Processes a packet from end `from`, captured at point `point`: its time and frame number.
    pub(super) fn on_packet(
        &mut self,
        (time, frame): (u64, u64),
        from: usize,
        seen: &CapturedPacket,
        point: usize,
    ) {
        let segment = &seen.segment;
        self.time_backwards += u64::from(time < self.last);
        let time = time.max(self.last);
        if self.copies.is_copy(time, from, point, seen) {
            self.directions[from].copies += 1;
            self.directions[from].frames.note(Event::Copy, frame);
            return;
        }
        let silence = if self.packets == 0 { 0 } else { time - self.last };
        self.last = time;
        self.packets += 1;
        self.sent[from] += 1;
        self.ids[from].add(seen.identification);
        self.hop_limits[from] = self.hop_limits[from].max(seen.hop_limit);
        self.options_lost += u64::from(seen.options_incomplete);
        if segment.flags.contains(Flags::SYN) {
            self.syn_frames.push(frame);
            self.syn_frames.truncate(MAX_SYN_FRAMES);
            self.handshake.on_syn(time, from, segment, seen.options_incomplete);
            self.directions[from].stream.on_syn(segment.seq);
            if let Some(stamps) = segment.options.timestamps {
                self.directions[from].rtt.on_tsval(time, stamps.value);
                if segment.flags.contains(Flags::ACK) {
                    self.directions[1 - from].rtt.on_tsecr(time, stamps.echo);
                }
            }
            if segment.flags.contains(Flags::ACK) {
                self.directions[1 - from].stream.set_origin(segment.ack);
                self.directions[1 - from].timeline.on_syn(segment.window);
                // The ACK of the SYN-ACK has the handshake encoding and acknowledges this end's
                // data.
                self.directions[from].ecn.skip_handshake_ack();
            }
            return;
        }
        if segment.flags.contains(Flags::RST) {
            self.directions[from].reset.get_or_insert((time, frame));
            return;
        }
        self.established_packets[from] += 1;
        self.handshake.on_segment(time, from);
        if segment.flags.contains(Flags::ACK) {
            let other = 1 - from;
            let context = self.packet_context(other, from, 0, (time, frame, silence));
            self.directions[other].on_ack(segment, &context);
        }
        let context =
            self.packet_context(from, 1 - from, segment.payload_len, (time, frame, silence));
        self.directions[from].on_segment(segment, &context);
    }

    /// Returns the context of `sender`'s data; `payload` is that of the current packet.
    fn packet_context(
        &self,
        sender: usize,
        receiver: usize,
        payload: u32,
        (time, frame, silence): (u64, u64, u64),
    ) -> PacketContext {
        let back = &self.directions[receiver].rtt;
        let near = self.min_receiver_rtt(receiver);
        let at_sender = self.capture_location() == CaptureLocation::At(sender);
        let queue = self.directions[sender].rtt.queue_to_capture().filter(|_| !at_sender);
        let sender_delay = near.unwrap_or(0) + queue.unwrap_or(0);
        let base = self.min_rtt();
        let there = self.directions[sender].rtt.rtt_without_delack();
        PacketContext {
            time,
            frame,
            negotiated_ecn: self.negotiated_ecn(),
            mss: self.mss(sender, payload),
            agreed_mss: self.handshake.effective_mss(sender),
            min_rtt: base,
            min_sender_rtt: near,
            median_sender_rtt: back.median_by_timestamp(),
            silence,
            at_sender,
            missing: self.ids[sender].gap(),
            trip: there.zip(base).map(|(there, base)| (there + sender_delay, base)),
            opening: self.opening(),
            scale: self.handshake.scale_of(receiver),
            sack: self.handshake.sack() == Some(true),
        }
    }

    /// Returns when the connection was opened.
    pub(super) fn opening(&self) -> Opening {
        Opening { start: self.first, established: self.handshake.acked }
    }

    /// Ends the capture.
    pub(super) fn finish(&mut self) {
        self.directions.known_mut().for_each(|h| h.ecn.finish());
    }
}
