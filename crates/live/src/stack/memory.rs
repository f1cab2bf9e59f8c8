//! Enforces the memory budget: charges, admission and reclaim.

use lowtide_sockets::ConnKey;
use lowtide_tcp::{Connection, DataKind, FourTuple};
use lowtide_units::Instant;
use lowtide_wire::{Flags, Segment};

use super::budget::{Charge, MIN_SHARE};
use super::{Conn, Stack, TxBatch};

/// Bytes charged per connection beside its own state: its timer, its wait queue and its entries in
/// tables, which grow by doubling.
const CONN_TABLE_OVERHEAD: usize = 648 + 2 * size_of::<Conn>() + size_of::<Connection>();
/// Bytes charged per segment beside its payload.
const SEGMENT_OVERHEAD: usize = 2 << 10;

/// Limits of the memory that remote hosts can fill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StackLimits {
    /// Bytes for all connections.
    pub(crate) memory: usize,
    /// Connections that no application holds.
    pub(crate) orphans: usize,
}

impl StackLimits {
    /// Most compact TIME-WAIT entries: one per 4 KiB of memory.
    pub(crate) const fn max_time_waits(&self) -> usize {
        // At most 262,144, as `net.ipv4.tcp_max_tw_buckets` on large machines.
        match self.memory >> 12 {
            0..1024 => 1024,
            n @ 1024..0x4_0000 => n,
            _ => 0x4_0000,
        }
    }
}

impl Default for StackLimits {
    fn default() -> Self {
        Self { memory: 64 << 20, orphans: 1024 }
    }
}

impl Stack {
    /// Updates the charge of a connection to its current memory use.
    pub(super) fn charge(&mut self, key: ConnKey) {
        let Some((conn, endpoint)) = self.sockets.with_endpoint(key) else { return };
        let own = conn.id.and_then(|id| endpoint.conn(id)).map_or(0, |c| c.memory());
        let buffers = conn.send.memory() + conn.receive.memory();
        let charge = Charge {
            total: CONN_TABLE_OVERHEAD + own + buffers,
            out_of_order: conn.receive.out_of_order_memory(),
            established: conn.established,
        };
        self.budget.replace(&mut conn.driver.charge, charge);
    }

    /// Limits the receive buffer of a connection to its share under memory pressure, and lifts the
    /// limit afterwards.
    #[inline]
    pub(super) fn limit_receive_window(&mut self, key: ConnKey) {
        let under_pressure = self.budget.under_pressure();
        let Some((conn, endpoint)) = self.sockets.with_endpoint(key) else { return };
        if !under_pressure && conn.driver.receive_limit.is_none() {
            return;
        }
        // Payload in order takes at most twice its bytes of memory.
        let limit = under_pressure.then(|| self.budget.share() as u64 / 2);
        if let Some(id) = conn.id.filter(|_| conn.driver.receive_limit != limit) {
            if let Some(conn) = endpoint.conn(id) {
                let buffer = conn.config().receive_buffer.as_u64();
                conn.set_receive_buffer(buffer.min(limit.unwrap_or(u64::MAX)));
            }
            conn.driver.receive_limit = limit;
        }
    }

    /// Bytes that an application may still write on a connection under the memory budget.
    pub(super) fn send_allowance(&self, conn: &Conn) -> usize {
        if !self.budget.under_pressure() {
            return usize::MAX;
        }
        let share = if self.budget.would_exceed(SEGMENT_OVERHEAD) {
            MIN_SHARE
        } else {
            self.budget.share()
        };
        // The send buffer grows by doubling.
        (share / 2).saturating_sub(conn.send.len())
    }

    /// Returns [`Self::send_allowance`]. If it is zero, the application is woken once it is not.
    pub(super) fn poll_send_allowance(&mut self, key: ConnKey) -> usize {
        let allowed = self.sockets.get(key).map_or(0, |c| self.send_allowance(c));
        if allowed == 0
            && let Some(conn) = self.sockets.get_mut(key)
        {
            conn.driver.waits_for_memory = true;
        }
        allowed
    }

    /// Wakes an application that waits for memory to write, if there is some again.
    #[cold]
    pub(super) fn wake_writer(&mut self, key: ConnKey) {
        let allowed = self.sockets.get(key).is_some_and(|c| self.send_allowance(c) > 0);
        if let Some(conn) = self.sockets.get_mut(key).filter(|_| allowed) {
            conn.driver.waits_for_memory = false;
            conn.driver.wait.wake();
        }
    }

    /// Whether the memory budget admits a segment. A rejected segment is dropped whole, including
    /// its ACK; the peer retransmits it.
    #[cold]
    #[inline(never)]
    pub(super) fn admit(
        &mut self,
        now: Instant,
        tuple: &FourTuple,
        segment: &Segment,
        batch: &mut TxBatch,
    ) -> bool {
        let opens = segment.flags.contains(Flags::SYN);
        if segment.payload_len == 0 && !opens || segment.flags.contains(Flags::RST) {
            return true;
        }
        let need = segment.payload_len as usize + SEGMENT_OVERHEAD;
        if self.budget.would_exceed(need) {
            self.reclaim_memory(now, need, batch);
        }
        let Some((id, key)) = self.sockets.find(tuple) else {
            let connections = usize::try_from(self.sockets.connections()).unwrap_or(usize::MAX);
            return !opens
                || !self.budget.would_exceed(need)
                || self.budget.admits_connection(connections);
        };
        let kind = self.sockets.endpoint().conn(id).map(|c| c.classify(segment));
        let Some(kind) = kind else { return true };
        let share = self.budget.share();
        match (kind, self.budget.would_exceed(need)) {
            (DataKind::Duplicate, _) | (DataKind::InSequence, false) => true,
            (DataKind::InSequence, true) => {
                self.discard_out_of_order(key);
                // If nothing is unread, admit one segment even so: reading it frees memory.
                let empty = self.sockets.get(key).is_some_and(|c| c.receive.unread() == 0);
                empty || !self.budget.would_exceed(need)
            }
            (DataKind::OutOfOrder, true) => false,
            (DataKind::OutOfOrder, false) => {
                self.sockets.get(key).is_some_and(|c| c.receive.memory() + need <= share)
            }
        }
    }

    /// Frees memory until `need` bytes fit, as far as no well-behaved peer is harmed. Orphans are
    /// reset first, oldest first; then out-of-order data of the connections with most of it is
    /// discarded.
    fn reclaim_memory(&mut self, now: Instant, need: usize, batch: &mut TxBatch) {
        // A reset connection is released once its RST is in the batch.
        while self.budget.would_exceed(need)
            && !batch.is_full()
            && self.reset_oldest_orphan(now, batch)
        {}
        // Scans all connections; this frees at least a sixteenth of the limit.
        if self.budget.would_exceed(need)
            && let Some(threshold) = self.budget.prune_threshold()
        {
            for key in self.sockets.keys() {
                if self.sockets.get(key).is_some_and(|c| c.driver.charge.out_of_order >= threshold)
                {
                    self.discard_out_of_order(key);
                }
            }
        }
    }

    fn discard_out_of_order(&mut self, key: ConnKey) {
        let Some(conn) = self.sockets.get_mut(key) else { return };
        let held = conn.receive.out_of_order_memory();
        if held == 0 {
            return;
        }
        conn.receive.discard_out_of_order();
        if let Some(conn) = self.sockets.transport(key) {
            conn.discard_out_of_order();
        }
        self.counters.ofo_pruned += held as u64;
        self.charge(key);
    }

    /// Resets the oldest orphan. Returns false if there is none.
    pub(super) fn reset_oldest_orphan(&mut self, now: Instant, batch: &mut TxBatch) -> bool {
        let Some(key) = self.orphans.pop_oldest() else { return false };
        self.counters.orphans_reset += 1;
        if let Some(conn) = self.sockets.get_mut(key) {
            conn.driver.orphan = None;
        }
        if let Some(conn) = self.sockets.transport(key) {
            conn.abort();
            self.pump(now, key, batch);
        }
        true
    }
}
