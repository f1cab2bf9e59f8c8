//! Socket calls of a script: their arguments, those that wait, and their results.

use std::collections::BTreeMap;
use std::ops::Range;

use lowtide_units::Instant;

use super::inbound::pattern;
use super::report::{Failure, Stop, seconds};
use super::{Result, Runner};
use crate::script::{Call, CallResult, Event, Expr, Function, ScriptError};
use crate::stack::{CallError, Errno, Shutdown, SocketOption, SocketValue};

/// The most that one call may read or write.
const MOST_BYTES: i64 = 64 << 20;
/// `O_RDWR` and `O_NONBLOCK` of Linux.
const O_RDWR: i64 = 0o2;
const O_NONBLOCK: i64 = 0o4000;

/// Descriptors as scripts number them.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// To the stack's descriptor.
    fds: BTreeMap<i64, Descriptor>,
}

#[derive(Clone, Copy, Debug)]
struct Descriptor {
    live: i32,
    /// Bytes read and written so far: where in the pattern the next ones stand.
    read: u32,
    written: u32,
}

/// A call that waits.
#[derive(Debug)]
pub(super) struct Blocked<'a> {
    event: &'a Event,
    call: &'a Call,
    /// When it must return.
    pub(super) until: Instant,
    /// Bytes that it has written.
    done: i64,
}

/// How a call ended, or that it waits.
enum Outcome {
    Returned(std::result::Result<i64, Errno>),
    /// It has written so many bytes and waits for room.
    Waits(i64),
}

impl<'a> Runner<'a> {
    pub(super) fn call(
        &mut self,
        event: &'a Event,
        call: &'a Call,
        until: Option<Instant>,
    ) -> Result<()> {
        if let Some(blocked) = &self.blocked {
            let line = self.script.line(blocked.event.span.start);
            let message = format!("the call of line {line} has not returned yet");
            return Err(self.failure(event, message).into());
        }
        match (self.attempt(event, call, 0)?, until) {
            (Outcome::Returned(result), None) => self.compare(event, call, result),
            (Outcome::Returned(result), Some(until)) => {
                self.in_time(event, until)?;
                self.compare(event, call, result)
            }
            (Outcome::Waits(done), Some(until)) => {
                self.blocked = Some(Blocked { event, call, until, done });
                Ok(())
            }
            (Outcome::Waits(_), None) => {
                let message = "this call would block; write when it returns, as in `+0...+.2`, \
                               or make the socket non-blocking";
                Err(self.failure(event, message).into())
            }
        }
    }

    /// Tries the call that waits again.
    pub(super) fn poll_blocked(&mut self) -> Result<()> {
        let Some(blocked) = self.blocked.take() else { return Ok(()) };
        let Blocked { event, call, until, done } = blocked;
        match self.attempt(event, call, done)? {
            Outcome::Returned(result) => {
                self.in_time(event, until)?;
                self.compare(event, call, result)
            }
            Outcome::Waits(done) => {
                self.blocked = Some(Blocked { event, call, until, done });
                self.expire_blocked(false)
            }
        }
    }

    /// A call that waits must have returned in its time.
    pub(super) fn expire_blocked(&self, at_the_end: bool) -> Result<()> {
        let Some(blocked) = &self.blocked else { return Ok(()) };
        if !at_the_end && self.stack.now() <= blocked.until + self.setup.tolerance {
            return Ok(());
        }
        let until = seconds(blocked.until);
        Err(self.failure(blocked.event, format!("this call has not returned at {until}")).into())
    }

    fn in_time(&self, event: &Event, until: Instant) -> Result<()> {
        let now = self.stack.now();
        let apart = now.saturating_since(until).max(until.saturating_since(now));
        if apart <= self.setup.tolerance {
            return Ok(());
        }
        let message =
            format!("this call returned at {}, expected at {}", seconds(now), seconds(until));
        Err(self.failure(event, message).into())
    }

    fn compare(
        &mut self,
        event: &Event,
        call: &Call,
        result: std::result::Result<i64, Errno>,
    ) -> Result<()> {
        let makes_fd = matches!(call.function, Function::Socket | Function::Accept);
        let fits = match (&call.result, result) {
            (None, _) | (Some(CallResult::Error(None)), Err(_)) => true,
            (Some(CallResult::Value(_)), Ok(_)) if makes_fd => true,
            (Some(CallResult::Value(wanted)), Ok(got)) => *wanted == got,
            (Some(CallResult::Error(Some(wanted))), Err(got)) => *wanted == got,
            _ => false,
        };
        if fits {
            if let (true, Ok(live)) = (makes_fd, result) {
                let number = match call.result {
                    Some(CallResult::Value(number)) => number,
                    _ => live,
                };
                let descriptor = Descriptor { live: live as i32, read: 0, written: 0 };
                self.calls.fds.insert(number, descriptor);
            }
            return Ok(());
        }
        let mut failure = self.failure(event, "this call returned something else");
        failure.expected = call.result.as_ref().map(|wanted| match wanted {
            CallResult::Value(n) => n.to_string(),
            CallResult::Error(None) => "-1".to_string(),
            CallResult::Error(Some(errno)) => format!("-1 {errno}"),
        });
        failure.got = Some(match result {
            Ok(n) => n.to_string(),
            Err(errno) => format!("-1 {errno}"),
        });
        Err(failure.into())
    }

    fn attempt(&mut self, event: &Event, call: &Call, done: i64) -> Result<Outcome> {
        let args = Args { event, call };
        let result = self.perform(&args, done)?;
        Ok(match result {
            Ok(value) => Outcome::Returned(Ok(value)),
            Err(Interrupted::Errno(errno)) => Outcome::Returned(Err(errno)),
            Err(Interrupted::Waits(done)) => Outcome::Waits(done),
        })
    }

    fn perform(
        &mut self,
        args: &Args<'_>,
        done: i64,
    ) -> Result<std::result::Result<i64, Interrupted>> {
        let outcome = match args.call.function {
            Function::Socket => {
                self.check_socket(args)?;
                let live = self.stack.socket(self.setup.v6);
                if args.has_name(1, "SOCK_NONBLOCK") {
                    let _ = self.stack.set_nonblocking(live, true);
                }
                Ok(i64::from(live))
            }
            Function::Bind => {
                let port = self.port(args, 1)?.unwrap_or(self.setup.bind_port);
                let (fd, local) = (self.fd(args)?, self.setup.local);
                self.stack.bind(fd, local, port).map(|()| 0)
            }
            Function::Listen => {
                let backlog = self.int(args, 1)?.clamp(0, 65_535) as usize;
                let fd = self.fd(args)?;
                let listened = self.stack.listen(fd, backlog);
                if listened.is_ok()
                    && let Some(port) = self.stack.listening_port(fd)
                {
                    self.peer.host_listens(port);
                }
                listened.map(|()| 0)
            }
            Function::Accept => {
                let fd = self.fd(args)?;
                self.stack.accept(fd).map(|(fd, ..)| i64::from(fd))
            }
            Function::Connect => {
                let port = self.port(args, 1)?.unwrap_or(self.setup.connect_port);
                let (fd, remote) = (self.fd(args)?, self.setup.remote);
                self.stack.connect(fd, remote, port).map(|()| 0)
            }
            Function::Read | Function::Recv => return self.read(args),
            Function::Write | Function::Send | Function::SendTo => return self.write(args, done),
            Function::Close => {
                let fd = self.fd(args)?;
                self.stack.close(fd).map(|()| 0)
            }
            Function::Shutdown => {
                let how = match args.name(1) {
                    Some("SHUT_RD") => Shutdown::Read,
                    Some("SHUT_WR") => Shutdown::Write,
                    Some("SHUT_RDWR") => Shutdown::Both,
                    _ => return Err(self.refuse(args, 1, "SHUT_RD, SHUT_WR or SHUT_RDWR")),
                };
                let fd = self.fd(args)?;
                self.stack.shutdown(fd, how).map(|()| 0)
            }
            Function::Fcntl => return self.fcntl(args),
            Function::GetSockOpt => return self.getsockopt(args),
            Function::SetSockOpt => return self.setsockopt(args),
        };
        Ok(outcome.map_err(|e| Interrupted::of(e, 0)))
    }

    fn check_socket(&self, args: &Args<'_>) -> Result<()> {
        let families: &[&str] =
            if self.setup.v6 { &["AF_INET6", "PF_INET6"] } else { &["AF_INET", "PF_INET"] };
        self.one_of(args, 0, families)?;
        self.one_of(args, 1, &["SOCK_STREAM", "SOCK_NONBLOCK", "SOCK_CLOEXEC"])?;
        if args.expr(2) == Some(&Expr::Int(0)) {
            return Ok(());
        }
        self.one_of(args, 2, &["IPPROTO_TCP"])
    }

    /// The argument is `...` or made of these names.
    fn one_of(&self, args: &Args<'_>, index: usize, names: &[&str]) -> Result<()> {
        match args.expr(index) {
            Some(Expr::Any) => Ok(()),
            Some(Expr::Names(given)) if given.iter().all(|n| names.contains(&n.as_str())) => Ok(()),
            _ => Err(self.refuse(args, index, &names.join(", "))),
        }
    }

    fn refuse(&self, args: &Args<'_>, index: usize, wanted: &str) -> Stop {
        let (span, given) = match args.call.args.get(index) {
            Some((_, span)) => (span.clone(), "this argument is not supported"),
            None => (args.event.span.clone(), "an argument is missing"),
        };
        let error: ScriptError = self.script.error(span, given);
        error.help(format!("argument {} is {wanted}", index + 1)).into()
    }

    fn int(&self, args: &Args<'_>, index: usize) -> Result<i64> {
        match args.expr(index) {
            Some(Expr::Int(n)) => Ok(*n),
            _ => Err(self.refuse(args, index, "a number")),
        }
    }

    fn size(&self, args: &Args<'_>, index: usize) -> Result<i64> {
        let n = self.int(args, index)?;
        if (0..=MOST_BYTES).contains(&n) {
            return Ok(n);
        }
        Err(self.refuse(args, index, &format!("a size of at most {MOST_BYTES} bytes")))
    }

    /// The stack's descriptor of the first argument; one that never was is none there either.
    fn fd(&self, args: &Args<'_>) -> Result<i32> {
        let number = self.int(args, 0)?;
        Ok(self.calls.fds.get(&number).map_or(-1, |d| d.live))
    }

    /// The port of an address: `...` or `{sa_family = AF_INET, sin_port = htons(8080), ...}`.
    fn port(&self, args: &Args<'_>, index: usize) -> Result<Option<u16>> {
        let refused = || self.refuse(args, index, "`...` or an address with a sin_port");
        let fields = match args.expr(index) {
            Some(Expr::Any) => return Ok(None),
            Some(Expr::Struct(fields)) => fields,
            _ => return Err(refused()),
        };
        let port = fields.iter().find(|(name, _)| name == "sin_port" || name == "sin6_port");
        match port.map(|(_, value)| value) {
            Some(Expr::Apply(function, inner)) if function == "htons" => match inner.as_slice() {
                [Expr::Int(port)] => u16::try_from(*port).map(Some).map_err(|_| refused()),
                _ => Err(refused()),
            },
            _ => Err(refused()),
        }
    }

    /// Flags of `recv` and `send`.
    fn message_flags(&self, args: &Args<'_>, known: &[&str]) -> Result<Vec<String>> {
        match args.expr(3) {
            Some(Expr::Int(0)) => Ok(Vec::new()),
            Some(Expr::Names(names)) if names.iter().all(|n| known.contains(&n.as_str())) => {
                Ok(names.clone())
            }
            _ => Err(self.refuse(args, 3, &format!("0 or {}", known.join("|")))),
        }
    }

    fn read(&mut self, args: &Args<'_>) -> Result<std::result::Result<i64, Interrupted>> {
        let most = self.size(args, 2)?;
        let (mut peek, mut wait) = (false, true);
        if args.call.function == Function::Recv {
            let flags = self.message_flags(args, &["MSG_PEEK", "MSG_DONTWAIT"])?;
            peek = flags.iter().any(|f| f == "MSG_PEEK");
            wait = !flags.iter().any(|f| f == "MSG_DONTWAIT");
        }
        let fd = self.fd(args)?;
        let bytes = match self.stack.read(fd, most as usize, peek) {
            Ok(bytes) => bytes,
            Err(CallError::WouldBlock) if !wait => {
                return Ok(Err(Interrupted::Errno(Errno::EAGAIN)));
            }
            Err(error) => return Ok(Err(Interrupted::of(error, 0))),
        };
        let number = self.int(args, 0)?;
        if let Some(descriptor) = self.calls.fds.get_mut(&number) {
            let first = descriptor.read;
            let wrong = |(i, byte): (usize, &u8)| *byte != pattern(first.wrapping_add(i as u32));
            if let Some(at) = bytes.iter().enumerate().position(wrong) {
                let message = format!("this call read a wrong byte at {at}");
                return Err(
                    Failure::new(self.script, &args.event.span, self.stack.now(), message).into()
                );
            }
            if !peek {
                descriptor.read = first.wrapping_add(bytes.len() as u32);
            }
        }
        Ok(Ok(bytes.len() as i64))
    }

    fn write(
        &mut self,
        args: &Args<'_>,
        done: i64,
    ) -> Result<std::result::Result<i64, Interrupted>> {
        let size = self.size(args, 2)?;
        let mut wait = true;
        if args.call.function != Function::Write {
            let flags = self.message_flags(args, &["MSG_DONTWAIT", "MSG_NOSIGNAL"])?;
            wait = !flags.iter().any(|f| f == "MSG_DONTWAIT");
        }
        let (fd, number) = (self.fd(args)?, self.int(args, 0)?);
        let first = self.calls.fds.get(&number).map_or(0, |d| d.written);
        let left = (size - done).max(0) as u32;
        let bytes: Vec<u8> = (0..left).map(|i| pattern(first.wrapping_add(i))).collect();
        let n = match self.stack.write(fd, &bytes) {
            Ok(n) => n,
            Err(CallError::WouldBlock) if !wait => {
                return Ok(Err(Interrupted::Errno(Errno::EAGAIN)));
            }
            // What was written before the error counts first.
            Err(CallError::Errno(_)) if done > 0 => return Ok(Ok(done)),
            Err(error) => return Ok(Err(Interrupted::of(error, done))),
        };
        if let Some(descriptor) = self.calls.fds.get_mut(&number) {
            descriptor.written = first.wrapping_add(n as u32);
        }
        let done = done + n as i64;
        let blocking = wait && self.stack.nonblocking(fd) == Ok(false);
        if done < size && blocking {
            return Ok(Err(Interrupted::Waits(done)));
        }
        Ok(Ok(done))
    }

    fn fcntl(&mut self, args: &Args<'_>) -> Result<std::result::Result<i64, Interrupted>> {
        let fd = self.fd(args)?;
        let outcome = match args.name(1) {
            Some("F_GETFL") => {
                self.stack.nonblocking(fd).map(|on| if on { O_RDWR | O_NONBLOCK } else { O_RDWR })
            }
            Some("F_SETFL") => {
                let on = if let Some(Expr::Int(bits)) = args.expr(2) {
                    bits & O_NONBLOCK != 0
                } else {
                    self.one_of(args, 2, &["O_RDWR", "O_NONBLOCK"])?;
                    args.has_name(2, "O_NONBLOCK")
                };
                self.stack.set_nonblocking(fd, on).map(|()| 0)
            }
            _ => return Err(self.refuse(args, 1, "F_GETFL or F_SETFL")),
        };
        Ok(outcome.map_err(|e| Interrupted::of(e, 0)))
    }

    fn socket_option(&self, args: &Args<'_>) -> Result<SocketOption> {
        let (level, name) = (args.name(1).unwrap_or(""), args.name(2).unwrap_or(""));
        SocketOption::named(level, name).ok_or_else(|| {
            let span = args.call.args.get(2).map_or(args.event.span.clone(), |(_, s)| s.clone());
            self.script
                .error(span, format!("the socket option {level} {name} is not supported"))
                .help(
                    "there are SOL_SOCKET SO_ERROR, SO_REUSEADDR, SO_REUSEPORT, SO_LINGER, \
                     SO_SNDBUF, SO_RCVBUF and SOL_TCP TCP_NODELAY, TCP_MAXSEG, TCP_CONGESTION",
                )
                .into()
        })
    }

    fn option_value(&self, args: &Args<'_>) -> Result<SocketValue> {
        let wanted = "[number], {onoff=N, linger=N} or \"name\"";
        Ok(match args.expr(3) {
            Some(Expr::List(items)) => match items.as_slice() {
                [Expr::Int(n)] => SocketValue::Int(*n as i32),
                [Expr::Text(text)] => SocketValue::Text(text.clone()),
                _ => return Err(self.refuse(args, 3, wanted)),
            },
            Some(Expr::Text(text)) => SocketValue::Text(text.clone()),
            Some(Expr::Struct(fields)) => {
                let field = |wanted: &str| {
                    fields.iter().find_map(|(name, value)| match value {
                        Expr::Int(n) if name == wanted => Some(*n),
                        _ => None,
                    })
                };
                match (field("onoff"), field("linger")) {
                    (Some(on), Some(seconds)) => {
                        SocketValue::Linger { on: on != 0, seconds: seconds.max(0) as u32 }
                    }
                    _ => return Err(self.refuse(args, 3, wanted)),
                }
            }
            _ => return Err(self.refuse(args, 3, wanted)),
        })
    }

    fn setsockopt(&mut self, args: &Args<'_>) -> Result<std::result::Result<i64, Interrupted>> {
        let (option, value) = (self.socket_option(args)?, self.option_value(args)?);
        let fd = self.fd(args)?;
        let outcome = self.stack.set_option(fd, option, &value);
        Ok(outcome.map(|()| 0).map_err(|e| Interrupted::of(e, 0)))
    }

    fn getsockopt(&mut self, args: &Args<'_>) -> Result<std::result::Result<i64, Interrupted>> {
        let option = self.socket_option(args)?;
        let any = matches!(args.expr(3), Some(Expr::Any));
        let wanted = if any { None } else { Some(self.wanted_option(args, option)?) };
        let fd = self.fd(args)?;
        let got = match self.stack.option(fd, option) {
            Ok(got) => got,
            Err(error) => return Ok(Err(Interrupted::of(error, 0))),
        };
        if wanted.as_ref().is_some_and(|wanted| *wanted != got) {
            let mut failure = self.failure(args.event, "the option has another value");
            failure.expected = wanted.map(|w| shown(option, &w));
            failure.got = Some(shown(option, &got));
            return Err(failure.into());
        }
        Ok(Ok(0))
    }

    /// The value that the script wants; SO_ERROR may be written by name.
    fn wanted_option(&self, args: &Args<'_>, option: SocketOption) -> Result<SocketValue> {
        if let (SocketOption::Error, Some(Expr::List(items))) = (option, args.expr(3))
            && let [Expr::Names(names)] = items.as_slice()
            && let [name] = names.as_slice()
        {
            let errno = Errno::named(name);
            let errno = errno.ok_or_else(|| self.refuse(args, 3, "[number] or [name of an error]"));
            return errno.map(|e| SocketValue::Int(e.number()));
        }
        self.option_value(args)
    }
}

fn shown(option: SocketOption, value: &SocketValue) -> String {
    match value {
        SocketValue::Int(n) => {
            match Errno::numbered(*n).filter(|_| option == SocketOption::Error) {
                Some(errno) => format!("{n}, {errno}"),
                None => n.to_string(),
            }
        }
        SocketValue::Linger { on, seconds } => {
            format!("{{onoff={}, linger={seconds}}}", i32::from(*on))
        }
        SocketValue::Text(text) => format!("\"{text}\""),
    }
}

/// Why a call gave no value.
enum Interrupted {
    Errno(Errno),
    Waits(i64),
}

impl Interrupted {
    const fn of(error: CallError, done: i64) -> Self {
        match error {
            CallError::Errno(errno) => Self::Errno(errno),
            CallError::WouldBlock => Self::Waits(done),
        }
    }
}

struct Args<'a> {
    event: &'a Event,
    call: &'a Call,
}

impl Args<'_> {
    fn expr(&self, index: usize) -> Option<&Expr> {
        self.call.args.get(index).map(|(expr, _): &(Expr, Range<usize>)| expr)
    }

    /// The argument when it is one name.
    fn name(&self, index: usize) -> Option<&str> {
        match self.expr(index) {
            Some(Expr::Names(names)) => match names.as_slice() {
                [name] => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    fn has_name(&self, index: usize, name: &str) -> bool {
        matches!(self.expr(index), Some(Expr::Names(names)) if names.iter().any(|n| n == name))
    }
}
