//! The application that writes a flow's bytes over time ([`lowtide_traffic::WriteSchedule`]).
//!
//! Flows that are written at once have none.

use lowtide_tcp::Connection;
use lowtide_traffic::{Flow, Write, WritePattern, WriteSchedule};
use lowtide_units::Instant;

use crate::tables::Row;

/// The state of one flow's application.
#[derive(Clone, Debug)]
pub(crate) struct Writer(WriteSchedule);

impl Row for Option<Box<Writer>> {
    const TABLE: &'static str = "writers";
    type Key = u32;

    #[inline]
    fn index(flow: u32) -> usize {
        flow as usize
    }
}

impl Writer {
    /// Returns the writer of flow number `id`, if it needs one: it writes over time, or its
    /// connection opens early, before the first write at `start`.
    pub(crate) fn new(
        flow: &Flow,
        start: Instant,
        early: bool,
        run_seed: u64,
        id: u64,
    ) -> Option<Box<Self>> {
        let writer = || Box::new(Self(WriteSchedule::new(flow, id, start, run_seed)));
        (early || flow.write_pattern != WritePattern::Bulk).then(writer)
    }

    /// Allows further bytes of a flow that depends on others ([`WritePattern::OnReceipt`]).
    pub(crate) const fn grant(&mut self, bytes: u64) {
        self.0.grant(bytes);
    }

    /// Writes the bytes due at `now`. Returns the time of the next write, if known.
    pub(crate) fn write(&mut self, now: Instant, conn: &mut Connection) -> Option<Instant> {
        if let Some(first) = self.0.next().filter(|at| *at > now) {
            return Some(first);
        }
        match self.0.write(now) {
            Write::Bytes(n) => conn.send(n),
            Write::Stop => {
                conn.discard_unsent();
            }
        }
        if self.0.is_complete() {
            conn.close();
        }
        self.0.next()
    }

    /// Handles a possible acknowledgement. Returns the time of the next write, if known now.
    pub(crate) fn acknowledged(&mut self, now: Instant, conn: &Connection) -> Option<Instant> {
        if !self.0.waits_for_acks() || conn.info().bytes_acked < self.0.written() {
            return None;
        }
        self.0.acknowledged(now)
    }
}
