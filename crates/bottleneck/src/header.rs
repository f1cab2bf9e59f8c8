//! The header fields that a switch reads.
//!
//! Contract: any IP packet is accepted. Fields that ports and markers do not need are not checked:
//! checksums, options and extension headers. Port numbers are read for TCP, UDP and SCTP directly
//! behind the IP header; otherwise they are zero. Only bytes that cannot be an IP packet are
//! rejected.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lowtide_wire::Ecn;

const V4_HEADER: usize = 20;
const V6_HEADER: usize = 40;

/// Header fields that a switch reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PacketHeader {
    pub(crate) dst: IpAddr,
    pub(crate) ecn: Ecn,
    /// Differentiated services codepoint: six bits.
    pub(crate) dscp: u8,
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
    /// Length of the IP packet, bytes; the rest of the frame is padding.
    pub(crate) len: usize,
}

/// Parses the packet at the start of `bytes`; `None` if it is not IP.
pub(crate) fn parse_header(bytes: &[u8]) -> Option<PacketHeader> {
    match bytes.first()? >> 4 {
        4 => v4(bytes),
        6 => v6(bytes),
        _ => None,
    }
}

fn v4(bytes: &[u8]) -> Option<PacketHeader> {
    let fixed = bytes.first_chunk::<V4_HEADER>()?;
    let header = usize::from(fixed[0] & 0x0f) * 4;
    let len = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    if header < V4_HEADER || len < header || len > bytes.len() {
        return None;
    }
    let offset = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x1fff;
    let ports = if offset == 0 { ports(fixed[9], bytes.get(header..len)?) } else { (0, 0) };
    Some(PacketHeader {
        dst: IpAddr::V4(Ipv4Addr::new(fixed[16], fixed[17], fixed[18], fixed[19])),
        ecn: Ecn::from_bits(fixed[1]),
        dscp: fixed[1] >> 2,
        src_port: ports.0,
        dst_port: ports.1,
        len,
    })
}

fn v6(bytes: &[u8]) -> Option<PacketHeader> {
    let fixed = bytes.first_chunk::<V6_HEADER>()?;
    let len = V6_HEADER + usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    if len > bytes.len() {
        return None;
    }
    let ports = ports(fixed[6], bytes.get(V6_HEADER..len)?);
    let dst: [u8; 16] = *fixed.last_chunk()?;
    // The traffic class spans the first two bytes: vvvvTTTT TTTTffff.
    Some(PacketHeader {
        dst: IpAddr::V6(Ipv6Addr::from_octets(dst)),
        ecn: Ecn::from_bits(fixed[1] >> 4),
        dscp: (fixed[0] & 0x0f) << 2 | fixed[1] >> 6,
        src_port: ports.0,
        dst_port: ports.1,
        len,
    })
}

fn ports(protocol: u8, rest: &[u8]) -> (u16, u16) {
    const TCP: u8 = 6;
    const UDP: u8 = 17;
    const SCTP: u8 = 132;
    match (protocol, rest.first_chunk::<4>()) {
        (TCP | UDP | SCTP, Some([a, b, c, d])) => {
            (u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d]))
        }
        _ => (0, 0),
    }
}

/// Sets the ECN codepoint of a packet accepted by [`parse_header`]. The IPv4 checksum is updated
/// incrementally (RFC 1624 eq. 3), so a wrong one stays wrong. IPv6 has none, and no upper-layer
/// checksum covers these bits.
pub(crate) fn set_ecn(bytes: &mut [u8], ecn: Ecn) {
    match bytes {
        [first, class, ..] if *first >> 4 == 6 => *class = *class & !0x30 | ecn.bits() << 4,
        [first, tos, _, _, _, _, _, _, _, _, high, low, ..] => {
            let before = u16::from_be_bytes([*first, *tos]);
            *tos = *tos & !0x03 | ecn.bits();
            let after = u16::from_be_bytes([*first, *tos]);
            let sum = u32::from(!u16::from_be_bytes([*high, *low]))
                + u32::from(!before)
                + u32::from(after);
            let folded = (sum & 0xffff) + (sum >> 16);
            let folded = (folded & 0xffff) + (folded >> 16);
            [*high, *low] = (!(folded as u16)).to_be_bytes();
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use lowtide_wire::{Addresses, Segment, ipv4, packet};

    use super::*;

    fn bytes(v6: bool, ecn: Ecn) -> Vec<u8> {
        let (src, dst) = if v6 { ("fd77::1", "fd77::2") } else { ("10.0.0.1", "10.9.8.7") };
        let addresses = Addresses::between(src.parse().unwrap(), dst.parse().unwrap()).unwrap();
        let segment =
            Segment { src_port: 7, dst_port: 5201, payload_len: 5, ecn, ..Segment::default() };
        let mut out = vec![0; 200];
        let len = packet::emit(&addresses, &segment, b"hello", &mut out).unwrap();
        out.truncate(len);
        out
    }

    #[test]
    fn header_fields_are_parsed() {
        for v6 in [false, true] {
            let mut packet = bytes(v6, Ecn::Ect0);
            let len = packet.len();
            // Padding of a short frame.
            packet.extend([0; 6]);
            let header = parse_header(&packet).unwrap();
            let dst: IpAddr = if v6 { "fd77::2" } else { "10.9.8.7" }.parse().unwrap();
            let expected =
                PacketHeader { dst, ecn: Ecn::Ect0, dscp: 0, src_port: 7, dst_port: 5201, len };
            assert_eq!(header, expected);
            for cut in 0..len {
                assert_eq!(parse_header(&packet[..cut]), None, "{cut} of {len} bytes");
            }
        }
        assert_eq!(parse_header(&[0x17; 60]), None);
    }

    /// The class is the DSCP (RFC 2474 §3).
    #[test]
    fn the_dscp_is_read_in_both_families() {
        for (v6, dscp) in [false, true].into_iter().flat_map(|v6| [0, 1, 46, 63].map(|d| (v6, d))) {
            let mut packet = bytes(v6, Ecn::Ect0);
            let class = dscp << 2 | Ecn::Ect0.bits();
            if v6 {
                packet[0] = 0x60 | class >> 4;
                packet[1] = class << 4;
            } else {
                packet[1] = class;
            }
            let header = parse_header(&packet).unwrap();
            assert_eq!((header.dscp, header.ecn), (dscp, Ecn::Ect0), "v6 {v6}");
            set_ecn(&mut packet, Ecn::Ce);
            let header = parse_header(&packet).unwrap();
            assert_eq!((header.dscp, header.ecn), (dscp, Ecn::Ce), "v6 {v6}");
        }
    }

    #[test]
    fn every_codepoint_change_keeps_the_checksum_valid() {
        let all = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        for (v6, from, to) in [false, true]
            .into_iter()
            .flat_map(|v6| all.into_iter().flat_map(move |a| all.map(|b| (v6, a, b))))
        {
            let mut packet = bytes(v6, from);
            set_ecn(&mut packet, to);
            assert_eq!(packet, bytes(v6, to), "v6 {v6}: {from:?} to {to:?}");
        }
    }

    /// All checksum values, including the edge cases of one's complement.
    #[test]
    fn the_checksum_stays_valid_for_every_value() {
        for identification in 0..=u16::MAX {
            let mut packet = bytes(false, Ecn::Ect0);
            let header = ipv4::Ipv4Header { identification, ..ipv4::parse(&packet).unwrap().0 };
            let header = ipv4::emit(&header, packet.len() - 20).unwrap();
            packet[..20].copy_from_slice(&header);
            set_ecn(&mut packet, Ecn::Ce);
            assert_eq!(ipv4::parse(&packet).unwrap().0.ecn, Ecn::Ce, "{identification}");
            packet[8] ^= 1;
            set_ecn(&mut packet, Ecn::NotEct);
            assert!(ipv4::parse(&packet).is_err(), "a damaged header stays invalid");
        }
    }
}
