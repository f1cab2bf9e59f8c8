//! The kernel's TCP sockets by `sock_diag(7)`: all of a namespace, or one.
//!
//! The layouts are those of `linux/inet_diag.h` and `linux/tcp.h`, in host byte order except ports
//! and addresses. Fields that an older kernel lacks are `None`: new fields are appended.

use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lowtide_units::{Duration as Span, Rate};
use socket2::{Domain, Protocol, Socket, Type};

use crate::socket_info::SocketInfo;

/// `AF_NETLINK`, and its protocol for socket queries.
const NETLINK: i32 = 16;
const SOCK_DIAG: i32 = 4;
/// Address families.
pub(crate) const AF_INET: u8 = 2;
pub(crate) const AF_INET6: u8 = 10;
/// `SOCK_DIAG_BY_FAMILY`, `NLMSG_ERROR`, `NLMSG_DONE`.
const BY_FAMILY: u16 = 20;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `NLM_F_REQUEST | NLM_F_ROOT | NLM_F_MATCH`, and the first alone.
const DUMP: u16 = 0x301;
const REQUEST: u16 = 1;
/// `-ENOENT`.
const NO_ENTRY: u32 = 2_u32.wrapping_neg();
/// Attributes `INET_DIAG_INFO`, `INET_DIAG_CONG`, `INET_DIAG_DCTCPINFO`; the last is requested as
/// `INET_DIAG_VEGASINFO`.
const INFO: u16 = 2;
const VEGAS: u16 = 3;
const CONG: u16 = 4;
const DCTCP: u16 = 9;
/// Bytes of `struct nlmsghdr` and `struct inet_diag_msg`.
const HEADER: usize = 16;
const MESSAGE: usize = 72;
/// A socket in `TCP_LISTEN` is not a connection.
const LISTEN: u32 = 1 << 10;
/// Maximum wait for a reply of the kernel.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// Bit of `tcpi_options`: ECN was negotiated.
const OPTION_ECN: u8 = 8;
/// `TCP_INFINITE_SSTHRESH`.
const INFINITE: u32 = 0x7fff_ffff;

/// One socket: its four-tuple and its info.
#[derive(Clone, Debug)]
pub(crate) struct DiagSocket {
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
    /// State, as Linux numbers them.
    pub(crate) state: u8,
    /// `struct tcp_info`; empty in SYN-RECEIVED and TIME-WAIT.
    pub(crate) raw: Vec<u8>,
    pub(crate) info: SocketInfo,
}

/// Congestion state of a socket of the kernel, in its own units.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelWindow {
    /// Address of the peer.
    pub peer: SocketAddrV4,
    /// Name of the congestion control.
    pub control: String,
    /// Window in segments.
    pub cwnd: u64,
    /// Slow-start threshold in segments; `None` before the first reduction.
    pub ssthresh: Option<u64>,
    /// Alpha of `dctcp`, in 2^-20; other controls report none.
    pub alpha_q20: Option<u64>,
    /// Retransmission timeout.
    pub rto: Option<Span>,
}

/// The congestion state of all connected IPv4 TCP sockets of this thread's namespace.
///
/// # Errors
/// The kernel does not support such requests.
pub fn kernel_windows() -> io::Result<Vec<KernelWindow>> {
    let window = |socket: DiagSocket| {
        let mss = u64::from(socket.info.mss?);
        let SocketAddr::V4(peer) = socket.peer else { return None };
        Some(KernelWindow {
            peer,
            cwnd: socket.info.cwnd? / mss,
            ssthresh: socket.info.ssthresh.map(|bytes| bytes / mss),
            alpha_q20: socket.info.alpha_q20,
            rto: socket.info.rto,
            control: socket.info.cc,
        })
    };
    Ok(sockets(AF_INET)?.into_iter().filter_map(window).collect())
}

/// All connected TCP sockets of an address family in this thread's namespace.
///
/// # Errors
/// The kernel does not support such requests.
pub(crate) fn sockets(family: u8) -> io::Result<Vec<DiagSocket>> {
    exchange(&open()?, &request(family, DUMP, None))
}

/// Requests about single sockets of the namespace in which it was opened, from any thread.
#[derive(Debug)]
pub(crate) struct DiagHandle(Mutex<Socket>);

impl DiagHandle {
    /// Opens it for this thread's namespace.
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self(Mutex::new(open()?)))
    }

    /// The connection of these ends; `None` if there is none, or only its TIME-WAIT state.
    pub(crate) fn find(
        &self,
        local: SocketAddrV4,
        peer: SocketAddrV4,
    ) -> io::Result<Option<SocketInfo>> {
        let socket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = exchange(&socket, &request(AF_INET, REQUEST, Some((local, peer))))?;
        // Without such a connection the kernel returns the listener of its port.
        let is_it = |s: &DiagSocket| s.peer == peer.into() && !s.raw.is_empty();
        Ok(found.into_iter().find(is_it).map(|s| s.info))
    }
}

/// Opens a netlink socket in this thread's namespace.
fn open() -> io::Result<Socket> {
    let socket = Socket::new(Domain::from(NETLINK), Type::DGRAM, Some(Protocol::from(SOCK_DIAG)))?;
    socket.set_read_timeout(Some(REPLY_TIMEOUT))?;
    Ok(socket)
}

/// Sends a request and returns the sockets of its replies.
fn exchange(mut socket: &Socket, request: &[u8]) -> io::Result<Vec<DiagSocket>> {
    let is_dump = u16_at(request, 6) == Some(DUMP);
    socket.send(request)?;
    let mut all = Vec::new();
    let mut place = vec![0; 1 << 16];
    loop {
        let len = socket.read(&mut place)?;
        let mut rest = place.get(..len).unwrap_or(&[]);
        while let Some((kind, body, next)) = message(rest) {
            match kind {
                DONE => return Ok(all),
                ERROR if u32_at(body, 0) == Some(NO_ENTRY) => return Ok(all),
                ERROR => return Err(io::Error::other("the kernel refused to list its sockets")),
                BY_FAMILY => all.extend(parse_socket(body)),
                _ => {}
            }
            rest = next;
        }
        if len == 0 || !is_dump {
            return Ok(all);
        }
    }
}

/// A request for all sockets, or for one.
fn request(family: u8, flags: u16, one: Option<(SocketAddrV4, SocketAddrV4)>) -> Vec<u8> {
    const LEN: usize = HEADER + 56;
    let mut out = Vec::with_capacity(LEN);
    out.extend_from_slice(&(LEN as u32).to_ne_bytes());
    out.extend_from_slice(&BY_FAMILY.to_ne_bytes());
    out.extend_from_slice(&flags.to_ne_bytes());
    out.extend_from_slice(&[0; 8]);
    let wanted = [INFO, VEGAS, CONG].iter().fold(0, |bits, a| bits | 1 << (a - 1));
    // The protocol is IPPROTO_TCP.
    out.extend_from_slice(&[family, 6, wanted, 0]);
    out.extend_from_slice(&(!LISTEN).to_ne_bytes());
    if let Some((local, peer)) = one {
        out.extend_from_slice(&local.port().to_be_bytes());
        out.extend_from_slice(&peer.port().to_be_bytes());
        for end in [local, peer] {
            out.extend_from_slice(&end.ip().octets());
            out.extend_from_slice(&[0; 12]);
        }
        out.extend_from_slice(&[0; 4]);
        // `INET_DIAG_NOCOOKIE`.
        out.extend_from_slice(&[0xff; 8]);
    }
    out.resize(LEN, 0);
    out
}

/// Splits off the first message: its type, its body, and the remaining bytes.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let len = u32_at(bytes, 0)? as usize;
    let kind = u16_at(bytes, 4)?;
    let body = bytes.get(HEADER..len)?;
    Some((kind, body, bytes.get(len.next_multiple_of(4)..).unwrap_or(&[])))
}

fn parse_socket(body: &[u8]) -> Option<DiagSocket> {
    let v6 = body.first() == Some(&AF_INET6);
    let end = |port: usize, address: usize| {
        let port = u16::from_be_bytes(bytes_at(body, port)?);
        let address = if v6 {
            IpAddr::V6(Ipv6Addr::from_octets(bytes_at(body, address)?))
        } else {
            IpAddr::V4(Ipv4Addr::from_octets(bytes_at(body, address)?))
        };
        Some(SocketAddr::new(address, port))
    };
    let (local, peer) = (end(4, 8)?, end(6, 24)?);
    let unacknowledged = u32_at(body, 60)?;
    let mut socket_info =
        SocketInfo { unacknowledged: Some(u64::from(unacknowledged)), ..SocketInfo::default() };
    let mut raw = Vec::new();
    let mut rest = body.get(MESSAGE..)?;
    while let (Some(len), Some(kind)) = (u16_at(rest, 0), u16_at(rest, 2)) {
        let Some(value) = rest.get(4..usize::from(len)) else { break };
        match kind {
            INFO => {
                raw = value.to_vec();
                read_info(value, &mut socket_info);
            }
            CONG => {
                let name = value.split(|b| *b == 0).next().unwrap_or(&[]);
                socket_info.cc = String::from_utf8_lossy(name).into_owned();
            }
            // Fields: enabled, state of the echo, alpha in 1/1024.
            DCTCP if u16_at(value, 0) == Some(1) => {
                socket_info.alpha_q20 = u32_at(value, 4).map(|alpha| u64::from(alpha) << 10);
            }
            _ => {}
        }
        rest = rest.get(usize::from(len).next_multiple_of(4)..).unwrap_or(&[]);
    }
    Some(DiagSocket { local, peer, state: *body.get(1)?, raw, info: socket_info })
}

/// Reads `struct tcp_info`; its times are microseconds.
fn read_info(info: &[u8], socket_info: &mut SocketInfo) {
    let us = |at| u32_at(info, at).map(|v| Span::from_us(u64::from(v)));
    let wide = |at| u64_at(info, at);
    let count = |at| u32_at(info, at).map(u64::from);
    let mss = u32_at(info, 16).unwrap_or(0);
    socket_info.mss = (mss > 0).then_some(mss);
    socket_info.rto = us(8);
    socket_info.srtt = us(68).filter(|srtt| *srtt > Span::ZERO);
    socket_info.cwnd = count(80).map(|segments| segments * u64::from(mss));
    let ssthresh = u32_at(info, 76).filter(|segments| *segments < INFINITE);
    socket_info.ssthresh = ssthresh.map(|segments| u64::from(segments) * u64::from(mss));
    let packets = |at| u32_at(info, at).map_or(0, u64::from);
    // As `tcp_packets_in_flight`: packets out, less SACKed and lost ones, plus retransmitted ones.
    let in_flight = (packets(24) + packets(36)).saturating_sub(packets(28) + packets(32));
    socket_info.in_flight = Some(in_flight * u64::from(mss));
    let pacing_rate = wide(104).filter(|bytes| *bytes < u64::MAX);
    socket_info.pacing_rate = pacing_rate.and_then(|bytes| Rate::from_bps(bytes.saturating_mul(8)));
    socket_info.acked = wide(120);
    socket_info.received = wide(128);
    socket_info.segments_in = count(140);
    socket_info.tcp.data_segs_out = count(156);
    socket_info.tcp.bytes_retrans = wide(208);
    socket_info.tcp.rto_count = u16_at(info, 240).map(u64::from);
    socket_info.delivered_ce_segs = count(196);
    socket_info.ecn = info.get(5).map(|options| options & OPTION_ECN != 0);
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes_at(bytes, at).map(u16::from_ne_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes_at(bytes, at).map(u32::from_ne_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes_at(bytes, at).map(u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut out = ((value.len() + 4) as u16).to_ne_bytes().to_vec();
        out.extend_from_slice(&kind.to_ne_bytes());
        out.extend_from_slice(value);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    fn body(info: &[u8]) -> Vec<u8> {
        let mut out = vec![0; MESSAGE];
        out[4..8].copy_from_slice(&[0x13, 0x89, 0x9c, 0x40]);
        out[8..12].copy_from_slice(&[10, 66, 0, 1]);
        out[24..28].copy_from_slice(&[10, 66, 0, 2]);
        out[60..64].copy_from_slice(&4344_u32.to_ne_bytes());
        out.extend(attribute(CONG, b"reno\0"));
        out.extend(attribute(INFO, info));
        let mut dctcp = vec![1, 0, 0, 0];
        dctcp[..2].copy_from_slice(&1_u16.to_ne_bytes());
        dctcp.extend_from_slice(&512_u32.to_ne_bytes());
        out.extend(attribute(DCTCP, &dctcp));
        out
    }

    #[test]
    fn kernel_socket_message_is_parsed() {
        let mut info = vec![0; 248];
        let mut put =
            |at: usize, value: u32| info[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        put(8, 204_000);
        put(16, 1448);
        put(24, 12);
        put(28, 2);
        put(68, 1500);
        put(76, INFINITE);
        put(80, 20);
        put(240, 3);
        info[5] = OPTION_ECN;
        let found = parse_socket(&body(&info)).unwrap();
        assert_eq!(found.local.to_string(), "10.66.0.1:5001");
        assert_eq!(found.peer.to_string(), "10.66.0.2:40000");
        let socket_info = &found.info;
        assert_eq!(
            (socket_info.cc.as_str(), socket_info.ecn, socket_info.alpha_q20),
            ("reno", Some(true), Some(1 << 19))
        );
        assert_eq!(
            (socket_info.cwnd, socket_info.ssthresh, socket_info.in_flight),
            (Some(28_960), None, Some(14_480))
        );
        assert_eq!(
            (socket_info.srtt, socket_info.tcp.rto_count),
            (Some(Span::from_us(1500)), Some(3))
        );
        assert_eq!(socket_info.unacknowledged, Some(4344));
    }

    /// `struct inet_diag_req_v2` of linux/inet_diag.h, byte by byte.
    #[test]
    fn a_request_for_one_connection_has_its_addresses() {
        let end = |text: &str| text.parse().unwrap();
        let one = request(AF_INET, REQUEST, Some((end("10.66.0.1:5001"), end("10.66.0.2:40000"))));
        assert_eq!((one.len(), u32_at(&one, 0), u16_at(&one, 6)), (72, Some(72), Some(1)));
        assert_eq!(one[16..20], [2, 6, 0b1110, 0]);
        assert_eq!(one[24..28], [0x13, 0x89, 0x9c, 0x40]);
        assert_eq!((&one[28..32], &one[44..48]), (&[10, 66, 0, 1][..], &[10, 66, 0, 2][..]));
        assert_eq!(one[60..72], [0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
        assert_eq!(request(AF_INET, DUMP, None)[24..], [0; 48]);
    }

    #[test]
    fn short_and_malformed_messages_are_handled() {
        let found = parse_socket(&body(&[0; 104])).unwrap();
        assert_eq!((found.info.tcp.rto_count, found.info.acked), (None, None));
        assert!(parse_socket(&[0; 20]).is_none());
        assert!(message(&[255; 12]).is_none());
        let mut short = vec![0; MESSAGE];
        short.extend_from_slice(&[200, 0, 2, 0, 1]);
        assert!(parse_socket(&short).is_some_and(|s| s.info.cwnd.is_none()));
    }
}
