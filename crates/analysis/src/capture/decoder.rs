//! From a frame to its TCP segment, through VLANs, tunnels and fragments.
//!
//! Contract: at most [`MAX_HEADERS`] headers and [`MAX_TUNNELS`] tunnels of a frame are followed.
//! The innermost TCP segment is returned. Its ECN field is what the ends of the tunnels deliver
//! (RFC 6040); the fields of the last tunnel, outside and inside, are returned beside it.

use lowtide_wire::captured::{self, CapturedIp, CapturedPacket};
use lowtide_wire::{Addresses, Ecn, HeaderKind, WireError};

use super::cursor::Cursor;
use super::fragments::{Fragments, Reassembled};
use super::frame::CapturedFrame;
use super::link::{CapturePoint, Mirror};
use super::skip::SkipReason;
use super::tunnel::{self, Header, Step, Tunnel};

/// Limit on the headers of a frame.
const MAX_HEADERS: usize = 32;
/// Limit on the tunnels of a frame.
pub const MAX_TUNNELS: usize = 6;

/// The TCP segment of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecodedSegment {
    /// The packet, with the ECN field after decapsulation.
    pub packet: CapturedPacket,
    /// Point of the capture.
    pub point: CapturePoint,
    /// Tunnels, the outermost first.
    pub tunnels: [Option<Tunnel>; MAX_TUNNELS],
    /// ECN fields outside and inside of the last tunnel with an IP header.
    pub tunnel_ecn: Option<(Ecn, Ecn)>,
}

/// Decodes frames; keeps the fragments of incomplete packets.
#[derive(Debug, Default)]
pub struct Decoder {
    fragments: Fragments,
}

impl Decoder {
    /// Returns the TCP segment of the frame.
    ///
    /// # Errors
    /// The frame has no TCP segment, or a header cannot be read.
    pub fn segment(&mut self, frame: &CapturedFrame<'_>) -> Result<DecodedSegment, SkipReason> {
        let len = (frame.original_len as usize).max(frame.data.len());
        let cursor = Cursor { bytes: frame.data, len };
        let Step { next, rest, .. } = frame.link_type.first(cursor)?;
        let point = frame.point();
        let mut walk = Walk {
            fragments: &mut self.fragments,
            time: frame.time_ns,
            point,
            tunnels: [None; MAX_TUNNELS],
            outer: None,
            tunnel_ecn: None,
            headers_left: MAX_HEADERS,
        };
        let packet = walk.follow(next, rest)?;
        let Walk { point, tunnels, tunnel_ecn, .. } = walk;
        Ok(DecodedSegment { packet, point, tunnels, tunnel_ecn })
    }

    /// Returns the packets that were put together so far.
    pub fn reassembled(&self) -> Reassembled {
        self.fragments.reassembled
    }
}

/// The state of one frame.
struct Walk<'f> {
    fragments: &'f mut Fragments,
    time: u64,
    point: CapturePoint,
    tunnels: [Option<Tunnel>; MAX_TUNNELS],
    /// Source and ECN field of the last IP header.
    outer: Option<(Addresses, Ecn)>,
    tunnel_ecn: Option<(Ecn, Ecn)>,
    headers_left: usize,
}

impl Walk<'_> {
    fn follow(
        &mut self,
        mut header: Header,
        mut rest: Cursor<'_>,
    ) -> Result<CapturedPacket, SkipReason> {
        loop {
            self.headers_left = self.headers_left.checked_sub(1).ok_or(SkipReason::TooDeep)?;
            let step = match header {
                Header::Ethernet => tunnel::ethernet(rest)?,
                Header::Llc => tunnel::llc(rest)?,
                Header::EtherType(kind) => {
                    let is_mirrored = self.point.mirror.is_some() && self.point.vlan.is_none();
                    if is_mirrored && tunnel::is_vlan(kind) {
                        self.point.vlan = Some(rest.half(0)? & 0x0fff);
                    }
                    tunnel::ethertype(kind, rest)?
                }
                Header::Ppp => tunnel::ppp(rest)?,
                Header::Mpls => tunnel::mpls(rest)?,
                Header::Ip => {
                    let ip = self.ip(rest)?;
                    let payload = rest.skip(ip.header_len)?.limit(ip.payload_len);
                    let Some(position) = ip.fragment else {
                        (header, rest) = (Header::Transport(ip), payload);
                        continue;
                    };
                    let whole =
                        self.fragments.add(self.time, self.point, &ip, position, payload)?;
                    let (first, bytes, len) = whole;
                    let (ip, skipped) = first.reassembled(&bytes, len).map_err(reason)?;
                    self.outer = Some((ip.addresses, ip.ecn));
                    let payload = Cursor { bytes: &bytes, len }.skip(skipped)?;
                    // The bytes are local, so the walk goes on in a second frame of the stack.
                    return self.follow(Header::Transport(ip), payload);
                }
                Header::Transport(ip) => match captured::tcp(&ip, rest.bytes) {
                    Err(WireError::NotTcp { .. }) => tunnel::transport(ip, rest)?,
                    other => return other.map_err(reason),
                },
            };
            self.on_tunnel(&step)?;
            (header, rest) = (step.next, step.rest);
        }
    }

    /// Reads an IP header and combines its ECN field with that of the tunnel around it.
    fn ip(&mut self, packet: Cursor<'_>) -> Result<CapturedIp, SkipReason> {
        if !matches!(packet.byte(0)? >> 4, 4 | 6) {
            return Err(SkipReason::OtherLink("neither IPv4 nor IPv6"));
        }
        let len = u32::try_from(packet.len).unwrap_or(u32::MAX);
        let mut ip = captured::ip(packet.bytes, len).map_err(reason)?;
        if let Some((_, outer)) = self.outer {
            self.tunnel_ecn = Some((outer, ip.ecn));
            ip.ecn = tunnel::decapsulated_ecn(outer, ip.ecn);
        }
        self.outer = Some((ip.addresses, ip.ecn));
        Ok(ip)
    }

    fn on_tunnel(&mut self, step: &Step<'_>) -> Result<(), SkipReason> {
        let Some(tunnel) = step.tunnel else { return Ok(()) };
        let free = self.tunnels.iter_mut().find(|t| t.is_none());
        *free.ok_or(SkipReason::TooDeep)? = Some(tunnel);
        if matches!(tunnel, Tunnel::Erspan1 | Tunnel::Erspan2 | Tunnel::Erspan3) {
            // A mirrored frame was captured where it was mirrored. The outer fields are those of
            // the way to the collector.
            let source = self.outer.take().map(|(addresses, _)| addresses.src_dst().0);
            self.tunnel_ecn = None;
            self.point.vlan = None;
            self.point.mirror =
                source.map(|source| Mirror { source, session: step.session.unwrap_or_default() });
        }
        Ok(())
    }
}

fn reason(error: WireError) -> SkipReason {
    match error {
        WireError::NotTcp { protocol } => SkipReason::NotTcp(protocol),
        WireError::Truncated {
            header:
                HeaderKind::Ipv4 | HeaderKind::Ipv6 | HeaderKind::Ipv6Extension | HeaderKind::Tcp,
            ..
        } => SkipReason::Truncated,
        _ => SkipReason::Malformed,
    }
}
