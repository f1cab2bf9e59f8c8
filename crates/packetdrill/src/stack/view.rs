//! Snapshot of a connection for assertions.

use lowtide_tcp::{FourTuple, Info, State};
use lowtide_units::{Probe, Unit};

use super::{SocketKind, Stack};

/// Snapshot of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnView {
    /// The connection's current state, or its last one if it is closed.
    pub info: Info,
    /// DCTCP's alpha in units of 2^-20, if the congestion control has one.
    pub alpha_q20: Option<u64>,
    /// Segments not fully acknowledged.
    pub unacknowledged: u64,
    /// Retransmitted segments.
    pub retransmitted: u64,
    /// Bytes that the application could read.
    pub unread: u64,
}

#[derive(Default)]
struct Alpha(Option<u64>);

impl Probe for Alpha {
    fn value(&mut self, name: &'static str, unit: Unit, value: u64) {
        if name == "alpha" && unit == Unit::Q20 {
            self.0 = Some(value);
        }
    }
}

impl Stack {
    /// Newest connection of the four-tuple, open or closed; `None` if there was none.
    pub fn view(&mut self, tuple: &FourTuple) -> Option<ConnView> {
        let key = self.conns.iter().rposition(|c| c.tuple == *tuple)?;
        let conn = &self.conns[key];
        let mut alpha = Alpha::default();
        let mut info = conn.last?;
        if let Some(tcp) = conn.id.and_then(|id| self.endpoint.conn(id)) {
            tcp.probe(&mut alpha);
            info = tcp.info();
        } else if info.state == State::TimeWait && self.endpoint.time_waits(self.now) == 0 {
            info.state = State::Closed;
        }
        let conn = &self.conns[key];
        Some(ConnView {
            info,
            alpha_q20: alpha.0,
            unacknowledged: conn.send.unacknowledged(),
            retransmitted: conn.send.retransmitted,
            unread: conn.receive.unread(),
        })
    }

    /// Connections in TIME-WAIT without a socket.
    pub fn time_waits(&mut self) -> usize {
        self.endpoint.time_waits(self.now)
    }

    /// True if a socket listens on `port`.
    pub fn listens(&self, port: u16) -> bool {
        let mut kinds = self.sockets.values().map(|s| &s.kind);
        kinds.any(|kind| matches!(kind, SocketKind::Listening { port: p, .. } if *p == port))
    }

    /// Port on which the socket listens.
    pub fn listening_port(&self, fd: i32) -> Option<u16> {
        match self.sockets.get(&fd)?.kind {
            SocketKind::Listening { port, .. } => Some(port),
            SocketKind::Idle | SocketKind::Stream { .. } => None,
        }
    }
}
