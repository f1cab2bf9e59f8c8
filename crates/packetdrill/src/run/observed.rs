//! A packet observed on the wire.

use std::net::IpAddr;

use lowtide_wire::{Addresses, Flags, Segment, WireError, packet};

use crate::script::TcpOption;

/// A parsed packet with its wire numbers.
#[derive(Clone, Debug)]
pub(super) struct ObservedPacket {
    pub(super) src: IpAddr,
    pub(super) dst: IpAddr,
    pub(super) segment: Segment,
    /// Options in header order.
    pub(super) options: Vec<TcpOption>,
    pub(super) payload: Vec<u8>,
}

impl ObservedPacket {
    /// Parses a packet and verifies its checksums.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, WireError> {
        let (addresses, segment, payload) = packet::parse(bytes)?;
        let ip_len = match addresses {
            Addresses::V4 { .. } => usize::from(bytes.first().map_or(0, |b| b & 0x0f)) * 4,
            Addresses::V6 { .. } => lowtide_wire::ipv6::HEADER_LEN,
        };
        let start = ip_len + lowtide_wire::tcp::MIN_HEADER_LEN;
        let options = TcpOption::read_all(bytes.get(start..payload.start).unwrap_or(&[]));
        let (src, dst) = match addresses {
            Addresses::V4 { src, dst } => (src.into(), dst.into()),
            Addresses::V6 { src, dst } => (src.into(), dst.into()),
        };
        let payload = bytes.get(payload).unwrap_or(&[]).to_vec();
        Ok(Self { src, dst, segment, options, payload })
    }

    /// Adds the segment that follows this one. PSH is as `expected`: it depends on the packets that
    /// offload would make.
    pub(super) fn append(&mut self, next: Self, expected: Flags) {
        self.segment.payload_len += next.segment.payload_len;
        let all = (self.segment.flags | next.segment.flags).without(Flags::PSH);
        self.segment.flags = if expected.contains(Flags::PSH) { all | Flags::PSH } else { all };
        self.payload.extend(next.payload);
    }
}
