//! One-way queueing delay from the timestamps of two unsynchronised clocks (DX §III, §V-A).
//!
//! Contract: if both ends requested it, every segment after the handshake carries the delay option
//! ([`DelayStamps`]). Each ACK of full segments reports to the data sender how long they queued.
//! queued. Only differences between timestamps, modulo 2^32 ns, are used, so clocks may have any
//! offset and may drift. The offset is equal in all one-way delays, and subtracting the minimum
//! removes it.
//!
//! - *The data receiver* (`PendingEcho`) stores `t1` and `t2` of unacknowledged segments and
//!   echoes them with `t3`. The time from `t2` to `t3` is its own delay. DX does not count it;
//!   Swift has a window for it.
//! - *The data sender* (`Baseline`) has `t4` from its driver: `(t2 - t1) + (t4 - t3)` is a round
//!   trip without host delays, unaffected by drift. `t2 - t1` less its baseline is the queueing
//!   delay.
//! - *The driver* fills in `t1` and `t3` when a packet leaves and timestamps arrivals. If its
//!   timestamps come in batches, [`Spacing`] spaces them first.
//!
//! Our choices, where DX is silent:
//! - Only full segments are measured. A short one takes less time on every line, and would lower
//!   the baseline of the others for good. Both ends compute the size alike.
//! - Retransmissions and duplicates count as any other segment: a timestamp belongs to one packet.
//! - "Re-observes the minimum" (§III) means within `delay-slack` of it: timestamps are in whole
//!   nanoseconds, and noise could produce a minimum that never recurs. With `delay-lifetime` a
//!   minimum not met for this time expires; without it, never, as in the paper.
//! - An ACK sent before an older one for ECN (RFC 8257 §3.2) echoes no timestamp.

mod baseline;
mod echoes;
mod spacing;

use lowtide_units::{Duration, Instant};
use lowtide_wire::{DelayStamps, Segment};

pub(crate) use baseline::Baseline;
pub(crate) use echoes::PendingEcho;
pub use spacing::Spacing;

use crate::settings::config::Config;

/// State of the delay option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DelayMode {
    /// Not requested.
    Off,
    /// Requested, but the peer did not accept it; or the handshake is not over.
    Refused,
    /// Negotiated with the peer.
    On,
}

/// Delay measurement from one ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DelaySample {
    /// Queueing delay in the data direction.
    pub(crate) queueing: Duration,
    /// This round trip between host timestamps, without the receiver's own delay.
    pub(crate) rtt: Duration,
    /// The minimum round trip so far, without host delays.
    pub(crate) base_rtt: Duration,
    /// Time in both hosts ([`crate::cc::AckSample::endpoint_delay`]).
    pub(crate) in_hosts: Duration,
}

/// Both halves of one connection; absent if the option is not in use.
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

    /// The option of an outgoing segment; the driver fills in `t3`. Each echo is sent once.
    pub(crate) fn next_option(&mut self) -> DelayStamps {
        let (sent, arrived) = self.echoes.take();
        DelayStamps { sent, arrived, left: 0 }
    }

    /// Stores the timestamps of a full data segment.
    #[inline(never)]
    pub(crate) fn on_data(&mut self, seg: &Segment) {
        if let (Some(stamps), Some(at)) = (seg.options.delay(), seg.rx.stamp) {
            self.echoes.add(stamps.left, at.0 as u32, seg.segments());
        }
    }

    /// Processes the echo of an ACK, if it has one.
    #[inline(never)]
    pub(crate) fn on_ack(&mut self, now: Instant, seg: &Segment) -> Option<DelaySample> {
        let stamps = seg.options.delay()?;
        let at = seg.rx.stamp?.0 as u32;
        let (sent, arrived) = stamps.echo()?;
        let there = arrived.wrapping_sub(sent);
        let back = at.wrapping_sub(stamps.left);
        let at_peer = stamps.left.wrapping_sub(arrived).cast_signed().max(0).unsigned_abs();
        let in_hosts = u64::from(at_peer) + 1_000 * u64::from(seg.rx.host_wait_us);
        let measured = DelaySample {
            in_hosts: Duration::from_ns(in_hosts),
            ..self.baseline.on_sample(now, there, back)
        };
        self.last = Some(measured);
        Some(measured)
    }

    /// The last measurement.
    pub(crate) const fn last(&self) -> Option<DelaySample> {
        self.last
    }
}
