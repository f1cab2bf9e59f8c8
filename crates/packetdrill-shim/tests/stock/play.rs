//! Runs a script as packetdrill does.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lowtide_packetdrill::script::{
    Action, Call, CallResult, EventTime, Expr, PacketSpec, Script, ScriptEvent, Syscall, TcpOption,
};
use lowtide_packetdrill::stack::Errno;
use lowtide_wire::{Addresses, Flags, packet};

use super::connection::{Header, Socket, State};
use super::table::{Outcome, Table};

type Result<T> = std::result::Result<T, String>;

/// packetdrill sleeps until this many microseconds before an event, then spins.
const SPIN_US: i64 = 20;

struct Player<'a> {
    script: &'a Script,
    table: Table,
    v6: bool,
    local: IpAddr,
    remote: IpAddr,
    bind_port: u16,
    connect_port: u16,
    next_port: u16,
    tolerance_us: i64,
    /// Allowed deviation as a share of the time since the previous event, in thousandths of a
    /// percent.
    tolerance_share: i64,
    sockets: Vec<Socket>,
    under_test: Option<usize>,
    start: i64,
    /// Time of the previous event, and whether it was a packet to the host.
    last: Option<(i64, bool)>,
}

/// Plays a script to its end. `draw` selects packetdrill's random values: the host's address and
/// the peer's port. With `read_clock`, a clock read follows each closing RST, as for RSTs of a
/// script; packetdrill's own RSTs have none.
pub(super) fn play(script: &Script, draw: u16, read_clock: bool) -> Result<()> {
    let option = |name: &str| {
        let found = script.options.iter().rev().find(|o| o.name == name);
        found.map(|o| o.value.as_str())
    };
    let number = |name: &str, default: i64| {
        option(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let ip = |name: &str, default: IpAddr| {
        option(name).map_or(default, |text| text.parse().expect("an address"))
    };
    let v6 = option("ip_version") == Some("ipv6");
    let (local, remote): (IpAddr, IpAddr) = if v6 {
        let local = Ipv6Addr::new(0xfd3d, 0xfa7b, 0xd17d, draw, 0, 0, 0, 9 + draw);
        (local.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into())
    } else {
        let [high, low] = (draw * 4001).to_be_bytes();
        (Ipv4Addr::new(192, 168, high, low).into(), Ipv4Addr::new(192, 0, 2, 1).into())
    };
    let mut player = Player {
        script,
        table: Table::open(option("so_flags").unwrap_or("")),
        v6,
        local: ip("local_ip", local),
        remote: ip("remote_ip", remote),
        bind_port: number("bind_port", 8080) as u16,
        connect_port: number("connect_port", 8080) as u16,
        next_port: 32_768 + draw * 977,
        tolerance_us: number("tolerance_usecs", 4000),
        tolerance_share: option("tolerance_percent").map_or(12_500, |text| {
            let percent: f64 = text.parse().expect("a percentage");
            (percent * 1000.0) as i64
        }),
        sockets: Vec::new(),
        under_test: None,
        start: 0,
        last: None,
    };
    let ended = player.events();
    // Newest first; a connection without packets has no ports and gets no RST.
    for socket in player.sockets.iter().rev() {
        if let Some(reset) = socket.reset() {
            player.table.inject(&reset);
        }
    }
    if read_clock {
        player.table.clock();
    }
    // After a failed script packetdrill exits before it frees the host.
    ended.map(|()| player.table.free())
}

impl Player<'_> {
    fn events(&mut self) -> Result<()> {
        // packetdrill waits for the tenth tick of the machine's clock and starts 250 us later.
        for _ in 0..10 {
            self.start = self.table.clock() + 250;
        }
        for event in &self.script.events {
            self.event(event)
                .map_err(|why| format!("line {}: {why}", self.script.line(event.span.start)))?;
        }
        Ok(())
    }

    fn event(&mut self, event: &ScriptEvent) -> Result<()> {
        let us = |d: lowtide_units::Duration| d.as_us() as i64;
        let inbound = matches!(&event.action, Action::Packet(p) if p.inbound);
        let (from, to, relative) = match event.when {
            EventTime::Absolute(at) => (us(at), us(at), false),
            EventTime::AbsoluteRange(a, b) => (us(a), us(b), false),
            EventTime::Relative(after) => (us(after), us(after), true),
            EventTime::RelativeRange(a, b) => (us(a), us(b), true),
            EventTime::Any => (0, i64::MAX / 2, true),
        };
        let base = match self.last {
            _ if !relative => 0,
            Some((time, true)) if inbound => time,
            _ => self.table.clock() - self.start,
        };
        let (from, to) = (base + from, base + to);
        match &event.action {
            Action::Packet(spec) if spec.inbound => {
                if spec.window.is_none() {
                    return Err("window must be specified for inbound packets".to_string());
                }
                let socket = self.socket_for(spec)?;
                self.wait(from)?;
                self.inject(socket, spec);
            }
            Action::Packet(spec) => {
                let socket = self.socket_for(spec)?;
                let at = self.expect(socket, spec)?;
                self.in_time(at - self.start, from, to)?;
            }
            Action::Call(call) => {
                assert!(event.until.is_none(), "a call that blocks");
                self.wait(from)?;
                self.call(call)?;
            }
            Action::Command(_) => self.wait(from)?,
            Action::Assert(_) => return Err("an assertion".to_string()),
        }
        self.last = Some((from, inbound));
        Ok(())
    }

    fn wait(&self, until: i64) -> Result<()> {
        let mut now = self.table.clock();
        while self.start + until > now {
            let left = self.start + until - now;
            if self.last.is_some() && left > SPIN_US {
                self.table.sleep(left - SPIN_US);
            }
            now = self.table.clock();
        }
        if self.last.is_none() {
            return Ok(());
        }
        self.in_time(self.table.clock() - self.start, until, until)
    }

    fn in_time(&self, at: i64, from: i64, to: i64) -> Result<()> {
        let apart = self.last.map_or(0, |(time, _)| from - time);
        let tolerance = self.tolerance_us.max(apart * self.tolerance_share / 100_000);
        if (from - tolerance..=to.saturating_add(tolerance)).contains(&at) {
            return Ok(());
        }
        Err(format!("at {at} us, expected from {from} to {to}"))
    }

    /// Socket to which packetdrill assigns a line's packet.
    fn socket_for(&mut self, spec: &PacketSpec) -> Result<usize> {
        let state = self.under_test.map(|i| self.sockets[i].state);
        let syn_only = spec.flags.contains(Flags::SYN) && !spec.flags.contains(Flags::ACK);
        if spec.inbound && matches!(state, None | Some(State::Listening)) {
            let mut child = Socket::new(State::PacketReceived);
            child.local = Some((self.local, self.bind_port));
            child.remote = Some((self.remote, self.next_port));
            child.remote_isn = spec.seq;
            self.next_port += 7;
            self.sockets.push(child);
            self.under_test = Some(self.sockets.len() - 1);
        } else if !spec.inbound && syn_only && state == Some(State::Connecting) {
            let index = self.under_test.expect("a state is a socket's");
            let socket = &mut self.sockets[index];
            socket.state = State::SynSent;
            socket.script_local_isn = spec.seq;
        }
        self.under_test.ok_or_else(|| "no matching socket for script packet".to_string())
    }

    fn inject(&mut self, index: usize, spec: &PacketSpec) {
        let socket = &mut self.sockets[index];
        let acks = spec.flags.contains(Flags::ACK);
        if socket.state == State::SynAckSent && acks {
            socket.state = State::SynAckAcked;
        } else if socket.state == State::SynSent && acks && spec.flags.contains(Flags::SYN) {
            socket.state = State::SynAcked;
            socket.remote_isn = spec.seq;
        }
        let bytes = socket.inbound(spec);
        self.table.inject(&bytes);
    }

    /// Waits for the host's packet, compares it, and returns its send time.
    fn expect(&mut self, index: usize, spec: &PacketSpec) -> Result<i64> {
        let syn_ack = Flags::SYN | Flags::ACK;
        let (wants, socket) = (spec.flags, &mut self.sockets[index]);
        let greets = socket.state == State::PacketReceived && wants.contains(syn_ack);
        if greets {
            socket.script_local_isn = spec.seq;
        }
        let (bytes, at) = loop {
            let (bytes, at) = self.table.receive();
            let Ok((addresses, segment, _)) = packet::parse(&bytes) else {
                return Err("no packet was sent".to_string());
            };
            let (src, dst) = addresses.src_dst();
            let (from, to) = ((src, segment.src_port), (dst, segment.dst_port));
            if socket.state == State::SynSent && socket.remote == Some(to) && socket.local.is_none()
            {
                socket.local = Some(from);
                socket.local_isn = segment.seq.raw();
            }
            if (socket.local, socket.remote) == (Some(from), Some(to)) {
                break (bytes, at);
            }
        };
        let (addresses, segment, payload) = packet::parse(&bytes).expect("parsed above");
        if greets {
            socket.state = State::SynAckSent;
            socket.local_isn = segment.seq.raw();
        }
        socket.sent = Some(Header {
            flags: segment.flags,
            seq: segment.seq.raw(),
            ack: segment.ack.raw(),
            window: segment.window,
            len: segment.payload_len,
        });
        let (remote, local) = socket.offsets(segment.flags.contains(Flags::SYN));
        let acks = segment.flags.contains(Flags::ACK);
        let got = PacketSpec {
            inbound: false,
            ecn: None,
            flags: segment.flags,
            seq: segment.seq.raw().wrapping_sub(local),
            len: segment.payload_len,
            ack: acks.then(|| segment.ack.raw().wrapping_sub(remote)),
            window: spec.window.and(Some(segment.window)),
            urgent: segment.urgent,
            options: None,
        };
        let wanted = PacketSpec { ecn: None, options: None, ..spec.clone() };
        if got != wanted {
            return Err(format!("got {got:?}, expected {wanted:?}"));
        }
        let header = match addresses {
            Addresses::V4 { .. } => 20,
            Addresses::V6 { .. } => 40,
        };
        let found = TcpOption::read_all(&bytes[header + 20..payload.start]);
        if let Some(expected) = &spec.options {
            options(socket, expected, &found, remote)?;
        }
        Ok(at)
    }

    fn call(&mut self, call: &Call) -> Result<()> {
        let outcome = self.perform(call)?;
        let makes_fd = matches!(call.syscall, Syscall::Socket | Syscall::Accept);
        match (&call.result, outcome) {
            (Some(CallResult::Value(script_fd)), Ok(live)) if makes_fd => {
                self.new_fd(call.syscall, *script_fd, live as i32);
                Ok(())
            }
            (Some(CallResult::Value(wanted)), Ok(got)) if *wanted == got => Ok(()),
            (Some(CallResult::Error(None)), Err(_)) => Ok(()),
            (Some(CallResult::Error(Some(wanted))), Err(got)) if wanted.number() == got => Ok(()),
            (wanted, got) => {
                let got = got.map_err(Errno::numbered);
                Err(format!("the call gave {got:?}, expected {wanted:?}"))
            }
        }
    }

    fn new_fd(&mut self, function: Syscall, script_fd: i64, live_fd: i32) {
        let accepted = |s: &Socket| matches!(s.state, State::SynAckSent | State::SynAckAcked);
        let index = if function == Syscall::Socket {
            self.sockets.push(Socket::new(State::New));
            self.under_test = Some(self.sockets.len() - 1);
            self.sockets.len() - 1
        } else {
            self.sockets.iter().rposition(accepted).expect("a connection to accept")
        };
        self.sockets[index].script_fd = Some(script_fd);
        self.sockets[index].live_fd = live_fd;
    }

    fn perform(&mut self, call: &Call) -> Result<Outcome> {
        let arg = |i: usize| call.args.get(i).map(|(expr, _)| expr);
        let int = |i: usize| match arg(i) {
            Some(Expr::Int(n)) => Ok(*n),
            Some(Expr::Names(names)) => {
                names.iter().try_fold(0, |all, name| Ok::<i64, String>(all | symbol(name)?))
            }
            Some(Expr::List(items)) => match items.as_slice() {
                [Expr::Int(n)] => Ok(*n),
                [Expr::Names(names)] if names.len() == 1 => symbol(&names[0]),
                _ => Err(format!("argument {i} is no number")),
            },
            _ => Err(format!("argument {i} is no number")),
        };
        if call.syscall == Syscall::Socket {
            return Ok(self.table.socket(self.v6, int(1)? as i32, int(2)? as i32));
        }
        let number = int(0)?;
        let held = |s: &Socket| !s.closed && s.script_fd == Some(number);
        let Some(index) = self.sockets.iter().rposition(held) else {
            return Err(format!("unable to find fd with script fd {number}"));
        };
        let fd = self.sockets[index].live_fd;
        let table = &self.table;
        Ok(match call.syscall {
            Syscall::Bind => table.bind(fd, self.local, self.bind_port),
            Syscall::Listen => {
                let listened = table.listen(fd, int(1)? as i32);
                self.sockets[index].state = State::Listening;
                listened
            }
            Syscall::Accept => table.accept(fd),
            Syscall::Connect => {
                let socket = &mut self.sockets[index];
                if socket.state == State::New {
                    socket.state = State::Connecting;
                    socket.remote = Some((self.remote, self.connect_port));
                }
                table.connect(fd, self.remote, self.connect_port)
            }
            Syscall::Read => table.read(fd, int(2)? as usize, None),
            Syscall::Recv => table.read(fd, int(2)? as usize, Some(int(3)? as i32)),
            Syscall::Write => table.write(fd, int(2)? as usize, None),
            Syscall::Send => table.write(fd, int(2)? as usize, Some(int(3)? as i32)),
            Syscall::Fcntl => {
                let argument = if call.args.len() == 3 { int(2)? } else { 0 };
                table.fcntl(fd, int(1)? as i32, argument)
            }
            Syscall::Ioctl => {
                let (result, value) = table.ioctl(fd, int(1)? as u64);
                let wanted = int(2)?;
                if result.is_ok() && wanted != i64::from(value) {
                    return Err(format!("ioctl gave {value}, expected {wanted}"));
                }
                result
            }
            Syscall::Shutdown => table.shutdown(fd, int(1)? as i32),
            Syscall::Close => {
                let closed = table.close(fd);
                self.sockets[index].closed = true;
                closed
            }
            Syscall::GetSockOpt => {
                let room = int(4)? as usize;
                let (result, value) = table.get_option(fd, int(1)? as i32, int(2)? as i32, room);
                let wanted = match arg(3) {
                    Some(Expr::Text(text)) => text.clone().into_bytes(),
                    _ => (int(3)? as i32).to_ne_bytes().to_vec(),
                };
                if result.is_ok() && value != wanted {
                    return Err(format!("the option is {value:?}, expected {wanted:?}"));
                }
                result
            }
            Syscall::SetSockOpt => {
                let value = match arg(3) {
                    Some(Expr::Text(text)) => text.clone().into_bytes(),
                    Some(Expr::Struct(fields)) => linger(fields)?,
                    _ => (int(3)? as i32).to_ne_bytes().to_vec(),
                };
                table.set_option(fd, int(1)? as i32, int(2)? as i32, &value)
            }
            Syscall::Socket | Syscall::SendTo => return Err("not played here".to_string()),
        })
    }
}

/// Converts `{onoff=N, linger=N}` to bytes.
fn linger(fields: &[(String, Expr)]) -> Result<Vec<u8>> {
    match fields {
        [(a, Expr::Int(on)), (b, Expr::Int(seconds))] if a == "onoff" && b == "linger" => {
            Ok([*on as i32, *seconds as i32].into_iter().flat_map(i32::to_ne_bytes).collect())
        }
        _ => Err("no linger".to_string()),
    }
}

/// Compares options in order; TSval is learned on first use.
fn options(
    socket: &mut Socket,
    expected: &[TcpOption],
    found: &[TcpOption],
    remote: u32,
) -> Result<()> {
    let differ = || Err(format!("options {found:?}, expected {expected:?}"));
    if expected.len() != found.len() {
        return differ();
    }
    for (wanted, got) in expected.iter().zip(found) {
        let fits = match (wanted, got) {
            (
                TcpOption::Timestamps { value, echo },
                TcpOption::Timestamps { value: live, echo: got },
            ) => {
                if !socket.stamps.iter().any(|(script, _)| script == value) {
                    socket.stamps.push((*value, *live));
                }
                echo == got
            }
            (TcpOption::Sack(wanted), TcpOption::Sack(got)) => {
                let shown: Vec<(u32, u32)> = got
                    .iter()
                    .map(|(a, b)| (a.wrapping_sub(remote), b.wrapping_sub(remote)))
                    .collect();
                *wanted == shown
            }
            (wanted, got) => wanted == got,
        };
        if !fits {
            return differ();
        }
    }
    Ok(())
}

fn symbol(name: &str) -> Result<i64> {
    let known: [(&str, i64); 27] = [
        ("SOCK_STREAM", libc::SOCK_STREAM.into()),
        ("SOCK_NONBLOCK", libc::SOCK_NONBLOCK.into()),
        ("IPPROTO_TCP", libc::IPPROTO_TCP.into()),
        ("SOL_TCP", libc::SOL_TCP.into()),
        ("SOL_SOCKET", libc::SOL_SOCKET.into()),
        ("SO_ERROR", libc::SO_ERROR.into()),
        ("SO_LINGER", libc::SO_LINGER.into()),
        ("SO_REUSEADDR", libc::SO_REUSEADDR.into()),
        ("SO_SNDBUF", libc::SO_SNDBUF.into()),
        ("SO_RCVBUF", libc::SO_RCVBUF.into()),
        ("TCP_NODELAY", libc::TCP_NODELAY.into()),
        ("TCP_MAXSEG", libc::TCP_MAXSEG.into()),
        ("TCP_CONGESTION", libc::TCP_CONGESTION.into()),
        ("F_GETFL", libc::F_GETFL.into()),
        ("F_SETFL", libc::F_SETFL.into()),
        ("O_RDWR", libc::O_RDWR.into()),
        ("O_NONBLOCK", libc::O_NONBLOCK.into()),
        ("MSG_PEEK", libc::MSG_PEEK.into()),
        ("MSG_DONTWAIT", libc::MSG_DONTWAIT.into()),
        ("MSG_NOSIGNAL", libc::MSG_NOSIGNAL.into()),
        ("SHUT_RD", libc::SHUT_RD.into()),
        ("SHUT_WR", libc::SHUT_WR.into()),
        ("SHUT_RDWR", libc::SHUT_RDWR.into()),
        ("FIONREAD", libc::FIONREAD as i64),
        ("SIOCINQ", libc::FIONREAD as i64),
        ("TCP_USER_TIMEOUT", libc::TCP_USER_TIMEOUT.into()),
        ("SO_KEEPALIVE", libc::SO_KEEPALIVE.into()),
    ];
    let found = known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let errno = || Errno::named(name).map(|e| i64::from(e.number()));
    found.or_else(errno).ok_or_else(|| format!("no symbol {name}"))
}
