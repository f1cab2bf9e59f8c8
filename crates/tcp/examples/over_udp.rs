//! TCP over UDP: each datagram carries one IP packet with a TCP segment. Client and server are two
//! threads with a socket each on the loopback interface, and use the real clock.
//!
//! The driver below is complete: it copies payload, waits for packets and timers, and closes. The
//! addresses inside the packets are those of a private network and belong to no interface.
//!
//! `cargo run -p lowtide-tcp --example over_udp`
#![allow(clippy::print_stdout, reason = "an example prints its result")]
#![allow(clippy::disallowed_methods, reason = "a driver on a real network reads the clock")]

use std::collections::VecDeque;
use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time;

use lowtide_tcp::units::{Duration, Instant};
use lowtide_tcp::wire::{Addresses, Segment, packet};
use lowtide_tcp::{Arrival, CloseReason, Config, ConnId, Endpoint, Event};

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const PORT: u16 = 80;
/// Longest wait for a packet, if no timer is earlier.
const MAX_WAIT: Duration = Duration::from_ms(100);

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// A host with one connection, and its driver.
struct Host {
    socket: UdpSocket,
    endpoint: Endpoint,
    start: time::Instant,
    local: Ipv4Addr,
    remote: Ipv4Addr,
    conn: Option<ConnId>,
    /// Bytes written and not acknowledged; the first has the stream offset `freed`.
    unacked: VecDeque<u8>,
    freed: u64,
    /// Bytes received and not read, with gaps; the first has the stream offset `consumed`.
    arrived: Vec<u8>,
    consumed: u64,
    /// Stream offset below which the received bytes have no gap.
    readable: u64,
    peer_closed: bool,
    ended: Option<CloseReason>,
}

impl Host {
    fn new(socket: UdpSocket, local: Ipv4Addr, remote: Ipv4Addr, seed: u64) -> Self {
        Self {
            socket,
            endpoint: Endpoint::new(seed),
            start: time::Instant::now(),
            local,
            remote,
            conn: None,
            unacked: VecDeque::new(),
            freed: 0,
            arrived: Vec::new(),
            consumed: 0,
            readable: 0,
            peer_closed: false,
            ended: None,
        }
    }

    fn now(&self) -> Instant {
        let elapsed = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Instant::ZERO + Duration::from_ns(elapsed)
    }

    fn connect(&mut self, config: Arc<Config>) -> Outcome<()> {
        let (local, remote) = (self.local.into(), self.remote.into());
        let now = self.now();
        self.conn = Some(self.endpoint.connect(now, local, 0, remote, PORT, config)?);
        Ok(())
    }

    /// Writes as much of `bytes` as the send buffer takes; returns the number of bytes.
    fn write(&mut self, bytes: &[u8]) -> usize {
        let Some(conn) = self.conn.and_then(|id| self.endpoint.conn(id)) else { return 0 };
        let space = usize::try_from(conn.send_space()).unwrap_or(usize::MAX);
        let n = bytes.len().min(space);
        conn.send(n as u64);
        self.unacked.extend(&bytes[..n]);
        n
    }

    /// Takes all bytes that may be read.
    fn read(&mut self) -> Vec<u8> {
        let n = self.readable - self.consumed;
        let Some(conn) = self.conn.and_then(|id| self.endpoint.conn(id)) else { return Vec::new() };
        conn.read(n);
        self.consumed = self.readable;
        self.arrived.drain(..usize::try_from(n).expect("in memory")).collect()
    }

    /// FIN follows the written bytes.
    fn close(&mut self) {
        if let Some(conn) = self.conn.and_then(|id| self.endpoint.conn(id)) {
            conn.close();
        }
    }

    /// Sends what is due, waits for one packet or timer, and handles it.
    fn turn(&mut self) -> Outcome<()> {
        self.transmit()?;
        let now = self.now();
        let conn = self.conn.and_then(|id| self.endpoint.conn(id));
        let timer = conn.and_then(|conn| conn.poll_timeout());
        let wait = timer.map_or(MAX_WAIT, |at| at.saturating_since(now).min(MAX_WAIT));
        // A zero timeout would wait without limit.
        let wait = time::Duration::from_nanos(wait.as_ns().max(1_000));
        self.socket.set_read_timeout(Some(wait))?;
        let mut datagram = [0; 2048];
        match self.socket.recv(&mut datagram) {
            Ok(len) => self.packet_arrives(&datagram[..len]),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            // The other side has ended and closed its socket: the packet before is lost.
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(e) => return Err(e.into()),
        }
        let now = self.now();
        let Some(conn) = self.conn.and_then(|id| self.endpoint.conn(id)) else { return Ok(()) };
        if conn.poll_timeout().is_some_and(|at| at <= now) {
            conn.handle_timeout(now);
        }
        while let Some(event) = conn.poll_event() {
            match event {
                Event::Readable { upto } => self.readable = upto,
                Event::PeerClosed => self.peer_closed = true,
                Event::Closed(reason) => self.ended = Some(reason),
                _ => {}
            }
        }
        let acked = conn.acked_upto();
        self.unacked.drain(..usize::try_from(acked - self.freed).expect("in memory"));
        self.freed = acked;
        self.transmit()
    }

    /// Keeps the new bytes of a packet. Others that are not for this host are ignored.
    fn packet_arrives(&mut self, bytes: &[u8]) {
        let Ok((addresses, segment, payload)) = packet::parse(bytes) else { return };
        let (remote, local) = addresses.src_dst();
        if local != self.local {
            return;
        }
        let now = self.now();
        let arrival = self.endpoint.handle_segment(now, local, remote, &segment, self.conn);
        let accepted = match arrival {
            Arrival::Opened(id) => {
                self.conn = Some(id);
                return;
            }
            Arrival::Taken(id, accepted) if Some(id) == self.conn => accepted,
            _ => return,
        };
        let place = |offset: u64| usize::try_from(offset - self.consumed).expect("in the window");
        let range = if accepted.stream.is_empty() {
            return;
        } else {
            place(accepted.stream.start)..place(accepted.stream.end)
        };
        if self.arrived.len() < range.end {
            self.arrived.resize(range.end, 0);
        }
        let skip = accepted.skip as usize;
        let fresh = &bytes[payload][skip..skip + range.len()];
        self.arrived[range].copy_from_slice(fresh);
    }

    /// Sends everything that the connection and the endpoint have to send.
    fn transmit(&mut self) -> Outcome<()> {
        let now = self.now();
        while let Some(transmit) =
            self.conn.and_then(|id| self.endpoint.conn(id)?.poll_transmit(now))
        {
            for i in 0..transmit.segments {
                let range = transmit.stream_of(i);
                let first = usize::try_from(range.start.saturating_sub(self.freed))?;
                let len = usize::try_from(range.end - range.start)?;
                let payload: Vec<u8> = self.unacked.range(first..first + len).copied().collect();
                self.send(&transmit.segment(i), &payload)?;
            }
        }
        while let Some((_, segment)) = self.endpoint.poll_reply() {
            self.send(&segment, &[])?;
        }
        Ok(())
    }

    fn send(&self, segment: &Segment, payload: &[u8]) -> Outcome<()> {
        let addresses = Addresses::V4 { src: self.local, dst: self.remote };
        let mut datagram = [0; 2048];
        let len = packet::emit(&addresses, segment, payload, &mut datagram)?;
        match self.socket.send(&datagram[..len]) {
            // As on any network, a packet may be lost: the peer's socket is closed, or a buffer is
            // full.
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

/// The byte at a stream offset.
fn pattern(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// Sends `total` bytes and returns the number of retransmitted ones.
fn client(mut host: Host, config: Arc<Config>, total: u64) -> Outcome<u64> {
    host.connect(config)?;
    let mut written = 0;
    while host.ended.is_none() {
        let chunk: Vec<u8> = (written..total.min(written + 65_536)).map(pattern).collect();
        written += host.write(&chunk) as u64;
        if written == total {
            host.close();
        }
        host.turn()?;
    }
    let Some(id) = host.conn else { return Err("no connection".into()) };
    let counters = host.endpoint.conn(id).ok_or("no connection")?.info().counters;
    let now = host.now();
    host.endpoint.release(now, id);
    match host.ended {
        Some(CloseReason::Normal) => Ok(counters.bytes_retrans),
        other => Err(format!("the connection ended: {other:?}").into()),
    }
}

/// Receives until the client closes; returns the number of bytes, which must be the pattern.
fn server(mut host: Host, config: Arc<Config>) -> Outcome<u64> {
    host.endpoint.listen(PORT, config, 16)?;
    let mut total = 0;
    while host.ended.is_none() {
        host.turn()?;
        for byte in host.read() {
            if byte != pattern(total) {
                return Err(format!("byte {total} is wrong").into());
            }
            total += 1;
        }
        if host.peer_closed {
            host.close();
        }
    }
    Ok(total)
}

/// Sends `total` bytes over the loopback interface; returns the bytes received and retransmitted.
fn transfer(total: u64) -> Outcome<(u64, u64)> {
    let config = Config::builder().profile("linux").scheme("dctcp").mtu(1500).build()?;
    let sockets = [UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?];
    sockets[0].connect(sockets[1].local_addr()?)?;
    sockets[1].connect(sockets[0].local_addr()?)?;
    let [ours, theirs] = sockets;
    // On a network that others can reach, seeds are random (crate `getrandom`).
    let near = Host::new(ours, CLIENT, SERVER, 1);
    let far = Host::new(theirs, SERVER, CLIENT, 2);
    let receiver = thread::spawn({
        let config = Arc::clone(&config);
        move || server(far, config)
    });
    let retransmitted = client(near, config, total)?;
    let received = receiver.join().map_err(|_| "the server panicked")??;
    Ok((received, retransmitted))
}

fn main() -> Outcome<()> {
    let start = time::Instant::now();
    let (received, retransmitted) = transfer(20_000_000)?;
    let elapsed = start.elapsed();
    println!("{received} bytes in {elapsed:?}, {retransmitted} bytes retransmitted");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::transfer;

    #[test]
    fn a_transfer_arrives_unchanged() {
        let (received, _) = transfer(4_000_000).expect("a transfer");
        assert_eq!(received, 4_000_000);
    }
}
