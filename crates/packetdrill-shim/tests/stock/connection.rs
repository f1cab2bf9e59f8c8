//! State of one socket as packetdrill keeps it: the mapping from script to wire numbers, and the
//! RST that ends it.

use std::net::IpAddr;

use lowtide_packetdrill::script::{EcnSpec, PacketSpec, TcpOption};
use lowtide_wire::checksum::Checksum;
use lowtide_wire::ipv4::{self, Ipv4Header};
use lowtide_wire::ipv6::{self, Ipv6Header};
use lowtide_wire::{Addresses, Ecn, Flags, tcp};

/// State of a socket as far as packetdrill tracks it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    New,
    Listening,
    PacketReceived,
    SynAckSent,
    SynAckAcked,
    Connecting,
    SynSent,
    SynAcked,
}

/// Header fields from which the last RST is built.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) flags: Flags,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) window: u16,
    pub(super) len: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Socket {
    pub(super) state: State,
    pub(super) script_fd: Option<i64>,
    pub(super) live_fd: i32,
    pub(super) closed: bool,
    pub(super) local: Option<(IpAddr, u16)>,
    pub(super) remote: Option<(IpAddr, u16)>,
    pub(super) remote_isn: u32,
    pub(super) local_isn: u32,
    pub(super) script_local_isn: u32,
    /// The host's TSvals: in the script and on the wire.
    pub(super) stamps: Vec<(u32, u32)>,
    pub(super) injected: Option<Header>,
    pub(super) sent: Option<Header>,
}

impl Socket {
    pub(super) fn new(state: State) -> Self {
        Self {
            state,
            script_fd: None,
            live_fd: -1,
            closed: false,
            local: None,
            remote: None,
            remote_isn: 0,
            local_isn: 0,
            script_local_isn: 0,
            stamps: Vec::new(),
            injected: None,
            sent: None,
        }
    }

    /// Offsets from the script to the wire, for the numbers of the peer and of the host.
    pub(super) fn offsets(&self, syn: bool) -> (u32, u32) {
        if syn {
            (0, self.local_isn.wrapping_sub(self.script_local_isn))
        } else {
            (self.remote_isn, self.local_isn)
        }
    }

    fn echo(&self, script: u32) -> u32 {
        let known = self.stamps.iter().find(|(s, _)| *s == script);
        match (known, self.stamps.first()) {
            _ if script == 0 => 0,
            (Some((_, wire)), _) => *wire,
            (None, Some((s, w))) => script.wrapping_sub(*s).wrapping_add(*w),
            (None, None) => script,
        }
    }

    /// Builds the packet of a line with its wire numbers.
    pub(super) fn inbound(&mut self, spec: &PacketSpec) -> Vec<u8> {
        let (remote, local) = self.offsets(spec.flags.contains(Flags::SYN));
        let acks = spec.flags.contains(Flags::ACK);
        let ack = spec.ack.unwrap_or(0);
        let header = Header {
            flags: spec.flags,
            seq: spec.seq.wrapping_add(remote),
            ack: if acks { ack.wrapping_add(local) } else { ack },
            window: spec.window.expect("stock packetdrill needs `win`"),
            len: spec.len,
        };
        let mut options = Vec::new();
        for option in spec.options.as_ref().expect("options to send") {
            let mapped = match option {
                TcpOption::Sack(blocks) => TcpOption::Sack(
                    blocks
                        .iter()
                        .map(|(a, b)| (a.wrapping_add(local), b.wrapping_add(local)))
                        .collect(),
                ),
                TcpOption::Timestamps { value, echo } if acks => {
                    TcpOption::Timestamps { value: *value, echo: self.echo(*echo) }
                }
                other => other.clone(),
            };
            mapped.write(&mut options);
        }
        let ecn = match spec.ecn {
            None | Some(EcnSpec::NotEct) => Ecn::NotEct,
            Some(EcnSpec::Ect0) => Ecn::Ect0,
            Some(EcnSpec::Ect1) => Ecn::Ect1,
            Some(EcnSpec::Ce) => Ecn::Ce,
            Some(EcnSpec::Either) => panic!("[ect01] is for outbound packets"),
        };
        self.injected = Some(header);
        self.bytes(&header, spec.urgent, &options, ecn)
    }

    /// The RST that packetdrill sends for each connection at the end of a script, right after the
    /// last sent number.
    pub(super) fn reset(&self) -> Option<Vec<u8>> {
        self.local.filter(|(_, port)| *port != 0)?;
        self.remote.filter(|(_, port)| *port != 0)?;
        let acks = |header: &&Header| header.flags.contains(Flags::ACK);
        let (seq, ack, window) = if let Some(last) = self.injected.as_ref().filter(acks) {
            let one = |flag| u32::from(last.flags.contains(flag));
            let taken = last.len + one(Flags::SYN) + one(Flags::FIN);
            (last.seq.wrapping_add(taken), last.ack, last.window)
        } else if let Some(last) = self.sent.as_ref().filter(acks) {
            (last.ack, last.seq, 0)
        } else {
            (0, self.sent.map_or(0, |last| last.seq).wrapping_add(1), 0)
        };
        let header = Header { flags: Flags::RST | Flags::ACK, seq, ack, window, len: 0 };
        Some(self.bytes(&header, 0, &[], Ecn::NotEct))
    }

    fn bytes(&self, header: &Header, urgent: u16, options: &[u8], ecn: Ecn) -> Vec<u8> {
        let (local, local_port) = self.local.expect("a connection");
        let (remote, remote_port) = self.remote.expect("a connection");
        let mut segment = Vec::new();
        segment.extend(remote_port.to_be_bytes());
        segment.extend(local_port.to_be_bytes());
        segment.extend(header.seq.to_be_bytes());
        segment.extend(header.ack.to_be_bytes());
        let words = (tcp::MIN_HEADER_LEN + options.len()) as u16 / 4;
        segment.extend((words << 12 | header.flags.bits()).to_be_bytes());
        segment.extend(header.window.to_be_bytes());
        segment.extend([0, 0]);
        segment.extend(urgent.to_be_bytes());
        segment.extend(options);
        segment.resize(segment.len() + header.len as usize, 0);
        let (addresses, mut packet) = match (remote, local) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let ip = ipv4::emit(&Ipv4Header::tcp(src, dst, ecn), segment.len());
                (Addresses::V4 { src, dst }, ip.expect("a packet").to_vec())
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                let ip = ipv6::emit(&Ipv6Header::tcp(src, dst, ecn), segment.len());
                (Addresses::V6 { src, dst }, ip.expect("a packet").to_vec())
            }
            _ => panic!("two address families"),
        };
        let sum: Checksum = addresses.pseudo_header(segment.len() as u32).with(&segment);
        segment[16..18].copy_from_slice(&sum.finish().to_be_bytes());
        packet.extend(segment);
        packet
    }
}
