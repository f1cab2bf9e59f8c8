//! The peer: the script's current connection, and how its numbers map to the wire.
//!
//! A SYN gives its initial sequence number; all other packets count relative to it: after `S
//! 700:700(0)` the first byte is 1. The peer's ISN is as written. The host chooses its own ISN,
//! which is learned from its SYN. Its timestamps are learned one by one on first use.

use std::collections::BTreeMap;
use std::net::IpAddr;

use lowtide_tcp::FourTuple;
use lowtide_wire::{Flags, Segment};

use super::notation;
use super::observed::ObservedPacket;
use super::setup::Setup;
use crate::script::{PacketSpec, TcpOption};

/// First port of the peer for active opens.
const FIRST_PORT: u16 = 40_001;

#[derive(Debug)]
pub(super) struct Peer {
    local: IpAddr,
    remote: IpAddr,
    bind_port: u16,
    next_port: u16,
    tuple: Option<FourTuple>,
    seq_mapping: SeqMapping,
}

/// Numbers learned for one connection.
#[derive(Clone, Debug, Default)]
struct SeqMapping {
    /// The peer's initial sequence number.
    remote_isn: Option<u32>,
    /// ISN of the peer's last SYN: a new connection begins if the host acknowledges it.
    remote_syn: Option<u32>,
    /// The host's ISN: in the script, and on the wire.
    local_isn: Option<(u32, u32)>,
    /// The host's TSvals: in the script and on the wire, in order of arrival.
    timestamps: Vec<(u32, u32)>,
    by_script: BTreeMap<u32, u32>,
}

impl Peer {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            local: setup.local,
            remote: setup.remote,
            bind_port: setup.bind_port,
            next_port: FIRST_PORT,
            tuple: None,
            seq_mapping: SeqMapping::default(),
        }
    }

    /// The script's current connection.
    pub(super) const fn tuple(&self) -> Option<FourTuple> {
        self.tuple
    }

    /// Port on which the host listens.
    pub(super) const fn bind_port(&self) -> u16 {
        self.bind_port
    }

    /// The host listens: the peer's next SYN opens another connection.
    pub(super) fn on_listen(&mut self, port: u16) {
        self.bind_port = port;
        self.tuple = None;
        self.seq_mapping = SeqMapping::default();
    }

    /// Four-tuple of the next packet from the peer.
    pub(super) fn tuple_to_send(&mut self, flags: Flags, seq: u32) -> FourTuple {
        let tuple = *self.tuple.get_or_insert_with(|| {
            let remote_port = self.next_port;
            self.next_port = self.next_port.wrapping_add(1).max(FIRST_PORT);
            FourTuple {
                local: self.local,
                local_port: self.bind_port,
                remote: self.remote,
                remote_port,
            }
        });
        if flags.contains(Flags::SYN) {
            self.seq_mapping.remote_isn.get_or_insert(seq);
            self.seq_mapping.remote_syn = Some(seq);
        }
        tuple
    }

    /// Stream offset of peer payload that begins at `wire`.
    pub(super) fn remote_offset(&self, wire: u32) -> u32 {
        wire.wrapping_sub(self.seq_mapping.remote_isn.map_or(0, |isn| isn.wrapping_add(1)))
    }

    /// Stream offset of host payload; `None` before the host's SYN.
    pub(super) fn local_offset(&self, wire: u32) -> Option<u32> {
        let (_, isn) = self.seq_mapping.local_isn?;
        Some(wire.wrapping_sub(isn.wrapping_add(1)))
    }

    /// Added to the peer's sequence numbers: from script to wire.
    pub(super) fn remote_base(&self, syn: bool) -> u32 {
        if syn { 0 } else { self.seq_mapping.remote_isn.unwrap_or(0) }
    }

    /// Added to the host's sequence numbers: from script to wire.
    pub(super) fn local_base(&self, syn: bool) -> u32 {
        let (script, wire) = self.seq_mapping.local_isn.unwrap_or_default();
        if syn { wire.wrapping_sub(script) } else { wire }
    }

    /// The peer's TSecr: from script to wire.
    pub(super) fn echo_to_wire(&self, script: u32) -> u32 {
        if script == 0 {
            return 0;
        }
        match (self.seq_mapping.by_script.get(&script), self.seq_mapping.timestamps.first()) {
            (Some(wire), _) => *wire,
            (None, Some((a, b))) => script.wrapping_sub(*a).wrapping_add(*b),
            (None, None) => script,
        }
    }

    /// The host's TSval in script numbers.
    fn timestamp_to_script(&self, wire: u32) -> u32 {
        let seen = self.seq_mapping.timestamps.iter().find(|(_, w)| *w == wire);
        match (seen, self.seq_mapping.timestamps.first()) {
            (Some((script, _)), _) => *script,
            (None, Some((a, b))) => wire.wrapping_sub(*b).wrapping_add(*a),
            (None, None) => wire,
        }
    }

    /// Wire value of the script's TSval; `wire` itself on first use.
    pub(super) fn map_timestamp(&mut self, script: u32, wire: u32) -> u32 {
        let known = *self.seq_mapping.by_script.entry(script).or_insert(wire);
        if known == wire && !self.seq_mapping.timestamps.iter().any(|(s, _)| *s == script) {
            self.seq_mapping.timestamps.push((script, wire));
        }
        known
    }

    /// The first TSval of the host.
    pub(super) fn first_stamp(&self) -> Option<(u32, u32)> {
        self.seq_mapping.timestamps.first().copied()
    }

    /// Learns from a packet of the host: its SYN may open a connection and gives its ISN.
    pub(super) fn on_host_packet(&mut self, observed: &ObservedPacket, spec: Option<&PacketSpec>) {
        let segment = &observed.segment;
        if !segment.flags.contains(Flags::SYN) {
            return;
        }
        let ends = tuple_of(observed);
        if self.tuple != Some(ends) && !segment.flags.contains(Flags::ACK) {
            self.tuple = Some(ends);
            self.seq_mapping = SeqMapping::default();
        }
        let as_written = spec.filter(|s| s.flags.contains(Flags::SYN)).map_or(0, |s| s.seq);
        // The acknowledged SYN opened another connection between the same addresses and ports.
        let renews = self.seq_mapping.remote_syn.filter(|isn| {
            segment.flags.contains(Flags::ACK)
                && segment.ack.raw() == isn.wrapping_add(1)
                && self.seq_mapping.remote_isn != Some(*isn)
        });
        if renews.is_some() {
            self.seq_mapping =
                SeqMapping { remote_isn: renews, remote_syn: renews, ..SeqMapping::default() };
        }
        self.seq_mapping.local_isn.get_or_insert((as_written, segment.seq.raw()));
    }

    /// The packet in script numbers.
    pub(super) fn in_script_numbers(&self, observed: &ObservedPacket) -> ScriptPacket {
        let ScriptPacket(mut spec) = Self::wire_numbers(observed);
        let syn = spec.flags.contains(Flags::SYN);
        let remote = self.remote_base(syn);
        spec.seq = spec.seq.wrapping_sub(self.local_base(syn));
        spec.ack = spec.ack.map(|ack| ack.wrapping_sub(remote));
        for option in spec.options.iter_mut().flatten() {
            match option {
                TcpOption::Timestamps { value, .. } => *value = self.timestamp_to_script(*value),
                TcpOption::Sack(blocks) => {
                    for (left, right) in blocks {
                        *left = left.wrapping_sub(remote);
                        *right = right.wrapping_sub(remote);
                    }
                }
                _ => {}
            }
        }
        ScriptPacket(spec)
    }

    /// The packet in wire numbers.
    fn wire_numbers(observed: &ObservedPacket) -> ScriptPacket {
        let segment: &Segment = &observed.segment;
        let acks = segment.flags.contains(Flags::ACK);
        ScriptPacket(PacketSpec {
            inbound: false,
            ecn: Some(notation::ecn(segment.ecn)),
            flags: segment.flags,
            seq: segment.seq.raw(),
            len: segment.payload_len,
            ack: acks.then(|| segment.ack.raw()),
            window: Some(segment.window),
            urgent: segment.urgent,
            options: Some(observed.options.clone()),
        })
    }
}

/// Connection of a packet that the host sent.
pub(super) fn tuple_of(observed: &ObservedPacket) -> FourTuple {
    FourTuple {
        local: observed.src,
        local_port: observed.segment.src_port,
        remote: observed.dst,
        remote_port: observed.segment.dst_port,
    }
}

/// A packet in script notation.
pub(super) struct ScriptPacket(pub(super) PacketSpec);

impl std::fmt::Display for ScriptPacket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        notation::Notation { spec: &self.0 }.fmt(f)
    }
}
