//! Builds the bytes of an inbound packet from its notation.

use std::net::IpAddr;

use lowtide_wire::checksum::Checksum;
use lowtide_wire::ipv4::{self, Ipv4Header};
use lowtide_wire::ipv6::{self, Ipv6Header};
use lowtide_wire::{Addresses, Ecn, Flags, tcp};

use super::peer::Peer;
use crate::script::{EcnSpec, PacketSpec, TcpOption};

/// Payload byte at a stream offset, in both directions, so a misplaced byte is detected.
pub(super) const fn payload_byte(offset: u32) -> u8 {
    (offset.wrapping_mul(0x9e37_79b1) >> 24) as u8
}

/// The whole IP packet. Options keep the script's order, which `wire` would change.
pub(super) fn bytes(spec: &PacketSpec, peer: &mut Peer) -> Vec<u8> {
    let tuple = peer.tuple_to_send(spec.flags, spec.seq);
    let syn = spec.flags.contains(Flags::SYN);
    let (local, remote) = (peer.local_base(syn), peer.remote_base(syn));
    let seq = spec.seq.wrapping_add(remote);
    let mut options = Vec::new();
    for option in spec.options.iter().flatten() {
        on_the_wire(option, peer, local).write(&mut options);
    }
    // The payload of a SYN follows its sequence number.
    let first = peer.remote_offset(seq.wrapping_add(u32::from(syn)));
    let payload: Vec<u8> = (0..spec.len).map(|i| payload_byte(first.wrapping_add(i))).collect();

    let mut segment = Vec::new();
    segment.extend(tuple.remote_port.to_be_bytes());
    segment.extend(tuple.local_port.to_be_bytes());
    segment.extend(seq.to_be_bytes());
    segment.extend(spec.ack.map_or(0, |ack| ack.wrapping_add(local)).to_be_bytes());
    let words = (tcp::MIN_HEADER_LEN + options.len()) as u16 / 4;
    segment.extend((words << 12 | spec.flags.bits()).to_be_bytes());
    segment.extend(spec.window.unwrap_or(0).to_be_bytes());
    segment.extend([0, 0]);
    segment.extend(spec.urgent.to_be_bytes());
    segment.extend(options);
    segment.extend(payload);

    let ecn = match spec.ecn {
        None | Some(EcnSpec::NotEct) => Ecn::NotEct,
        Some(EcnSpec::Ect0 | EcnSpec::Either) => Ecn::Ect0,
        Some(EcnSpec::Ect1) => Ecn::Ect1,
        Some(EcnSpec::Ce) => Ecn::Ce,
    };
    // Both addresses are of one family: the setup checks it.
    let (addresses, mut packet) = match (tuple.remote, tuple.local) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let header = ipv4::emit(&Ipv4Header::tcp(src, dst, ecn), segment.len());
            (Addresses::V4 { src, dst }, header.map(|h| h.to_vec()).unwrap_or_default())
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let header = ipv6::emit(&Ipv6Header::tcp(src, dst, ecn), segment.len());
            (Addresses::V6 { src, dst }, header.map(|h| h.to_vec()).unwrap_or_default())
        }
        _ => return Vec::new(),
    };
    let sum: Checksum = addresses.pseudo_header(segment.len() as u32).with(&segment);
    segment[16..18].copy_from_slice(&sum.finish().to_be_bytes());
    packet.extend(segment);
    packet
}

/// Maps the host's numbers in the peer's option from the script to the wire.
fn on_the_wire(option: &TcpOption, peer: &Peer, local: u32) -> TcpOption {
    match option {
        TcpOption::Sack(blocks) => TcpOption::Sack(
            blocks.iter().map(|(a, b)| (a.wrapping_add(local), b.wrapping_add(local))).collect(),
        ),
        TcpOption::Timestamps { value, echo } => {
            TcpOption::Timestamps { value: *value, echo: peer.echo_to_wire(*echo) }
        }
        other => other.clone(),
    }
}
