//! A connection as its application sees it.

use std::net::SocketAddr;

use lowtide_tcp::{CloseReason, ConnId, Connection, FourTuple, Info};

use crate::payload::{ReceiveBuffer, SendRing};

/// A snapshot of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnInfo {
    /// TCP state.
    pub tcp: Info,
    /// DCTCP's alpha, the estimated marked fraction in units of 2^-20, if the congestion control
    /// keeps one.
    pub alpha_q20: Option<u64>,
    /// Bytes of memory that the connection uses in `tcp`, without payload.
    pub memory: usize,
}

impl ConnInfo {
    pub(crate) fn of(conn: &Connection) -> Self {
        Self { tcp: conn.info(), alpha_q20: conn.alpha_q20(), memory: conn.memory() }
    }
}

/// A connection and its payload. It outlives the connection in `tcp` until its application releases
/// it. `D` is the state that a driver keeps with each connection.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Debug)]
pub struct Conn<D> {
    /// Addresses and ports.
    pub tuple: FourTuple,
    /// Its ID in the endpoint; `None` once released there.
    pub id: Option<ConnId>,
    /// Port of the listener to notify once the connection is established.
    pub listener: Option<u16>,
    /// Whether an application holds it or may still accept it.
    pub held: bool,
    /// Whether the handshake was completed.
    pub established: bool,
    /// Whether the peer sent FIN.
    pub peer_closed: bool,
    /// The application sends no more.
    pub write_shut: bool,
    /// The application reads no more: arriving data is discarded.
    pub read_shut: bool,
    /// The reason for its end, once it has ended.
    pub close_reason: Option<CloseReason>,
    /// Bytes written and not acknowledged.
    pub send: SendRing,
    /// Bytes received and not read.
    pub receive: ReceiveBuffer,
    /// Snapshot at its release.
    pub final_info: Option<Box<ConnInfo>>,
    /// State of the driver.
    pub driver: D,
}

impl<D: Default> Conn<D> {
    pub(crate) fn new(tuple: FourTuple, id: ConnId, listener: Option<u16>) -> Self {
        Self {
            tuple,
            id: Some(id),
            listener,
            held: true,
            established: false,
            peer_closed: false,
            write_shut: false,
            read_shut: false,
            close_reason: None,
            send: SendRing::default(),
            receive: ReceiveBuffer::default(),
            final_info: None,
            driver: D::default(),
        }
    }
}

impl<D> Conn<D> {
    /// The peer's address and port.
    pub const fn peer(&self) -> SocketAddr {
        SocketAddr::new(self.tuple.remote, self.tuple.remote_port)
    }

    /// This host's address and port.
    pub const fn local(&self) -> SocketAddr {
        SocketAddr::new(self.tuple.local, self.tuple.local_port)
    }
}
