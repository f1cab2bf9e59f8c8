//! Snapshot of a connection for assertions.

use lowtide_sockets::ConnInfo;
use lowtide_tcp::{FourTuple, Info, State};

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

impl Stack {
    /// Newest connection of the four-tuple, open or closed; `None` if there was none.
    pub fn view(&mut self, tuple: &FourTuple) -> Option<ConnView> {
        let mut newest_first = self.conns.keys().rev();
        let key = newest_first.find(|k| self.conns.get(*k).is_some_and(|c| c.tuple == *tuple))?;
        let ConnInfo { tcp: mut info, alpha_q20, .. } = self.conns.info(key)?;
        let released = self.conns.get(key)?.id.is_none();
        if released && info.state == State::TimeWait && self.time_waits() == 0 {
            info.state = State::Closed;
        }
        let conn = self.conns.get(key)?;
        Some(ConnView {
            info,
            alpha_q20,
            unacknowledged: conn.driver.sent.unacknowledged(),
            retransmitted: conn.driver.sent.retransmitted,
            unread: conn.receive.unread(),
        })
    }

    /// Connections in TIME-WAIT without a socket.
    pub fn time_waits(&mut self) -> usize {
        self.conns.endpoint().time_waits(self.now)
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
