//! Raw packets from the kernel's side of the TUN interface, and what comes back.

use std::fs;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use lowtide_wire::{Addresses, Flags, Options, Segment, SeqNum, packet};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::server::Server;

/// Address of the server.
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
pub(crate) const PORT: u16 = 5201;
/// Packets between two readings of the server's CPU time.
pub(crate) const BATCH: u64 = 100;
/// Longest wait for the server to read a batch.
const PATIENCE: Duration = Duration::from_millis(20);
/// Timeout for an answer.
const REPLY_TIMEOUT: Duration = Duration::from_millis(200);
/// Protocol number by which a raw socket takes whole IP packets.
const RAW: i32 = 255;
const ETH_P_IP: u16 = 0x0800;

/// Address of the attacker number `n`: in the server's network, and none of the kernel's.
pub(crate) fn host(n: u64) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, 10 + (n % 200) as u8)
}

/// Sends packets at the rate at which the server reads them, and samples its CPU time.
pub(crate) struct Attacker<'a> {
    server: &'a Server,
    v4: Socket,
    v6: Socket,
    incoming: Socket,
    left: u64,
    sent: u64,
    state: u64,
    cpu: Duration,
    /// CPU time of the server for each batch.
    pub(crate) batches: Vec<Duration>,
}

/// An established connection of the attacker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) host: Ipv4Addr,
    pub(crate) port: u16,
    /// SND.NXT of the attacker.
    pub(crate) seq: SeqNum,
    /// RCV.NXT of the attacker: the first byte of the server.
    pub(crate) ack: SeqNum,
    /// Window field of the SYN-ACK, bytes: it is never scaled, so at most 65,535.
    pub(crate) window: u32,
}

impl<'a> Attacker<'a> {
    /// An attacker that sends `packets`.
    pub(crate) fn new(server: &'a Server, packets: u64) -> Self {
        let raw = |domain| {
            let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(RAW))).unwrap();
            socket.set_send_buffer_size(4 << 20).unwrap();
            socket
        };
        let v4 = raw(Domain::IPV4);
        v4.set_broadcast(true).unwrap();
        let all = Protocol::from(i32::from(ETH_P_IP.to_be()));
        let incoming = Socket::new(Domain::PACKET, Type::DGRAM, Some(all)).unwrap();
        incoming.set_recv_buffer_size(8 << 20).unwrap();
        let v6 = raw(Domain::IPV6);
        let cpu = server.cpu();
        let (left, sent, state) = (packets, 0, 0x9e37_79b9_7f4a_7c15);
        Self { server, v4, v6, incoming, left, sent, state, cpu, batches: Vec::new() }
    }

    /// False once all packets are sent.
    pub(crate) fn has_packets_left(&self) -> bool {
        self.left > 0
    }

    /// The next number of a fixed pseudo-random sequence (xorshift64*).
    pub(crate) fn draw(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Sends a whole IP packet. The kernel refuses some that no host may send: these count as well.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        if self.left == 0 {
            return;
        }
        let (socket, to): (_, SocketAddr) = if bytes[0] >> 4 == 6 {
            (&self.v6, "[fd77::2]:0".parse().unwrap())
        } else {
            let to: [u8; 4] = bytes[16..20].try_into().unwrap();
            (&self.v4, (IpAddr::from(to), 0).into())
        };
        let _ = socket.send_to(bytes, &SockAddr::from(to));
        self.left -= 1;
        self.sent += 1;
        if self.sent.is_multiple_of(BATCH) {
            self.end_batch();
        }
    }

    /// Waits until the server has read about as many packets as were sent, and takes its CPU time.
    fn end_batch(&mut self) {
        let start = Instant::now();
        // The queue is empty once the count of delivered packets is stable.
        let mut before = delivered();
        while start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_micros(300));
            let now = delivered();
            if now == before {
                break;
            }
            before = now;
        }
        let cpu = self.server.cpu();
        self.batches.push(cpu.saturating_sub(self.cpu));
        self.cpu = cpu;
    }

    /// Sends a segment with zeros as its payload.
    pub(crate) fn segment(&mut self, from: Ipv4Addr, segment: &Segment) {
        let payload = vec![0; segment.payload_len as usize];
        self.segment_with(from, segment, &payload);
    }

    pub(crate) fn segment_with(&mut self, from: Ipv4Addr, segment: &Segment, payload: &[u8]) {
        let mut out = [0; 2048];
        let addresses = Addresses::V4 { src: from, dst: SERVER };
        let len = packet::emit(&addresses, segment, payload, &mut out).unwrap();
        self.send(&out[..len]);
    }

    /// The next segment that comes within `patience` for one of the attacker's addresses.
    pub(crate) fn receive(&mut self, patience: Duration) -> Option<(Ipv4Addr, Segment)> {
        self.incoming.set_read_timeout(Some(patience)).unwrap();
        loop {
            let mut buffer = [0; 2048];
            let n = self.incoming.read(&mut buffer).ok()?;
            let read = packet::parse_without_checksum(&buffer[..n]);
            if let Ok((Addresses::V4 { src: SERVER, dst }, segment, _)) = read
                && dst != Ipv4Addr::new(10, 77, 0, 1)
            {
                return Some((dst, segment));
            }
        }
    }

    /// Opens a connection from `port` of `from`; `None` where the server does not answer.
    pub(crate) fn open(&mut self, from: Ipv4Addr, port: u16, options: Options) -> Option<Peer> {
        let iss = SeqNum::new(self.draw() as u32);
        let syn =
            Segment { seq: iss, flags: Flags::SYN, window: u16::MAX, options, ..to_server(port) };
        self.segment(from, &syn);
        for _ in 0..1000 {
            let (to, answer) = self.receive(REPLY_TIMEOUT)?;
            let ours = to == from && answer.dst_port == port;
            if ours && answer.flags.contains(Flags::SYN | Flags::ACK) {
                let peer = Peer {
                    host: from,
                    port,
                    seq: iss.add(1),
                    ack: answer.seq.add(1),
                    window: u32::from(answer.window),
                };
                self.segment(from, &peer.ack(u16::MAX));
                return Some(peer);
            }
            if ours && answer.flags.contains(Flags::RST) {
                return None;
            }
        }
        None
    }
}

/// A segment for the server's port.
pub(crate) fn to_server(port: u16) -> Segment {
    Segment { src_port: port, dst_port: PORT, ..Segment::default() }
}

impl Peer {
    /// An ACK with SEG.ACK = RCV.NXT and the unscaled window field `window`.
    pub(crate) fn ack(&self, window: u16) -> Segment {
        Segment { seq: self.seq, ack: self.ack, flags: Flags::ACK, window, ..to_server(self.port) }
    }
}

/// Packets that the TUN interface has handed to the server.
fn delivered() -> u64 {
    let table = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let line = table.lines().find_map(|l| l.trim().strip_prefix("lt0:")).unwrap();
    line.split_whitespace().nth(9).unwrap().parse().unwrap()
}
