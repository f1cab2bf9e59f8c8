//! The script language: text in, a syntax tree out.
//!
//! Contract: an unsupported construct is rejected by name and line, never skipped. A parsed script
//! contains only constructs that the interpreter knows. Input is untrusted: errors, never panics.
//! `docs/howto/packetdrill.md` is the language reference.

mod assertion;
mod call;
mod conditional;
mod cursor;
mod error;
mod packet;
mod parse;

use std::ops::Range;
use std::sync::Arc;

use lowtide_units::Duration;
use lowtide_wire::{AccEcnOrder, DelayStamps, Flags};

pub use crate::fields::Operand;
pub use assertion::{Comparison, Operator};
pub use error::ScriptError;

/// A parsed script.
#[derive(Clone, Debug)]
pub struct Script {
    /// Its name, for messages.
    pub name: String,
    /// Its text, for messages.
    pub text: Arc<str>,
    /// `--name=value` lines.
    pub options: Vec<ScriptOption>,
    /// Events in order.
    pub events: Vec<ScriptEvent>,
}

/// One `--name=value` line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptOption {
    /// Byte range in the script.
    pub span: Range<usize>,
    /// The name, without the dashes.
    pub name: String,
    /// The value, without quotes.
    pub value: String,
}

/// One event.
#[derive(Clone, Debug)]
pub struct ScriptEvent {
    /// Byte range in the script, time included.
    pub span: Range<usize>,
    /// Byte offset of the action, after the time.
    pub action_at: usize,
    /// Scheduled time.
    pub when: EventTime,
    /// Return time of a blocking call: absolute or relative, as `when`.
    pub until: Option<Duration>,
    /// The action.
    pub action: Action,
}

/// The time of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventTime {
    /// `1.5`: since the start of the script.
    Absolute(Duration),
    /// `+.1`: since the previous event.
    Relative(Duration),
    /// `1.5~1.7`.
    AbsoluteRange(Duration, Duration),
    /// `+.1~+.2`.
    RelativeRange(Duration, Duration),
    /// `*`: at any time.
    Any,
}

/// Action or expectation of an event.
#[derive(Clone, Debug)]
pub enum Action {
    /// A packet, inbound or outbound.
    Packet(PacketSpec),
    /// A socket call.
    Call(Call),
    /// A backquoted command. It is never run.
    Command(String),
    /// Assertions that must all hold.
    Assert(Vec<Comparison>),
}

/// A packet in script notation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketSpec {
    /// `<`: towards the host under test.
    pub inbound: bool,
    /// The ECN field of IP, if given.
    pub ecn: Option<EcnSpec>,
    /// TCP flags.
    pub flags: Flags,
    /// First sequence number, relative to the script's initial one.
    pub seq: u32,
    /// Payload bytes.
    pub len: u32,
    /// The acknowledgement number, relative.
    pub ack: Option<u32>,
    /// The window field, unscaled.
    pub window: Option<u16>,
    /// The urgent pointer.
    pub urgent: u16,
    /// The options in order; `None` for `<...>`.
    pub options: Option<Vec<TcpOption>>,
}

/// ECN field of IP in script notation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnSpec {
    /// `[noecn]`.
    NotEct,
    /// `[ect0]`.
    Ect0,
    /// `[ect1]`.
    Ect1,
    /// `[ce]`.
    Ce,
    /// `[ect01]`: either.
    Either,
}

/// One TCP option, with the numbers of the script or the wire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TcpOption {
    /// `nop`.
    Nop,
    /// `eol`.
    Eol,
    /// `mss N`.
    Mss(u16),
    /// `wscale N`.
    WindowScale(u8),
    /// `sackOK`.
    SackPermitted,
    /// `sack a:b c:d`.
    Sack(Vec<(u32, u32)>),
    /// `TS val N ecr N`.
    Timestamps {
        /// TSval.
        value: u32,
        /// TSecr.
        echo: u32,
    },
    /// `DX`: the delay option, offered or accepted.
    DelayOffer,
    /// `DX t1 N t2 N t3 N`: its stamps, nanoseconds modulo 2^32.
    Delay(DelayStamps),
    /// `ECN e0b 1 ceb 0 e1b 1`: the AccECN option, counters modulo 2^24 in wire order.
    AccEcn {
        /// Order of the counters.
        order: AccEcnOrder,
        /// Up to three counters.
        counters: Vec<u32>,
    },
    /// `raw fe04beef`: arbitrary bytes. Inbound packets only.
    Raw(Vec<u8>),
    /// Any other kind, found on the wire; scripts write it as `raw`.
    Unknown {
        /// The kind.
        kind: u8,
        /// Bytes after the length byte.
        data: Vec<u8>,
    },
}

/// A socket call in script notation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// The call.
    pub syscall: Syscall,
    /// Arguments, each with its byte range.
    pub args: Vec<(Expr, Range<usize>)>,
    /// Expected result; `None` for any.
    pub result: Option<CallResult>,
}

/// Supported calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Syscall {
    /// `socket`.
    Socket,
    /// `bind`.
    Bind,
    /// `listen`.
    Listen,
    /// `accept`.
    Accept,
    /// `connect`.
    Connect,
    /// `read`.
    Read,
    /// `recv`, with flags.
    Recv,
    /// `write`.
    Write,
    /// `send`, with flags.
    Send,
    /// `sendto`, with flags and an address that a stream ignores.
    SendTo,
    /// `close`.
    Close,
    /// `shutdown`.
    Shutdown,
    /// `fcntl`.
    Fcntl,
    /// `ioctl`, FIONREAD only.
    Ioctl,
    /// `getsockopt`.
    GetSockOpt,
    /// `setsockopt`.
    SetSockOpt,
}

/// Expected result of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallResult {
    /// A non-negative number.
    Value(i64),
    /// -1 with this error; `None` for any error.
    Error(Option<crate::host::Errno>),
}

/// An argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expr {
    /// `...`
    Any,
    /// A number.
    Int(i64),
    /// A quoted string.
    Text(String),
    /// Names joined by `|`.
    Names(Vec<String>),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `{a=b, c=d}`.
    Struct(Vec<(String, Expr)>),
    /// `htons(8080)`.
    Apply(String, Vec<Expr>),
}

impl Script {
    /// Parses a script. `name` is for messages only.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        parse::script(name, text)
    }

    /// An error about `span` of this script.
    pub fn error(&self, span: Range<usize>, message: impl Into<String>) -> ScriptError {
        ScriptError::new(&self.name, &self.text, span, message)
    }

    /// Least duration of a run, from the times of the script.
    pub fn duration(&self) -> Duration {
        let (mut now, mut end) = (Duration::ZERO, Duration::ZERO);
        for event in &self.events {
            let base = now;
            now = match event.when {
                EventTime::Absolute(at) | EventTime::AbsoluteRange(at, _) => now.max(at),
                EventTime::Relative(after) | EventTime::RelativeRange(after, _) => now + after,
                EventTime::Any => now,
            };
            let until = event.until.map_or(Duration::ZERO, |until| match event.when {
                EventTime::Absolute(_) => until,
                _ => base + until,
            });
            end = end.max(until).max(now);
        }
        end
    }

    /// Line of byte `at`, counted from one.
    pub fn line(&self, at: usize) -> usize {
        error::line(&self.text, at)
    }
}
