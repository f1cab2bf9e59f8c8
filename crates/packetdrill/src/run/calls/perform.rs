//! Execution of each call.

use super::args::Args;
use super::{Outcome, Result, Runner};
use crate::host::Shutdown;
use crate::run::inbound::payload_byte;
use crate::script::{Expr, Syscall};

/// Linux values of `O_RDWR` and `O_NONBLOCK`.
const O_RDWR: i64 = 0o2;
const O_NONBLOCK: i64 = 0o4000;

impl Runner<'_> {
    pub(super) fn perform(&mut self, args: &Args<'_>) -> Result<Outcome> {
        Ok(match args.call.syscall {
            Syscall::Socket => {
                self.check_socket(args)?;
                let made = self.host.socket(self.setup.v6);
                if let (true, Ok(fd)) = (args.has_name(1, "SOCK_NONBLOCK"), made) {
                    let _ = self.host.set_nonblocking(fd, true);
                }
                made.map(i64::from)
            }
            Syscall::Bind => {
                let port = self.port(args, 1)?.unwrap_or(self.setup.bind_port);
                let (fd, local) = (self.fd(args)?, self.setup.local);
                self.host.bind(fd, local, port).map(|()| 0)
            }
            Syscall::Listen => {
                let backlog = self.int(args, 1)?.clamp(0, 65_535) as u16;
                let fd = self.fd(args)?;
                self.host.listen(fd, backlog).map(|port| {
                    self.peer.on_listen(port);
                    0
                })
            }
            Syscall::Accept => {
                let fd = self.fd(args)?;
                self.host.accept(fd).map(i64::from)
            }
            Syscall::Connect => {
                let port = self.port(args, 1)?.unwrap_or(self.setup.connect_port);
                let (fd, remote) = (self.fd(args)?, self.setup.remote);
                self.host.connect(fd, remote, port).map(|()| 0)
            }
            Syscall::Read | Syscall::Recv => return self.read(args),
            Syscall::Write | Syscall::Send | Syscall::SendTo => return self.write(args),
            Syscall::Close => {
                let fd = self.fd(args)?;
                self.host.close(fd).map(|()| 0)
            }
            Syscall::Shutdown => {
                let how = match args.name(1) {
                    Some("SHUT_RD") => Shutdown::Read,
                    Some("SHUT_WR") => Shutdown::Write,
                    Some("SHUT_RDWR") => Shutdown::Both,
                    _ => return Err(self.refuse(args, 1, "SHUT_RD, SHUT_WR or SHUT_RDWR")),
                };
                let fd = self.fd(args)?;
                self.host.shutdown(fd, how).map(|()| 0)
            }
            Syscall::Fcntl => return self.fcntl(args),
            Syscall::Ioctl => return self.ioctl(args),
            Syscall::GetSockOpt => return self.getsockopt(args),
            Syscall::SetSockOpt => return self.setsockopt(args),
        })
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
        let bytes = match self.host.read(fd, most as usize, peek, wait) {
            Ok(bytes) => bytes,
            Err(error) => return Ok(Err(error)),
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

    fn write(&mut self, args: &Args<'_>) -> Result<Outcome> {
        let size = self.size(args, 2)?;
        let mut wait = true;
        if args.call.syscall != Syscall::Write {
            let flags = self.message_flags(args, &["MSG_DONTWAIT", "MSG_NOSIGNAL"])?;
            wait = !flags.iter().any(|f| f == "MSG_DONTWAIT");
        }
        let (fd, number) = (self.fd(args)?, self.int(args, 0)?);
        let first = self.calls.fds.get(&number).map_or(0, |d| d.written);
        let bytes: Vec<u8> =
            (0..size as u32).map(|i| payload_byte(first.wrapping_add(i))).collect();
        let written = self.host.write(fd, &bytes, wait);
        if let (Some(descriptor), Ok(n)) = (self.calls.fds.get_mut(&number), written) {
            descriptor.written = first.wrapping_add(n as u32);
        }
        Ok(written.map(|n| n as i64))
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
        let got = match self.host.unread(fd) {
            Ok(got) => i64::try_from(got).unwrap_or(i64::MAX),
            Err(error) => return Ok(Err(error)),
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
        Ok(match args.name(1) {
            Some("F_GETFL") => {
                self.host.nonblocking(fd).map(|on| if on { O_RDWR | O_NONBLOCK } else { O_RDWR })
            }
            Some("F_SETFL") => {
                let on = if let Some(Expr::Int(bits)) = args.expr(2) {
                    bits & O_NONBLOCK != 0
                } else {
                    self.one_of(args, 2, &["O_RDWR", "O_NONBLOCK"])?;
                    args.has_name(2, "O_NONBLOCK")
                };
                self.host.set_nonblocking(fd, on).map(|()| 0)
            }
            _ => return Err(self.refuse(args, 1, "F_GETFL or F_SETFL")),
        })
    }
}
