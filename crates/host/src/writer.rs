//! The application that writes a flow's bytes little by little ([`lowtide_traffic::Source`]).
//!
//! Flows that are written at once have none.

use lowtide_sim::{Rng, Seed};
use lowtide_tcp::Connection;
use lowtide_traffic::{Flow, WritePattern};
use lowtide_units::{Bytes, Instant};

use crate::app::UNLIMITED_BYTES;

/// Where one flow's application stands.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    source: WritePattern,
    /// When it wrote first.
    start: Instant,
    written: u64,
    /// Bytes that are to be written yet.
    left: u64,
    /// The burst is out, and the pause begins when it is acknowledged.
    waiting: bool,
    rng: Rng,
}

impl Writer {
    /// The writer of flow number `id`, if it needs one.
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

    /// Writes what is due at `now`; when the next write is, if that is known already.
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
            // From the start, so that rounding does not add up.
            WritePattern::Rate { rate, poisson: false, .. } => {
                Some(self.start + rate.serialization(Bytes::new(self.written)))
            }
            WritePattern::Rate { rate, write, poisson: true } => {
                Some(now + self.rng.exponential(rate.serialization(write)))
            }
        }
    }

    /// Something was acknowledged, or may have been; when to write again, if that is now known.
    pub(crate) fn acknowledged(&mut self, now: Instant, conn: &Connection) -> Option<Instant> {
        let WritePattern::OnOff { pause, .. } = self.source else { return None };
        if !self.waiting || conn.info().bytes_acked < self.written {
            return None;
        }
        self.waiting = false;
        Some(now + pause)
    }
}
