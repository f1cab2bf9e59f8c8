//! smoltcp on a TUN interface.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;

use crate::pattern::Pattern;
use lowtide_live::Clock;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Medium, TunTapInterface, wait};
use smoltcp::socket::tcp::{CongestionControl, RecvError, Socket, SocketBuffer, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

use super::{report, send_line, wait_for_go};
use crate::script::{Checksum, EndpointReport, EndpointScript, OpenMode};

/// Socket buffer sizes, bytes: as in smoltcp's examples for bulk data.
const BUFFER: usize = 64 << 10;
/// Port of a client.
const CLIENT_PORT: u16 = 49_152;
/// Maximum sleep, so that a pause and the time limit are met.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);

struct Host {
    clock: Clock,
    device: TunTapInterface,
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
}

/// Executes `script` and keeps the stack running until it is terminated.
///
/// # Errors
/// There is no TUN interface, or the runner is gone.
pub fn main(script: &EndpointScript) -> io::Result<()> {
    let device = TunTapInterface::new(&script.tun, Medium::Ip)?;
    send_line("tun");
    wait_for_go()?;
    let mut host = Host::new(script, device);
    let account = match host.open(script) {
        Ok(()) => host.perform(script),
        Err(why) => EndpointReport::failed(why),
    };
    report(&account);
    loop {
        host.poll();
    }
}

impl Host {
    fn new(script: &EndpointScript, mut device: TunTapInterface) -> Self {
        let clock = Clock::start();
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = script.seed;
        let mut interface = Interface::new(config, &mut device, instant(clock));
        let bits = if script.local.is_ipv4() { 24 } else { 64 };
        interface.update_ip_addrs(|all| {
            // The list has room for at least one entry.
            let _ = all.push(IpCidr::new(address(script.local.ip()), bits));
        });
        let window = if script.window > 0 { script.window as usize } else { BUFFER };
        let buffer = |len| SocketBuffer::new(vec![0; len]);
        let mut socket = Socket::new(buffer(window), buffer(BUFFER));
        socket.set_congestion_control(CongestionControl::Reno);
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(socket);
        Self { clock, device, interface, sockets, handle }
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    /// Processes packets and timers, then sleeps until the next event.
    fn poll(&mut self) {
        let now = instant(self.clock);
        self.interface.poll(now, &mut self.device, &mut self.sockets);
        let due = self.interface.poll_delay(now, &self.sockets).unwrap_or(LONGEST_SLEEP);
        // A failed wait is detected when the device is read.
        let _ = wait(self.device.as_raw_fd(), Some(due.min(LONGEST_SLEEP)));
    }

    fn is_late(&self, script: &EndpointScript) -> bool {
        instant(self.clock).total_millis() > script.limit_s.cast_signed() * 1000
    }

    fn open(&mut self, script: &EndpointScript) -> Result<(), String> {
        let (local, remote) = (script.local, script.remote);
        let Self { interface, sockets, handle, .. } = self;
        let socket = sockets.get_mut::<Socket<'_>>(*handle);
        if script.open == OpenMode::Connect {
            let to = (address(remote.ip()), remote.port());
            let from = (address(local.ip()), CLIENT_PORT);
            socket.connect(interface.context(), to, from).map_err(|e| e.to_string())?;
        } else {
            let at = (address(local.ip()), local.port());
            socket.listen(at).map_err(|e| e.to_string())?;
            send_line("ready");
        }
        loop {
            self.poll();
            match self.socket().state() {
                State::Closed => return Err("refused".to_owned()),
                State::Listen | State::SynSent | State::SynReceived => {}
                _ => return Ok(()),
            }
            if self.is_late(script) {
                return Err("timeout".to_owned());
            }
        }
    }

    fn perform(&mut self, script: &EndpointScript) -> EndpointReport {
        let pattern = Pattern::new(script.seed);
        let (mut sent, mut received, mut sum) = (0_u64, 0_u64, Checksum::default());
        let (mut fin_sent, mut fin_seen) = (false, false);
        let pause = Duration::from_millis(script.pause_ms);
        let start = instant(self.clock);
        let ended = loop {
            self.poll();
            let (now, late) = (instant(self.clock), self.is_late(script));
            let socket = self.sockets.get_mut::<Socket<'_>>(self.handle);
            // A closed socket reports at once whether FIN or RST arrived.
            let closed = socket.state() == State::Closed;
            let mut dead = false;
            while (closed || now >= start + pause) && !fin_seen && !dead {
                let most = if script.reset_at > 0 { script.reset_at - received } else { u64::MAX };
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                let got = socket.recv(|bytes| {
                    let taken = bytes.len().min(most);
                    sum.update(&bytes[..taken]);
                    (taken, taken)
                });
                match got {
                    Ok(0) => break,
                    Ok(n) => received += n as u64,
                    Err(RecvError::Finished) => fin_seen = true,
                    Err(RecvError::InvalidState) => dead = true,
                }
            }
            if script.reset_at > 0 && received >= script.reset_at {
                socket.abort();
                // The next poll sends the RST.
                break "aborted";
            }
            while sent < script.send && (fin_seen || !script.after_fin) && socket.can_send() {
                let left = usize::try_from(script.send - sent).unwrap_or(usize::MAX);
                match socket.send_slice(pattern.at(sent, left)) {
                    Ok(0) | Err(_) => break,
                    Ok(n) => sent += n as u64,
                }
            }
            let all_sent = sent == script.send && (fin_seen || !script.after_fin);
            if all_sent && !fin_sent && script.reset_at == 0 {
                socket.close();
                fin_sent = true;
            }
            if fin_sent && fin_seen && socket.send_queue() == 0 {
                break "closed";
            }
            if dead || closed {
                break "reset";
            }
            if late {
                break "timeout";
            }
        };
        EndpointReport { sent, received, checksum: sum.text(), ended: ended.to_owned() }
    }
}

fn instant(clock: Clock) -> Instant {
    let us = clock.now().since_start().as_ns() / 1000;
    Instant::from_micros(i64::try_from(us).unwrap_or(i64::MAX))
}

fn address(ip: IpAddr) -> IpAddress {
    IpAddress::from(ip)
}
