//! One-way queueing delay from the stamps of two clocks that nobody synchronises (DX §III, §V-A).
//!
//! Contract: where both ends have asked for it, every segment after the handshake carries the delay
//! option ([`DelayStamps`]), and each ACK of full segments tells the sender of data how long they
//! queued. Only differences of stamps of one clock are used, modulo 2^32 ns, so that clocks may stand
//! anywhere and drift: the same one-way time is wrong by the same offset, and the least one is taken off.
//!
//! - *The receiver of data* ([`PendingEcho`]) keeps `t1` and `t2` of what it has not acknowledged yet and
//!   sends them back with `t3`. What lies between `t2` and `t3` is its own delay and does not count.
//! - *The sender of data* ([`Baseline`]) has `t4` from its driver: `(t2 - t1) + (t4 - t3)` is a round trip
//!   without hosts, on which drift has no hold, and `t2 - t1` less its baseline the queueing delay.
//! - *The driver* fills `t1` and `t3` in when a packet leaves and stamps what arrives. Where its stamps
//!   come in batches, [`Spacing`] puts them apart first.
//!
//! Ours, where DX is silent:
//! - Only full segments are measured. A short one takes less time on every line, and would lower the
//!   baseline of the others for ever. The two ends reckon the size alike.
//! - Retransmissions and duplicates count as any other: a stamp is that of the very packet.
//! - "Re-observes the minimum" (§III) is within `delay-slack` of it: stamps are in whole nanoseconds,
//!   and noise would let a lucky minimum never come again. With `delay-lifetime` a minimum that was not
//!   met for so long is forgotten; without it, never, as in the paper.
//! - An ACK that goes out before an older one for the sake of ECN (RFC 8257 §3.2) echoes no stamp.

mod baseline;
mod echoes;
mod spacing;

use lowtide_units::{Duration, Instant};
use lowtide_wire::{DelayStamps, Segment};

pub(crate) use baseline::Baseline;
pub(crate) use echoes::PendingEcho;
pub use spacing::Spacing;

use crate::config::Config;

/// Whether the delay option is in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DelayMode {
    /// Not asked for.
    Off,
    /// Asked for, and the peer did not accept; or the handshake is not over.
    Refused,
    /// Agreed with the peer.
    On,
}

/// What one ACK tells of the way that its data took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DelaySample {
    /// Time in queues on the way there.
    pub(crate) queueing: Duration,
    /// The least round trip so far, hosts taken off.
    pub(crate) base_rtt: Duration,
}

/// Both halves of one connection; there is none where the option is not in use.
#[derive(Clone, Debug)]
pub(crate) struct DelayState {
    echoes: PendingEcho,
    baseline: Baseline,
    last: Option<DelaySample>,
}

impl DelayState {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            echoes: PendingEcho::new(config.delay_echo),
            baseline: Baseline::new(config.delay_slack, config.delay_lifetime),
            last: None,
        }
    }

    /// The option of a segment that goes out; `t3` is the driver's. What it echoes is echoed once.
    pub(crate) fn next_option(&mut self) -> DelayStamps {
        let (sent, arrived) = self.echoes.take();
        DelayStamps { sent, arrived, left: 0 }
    }

    /// A full segment of data arrived.
    #[inline(never)]
    pub(crate) fn on_data(&mut self, seg: &Segment) {
        if let (Some(stamps), Some(at)) = (seg.options.delay(), seg.rx.stamp) {
            self.echoes.add(stamps.left, at.0 as u32, seg.segments());
        }
    }

    /// An acknowledgement arrived: what its echo says, if it has one.
    #[inline(never)]
    pub(crate) fn on_ack(&mut self, now: Instant, seg: &Segment) -> Option<DelaySample> {
        let stamps = seg.options.delay()?;
        let at = seg.rx.stamp?.0 as u32;
        let (sent, arrived) = stamps.echo()?;
        let there = arrived.wrapping_sub(sent);
        let back = at.wrapping_sub(stamps.left);
        let measured = self.baseline.on_sample(now, there, back);
        self.last = Some(measured);
        Some(measured)
    }

    /// What the last echo said.
    pub(crate) const fn last(&self) -> Option<DelaySample> {
        self.last
    }
}
