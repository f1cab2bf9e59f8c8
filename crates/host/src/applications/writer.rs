//! The application that writes a flow's bytes over time ([`lowtide_traffic::Source`]).
//!
//! Flows that are written at once have none.

use lowtide_sim::{Rng, Seed};
use lowtide_tcp::Connection;
use lowtide_traffic::{Flow, WritePattern};
use lowtide_units::{Bytes, Instant};

use crate::app::UNLIMITED_BYTES;
use crate::tables::Row;

/// The state of one flow's application.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    source: WritePattern,
    /// Time of the first write.
    start: Instant,
    written: u64,
    /// Bytes left to write.
    left: u64,
    /// The burst is written; the pause starts when it is acknowledged.
    waiting: bool,
    rng: Rng,
}

impl Row for Option<Box<Writer>> {
    const TABLE: &'static str = "writers";
    type Key = u32;

    #[inline]
    fn index(flow: u32) -> usize {
        flow as usize
    }
}

impl Writer {
    /// Returns the writer of flow number `id`, if it needs one.
    pub(crate) fn new(flow: &Flow, start: Instant, run_seed: u64, id: u64) -> Option<Box<Self>> {
        let writer = || Self {
            source: flow.write_pattern,
            start,
            written: 0,
            left: flow.size.map_or(UNLIMITED_BYTES, Bytes::as_u64),
            waiting: false,
            rng: Seed::derive(run_seed, "flow", id, "writes").rng(),
        };
        (flow.write_pattern != WritePattern::Bulk).then(|| Box::new(writer()))
    }

    /// Writes the bytes due at `now`. Returns the time of the next write, if known.
    pub(crate) fn write(&mut self, now: Instant, conn: &mut Connection) -> Option<Instant> {
        let most = match self.source {
            WritePattern::Bulk => self.left,
            WritePattern::BulkFor { duration: lasts } if self.written == 0 => {
                self.written = self.left;
                conn.send(self.left);
                return Some(self.start + lasts);
            }
            WritePattern::BulkFor { .. } => {
                conn.discard_unsent();
                conn.close();
                return None;
            }
            WritePattern::OnOff { burst, .. } => burst.as_u64(),
            WritePattern::Rate { write, .. } => write.as_u64(),
        };
        let now_written = most.min(self.left);
        conn.send(now_written);
        self.written += now_written;
        self.left -= now_written;
        if self.left == 0 {
            conn.close();
            return None;
        }
        match self.source {
            WritePattern::Bulk | WritePattern::BulkFor { .. } => None,
            WritePattern::OnOff { .. } => {
                self.waiting = true;
                None
            }
            // From the start, so that rounding errors do not accumulate.
            WritePattern::Rate { rate, poisson: false, .. } => {
                Some(self.start + rate.serialization(Bytes::new(self.written)))
            }
            WritePattern::Rate { rate, write, poisson: true } => {
                Some(now + self.rng.exponential(rate.serialization(write)))
            }
        }
    }

    /// Handles a possible acknowledgement. Returns the time of the next write, if known now.
    pub(crate) fn acknowledged(&mut self, now: Instant, conn: &Connection) -> Option<Instant> {
        // The other patterns do not wait for acknowledgements.
        let WritePattern::OnOff { pause, .. } = self.source else { return None };
        if !self.waiting || conn.info().bytes_acked < self.written {
            return None;
        }
        self.waiting = false;
        Some(now + pause)
    }
}
