//! Socket calls of a script: blocked calls and results. `perform` executes calls, `args` reads
//! their arguments, `sockopt` handles socket options.

mod args;
mod perform;
mod sockopt;

use std::collections::BTreeMap;

use lowtide_units::Instant;

use super::report::seconds;
use super::{Result, Runner};
use crate::host::{CallError, Errno};
use crate::script::{Call, CallResult, ScriptEvent, Syscall};
use args::Args;

/// Descriptors as scripts number them.
#[derive(Debug, Default)]
pub(super) struct DescriptorTable {
    /// Script number to the host's descriptor.
    fds: BTreeMap<i64, Descriptor>,
}

#[derive(Clone, Copy, Debug)]
struct Descriptor {
    host_fd: i32,
    /// Bytes read so far: the pattern offset of the next byte.
    read: u32,
    written: u32,
}

/// A call that is blocked.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockedCall<'a> {
    event: &'a ScriptEvent,
    call: &'a Call,
    /// Time at which it must return.
    pub(super) until: Instant,
}

/// Return value of a call, or the reason that it has none.
type Outcome = std::result::Result<i64, CallError>;

impl<'a> Runner<'a> {
    pub(super) fn call(
        &mut self,
        event: &'a ScriptEvent,
        call: &'a Call,
        until: Option<Instant>,
    ) -> Result<()> {
        // In real time a call returns a little later than it is due.
        let due = self.blocked.filter(|_| self.setup.real_time).map(|blocked| blocked.until);
        while due
            .is_some_and(|due| self.blocked.is_some() && self.host.step(due + self.setup.tolerance))
        {
            self.poll_blocked()?;
        }
        if let Some(blocked) = &self.blocked {
            let line = self.script.line(blocked.event.span.start);
            let message = format!("the call of line {line} has not returned yet");
            return Err(self.failure(event, message).into());
        }
        if until.is_some() {
            self.host.expect_blocking();
        }
        match (returned(self.perform(&Args { event, call })?), until) {
            (Some(result), None) => self.compare(event, call, result),
            (Some(result), Some(until)) => {
                self.check_time(event, until)?;
                self.compare(event, call, result)
            }
            (None, Some(until)) => {
                self.blocked = Some(BlockedCall { event, call, until });
                Ok(())
            }
            (None, None) => {
                let message = "this call would block; write when it returns, as in `+0...+.2`, \
                               or make the socket non-blocking";
                Err(self.failure(event, message).into())
            }
        }
    }

    /// Retries the blocked call.
    pub(super) fn poll_blocked(&mut self) -> Result<()> {
        let Some(blocked) = self.blocked.take() else { return Ok(()) };
        let BlockedCall { event, call, until } = blocked;
        if let Some(result) = returned(self.perform(&Args { event, call })?) {
            self.check_time(event, until)?;
            return self.compare(event, call, result);
        }
        self.blocked = Some(blocked);
        self.expire_blocked(false)
    }

    /// Fails if a blocked call has not returned by its deadline.
    pub(super) fn expire_blocked(&mut self, at_the_end: bool) -> Result<()> {
        let Some(blocked) = self.blocked else { return Ok(()) };
        if !at_the_end && self.host.now() <= blocked.until + self.setup.tolerance {
            return Ok(());
        }
        let until = seconds(blocked.until);
        Err(self.failure(blocked.event, format!("this call has not returned at {until}")).into())
    }

    fn check_time(&mut self, event: &ScriptEvent, until: Instant) -> Result<()> {
        let now = self.host.now();
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
        event: &ScriptEvent,
        call: &Call,
        result: std::result::Result<i64, Errno>,
    ) -> Result<()> {
        let makes_fd = matches!(call.syscall, Syscall::Socket | Syscall::Accept);
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
                let descriptor = Descriptor { host_fd: live as i32, read: 0, written: 0 };
                self.calls.fds.insert(number, descriptor);
            }
            return Ok(());
        }
        let mut failure = self.failure(event, "this call returned another value");
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
}

/// Result of a call that returned.
fn returned(outcome: Outcome) -> Option<std::result::Result<i64, Errno>> {
    match outcome {
        Ok(value) => Some(Ok(value)),
        Err(CallError::Errno(errno)) => Some(Err(errno)),
        Err(CallError::WouldBlock) => None,
    }
}
