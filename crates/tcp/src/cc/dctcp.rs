//! DCTCP: the window comes down in proportion to the share of marked data.
//!
//! ## What it does
//! Keeps alpha, the smoothed share of bytes that met CE, updated once per observation window (about
//! a round trip). The first mark of a window of data takes `alpha / 2` off cwnd. Growth and the
//! reaction to loss are NewReno's, and without ECN it is NewReno.
//!
//! ## Spec
//! RFC 8257 §3.3 (estimate and cut), §3.4 (growth), §3.5 (loss); the DCTCP paper, SIGCOMM 2010 §3.
//! The profiles `sigcomm10`, `rfc8257`, `linux`, `freebsd`, `thesis-original` and `thesis-modified`
//! say how those set the parameters.
//!
//! ## Deviations
//! `arithmetic` chooses between three readings of the estimate:
//! - `q20`: bytes, 20 fraction bits, SACK ignored, as RFC 8257 §3.3 says. After a timeout the
//!   observation window starts again (the RFC is silent).
//! - `linux`: segments delivered, 10 fraction bits, cuts in whole segments. A round in which nothing
//!   was delivered does not end here; in Linux an ACK on an idle connection decays alpha.
//! - `freebsd`: bytes acked, 10 fraction bits. A round does not end in fast recovery but with it; a
//!   timeout ends it, and the next one after one more segment.
//!
//! A loss after an ECN cut in one window of data takes the window to half of what it was before the
//! cut, so that the two do not add up (RFC 3168 §6.1.2); `loss-after-cut = "again"` does as Linux,
//! from what the cut has left, where Linux is still on its way down. FreeBSD takes the window that
//! the last ACK with ECE met for the one before the cut. The RFC has no floor of its own:
//! `window-floor`.
//!
//! ## Kernel twin
//! `tcp_dctcp.c` in Linux 6.18 with the profile `linux`; `cc_dctcp.c` in FreeBSD with `freebsd`, but
//! for the echo memory of the decoder, which an idle time does not clear.

use alloc::boxed::Box;

use lowtide_units::{Probe, Unit};

use super::alpha::Q20_BITS;
use super::{
    AckSample, CcEntry, CcSetup, CongestionControl, CongestionEvent, CongestionWindow,
    DeclaredProperties, Factor, Reaction, Requirements, Signal,
};
use crate::params::Params;

mod settings;

use settings::{Arithmetic, NAME, PARAMS, Settings};
pub(super) use settings::{INITIAL_ALPHA, SHIFT_G};

/// Registration.
pub static ENTRY: CcEntry = CcEntry {
    name: NAME,
    summary: "cut in proportion to the marked share (alpha), loss as NewReno",
    spec: "RFC 8257 §3.3 to §3.5",
    params: PARAMS,
    declared: DeclaredProperties {
        reacts_to: &[Signal::Loss, Signal::Ecn],
        floor_segments: 2,
        proportional: true,
        exemptions: &[],
    },
    requires: Requirements { ecn: true, host_stamps: false },
    build,
};

fn build(params: &Params, setup: &CcSetup) -> Box<dyn CongestionControl> {
    Box::new(Dctcp::of(NAME, params, setup))
}

/// One observation window: what was acknowledged since it began, and how much of that was marked.
#[derive(Debug, Default)]
struct Round {
    /// DCTCP.WindowEnd; zero at the start is SND.UNA, as RFC 8257 §3.3 asks.
    window_end: u64,
    acked_bytes: u64,
    ce_bytes: u64,
    /// The window is void; the next ACK starts a new one.
    restart: bool,
}

/// Where fast recovery is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RecoveryStage {
    None,
    Active,
    /// Over with the ACK that comes next.
    JustEnded,
}

/// The control; others build on it.
#[derive(Debug)]
pub(super) struct Dctcp {
    pub(super) window: CongestionWindow,
    set: Settings,
    /// In `arithmetic.bits()` fraction bits.
    alpha: u32,
    round: Round,
    /// SND.UNA of the last ACK.
    una: u64,
    /// There was a mark, a loss or a timeout.
    congested: bool,
    recovery: RecoveryStage,
}

impl Dctcp {
    /// With the parameters that stand under `owner`.
    pub(super) fn of(owner: &str, params: &Params, setup: &CcSetup) -> Self {
        let set = Settings::read(owner, params);
        Self {
            window: CongestionWindow::new(setup, Factor::HALF).overshooting(set.overshoots),
            alpha: set.initial_alpha,
            set,
            round: Round::default(),
            una: 0,
            congested: false,
            recovery: RecoveryStage::None,
        }
    }

    /// Alpha, 2^20 being one.
    pub(super) fn alpha_q20(&self) -> u32 {
        self.alpha << (Q20_BITS - self.set.arithmetic.bits())
    }

    /// Alpha is zero and its observation window begins anew.
    pub(super) fn reset_alpha(&mut self) {
        self.alpha = 0;
        self.round.restart = true;
    }

    /// Counts the ACK and updates alpha when it ends the observation window.
    pub(super) fn observe(&mut self, ack: &AckSample) {
        if ack.after_rto {
            // A loss found while a timeout is repaired begins no fast recovery that would end.
            self.recovery = RecoveryStage::None;
        }
        if self.round.restart {
            self.round = Round { window_end: ack.snd_nxt, ..Round::default() };
        }
        let (total, marked) = match self.set.arithmetic {
            Arithmetic::Linux => (u64::from(ack.delivered_segments), u64::from(ack.ce_segments)),
            Arithmetic::Q20 | Arithmetic::FreeBsd => (ack.acked_bytes, ce_bytes_of_acked(ack)),
        };
        self.round.acked_bytes = self.round.acked_bytes.saturating_add(total);
        self.round.ce_bytes = self.round.ce_bytes.saturating_add(marked);
        self.una = ack.snd_una;
        let ended = match self.set.arithmetic {
            Arithmetic::Linux => ack.snd_una >= self.round.window_end && self.round.acked_bytes > 0,
            // RFC 8257 §3.3: an ACK up to WindowEnd itself does not end it.
            Arithmetic::Q20 => ack.snd_una > self.round.window_end,
            Arithmetic::FreeBsd => match self.recovery {
                RecoveryStage::None => ack.snd_una > self.round.window_end,
                RecoveryStage::Active => false,
                RecoveryStage::JustEnded => true,
            },
        };
        if self.recovery == RecoveryStage::JustEnded {
            self.recovery = RecoveryStage::None;
        }
        if ended {
            self.estimate();
            self.round = Round { window_end: ack.snd_nxt, ..Round::default() };
        }
    }

    fn estimate(&mut self) {
        let (marked, total) = (self.round.ce_bytes, self.round.acked_bytes);
        self.alpha = self.set.arithmetic.estimate(self.alpha, self.set.shift_g, marked, total);
    }

    /// The cut that this ACK allows and reports, else growth.
    fn react(&mut self, ack: &AckSample) -> Reaction {
        if ack.ece && ack.may_reduce {
            return self.cut(ack);
        }
        self.window.grow(ack);
        Reaction::None
    }

    /// Half of alpha comes off the window.
    pub(super) fn cut(&mut self, ack: &AckSample) -> Reaction {
        if self.set.slowstart && !self.congested {
            self.alpha = 1 << self.set.arithmetic.bits();
            self.round = Round { window_end: ack.snd_nxt, ..Round::default() };
        }
        self.congested = true;
        let (cwnd, mss) = (self.window.cwnd(), self.window.mss());
        self.window.cut_to(self.set.arithmetic.cut(cwnd, self.alpha, mss));
        if self.set.grow_with_cut {
            self.window.grow(ack);
        }
        Reaction::Reduced
    }

    /// What happens to the estimate; alpha itself knows no loss (RFC 8257 §3.5).
    fn track_event(&mut self, event: &CongestionEvent) {
        match event {
            CongestionEvent::Loss { .. } => {
                self.congested = true;
                self.recovery = RecoveryStage::Active;
            }
            CongestionEvent::Recovered { .. } => self.recovery = RecoveryStage::JustEnded,
            CongestionEvent::Undo { .. } => self.recovery = RecoveryStage::None,
            CongestionEvent::Rto { .. } => {
                self.congested = true;
                self.recovery = RecoveryStage::None;
                match self.set.arithmetic {
                    Arithmetic::Q20 => self.round.restart = true,
                    Arithmetic::Linux => {}
                    Arithmetic::FreeBsd => {
                        self.estimate();
                        let end = self.una.saturating_add(self.window.mss());
                        self.round = Round { window_end: end, ..Round::default() };
                    }
                }
            }
            CongestionEvent::IdleRestart { .. } if self.set.idle_resets => {
                self.alpha = self.set.initial_alpha;
                // All that was sent is acknowledged: a round ends with the next ACK.
                self.round = Round { window_end: self.una, ..Round::default() };
                self.congested = false;
            }
            CongestionEvent::IdleRestart { .. } => {}
        }
    }

    /// The event with the window of data that the settings let it count.
    fn adjusted_event(&self, event: &CongestionEvent) -> CongestionEvent {
        let mut event = *event;
        match &mut event {
            CongestionEvent::Loss { in_flight, already_reduced, .. } => {
                *already_reduced &= !self.set.loss_again;
                if self.set.loss_from_cwnd {
                    *in_flight = self.window.cwnd();
                }
            }
            CongestionEvent::Rto { in_flight, .. } if self.set.loss_from_cwnd => {
                *in_flight = self.window.cwnd();
            }
            _ => {}
        }
        event
    }
}

/// The part of the bytes acknowledged cumulatively that this ACK reports as marked.
///
/// RFC 8257 §3.3 ignores SACK: an ACK counts with the bytes by which it advances SND.UNA, or not at
/// all. The decoder speaks of delivered bytes, so its share is carried over.
fn ce_bytes_of_acked(ack: &AckSample) -> u64 {
    if ack.delivered_bytes == 0 {
        return if ack.ece { ack.acked_bytes } else { 0 };
    }
    if ack.ce_bytes == 0 || ack.delivered_bytes == ack.acked_bytes {
        return ack.ce_bytes;
    }
    let ce = u128::from(ack.ce_bytes.min(ack.delivered_bytes));
    (ce * u128::from(ack.acked_bytes) / u128::from(ack.delivered_bytes)) as u64
}

impl CongestionControl for Dctcp {
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        if !self.window.ecn() {
            self.window.grow(ack);
            return Reaction::None;
        }
        if self.set.cut_first {
            let reaction = self.react(ack);
            self.observe(ack);
            return reaction;
        }
        self.observe(ack);
        self.react(ack)
    }
    fn on_event(&mut self, event: &CongestionEvent) {
        if !self.window.ecn() {
            self.window.on_event(event);
            return;
        }
        self.track_event(event);
        self.window.on_event(&self.adjusted_event(event));
    }
    fn cwnd(&self) -> u64 {
        self.window.cwnd()
    }
    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }
    fn probe(&self, out: &mut dyn Probe) {
        // Without ECN alpha decides nothing.
        if !self.window.ecn() {
            return;
        }
        let alpha = u64::from(self.alpha) << (Q20_BITS - self.set.arithmetic.bits());
        out.value("alpha", Unit::Q20, alpha);
    }
}

#[cfg(test)]
mod tests;
