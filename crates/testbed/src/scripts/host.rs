//! The kernel as the host under test: a TUN interface in the namespace of this thread.
//!
//! Contract: time is the system's. Packets are stamped when they are read, which is at once while
//! the script waits. A packet of another protocol is dropped.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use lowtide_live::links::Links;
use lowtide_live::{Clock, Device, DeviceNetwork, DevicePlan, LiveError, netns};
use lowtide_packetdrill::host::SentPacket;
use lowtide_packetdrill::run::Setup;
use lowtide_tcp::FourTuple;
use lowtide_units::{Duration, Instant};
use lowtide_wire::{Flags, packet};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use socket2::Socket;

use super::blocked_call::BlockedCall;
use super::info::KernelConn;
use super::settings::KernelSettings;

/// Name of the interface in its namespace.
const INTERFACE: &str = "tun0";
/// Largest IP packet.
const MAX_PACKET: usize = 65_536;
/// Interval of looking for the end of a call that blocks.
const CALL_POLL: Duration = Duration::from_ms(1);

/// The sockets and the interface of a script.
pub(super) struct KernelHost {
    clock: Clock,
    device: Device,
    buffer: Vec<u8>,
    out: VecDeque<SentPacket>,
    pub(super) settings: KernelSettings,
    pub(super) sockets: BTreeMap<i32, Arc<Socket>>,
    /// Ports of listeners, by descriptor.
    pub(super) listeners: BTreeMap<i32, u16>,
    pub(super) blocked: Option<BlockedCall>,
    /// The next call lasts.
    pub(super) lasts: bool,
    /// Connections that were seen, as they were last.
    known: Vec<(FourTuple, KernelConn)>,
    limit: Instant,
    /// Largest lateness of an event of the script.
    pub(super) late: Duration,
    pub(super) fault: Option<String>,
}

impl KernelHost {
    /// Creates the interface with its addresses. The clock starts last.
    pub(super) fn open(
        setup: &Setup,
        settings: KernelSettings,
        limit: Duration,
    ) -> Result<Self, LiveError> {
        let prefix = if setup.local.is_ipv4() { 32 } else { 128 };
        let network = DeviceNetwork { local: setup.remote, peer: setup.local, prefix };
        let mtu = u16::try_from(settings.config.mtu).unwrap_or(u16::MAX);
        let plan = DevicePlan::parse(&format!("tun:{INTERFACE}"), mtu, vec![network])?;
        let device = Device::open(&plan)?;
        let mut links = Links::open()?;
        if settings.config.tso_defer == 0 {
            // The kernel neither waits for a burst nor ends it with PSH.
            links.set_gso_max_segments(INTERFACE, 1)?;
        }
        links.add_host_route(INTERFACE, setup.remote, settings.initial_window)?;
        Ok(Self {
            device,
            buffer: vec![0; MAX_PACKET],
            out: VecDeque::new(),
            settings,
            sockets: BTreeMap::new(),
            listeners: BTreeMap::new(),
            blocked: None,
            lasts: false,
            known: Vec::new(),
            limit: Instant::ZERO + limit,
            late: Duration::ZERO,
            fault: None,
            clock: Clock::start(),
        })
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Reads waiting packets. Returns true if there was one of TCP.
    pub(super) fn receive(&mut self) -> bool {
        let before = self.out.len();
        loop {
            match self.device.recv(&mut self.buffer) {
                Ok(Some(len)) => {
                    let bytes = self.buffer.get(..len).unwrap_or(&[]);
                    // A packet that is not TCP is not the script's.
                    let Ok((addresses, segment, _)) = packet::parse(bytes) else { continue };
                    let at = self.clock.now();
                    self.out.push_back(SentPacket { at, bytes: bytes.to_vec() });
                    let (local, remote) = addresses.src_dst();
                    let (local_port, remote_port) = (segment.src_port, segment.dst_port);
                    let tuple = FourTuple { local, local_port, remote, remote_port };
                    if segment.flags.contains(Flags::SYN) && self.place(&tuple).is_none() {
                        let active = !segment.flags.contains(Flags::ACK);
                        self.known.push((tuple, KernelConn::new(active)));
                    }
                }
                Ok(None) => return self.out.len() > before,
                Err(error) => {
                    self.fault = Some(format!("the TUN interface failed: {error}"));
                    return false;
                }
            }
        }
    }

    pub(super) fn packets(&mut self) -> &mut VecDeque<SentPacket> {
        self.receive();
        &mut self.out
    }

    pub(super) fn send(&mut self, bytes: &[u8]) {
        let before = self.now();
        if let Err(error) = self.device.send(bytes) {
            self.fault = Some(format!("the TUN interface failed: {error}"));
        }
        // The kernel answers within this call, unless it was interrupted.
        self.note_lateness(before);
    }

    /// Waits until something happens, at most to `limit`.
    pub(super) fn wait(&mut self, limit: Instant) -> bool {
        loop {
            if self.receive() || self.blocked.as_mut().is_some_and(BlockedCall::has_returned) {
                return true;
            }
            let now = self.now();
            if now > self.limit && self.fault.is_none() {
                self.fault = Some(format!("not at its end after {}", self.limit.since_start()));
            }
            if now >= limit || self.fault.is_some() {
                return false;
            }
            let mut timeout = limit.saturating_since(now);
            if self.blocked.is_some() {
                timeout = timeout.min(CALL_POLL);
            }
            let timeout = std::time::Duration::from_nanos(timeout.as_ns().max(1));
            let mut fds = [PollFd::new(self.device.as_fd(), PollFlags::POLLIN)];
            let _ = ppoll(&mut fds, Some(TimeSpec::from(timeout)), None);
        }
    }

    /// Notes how late the script is for an event at `due`.
    pub(super) fn note_lateness(&mut self, due: Instant) {
        self.late = self.late.max(self.now().saturating_since(due));
    }

    /// Place of a connection among those that the host has opened or accepted.
    fn place(&self, tuple: &FourTuple) -> Option<usize> {
        self.known.iter().position(|(known, _)| known == tuple)
    }

    /// The connection as it is now; one that has ended is CLOSED.
    pub(super) fn conn(&mut self, tuple: &FourTuple) -> Option<&KernelConn> {
        let at = self.place(tuple)?;
        let unread = self.unread_of(tuple);
        let (_, conn) = self.known.get_mut(at)?;
        conn.update(tuple);
        conn.unread = unread.or(conn.unread);
        Some(conn)
    }

    fn unread_of(&self, tuple: &FourTuple) -> Option<u64> {
        let is = |address: io::Result<socket2::SockAddr>, ip: IpAddr, port: u16| {
            address
                .ok()
                .and_then(|a| a.as_socket())
                .is_some_and(|a| (a.ip(), a.port()) == (ip, port))
        };
        let of = |s: &&Arc<Socket>| {
            is(s.local_addr(), tuple.local, tuple.local_port)
                && is(s.peer_addr(), tuple.remote, tuple.remote_port)
        };
        rustix::io::ioctl_fionread(&**self.sockets.values().find(of)?).ok()
    }
}

impl Drop for KernelHost {
    /// Aborts every connection: one that continued would keep its namespace alive.
    fn drop(&mut self) {
        for socket in self.sockets.values() {
            let _ = socket.set_linger(Some(std::time::Duration::ZERO));
            if self.blocked.is_some() {
                let _ = socket.shutdown(std::net::Shutdown::Both);
            }
        }
        // For connections that the script has closed.
        let _ = netns::set_sysctl("ipv4.tcp_orphan_retries", "1");
    }
}
