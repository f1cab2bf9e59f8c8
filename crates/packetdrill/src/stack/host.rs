//! Our TCP as the host under test.

use std::net::IpAddr;

use lowtide_tcp::FourTuple;
use lowtide_units::Instant;
use lowtide_wire::WireError;

use super::{SocketKind, Stack};
use crate::command;
use crate::fields::{Field, FieldValue};
use crate::host::{
    CallError, CallOutcome, Errno, Host, SentPacket, Shutdown, SocketOption, SocketValue,
};

impl Host for Stack {
    fn now(&mut self) -> Instant {
        self.now
    }

    fn step(&mut self, limit: Instant) -> bool {
        match self.next_timer().filter(|t| *t <= limit && self.fault.is_none()) {
            Some(next) => {
                self.advance_to(next);
                true
            }
            None => false,
        }
    }

    fn advance_to(&mut self, to: Instant) {
        Self::advance_to(self, to);
    }

    fn fault(&self) -> Option<String> {
        self.fault.as_ref().map(|fault| format!("the stack is broken: {fault}"))
    }

    fn inject(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        Self::inject(self, bytes)
    }

    fn peek_packet(&mut self) -> Option<&SentPacket> {
        self.out.front()
    }

    fn take_packet(&mut self) -> Option<SentPacket> {
        Self::take_packet(self)
    }

    fn command(&mut self, text: &str) -> Result<Vec<String>, String> {
        command::apply(&mut self.settings.config, text)
    }

    fn field(&mut self, tuple: &FourTuple, field: &'static Field) -> Option<FieldValue> {
        self.view(tuple).map(|view| field.read(&view))
    }

    fn listens(&self, port: u16) -> bool {
        let mut kinds = self.sockets.values().map(|s| &s.kind);
        kinds.any(|kind| matches!(kind, SocketKind::Listening { port: p, .. } if *p == port))
    }

    fn socket(&mut self, v6: bool) -> CallOutcome<i32> {
        Ok(Self::socket(self, v6))
    }

    fn bind(&mut self, fd: i32, address: IpAddr, port: u16) -> CallOutcome<()> {
        Self::bind(self, fd, address, port)
    }

    fn listen(&mut self, fd: i32, backlog: u16) -> CallOutcome<u16> {
        Self::listen(self, fd, usize::from(backlog))?;
        match self.get(fd)?.kind {
            SocketKind::Listening { port, .. } => Ok(port),
            SocketKind::Idle | SocketKind::Stream { .. } => Err(Errno::EINVAL.into()),
        }
    }

    fn accept(&mut self, fd: i32) -> CallOutcome<i32> {
        Self::accept(self, fd).map(|(fd, ..)| fd)
    }

    fn connect(&mut self, fd: i32, remote: IpAddr, port: u16) -> CallOutcome<()> {
        Self::connect(self, fd, remote, port)
    }

    fn read(&mut self, fd: i32, max: usize, peek: bool, wait: bool) -> CallOutcome<Vec<u8>> {
        Self::read(self, fd, max, peek).map_err(|e| without_wait(e, wait))
    }

    /// A blocking write returns when all is written, or earlier with an error.
    fn write(&mut self, fd: i32, bytes: &[u8], wait: bool) -> CallOutcome<usize> {
        let done = std::mem::take(&mut self.blocked_write);
        let n = match Self::write(self, fd, bytes.get(done..).unwrap_or(&[])) {
            // A partial write takes precedence over a later error.
            Err(CallError::Errno(_)) if done > 0 => return Ok(done),
            Err(CallError::WouldBlock) if wait => 0,
            Err(error) => return Err(without_wait(error, wait)),
            Ok(n) => n,
        };
        if wait && done + n < bytes.len() && !self.get(fd)?.nonblocking {
            self.blocked_write = done + n;
            return Err(CallError::WouldBlock);
        }
        Ok(done + n)
    }

    fn shutdown(&mut self, fd: i32, how: Shutdown) -> CallOutcome<()> {
        Self::shutdown(self, fd, how)
    }

    fn close(&mut self, fd: i32) -> CallOutcome<()> {
        Self::close(self, fd)
    }

    fn nonblocking(&mut self, fd: i32) -> CallOutcome<bool> {
        Self::nonblocking(self, fd)
    }

    fn set_nonblocking(&mut self, fd: i32, on: bool) -> CallOutcome<()> {
        Self::set_nonblocking(self, fd, on)
    }

    fn unread(&mut self, fd: i32) -> CallOutcome<u64> {
        Self::unread(self, fd)
    }

    fn option(&mut self, fd: i32, option: SocketOption) -> CallOutcome<SocketValue> {
        Self::option(self, fd, option)
    }

    fn set_option(
        &mut self,
        fd: i32,
        option: SocketOption,
        value: &SocketValue,
    ) -> CallOutcome<()> {
        Self::set_option(self, fd, option, value)
    }
}

/// The error of a call that never waits.
fn without_wait(error: CallError, wait: bool) -> CallError {
    if wait || error != CallError::WouldBlock { error } else { Errno::EAGAIN.into() }
}
