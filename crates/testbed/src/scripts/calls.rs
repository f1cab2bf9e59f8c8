//! Socket calls of a script on the kernel's sockets. A call that may block runs on a separate
//! thread, as in packetdrill.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration as Wait;

use lowtide_live::netns;
use lowtide_packetdrill::command;
use lowtide_packetdrill::fields::{Field, FieldValue};
use lowtide_packetdrill::host::{
    CallError, CallOutcome, Errno, Host, SentPacket, Shutdown, SocketOption, SocketValue,
};
use lowtide_tcp::FourTuple;
use lowtide_units::Instant;
use lowtide_wire::WireError;
use nix::sys::socket::{MsgFlags, recv, send};
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};

use super::blocked_call::{BlockedCall, Returned};
use super::host::KernelHost;

/// Wait for a call that the script expects to return at once.
const AT_ONCE: Wait = Wait::from_millis(100);
/// Wait until a call that lasts has certainly begun.
const BEGUN: Wait = Wait::from_micros(500);

fn failed(error: &io::Error) -> CallError {
    let errno = error.raw_os_error().and_then(Errno::numbered);
    CallError::Errno(errno.unwrap_or(Errno::EIO))
}

/// Value of a call on a kernel's socket.
fn done<T>(result: io::Result<T>) -> CallOutcome<T> {
    result.map_err(|error| failed(&error))
}

fn int(n: usize) -> SocketValue {
    SocketValue::Int(i32::try_from(n).unwrap_or(i32::MAX))
}

impl KernelHost {
    fn get(&self, fd: i32) -> CallOutcome<&Arc<Socket>> {
        self.sockets.get(&fd).ok_or(CallError::Errno(Errno::EBADF))
    }

    /// Adds a socket with the lowest free descriptor, from 3 up.
    fn add(&mut self, socket: Socket) -> i32 {
        let fd = (3..i32::MAX).find(|fd| !self.sockets.contains_key(fd)).unwrap_or(i32::MAX);
        self.sockets.insert(fd, Arc::new(socket));
        fd
    }

    /// Makes a call that may block.
    fn call(
        &mut self,
        fd: i32,
        wait: bool,
        call: impl FnOnce(&Socket) -> io::Result<Returned> + Send + 'static,
    ) -> CallOutcome<Returned> {
        if let Some(outcome) = self.outcome_of_blocked() {
            return outcome;
        }
        let socket = Arc::clone(self.get(fd)?);
        if !wait || socket.nonblocking().unwrap_or(false) {
            return done(call(&socket));
        }
        self.call_on_thread(move || call(&socket))
    }

    /// Outcome of the call that blocks, if there is one.
    fn outcome_of_blocked(&mut self) -> Option<CallOutcome<Returned>> {
        let mut blocked = self.blocked.take()?;
        if blocked.has_returned()
            && let Some(result) = blocked.returned.take()
        {
            return Some(done(result));
        }
        self.blocked = Some(blocked);
        Some(Err(CallError::WouldBlock))
    }

    fn call_on_thread(
        &mut self,
        call: impl FnOnce() -> io::Result<Returned> + Send + 'static,
    ) -> CallOutcome<Returned> {
        let lasts = std::mem::take(&mut self.lasts);
        let (sender, result) = mpsc::channel();
        let thread = std::thread::Builder::new().spawn(move || {
            let _ = sender.send(call());
        });
        done(thread)?;
        if let Ok(result) = result.recv_timeout(if lasts { BEGUN } else { AT_ONCE }) {
            return done(result);
        }
        self.blocked = Some(BlockedCall { result, returned: None });
        Err(CallError::WouldBlock)
    }

    fn make(&self, v6: bool) -> io::Result<Socket> {
        let domain = if v6 { Domain::IPV6 } else { Domain::IPV4 };
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        let config = &self.settings.config;
        socket.set_tcp_congestion(self.settings.cc.as_bytes())?;
        socket.set_tcp_nodelay(!config.nagle)?;
        let seconds = |d: lowtide_units::Duration| Wait::from_millis(d.as_ms());
        if config.keep_alive {
            let keep_alive = TcpKeepalive::new()
                .with_time(seconds(config.keep_alive_idle))
                .with_interval(seconds(config.keep_alive_interval))
                .with_retries(config.keep_alive_count);
            socket.set_tcp_keepalive(&keep_alive)?;
        }
        if config.user_timeout.as_ms() > 0 {
            socket.set_tcp_user_timeout(Some(Wait::from_millis(config.user_timeout.as_ms())))?;
        }
        Ok(socket)
    }
}

impl Host for KernelHost {
    fn now(&mut self) -> Instant {
        Self::now(self)
    }

    fn step(&mut self, limit: Instant) -> bool {
        self.wait(limit)
    }

    fn advance_to(&mut self, to: Instant) {
        while self.wait(to) {}
        self.note_lateness(to);
    }

    fn fault(&self) -> Option<String> {
        self.fault.clone()
    }

    fn inject(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        self.send(bytes);
        Ok(())
    }

    fn peek_packet(&mut self) -> Option<&SentPacket> {
        self.packets().front()
    }

    fn take_packet(&mut self) -> Option<SentPacket> {
        self.packets().pop_front()
    }

    fn command(&mut self, text: &str) -> Result<Vec<String>, String> {
        let (sysctls, notes) = command::sysctls(text);
        for (name, value) in sysctls {
            let dotted = name.replace('/', ".");
            let short = dotted.strip_prefix("net.").unwrap_or(&dotted);
            // The kernel allows some of its controls on sockets only.
            if short == "ipv4.tcp_congestion_control" {
                self.settings.cc = value;
                continue;
            }
            netns::set_sysctl(short, &value).map_err(|error| format!("sysctl {name}: {error}"))?;
        }
        Ok(notes)
    }

    fn field(&mut self, tuple: &FourTuple, field: &'static Field) -> Option<FieldValue> {
        self.conn(tuple).map(|conn| conn.field(field.name).unwrap_or(FieldValue::Absent))
    }

    fn listens(&self, port: u16) -> bool {
        self.listeners.values().any(|p| *p == port)
    }

    fn expect_blocking(&mut self) {
        self.lasts = true;
    }

    fn socket(&mut self, v6: bool) -> CallOutcome<i32> {
        let socket = done(self.make(v6))?;
        Ok(self.add(socket))
    }

    fn bind(&mut self, fd: i32, address: IpAddr, port: u16) -> CallOutcome<()> {
        done(self.get(fd)?.bind(&SocketAddr::new(address, port).into()))
    }

    fn listen(&mut self, fd: i32, backlog: u16) -> CallOutcome<u16> {
        let socket = self.get(fd)?;
        done(socket.listen(i32::from(backlog)))?;
        let port = done(socket.local_addr())?.as_socket().map_or(0, |a| a.port());
        self.listeners.insert(fd, port);
        Ok(port)
    }

    fn accept(&mut self, fd: i32) -> CallOutcome<i32> {
        match self.call(fd, true, |s| s.accept().map(|(s, _)| Returned::Socket(s)))? {
            Returned::Socket(socket) => Ok(self.add(socket)),
            _ => Err(Errno::EIO.into()),
        }
    }

    fn connect(&mut self, fd: i32, remote: IpAddr, port: u16) -> CallOutcome<()> {
        let address = SocketAddr::new(remote, port).into();
        self.call(fd, true, move |s| s.connect(&address).map(|()| Returned::Nothing)).map(drop)
    }

    fn read(&mut self, fd: i32, max: usize, peek: bool, wait: bool) -> CallOutcome<Vec<u8>> {
        let mut flags = if wait { MsgFlags::empty() } else { MsgFlags::MSG_DONTWAIT };
        flags.set(MsgFlags::MSG_PEEK, peek);
        let read = move |s: &Socket| {
            let mut bytes = vec![0; max];
            let len = recv(s.as_raw_fd(), &mut bytes, flags)?;
            bytes.truncate(len);
            Ok(Returned::Bytes(bytes))
        };
        match self.call(fd, wait, read)? {
            Returned::Bytes(bytes) => Ok(bytes),
            _ => Err(Errno::EIO.into()),
        }
    }

    fn write(&mut self, fd: i32, bytes: &[u8], wait: bool) -> CallOutcome<usize> {
        let mut flags = MsgFlags::MSG_NOSIGNAL;
        flags.set(MsgFlags::MSG_DONTWAIT, !wait);
        let bytes = bytes.to_vec();
        let write = move |s: &Socket| Ok(Returned::Count(send(s.as_raw_fd(), &bytes, flags)?));
        match self.call(fd, wait, write)? {
            Returned::Count(n) => Ok(n),
            _ => Err(Errno::EIO.into()),
        }
    }

    fn shutdown(&mut self, fd: i32, how: Shutdown) -> CallOutcome<()> {
        done(self.get(fd)?.shutdown(match how {
            Shutdown::Read => std::net::Shutdown::Read,
            Shutdown::Write => std::net::Shutdown::Write,
            Shutdown::Both => std::net::Shutdown::Both,
        }))
    }

    fn close(&mut self, fd: i32) -> CallOutcome<()> {
        if let Some(outcome) = self.outcome_of_blocked() {
            return outcome.map(drop);
        }
        self.listeners.remove(&fd);
        let socket = self.sockets.remove(&fd).ok_or(CallError::Errno(Errno::EBADF))?;
        if socket.linger().ok().flatten().is_none_or(|time| time.is_zero()) {
            return Ok(());
        }
        // With a linger time it lasts until the peer has acknowledged all.
        let closing = move || {
            drop(socket);
            Ok(Returned::Nothing)
        };
        self.call_on_thread(closing).map(drop)
    }

    fn nonblocking(&mut self, fd: i32) -> CallOutcome<bool> {
        done(self.get(fd)?.nonblocking())
    }

    fn set_nonblocking(&mut self, fd: i32, on: bool) -> CallOutcome<()> {
        done(self.get(fd)?.set_nonblocking(on))
    }

    fn unread(&mut self, fd: i32) -> CallOutcome<u64> {
        done(rustix::io::ioctl_fionread(&**self.get(fd)?).map_err(io::Error::from))
    }

    fn option(&mut self, fd: i32, option: SocketOption) -> CallOutcome<SocketValue> {
        let s = self.get(fd)?;
        done(match option {
            SocketOption::Error => s
                .take_error()
                .map(|e| SocketValue::Int(e.and_then(|e| e.raw_os_error()).unwrap_or(0))),
            SocketOption::Reuse => s.reuse_address().map(|on| SocketValue::Int(i32::from(on))),
            SocketOption::Linger => s.linger().map(|linger| SocketValue::Linger {
                on: linger.is_some(),
                seconds: linger.map_or(0, |d| d.as_secs() as u32),
            }),
            SocketOption::SendBuffer => s.send_buffer_size().map(int),
            SocketOption::ReceiveBuffer => s.recv_buffer_size().map(int),
            SocketOption::NoDelay => s.tcp_nodelay().map(|on| SocketValue::Int(i32::from(on))),
            SocketOption::MaxSegment => s.tcp_mss().map(|mss| int(mss as usize)),
            SocketOption::Congestion => s.tcp_congestion().map(|name| {
                let name = String::from_utf8_lossy(&name);
                SocketValue::Text(name.trim_end_matches('\0').to_owned())
            }),
        })
    }

    fn set_option(
        &mut self,
        fd: i32,
        option: SocketOption,
        value: &SocketValue,
    ) -> CallOutcome<()> {
        let s = self.get(fd)?;
        let number = || match value {
            SocketValue::Int(n) => u32::try_from(*n).map_err(|_| CallError::Errno(Errno::EINVAL)),
            _ => Err(Errno::EINVAL.into()),
        };
        done(match (option, value) {
            (SocketOption::Error, _) => return Err(Errno::ENOPROTOOPT.into()),
            (SocketOption::Reuse, _) => s.set_reuse_address(number()? != 0),
            (SocketOption::Linger, SocketValue::Linger { on, seconds }) => {
                s.set_linger(on.then(|| Wait::from_secs(u64::from(*seconds))))
            }
            (SocketOption::SendBuffer, _) => s.set_send_buffer_size(number()? as usize),
            (SocketOption::ReceiveBuffer, _) => s.set_recv_buffer_size(number()? as usize),
            (SocketOption::NoDelay, _) => s.set_tcp_nodelay(number()? != 0),
            (SocketOption::MaxSegment, _) => s.set_tcp_mss(number()?),
            (SocketOption::Congestion, SocketValue::Text(name)) => {
                let name = if name == "newreno" { "reno" } else { name };
                s.set_tcp_congestion(name.as_bytes())
            }
            _ => return Err(Errno::EINVAL.into()),
        })
    }
}
