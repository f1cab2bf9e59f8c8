//! The application that writes a flow's bytes little by little ([`lowtide_traffic::Source`]).
//!
//! Flows that are written at once have none.

use lowtide_sim::{Rng, Seed};
use lowtide_tcp::Connection;
use lowtide_traffic::{Flow, Source};
use lowtide_units::{Bytes, Instant};

use crate::app::BACKLOG;

/// Where one flow's application stands.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    source: Source,
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
            source: flow.source,
            start,
            written: 0,
            left: flow.size.map_or(BACKLOG, Bytes::as_u64),
            waiting: false,
            rng: Seed::derive(run_seed, "flow", id, "writes").rng(),
        };
        (flow.source != Source::AtOnce).then(|| Box::new(writer()))
    }

    /// Writes what is due at `now`; when the next write is, if that is known already.
    pub(crate) fn write(&mut self, now: Instant, conn: &mut Connection) -> Option<Instant> {
        let most = match self.source {
            Source::AtOnce => self.left,
            Source::Until { lasts } if self.written == 0 => {
                self.written = self.left;
                conn.send(self.left);
                return Some(self.start + lasts);
            }
            Source::Until { .. } => {
                conn.withdraw();
                conn.close();
                return None;
            }
            Source::OnOff { burst, .. } => burst.as_u64(),
            Source::Rate { write, .. } => write.as_u64(),
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
            Source::AtOnce | Source::Until { .. } => None,
            Source::OnOff { .. } => {
                self.waiting = true;
                None
            }
            // From the start, so that rounding does not add up.
            Source::Rate { rate, poisson: false, .. } => {
                Some(self.start + rate.serialization(Bytes::new(self.written)))
            }
            Source::Rate { rate, write, poisson: true } => {
                Some(now + self.rng.exponential(rate.serialization(write)))
            }
        }
    }

    /// Something was acknowledged, or may have been; when to write again, if that is now known.
    pub(crate) fn acknowledged(&mut self, now: Instant, conn: &Connection) -> Option<Instant> {
        let Source::OnOff { pause, .. } = self.source else { return None };
        if !self.waiting || conn.info().bytes_acked < self.written {
            return None;
        }
        self.waiting = false;
        Some(now + pause)
    }
}
