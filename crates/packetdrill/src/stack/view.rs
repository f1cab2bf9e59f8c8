//! Snapshot of a connection for assertions.

use lowtide_sockets::ConnInfo;
use lowtide_tcp::{FourTuple, State};

use super::Stack;
use crate::view::ConnView;

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
}
