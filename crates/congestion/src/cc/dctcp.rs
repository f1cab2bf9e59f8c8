//! DCTCP: reduces the window in proportion to the share of marked data.
//!
//! ## Algorithm
//! Maintains alpha, the smoothed share of bytes with CE, updated once per observation window (about
//! a round trip). The first mark of a window of data reduces cwnd by the factor `alpha / 2`. Growth
//! and the reaction to loss are NewReno's; without ECN it is NewReno.
//!
//! ## Spec
//! RFC 8257 §3.3 (estimate and cut), §3.4 (growth), §3.5 (loss); the DCTCP paper, SIGCOMM 2010 §3.
//! The profiles `sigcomm10`, `rfc8257`, `linux`, `freebsd`, `thesis-original` and `thesis-modified`
//! set the parameters of each.
//!
//! ## Deviations
//! `arithmetic` selects one of three versions of the estimate:
//! - `q20`: bytes, 20 fraction bits, SACK ignored, as in RFC 8257 §3.3. A timeout restarts the
//!   observation window (the RFC is silent).
//! - `linux`: segments delivered, 10 fraction bits, cuts in whole segments. A round without
//!   delivered segments does not end here; in Linux an ACK on an idle connection decays alpha.
//! - `freebsd`: bytes acked, 10 fraction bits. A round does not end in fast recovery but with it. A
//!   timeout ends it, and the next one ends after one more segment.
//!
//! A loss after an ECN cut in one window of data halves the window before the cut, so that the two
//! do not add up (RFC 3168 §6.1.2). `loss-after-cut = "again"` starts from the window after the
//! cut, as Linux does while its reduction is still in progress. FreeBSD takes the window at the
//! last ACK with ECE for the one before the cut. The RFC has no separate floor; the switch
//! `window-floor` sets it.
//!
//! ## Kernel twin
//! `tcp_dctcp.c` in Linux 6.18 with the profile `linux`; `cc_dctcp.c` in FreeBSD with `freebsd`,
//! except that an idle period does not clear the decoder's last echo.

use alloc::boxed::Box;

use lowtide_schema::Values;
use lowtide_units::{Probe, Unit};

use super::alpha::Q20_BITS;
use super::{
    AckSample, CcEntry, CcSetup, CongestionControl, CongestionEvent, CongestionWindow,
    DeclaredProperties, Factor, Reaction, Requirements, Signal,
};

mod settings;

use settings::{Arithmetic, PARAMS, Settings};
pub use settings::{INITIAL_ALPHA, SHIFT_G};

/// Registration.
pub static ENTRY: CcEntry = CcEntry {
    name: "dctcp",
    summary: "cut in proportion to the marked share (alpha), loss as NewReno",
    spec: "RFC 8257 §3.3 to §3.5",
    equations: &[
        "per window: alpha = (1 - g) alpha + g F, F the share of marked bytes",
        "a marked window: cwnd = cwnd (1 - alpha / 2)",
    ],
    params: PARAMS,
    declared: DeclaredProperties {
        reacts_to: &[Signal::Loss, Signal::Ecn],
        floor_segments: 2,
        proportional: true,
        rate_based: false,
        exemptions: &[],
    },
    requires: Requirements { ecn: true, host_stamps: false, rate_samples: false },
    build,
};

fn build(values: &Values, setup: &CcSetup) -> Box<dyn CongestionControl> {
    Box::new(Dctcp::new(Settings::read(values), setup))
}

/// One observation window: bytes acknowledged since its start, and the marked bytes among them.
#[derive(Debug, Default)]
struct Round {
    /// DCTCP.WindowEnd; zero at the start is SND.UNA, as RFC 8257 §3.3 requires.
    window_end: u64,
    acked_bytes: u64,
    ce_bytes: u64,
    /// The window is void; the next ACK starts a new one.
    restart: bool,
}

/// Stage of fast recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RecoveryStage {
    None,
    Active,
    /// Ends with the next ACK.
    JustEnded,
}

/// The control, with its estimator of alpha; other controls build on it, also those of other
/// crates.
///
/// A control that differs in its cut or growth calls [`Self::observe`] for each ACK, reads
/// [`Self::alpha_q20`] and changes [`Self::window`]; events go to
/// [`CongestionControl::on_event`]. `examples/own-crate` is one.
#[derive(Debug)]
pub struct Dctcp {
    /// cwnd and ssthresh, bytes.
    pub window: CongestionWindow,
    set: Settings,
    /// In `arithmetic.bits()` fraction bits.
    alpha: u32,
    round: Round,
    /// SND.UNA of the last ACK.
    una: u64,
    /// A mark, a loss or a timeout occurred.
    congested: bool,
    recovery: RecoveryStage,
}

impl Dctcp {
    /// A control as RFC 8257 §3.3 to §3.5 specifies it. `values` has [`SHIFT_G`] and
    /// [`INITIAL_ALPHA`], so the `params` of the entry must list both.
    pub fn rfc8257(values: &Values, setup: &CcSetup) -> Self {
        Self::new(Settings::rfc8257(values), setup)
    }

    fn new(set: Settings, setup: &CcSetup) -> Self {
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

    /// DCTCP.Alpha of RFC 8257 §3.3, the smoothed share of bytes with CE: 0 to 2^20, which is one.
    pub fn alpha_q20(&self) -> u32 {
        self.alpha << (Q20_BITS - self.set.arithmetic.bits())
    }

    /// Resets alpha to zero and restarts its observation window (TDCTCP §IV-B).
    pub fn reset_alpha(&mut self) {
        self.alpha = 0;
        self.round.restart = true;
    }

    /// Counts the bytes and the marks of an ACK. If it ends the observation window, about a round
    /// trip, updates alpha: `alpha (1 - g) + g M`, with M the marked share of the window
    /// (RFC 8257 §3.3). Call it once for each ACK, before the cut.
    pub fn observe(&mut self, ack: &AckSample) {
        if ack.after_rto {
            // A loss found while a timeout is repaired starts no fast recovery that would end.
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
            // RFC 8257 §3.3: an ACK up to exactly WindowEnd does not end it.
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

    /// Cuts if this ACK permits and reports it, else grows.
    fn react(&mut self, ack: &AckSample) -> Reaction {
        if ack.ece && ack.may_reduce {
            return self.cut(ack);
        }
        self.window.grow(ack);
        Reaction::None
    }

    /// Reduces the window by the factor `alpha / 2` (RFC 8257 §3.3). Call it on an ACK with
    /// `ece` and `may_reduce` only: once in a window of data.
    pub fn cut(&mut self, ack: &AckSample) -> Reaction {
        if self.set.slowstart && !self.congested {
            self.alpha = 1 << self.set.arithmetic.bits();
            self.round = Round { window_end: ack.snd_nxt, ..Round::default() };
        }
        self.congested = true;
        self.window.drop_unused(ack);
        let (cwnd, mss) = (self.window.cwnd(), self.window.mss());
        self.window.cut_to(self.set.arithmetic.cut(cwnd, self.alpha, mss));
        if self.set.grow_with_cut {
            self.window.grow(ack);
        }
        Reaction::Reduced
    }

    /// Tracks the event for the estimate; a loss does not change alpha (RFC 8257 §3.5).
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
                // All data is acknowledged: a round ends with the next ACK.
                self.round = Round { window_end: self.una, ..Round::default() };
                self.congested = false;
            }
            CongestionEvent::IdleRestart { .. }
            | CongestionEvent::TransmitStart { .. }
            | CongestionEvent::SegmentLost { .. } => {}
        }
    }

    /// Returns the event with the bytes in flight adjusted by the settings.
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

/// Marked bytes among those that this ACK acknowledges cumulatively.
///
/// RFC 8257 §3.3 ignores SACK: an ACK counts the bytes by which it advances SND.UNA, or none. The
/// decoder counts delivered bytes, so its share is applied to these.
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
        if self.set.loss_by_alpha {
            // 1 - alpha / 2.
            let den = 2 << self.set.arithmetic.bits();
            self.window.set_beta(Factor { num: den - self.alpha.min(den / 2), den });
        }
        self.window.on_event(&self.adjusted_event(event));
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    fn probe(&self, out: &mut dyn Probe) {
        // Without ECN alpha is unused.
        if !self.window.ecn() {
            return;
        }
        let alpha = u64::from(self.alpha) << (Q20_BITS - self.set.arithmetic.bits());
        out.value("alpha", Unit::Q20, alpha);
    }
}

#[cfg(test)]
mod tests;
