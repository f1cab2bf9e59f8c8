//! The script language: text in, a syntax tree out.
//!
//! Contract: whatever is not supported is refused by name with its line, never skipped; a parsed
//! script holds nothing that the interpreter does not know. The text comes from anywhere: errors,
//! never panics. `docs/packetdrill.md` is the reference of the language.

mod assertion;
mod call;
mod conditional;
mod cursor;
mod error;
mod packet;
mod parse;
mod stock;

use std::ops::Range;
use std::sync::Arc;

use lowtide_units::Duration;
use lowtide_wire::{DelayStamps, Flags};

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
    /// What happens, in order.
    pub events: Vec<ScriptEvent>,
}

/// One `--name=value` line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptOption {
    /// Where it stands.
    pub span: Range<usize>,
    /// The name, without the dashes.
    pub name: String,
    /// The value, without quotes.
    pub value: String,
}

/// One event.
#[derive(Clone, Debug)]
pub struct ScriptEvent {
    /// Where it stands, its time included.
    pub span: Range<usize>,
    /// Where what happens begins, after the time.
    pub action_at: usize,
    /// When it is to happen.
    pub when: EventTime,
    /// When a blocking call is to return: as `when`, absolute or relative.
    pub until: Option<Duration>,
    /// What is to happen.
    pub action: Action,
}

/// The time of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventTime {
    /// `1.5`: since the start of the script.
    Absolute(Duration),
    /// `+.1`: since the event before.
    Relative(Duration),
    /// `1.5~1.7`.
    AbsoluteRange(Duration, Duration),
    /// `+.1~+.2`.
    RelativeRange(Duration, Duration),
    /// `*`: whenever the packet comes.
    Any,
}

/// What an event does or expects.
#[derive(Clone, Debug)]
pub enum Action {
    /// A packet, in or out.
    Packet(PacketSpec),
    /// A socket call.
    Call(Call),
    /// A command between backquotes. It is never run.
    Command(String),
    /// Assertions: all must hold.
    Assert(Vec<Comparison>),
}

/// A packet as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketSpec {
    /// `<`: towards the host under test.
    pub inbound: bool,
    /// The ECN field of IP, where it is written.
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

/// The ECN field of IP as a script says it.
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

/// One TCP option, with numbers as they are written or found.
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
    /// `raw fe04beef`: these bytes, whatever they are. Only in packets that are to be sent.
    Raw(Vec<u8>),
    /// Any other kind, found on the wire; scripts write it as `raw`.
    Unknown {
        /// The kind.
        kind: u8,
        /// What follows the length byte.
        data: Vec<u8>,
    },
}

/// A socket call as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Which.
    pub syscall: Syscall,
    /// Its arguments, each with where it stands.
    pub args: Vec<(Expr, Range<usize>)>,
    /// What it must return; `None` for anything.
    pub result: Option<CallResult>,
}

/// The calls that there are.
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

/// What a call returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallResult {
    /// A number that is no error.
    Value(i64),
    /// -1 with this error; `None` for any error.
    Error(Option<crate::stack::Errno>),
}

/// An argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expr {
    /// `...`
    Any,
    /// A number.
    Int(i64),
    /// A quoted text.
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
    /// Reads a script. `name` is for messages only.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        parse::script(name, text)
    }

    /// The script as stock packetdrill takes it with the shared object, in its grammar. Assertions and
    /// commands become events without effect at their time; a `sysctl` before the first socket becomes a
    /// word of `--so_flags`. Times have a tolerance of at least 4 ms.
    ///
    /// # Errors
    /// A construct that stock packetdrill does not have, with its line: a call that blocks, the options
    /// `DX` and `raw`, a call on a descriptor that is not open, a second connection between the ends of
    /// the first.
    pub fn for_stock(&self) -> Result<String, ScriptError> {
        stock::text(self)
    }

    /// An error about `span` of this script.
    pub fn error(&self, span: Range<usize>, message: impl Into<String>) -> ScriptError {
        ScriptError::new(&self.name, &self.text, span, message)
    }

    /// The line, counted from one, on which byte `at` stands.
    pub fn line(&self, at: usize) -> usize {
        error::line(&self.text, at)
    }
}
