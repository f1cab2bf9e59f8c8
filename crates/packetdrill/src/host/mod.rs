//! The host under test, as the interpreter drives it: our TCP in virtual time
//! ([`crate::stack::Stack`]), or a kernel in real time.

mod errno;
mod option;

use std::net::IpAddr;

use lowtide_tcp::FourTuple;
use lowtide_units::Instant;
use lowtide_wire::WireError;

use crate::fields::{Field, FieldValue};
pub use errno::Errno;
pub use option::{SocketOption, SocketValue};

/// A packet that the host sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentPacket {
    /// When it was sent.
    pub at: Instant,
    /// The whole IP packet.
    pub bytes: Vec<u8>,
}

/// Why a call did not succeed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallError {
    /// It failed.
    Errno(Errno),
    /// A blocking socket would wait: call again when time has passed.
    WouldBlock,
}

impl From<Errno> for CallError {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

/// Directions that [`Stack::shutdown`] closes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shutdown {
    /// Receive direction.
    Read,
    /// Send direction: FIN follows the written data.
    Write,
    /// Both.
    Both,
}

/// Result of a call.
pub type CallOutcome<T> = Result<T, CallError>;

/// A host with sockets and one interface.
///
/// Contract: a call on a blocking socket that would wait gives [`CallError::WouldBlock`] until it
/// is repeated, with the same arguments, after it could return.
pub trait Host {
    /// Time since the start of the script.
    fn now(&mut self) -> Instant;
    /// Advances to the next event that is not of the script (timer, packet, end of a call), at most
    /// to `limit`. Returns false if there is none.
    fn step(&mut self, limit: Instant) -> bool;
    /// Advances to `to`. A time in the past has no effect.
    fn advance_to(&mut self, to: Instant);
    /// A fault of the host that no script can cause.
    fn fault(&self) -> Option<String>;
    /// Delivers one IP packet to the host.
    ///
    /// # Errors
    /// The reason that it is not a TCP packet, if the host tells; it drops such a packet.
    fn inject(&mut self, bytes: &[u8]) -> Result<(), WireError>;
    /// Oldest packet of the output queue, left in place.
    fn peek_packet(&mut self) -> Option<&SentPacket>;
    /// Takes the oldest packet from the output queue.
    fn take_packet(&mut self) -> Option<SentPacket>;
    /// Applies a command; returns notes on what it ignores.
    ///
    /// # Errors
    /// A value is refused.
    fn command(&mut self, text: &str) -> Result<Vec<String>, String>;
    /// Value of a field of a connection; `None` if there never was such a connection.
    fn field(&mut self, tuple: &FourTuple, field: &'static Field) -> Option<FieldValue>;
    /// True if a socket listens on `port`.
    fn listens(&self, port: u16) -> bool;

    /// The script says that the next call lasts.
    fn expect_blocking(&mut self) {}
    /// Creates a TCP socket.
    fn socket(&mut self, v6: bool) -> CallOutcome<i32>;
    /// Sets the socket's local address.
    fn bind(&mut self, fd: i32, address: IpAddr, port: u16) -> CallOutcome<()>;
    /// Accepts connections to the bound port, which is returned.
    fn listen(&mut self, fd: i32, backlog: u16) -> CallOutcome<u16>;
    /// Descriptor of the oldest established connection of a listener.
    fn accept(&mut self, fd: i32) -> CallOutcome<i32>;
    /// Opens a connection.
    fn connect(&mut self, fd: i32, remote: IpAddr, port: u16) -> CallOutcome<()>;
    /// Reads at most `max` bytes; none at the end of stream. `peek` leaves them in the buffer;
    /// without `wait` the call never blocks.
    fn read(&mut self, fd: i32, max: usize, peek: bool, wait: bool) -> CallOutcome<Vec<u8>>;
    /// Writes `bytes`; returns how many. Without `wait` the call never blocks.
    fn write(&mut self, fd: i32, bytes: &[u8], wait: bool) -> CallOutcome<usize>;
    /// Closes one direction or both.
    fn shutdown(&mut self, fd: i32, how: Shutdown) -> CallOutcome<()>;
    /// Closes the descriptor.
    fn close(&mut self, fd: i32) -> CallOutcome<()>;
    /// True if O_NONBLOCK is set.
    fn nonblocking(&mut self, fd: i32) -> CallOutcome<bool>;
    /// Sets or clears O_NONBLOCK.
    fn set_nonblocking(&mut self, fd: i32, on: bool) -> CallOutcome<()>;
    /// Unread bytes (FIONREAD, SIOCINQ).
    fn unread(&mut self, fd: i32) -> CallOutcome<u64>;
    /// Reads an option.
    fn option(&mut self, fd: i32, option: SocketOption) -> CallOutcome<SocketValue>;
    /// Sets an option.
    fn set_option(&mut self, fd: i32, option: SocketOption, value: &SocketValue)
    -> CallOutcome<()>;
}
