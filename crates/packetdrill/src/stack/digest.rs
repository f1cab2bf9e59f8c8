//! Hashes of all packets on the wire.

use std::net::IpAddr;

use lowtide_units::Instant;
use lowtide_wire::{Addresses, Flags, Segment, ipv6, packet, tcp};

/// FNV-1a over each unmodified packet and its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketDigest(u64);

impl Default for PacketDigest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl PacketDigest {
    pub(super) const fn value(self) -> u64 {
        self.0
    }

    pub(super) fn update(&mut self, at: Instant, direction: Direction, bytes: &[u8]) {
        self.bytes(&at.as_ps().to_be_bytes());
        self.bytes(&[direction as u8]);
        self.bytes(bytes);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Direction of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    /// To the host.
    In = 0,
    /// From the host.
    Out = 1,
}

/// Numbers of one connection that depend on its addresses and ports (RFC 6528 §3: ISN; RFC 7323
/// §5.4: timestamp offset).
#[derive(Clone, Debug)]
struct Origin {
    local: (IpAddr, u16),
    remote: (IpAddr, u16),
    /// The host's newest ISN; zero before its SYN.
    isn: u32,
    /// The host's first TSval.
    stamp: Option<u32>,
}

/// Like [`PacketDigest`], without addresses and ports and with the host's numbers relative to its
/// initial ones: stock packetdrill draws addresses and ports anew in every run.
#[derive(Clone, Debug, Default)]
pub(super) struct RelativeDigest {
    digest: PacketDigest,
    origins: Vec<Origin>,
}

impl RelativeDigest {
    pub(super) const fn value(&self) -> u64 {
        self.digest.value()
    }

    pub(super) fn update(&mut self, at: Instant, direction: Direction, bytes: &[u8]) {
        let Ok((addresses, segment, payload)) = packet::parse(bytes) else {
            // Not a TCP packet: only its length counts, because its bytes contain the addresses.
            self.digest.update(at, direction, &(bytes.len() as u64).to_be_bytes());
            return;
        };
        let (src, dst) = addresses.src_dst();
        let (from, to) = ((src, segment.src_port), (dst, segment.dst_port));
        let (local, remote) = if direction == Direction::Out { (from, to) } else { (to, from) };
        let index = self.origin(local, remote, direction, &segment);
        let ip_len = match addresses {
            Addresses::V4 { .. } => usize::from(bytes.first().map_or(0, |b| b & 0x0f)) * 4,
            Addresses::V6 { .. } => ipv6::HEADER_LEN,
        };
        let mut header = bytes.get(ip_len..payload.start).unwrap_or(&[]).to_vec();
        if let Some(origin) = self.origins.get(index) {
            origin.subtract_from(&mut header, direction, &segment);
        }
        self.digest.update(at, direction, &(index as u64).to_be_bytes());
        self.digest.bytes(&[segment.ecn as u8]);
        self.digest.bytes(&header);
        self.digest.bytes(bytes.get(payload).unwrap_or(&[]));
    }

    /// Index of the connection by first appearance; updates its numbers from this packet.
    fn origin(
        &mut self,
        local: (IpAddr, u16),
        remote: (IpAddr, u16),
        direction: Direction,
        segment: &Segment,
    ) -> usize {
        let known = self.origins.iter().position(|o| o.local == local && o.remote == remote);
        let index = known.unwrap_or_else(|| {
            self.origins.push(Origin { local, remote, isn: 0, stamp: None });
            self.origins.len() - 1
        });
        if let Some(origin) = self.origins.get_mut(index).filter(|_| direction == Direction::Out) {
            if segment.flags.contains(Flags::SYN) {
                origin.isn = segment.seq.raw();
            }
            origin.stamp = origin.stamp.or(segment.options.timestamps.map(|t| t.value));
        }
        index
    }
}

impl Origin {
    /// Clears ports and checksum of a TCP header and makes the host's numbers relative.
    fn subtract_from(&self, header: &mut [u8], direction: Direction, segment: &Segment) {
        let (ports, checksum) = (0..4, 16..18);
        for range in [ports, checksum] {
            header.get_mut(range).unwrap_or_default().fill(0);
        }
        let out = direction == Direction::Out;
        let stamp = self.stamp.unwrap_or(0);
        // SEG.ACK of the peer is in the host's sequence space.
        if out {
            subtract(header, 4, self.isn);
        } else if segment.flags.contains(Flags::ACK) {
            subtract(header, 8, self.isn);
        }
        let mut at = tcp::MIN_HEADER_LEN;
        while let Some(kind) = header.get(at).copied().filter(|kind| *kind != 0) {
            let len = match kind {
                1 => 1,
                _ => usize::from(header.get(at + 1).copied().unwrap_or(0)),
            };
            match kind {
                5 if !out => {
                    (at + 2..at + len).step_by(4).for_each(|i| subtract(header, i, self.isn));
                }
                8 if out => subtract(header, at + 2, stamp),
                // A zero TSecr is not an echo.
                8 if segment.options.timestamps.is_some_and(|t| t.echo != 0) => {
                    subtract(header, at + 6, stamp);
                }
                _ => {}
            }
            if len == 0 {
                return;
            }
            at += len;
        }
    }
}

/// Subtracts `base` from the 32-bit number at `at`, if it is within `bytes`.
fn subtract(bytes: &mut [u8], at: usize, base: u32) {
    if let Some(four) = bytes.get_mut(at..at + 4) {
        let number = four.iter().fold(0_u32, |sum, b| sum << 8 | u32::from(*b));
        four.copy_from_slice(&number.wrapping_sub(base).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use lowtide_wire::{Options, SeqNum, Timestamps};

    use super::*;

    /// Random draws and input of one run.
    #[derive(Clone, Copy)]
    struct Run {
        port: u16,
        isn: u32,
        stamp: u32,
        ack: u32,
        echo: u32,
        at: Instant,
        byte: u8,
    }

    const RUN: Run =
        Run { port: 40_001, isn: 7, stamp: 70, ack: 901, echo: 5, at: Instant::ZERO, byte: 1 };

    fn digest(run: Run) -> u64 {
        let host = std::net::Ipv4Addr::new(192, 168, 0, (run.port % 250) as u8);
        let peer = std::net::Ipv4Addr::new(192, 0, 2, 1);
        let mut digest = RelativeDigest::default();
        let mut packet = |direction, flags, seq: u32, ack: u32, (value, echo), payload: &[u8]| {
            let out = direction == Direction::Out;
            let (src, dst) = if out { (host, peer) } else { (peer, host) };
            let (src_port, dst_port) = if out { (8080, run.port) } else { (run.port, 8080) };
            let segment = Segment {
                src_port,
                dst_port,
                seq: SeqNum::new(seq),
                ack: SeqNum::new(ack),
                flags,
                payload_len: payload.len() as u32,
                options: Options {
                    timestamps: Some(Timestamps { value, echo }),
                    ..Options::default()
                },
                ..Segment::default()
            };
            let mut bytes = vec![0; packet::MAX_HEADERS_LEN + payload.len()];
            let addresses = Addresses::V4 { src, dst };
            let len = packet::emit(&addresses, &segment, payload, &mut bytes).unwrap();
            digest.update(run.at, direction, &bytes[..len]);
        };
        let (isn, stamp) = (run.isn, run.stamp);
        packet(Direction::In, Flags::SYN, 900, 0, (5, 0), &[]);
        packet(Direction::Out, Flags::SYN | Flags::ACK, isn, run.ack, (stamp, run.echo), &[]);
        let next = isn.wrapping_add(1);
        packet(Direction::In, Flags::ACK, 901, next, (6, stamp), &[]);
        let later = stamp.wrapping_add(3);
        packet(Direction::Out, Flags::ACK, next, 901, (later, 6), &[run.byte]);
        digest.value()
    }

    #[test]
    fn relative_digest_ignores_random_isn_port_and_timestamps() {
        let drawn = Run { port: 50_123, isn: u32::MAX, stamp: u32::MAX - 1, ..RUN };
        assert_eq!(digest(drawn), digest(RUN));
        let at = Instant::ZERO + lowtide_units::Duration::from_us(1);
        for other in [
            Run { ack: 902, ..RUN },
            Run { echo: 6, ..RUN },
            Run { at, ..RUN },
            Run { byte: 2, ..RUN },
        ] {
            assert_ne!(digest(other), digest(RUN));
        }
    }
}
