//! Execution of each call.

use super::args::Args;
use super::{CallFailure, Outcome, Result, Runner};
use crate::run::inbound::payload_byte;
use crate::script::{Expr, Syscall};
use crate::stack::{CallError, Errno, Shutdown};

/// Linux values of `O_RDWR` and `O_NONBLOCK`.
const O_RDWR: i64 = 0o2;
const O_NONBLOCK: i64 = 0o4000;

impl Runner<'_> {
    pub(super) fn perform(&mut self, args: &Args<'_>, done: i64) -> Result<Outcome> {
        let outcome = match args.call.syscall {
            Syscall::Socket => {
                self.check_socket(args)?;
                let live = self.stack.socket(self.setup.v6);
                if args.has_name(1, "SOCK_NONBLOCK") {
                    let _ = self.stack.set_nonblocking(live, true);
                }
                Ok(i64::from(live))
            }
            Syscall::Bind => {
                let port = self.port(args, 1)?.unwrap_or(self.setup.bind_port);
                let (fd, local) = (self.fd(args)?, self.setup.local);
                self.stack.bind(fd, local, port).map(|()| 0)
            }
            Syscall::Listen => {
                let backlog = self.int(args, 1)?.clamp(0, 65_535) as usize;
                let fd = self.fd(args)?;
                let listened = self.stack.listen(fd, backlog);
                if listened.is_ok()
                    && let Some(port) = self.stack.listening_port(fd)
                {
                    self.peer.on_listen(port);
                }
                listened.map(|()| 0)
            }
            Syscall::Accept => {
                let fd = self.fd(args)?;
                self.stack.accept(fd).map(|(fd, ..)| i64::from(fd))
            }
            Syscall::Connect => {
                let port = self.port(args, 1)?.unwrap_or(self.setup.connect_port);
                let (fd, remote) = (self.fd(args)?, self.setup.remote);
                self.stack.connect(fd, remote, port).map(|()| 0)
            }
            Syscall::Read | Syscall::Recv => return self.read(args),
            Syscall::Write | Syscall::Send | Syscall::SendTo => return self.write(args, done),
            Syscall::Close => {
                let fd = self.fd(args)?;
                self.stack.close(fd).map(|()| 0)
            }
            Syscall::Shutdown => {
                let how = match args.name(1) {
                    Some("SHUT_RD") => Shutdown::Read,
                    Some("SHUT_WR") => Shutdown::Write,
                    Some("SHUT_RDWR") => Shutdown::Both,
                    _ => return Err(self.refuse(args, 1, "SHUT_RD, SHUT_WR or SHUT_RDWR")),
                };
                let fd = self.fd(args)?;
                self.stack.shutdown(fd, how).map(|()| 0)
            }
            Syscall::Fcntl => return self.fcntl(args),
            Syscall::Ioctl => return self.ioctl(args),
            Syscall::GetSockOpt => return self.getsockopt(args),
            Syscall::SetSockOpt => return self.setsockopt(args),
        };
        Ok(outcome.map_err(|e| CallFailure::of(e, 0)))
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

    fn read(&mut self, args: &Args<'_>) -> Result<Outcome> {
        let most = self.size(args, 2)?;
        let (mut peek, mut wait) = (false, true);
        if args.call.syscall == Syscall::Recv {
            let flags = self.message_flags(args, &["MSG_PEEK", "MSG_DONTWAIT"])?;
            peek = flags.iter().any(|f| f == "MSG_PEEK");
            wait = !flags.iter().any(|f| f == "MSG_DONTWAIT");
        }
        let fd = self.fd(args)?;
        let bytes = match self.stack.read(fd, most as usize, peek) {
            Ok(bytes) => bytes,
            Err(CallError::WouldBlock) if !wait => {
                return Ok(Err(CallFailure::Errno(Errno::EAGAIN)));
            }
            Err(error) => return Ok(Err(CallFailure::of(error, 0))),
        };
        let number = self.int(args, 0)?;
        if let Some(descriptor) = self.calls.fds.get_mut(&number) {
            let first = descriptor.read;
            let wrong =
                |(i, byte): (usize, &u8)| *byte != payload_byte(first.wrapping_add(i as u32));
            if let Some(at) = bytes.iter().enumerate().position(wrong) {
                let message = format!("this call read a wrong byte at {at}");
                return Err(self.failure(args.event, message).into());
            }
            if !peek {
                descriptor.read = first.wrapping_add(bytes.len() as u32);
            }
        }
        Ok(Ok(bytes.len() as i64))
    }

    fn write(&mut self, args: &Args<'_>, done: i64) -> Result<Outcome> {
        let size = self.size(args, 2)?;
        let mut wait = true;
        if args.call.syscall != Syscall::Write {
            let flags = self.message_flags(args, &["MSG_DONTWAIT", "MSG_NOSIGNAL"])?;
            wait = !flags.iter().any(|f| f == "MSG_DONTWAIT");
        }
        let (fd, number) = (self.fd(args)?, self.int(args, 0)?);
        let first = self.calls.fds.get(&number).map_or(0, |d| d.written);
        let left = (size - done).max(0) as u32;
        let bytes: Vec<u8> = (0..left).map(|i| payload_byte(first.wrapping_add(i))).collect();
        let n = match self.stack.write(fd, &bytes) {
            Ok(n) => n,
            Err(CallError::WouldBlock) if !wait => {
                return Ok(Err(CallFailure::Errno(Errno::EAGAIN)));
            }
            // A partial write takes precedence over a later error.
            Err(CallError::Errno(_)) if done > 0 => return Ok(Ok(done)),
            Err(error) => return Ok(Err(CallFailure::of(error, done))),
        };
        if let Some(descriptor) = self.calls.fds.get_mut(&number) {
            descriptor.written = first.wrapping_add(n as u32);
        }
        let done = done + n as i64;
        let blocking = wait && self.stack.nonblocking(fd) == Ok(false);
        if done < size && blocking {
            return Ok(Err(CallFailure::WouldBlock(done)));
        }
        Ok(Ok(done))
    }

    /// `ioctl(fd, SIOCINQ, [bytes])`, also named FIONREAD.
    fn ioctl(&mut self, args: &Args<'_>) -> Result<Outcome> {
        if !matches!(args.name(1), Some("SIOCINQ" | "FIONREAD")) {
            return Err(self.refuse(args, 1, "SIOCINQ or FIONREAD"));
        }
        let wanted = match args.expr(2) {
            Some(Expr::Any) => None,
            Some(Expr::List(items)) => match items.as_slice() {
                [Expr::Int(n)] => Some(*n),
                _ => return Err(self.refuse(args, 2, "[bytes] or `...`")),
            },
            _ => return Err(self.refuse(args, 2, "[bytes] or `...`")),
        };
        let fd = self.fd(args)?;
        let got = match self.stack.unread(fd) {
            Ok(got) => i64::try_from(got).unwrap_or(i64::MAX),
            Err(error) => return Ok(Err(CallFailure::of(error, 0))),
        };
        if wanted.is_some_and(|wanted| wanted != got) {
            let mut failure = self.failure(args.event, "ioctl returned another number");
            failure.expected = wanted.map(|n| n.to_string());
            failure.got = Some(got.to_string());
            return Err(failure.into());
        }
        Ok(Ok(0))
    }

    fn fcntl(&mut self, args: &Args<'_>) -> Result<Outcome> {
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
        Ok(outcome.map_err(|e| CallFailure::of(e, 0)))
    }
}
