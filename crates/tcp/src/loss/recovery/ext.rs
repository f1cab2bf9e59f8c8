//! State of PRR, RACK and tail loss probes.

use alloc::boxed::Box;

use lowtide_units::Instant;

use super::{InOrderAck, Prr, Rack, SendOrder, Tlp};
use crate::settings::config::{Config, RecoveryRule, Reduction};

/// State of PRR, RACK and tail loss probes, allocated only if one of them is enabled.
#[derive(Clone, Debug)]
pub(crate) struct RecoveryExt {
    /// The reduction by PRR in progress.
    pub(in crate::loss) prr: Option<Prr>,
    pub(in crate::loss) rack: Rack,
    pub(in crate::loss) tlp: Tlp,
    /// Time of the last loss reaction, by fast recovery or by a timeout.
    pub(in crate::loss) last_reaction_at: Instant,
}

impl RecoveryExt {
    pub(crate) fn from_config(config: &Config) -> Option<Box<Self>> {
        let asked = config.recovery == RecoveryRule::Rack
            || config.reduction == Reduction::Prr
            || config.tail_loss_probe;
        asked.then(|| {
            Box::new(Self {
                prr: None,
                rack: Rack::new(),
                tlp: Tlp::default(),
                last_reaction_at: Instant::ZERO,
            })
        })
    }

    /// Time of the last loss reaction.
    pub(crate) const fn last_reaction_at(&self) -> Instant {
        self.last_reaction_at
    }

    /// The reduction by PRR in progress.
    #[inline]
    pub(crate) const fn prr(&self) -> Option<&Prr> {
        self.prr.as_ref()
    }

    #[inline]
    pub(crate) const fn prr_mut(&mut self) -> Option<&mut Prr> {
        self.prr.as_mut()
    }

    /// A loss reaction was undone: no reduction by PRR is in progress. `reordered`: fast recovery
    /// began because of reordering, which RACK must know: its own rule does not count segments that
    /// were retransmitted.
    pub(crate) fn on_undo(&mut self, reordered: bool) {
        self.prr = None;
        if reordered {
            self.rack.on_reordering();
        }
    }

    /// Ends the reduction by PRR if SND.UNA has reached its end.
    #[inline]
    pub(crate) fn end_reduction_at(&mut self, una: u64) {
        if self.prr.as_ref().is_some_and(|prr| prr.is_over(una)) {
            self.prr = None;
        }
    }

    /// The retransmission timer fired: no reduction and no probe is in progress.
    pub(crate) fn on_rto(&mut self, now: Instant) {
        self.prr = None;
        self.tlp.reset();
        self.last_reaction_at = now;
    }

    /// End of a tail loss probe whose outcome is not yet known.
    #[inline]
    pub(crate) const fn probe_end(&self) -> Option<u64> {
        self.tlp.end_seq()
    }

    /// Returns whether a tail loss probe is due.
    #[inline]
    pub(crate) const fn probe_is_due(&self) -> bool {
        self.tlp.is_due()
    }

    /// Takes the tail loss probe that is due. Returns whether there is one.
    #[inline]
    pub(crate) const fn take_probe(&mut self) -> bool {
        self.tlp.take_due()
    }

    /// Records an RTT measurement.
    #[inline]
    pub(crate) const fn on_rtt_sample(&mut self) {
        self.tlp.on_rtt_sample();
    }

    /// Returns whether no probe is in flight and no segment sent after `first`, the first in
    /// flight, has arrived. After SACK reneging one may have.
    #[inline]
    pub(crate) fn is_in_order(&self, first: Option<SendOrder>) -> bool {
        self.tlp.end_seq().is_none()
            && first.is_some_and(|first| !self.rack.newest_sent_after(first))
    }

    /// Updates RACK for segments that arrived in order.
    #[inline]
    pub(crate) fn on_in_order(&mut self, now: Instant, arrived: &InOrderAck) {
        self.rack.on_in_order(now, arrived);
    }
}
