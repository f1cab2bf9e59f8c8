//! Queueing delays as computed by senders, compared with the true ones.
//!
//! The true delays come from the network, which knows how long each packet waited; hosts cannot
//! know it. They appear only in the results: the digest does not depend on the comparison.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use lowtide_net::Delivery;
use lowtide_rows::DelayRow;
use lowtide_tcp::Connection;
use lowtide_units::{Duration, Instant};
use lowtide_wire::{Segment, SeqNum};

use crate::app::ConnSide;
use crate::tables::missing;

/// The compared flows.
#[derive(Debug, Default)]
pub(crate) struct DelayComparison {
    /// By flow number, ascending.
    flows: Vec<ComparedFlow>,
    /// Without the names of the groups until [`super::collect`] adds them.
    rows: Vec<DelayRow>,
}

#[derive(Debug)]
struct ComparedFlow {
    sender: ConnSide,
    /// Full segments that arrived and are not yet acknowledged at the sender: their end and their
    /// queueing delay.
    waits: VecDeque<(SeqNum, Duration)>,
}

impl DelayComparison {
    /// Compares the flows of these sending sides (ascending), or none.
    pub(crate) fn new(on: bool, senders: &[ConnSide]) -> Self {
        let senders = if on { senders } else { &[] };
        let flows = senders.iter().map(|s| ComparedFlow { sender: *s, waits: VecDeque::new() });
        Self { flows: flows.collect(), rows: Vec::new() }
    }

    #[cold]
    #[inline(never)]
    fn find(&self, side: ConnSide) -> Option<usize> {
        self.flows.binary_search_by_key(&side.flow(), |w| w.sender.flow()).ok()
    }

    /// Returns the compared flow of this side, which must be one that [`Self::tracks`].
    fn watched(&mut self, side: ConnSide) -> &mut ComparedFlow {
        let Some(at) = self.find(side) else { missing("compared flows", side.flow()) };
        &mut self.flows[at]
    }

    /// Returns true if any flow is compared.
    #[inline]
    pub(crate) const fn is_enabled(&self) -> bool {
        !self.flows.is_empty()
    }

    /// Returns true if this connection is compared.
    #[inline]
    pub(crate) fn tracks(&self, side: ConnSide) -> bool {
        self.is_enabled() && self.find(side).is_some()
    }

    /// Records a segment of a compared flow that arrived at `conn`, the receiver of the data.
    #[cold]
    #[inline(never)]
    pub(crate) fn on_data(
        &mut self,
        side: ConnSide,
        delivery: &Delivery,
        conn: Option<&Connection>,
    ) {
        let watched = self.watched(side);
        // A packet may arrive before its connection is open, or after its end.
        let Some(conn) = conn else { return };
        let seg = &delivery.packet.segment;
        if watched.sender != side && seg.payload_len >= conn.info().mss {
            watched.waits.push_back((seg.seq_end(), delivery.queueing_delay));
        }
    }

    /// Records that `conn` has processed `seg` of a compared flow.
    #[cold]
    #[inline(never)]
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        side: ConnSide,
        seg: &Segment,
        conn: &Connection,
    ) {
        let watched = self.watched(side);
        // The receiver of the data computes no delay.
        if watched.sender != side {
            return;
        }
        let (mut sum, mut n) = (Duration::ZERO, 0);
        while let Some((end, waited)) = watched.waits.front().copied() {
            if seg.ack.before(end) {
                break;
            }
            sum += waited;
            n += 1;
            watched.waits.pop_front();
        }
        let echoed = seg.options.delay().is_some_and(|stamps| stamps.echo().is_some());
        let info = conn.info();
        let measured = info.queueing_delay.zip(info.stamped_rtt).filter(|_| echoed && n > 0);
        if let Some((computed, rtt)) = measured {
            self.rows.push(DelayRow {
                time_ps: now.as_ps(),
                flow: side.flow() as u32,
                group: Arc::default(),
                computed_ns: computed.as_ns(),
                actual_ns: (sum / n).as_ns(),
                rtt_ns: rtt.as_ns(),
            });
        }
    }

    pub(crate) fn take_rows(&mut self) -> Vec<DelayRow> {
        mem::take(&mut self.rows)
    }
}
