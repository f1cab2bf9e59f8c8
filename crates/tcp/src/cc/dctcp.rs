//! DCTCP: the window comes down in proportion to the share of marked data.
//!
//! ## What it does
//! Keeps alpha, the smoothed share of bytes that met CE, updated once per observation window (about
//! a round trip). The first mark of a window of data takes `alpha / 2` off cwnd. Growth and the
//! reaction to loss are NewReno's, and without ECN it is NewReno.
//!
//! ## Spec
//! RFC 8257 §3.3 (estimate and cut), §3.4 (growth), §3.5 (loss); the DCTCP paper, SIGCOMM 2010 §3.
//!
//! ## Deviations
//! `arithmetic` chooses between three readings of the estimate:
//! - `q20`: bytes, 20 fraction bits, SACK ignored, as RFC 8257 §3.3 says; the estimate takes an ACK in
//!   before the cut uses it. After a timeout the observation window starts again (the RFC is silent).
//! - `linux`: segments delivered, 10 fraction bits, cuts in whole segments. A round in which nothing
//!   was delivered does not end here; in Linux an ACK on an idle connection decays alpha.
//! - `freebsd`: bytes acked, 10 fraction bits, cut before the estimate. Rounds end in fast recovery
//!   too; FreeBSD waits for its end.
//!
//! A loss after an ECN cut in one window of data takes the window to half of what it was before the
//! cut, so that the two do not add up (RFC 3168 §6.1.2). The RFC has no floor of its own: `window-floor`.
//!
//! ## Kernel twin
//! `tcp_dctcp.c` in Linux 6.18 with `arithmetic = "linux"`; it comes down to ssthresh by PRR over the
//! round, not in one step.

use alloc::boxed::Box;

use lowtide_units::{Probe, Unit};

use super::alpha::{
    KERNEL_BITS, Q20_BITS, SHIFT_G_MAX, alpha_freebsd, alpha_linux, alpha_q20, cut,
};
use super::{
    AckSample, CongestionControl, CongestionEvent, Declares, Entry, Factor, Path, Reaction, Signal,
    Wants, Window,
};
use crate::params::{Param, Params};
use crate::value::{Kind, Value};

const NAME: &str = "dctcp";

/// The gain of alpha, for every control that has one.
pub(super) const SHIFT_G: Param = Param {
    name: "shift-g",
    kind: Kind::Count { min: 0, max: SHIFT_G_MAX as u64 },
    default: "4",
    doc: "Gain of alpha as a power of two: g = 2^-shift-g.",
    source: "DCTCP paper, SIGCOMM 2010 §4: g = 1/16; §3.4 eq. 15 bounds it",
};

/// Where alpha begins.
pub(super) const INITIAL_ALPHA: Param = Param {
    name: "initial-alpha",
    kind: Kind::Count { min: 0, max: 1024 },
    default: "1024",
    doc: "Alpha at the start, in 1/1024.",
    source: "RFC 8257 §3.3: 1; §4.2: 0 favours throughput",
};

/// Registration.
pub static ENTRY: Entry = Entry {
    name: NAME,
    summary: "cut in proportion to the marked share (alpha), loss as NewReno",
    spec: "RFC 8257 §3.3 to §3.5",
    params: &[
        SHIFT_G,
        INITIAL_ALPHA,
        Param {
            name: "arithmetic",
            kind: Kind::Name { allowed: || Arithmetic::ALL.map(|(n, _)| n).to_vec(), refused: &[] },
            default: "q20",
            doc: "How alpha is counted: bytes in 20 bits, or as Linux or FreeBSD do.",
            source: "RFC 8257 §4.2 warns of coarse fixed point",
        },
    ],
    declares: Declares {
        reacts_to: &[Signal::Loss, Signal::Ecn],
        floor_segments: 2,
        proportional: true,
        exemptions: &[],
    },
    wants: Wants { ecn: true, host_stamps: false },
    build,
};

fn build(params: &Params, path: &Path) -> Box<dyn CongestionControl> {
    Box::new(Dctcp::of(NAME, params, path))
}

/// Whose integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Arithmetic {
    Q20,
    Linux,
    FreeBsd,
}

impl Arithmetic {
    const ALL: [(&'static str, Self); 3] =
        [("q20", Self::Q20), ("linux", Self::Linux), ("freebsd", Self::FreeBsd)];

    fn of(value: Option<&Value>) -> Self {
        let name = value.and_then(Value::name);
        Self::ALL.iter().find(|(n, _)| Some(*n) == name).map_or(Self::Q20, |(_, a)| *a)
    }
    const fn bits(self) -> u32 {
        match self {
            Self::Q20 => Q20_BITS,
            Self::Linux | Self::FreeBsd => KERNEL_BITS,
        }
    }
}

/// One observation window: what was acknowledged since it began, and how much of that was marked.
#[derive(Debug, Default)]
struct Round {
    /// DCTCP.WindowEnd; zero at the start is SND.UNA, as RFC 8257 §3.3 asks.
    end: u64,
    total: u64,
    marked: u64,
    /// A timeout voided the window; the next ACK starts a new one.
    restart: bool,
}

/// The control; others build on it.
#[derive(Debug)]
pub(super) struct Dctcp {
    pub(super) window: Window,
    arithmetic: Arithmetic,
    shift_g: u32,
    /// In `arithmetic.bits()` fraction bits.
    alpha: u32,
    round: Round,
}

impl Dctcp {
    /// With the parameters that stand under `owner`.
    pub(super) fn of(owner: &str, params: &Params, path: &Path) -> Self {
        let arithmetic = Arithmetic::of(params.get(owner, "arithmetic"));
        let initial = params.count(owner, INITIAL_ALPHA.name, 1024).min(1024) as u32;
        let shift_g = params.count(owner, SHIFT_G.name, 4).min(u64::from(SHIFT_G_MAX)) as u32;
        Self {
            window: Window::new(path, Factor::HALF),
            arithmetic,
            shift_g,
            alpha: initial << (arithmetic.bits() - KERNEL_BITS),
            round: Round::default(),
        }
    }

    /// Alpha, 2^20 being one.
    pub(super) fn alpha_q20(&self) -> u32 {
        self.alpha << (Q20_BITS - self.arithmetic.bits())
    }

    /// Alpha is zero and its observation window begins anew.
    pub(super) fn forget(&mut self) {
        self.alpha = 0;
        self.round.restart = true;
    }

    /// Counts the ACK and updates alpha when it ends the observation window.
    pub(super) fn observe(&mut self, ack: &AckSample) {
        if self.round.restart {
            self.round = Round { end: ack.snd_nxt, ..Round::default() };
        }
        let (total, marked) = match self.arithmetic {
            Arithmetic::Linux => (u64::from(ack.delivered_segments), u64::from(ack.ce_segments)),
            Arithmetic::Q20 | Arithmetic::FreeBsd => (ack.acked_bytes, marked_of_acked(ack)),
        };
        self.round.total = self.round.total.saturating_add(total);
        self.round.marked = self.round.marked.saturating_add(marked);
        let ended = match self.arithmetic {
            Arithmetic::Linux => ack.snd_una >= self.round.end && self.round.total > 0,
            // RFC 8257 §3.3: an ACK up to WindowEnd itself does not end it.
            Arithmetic::Q20 | Arithmetic::FreeBsd => ack.snd_una > self.round.end,
        };
        if ended {
            self.update_alpha();
            self.round = Round { end: ack.snd_nxt, ..Round::default() };
        }
    }

    fn update_alpha(&mut self) {
        let rule = match self.arithmetic {
            Arithmetic::Q20 => alpha_q20,
            Arithmetic::Linux => alpha_linux,
            Arithmetic::FreeBsd => alpha_freebsd,
        };
        self.alpha = rule(self.alpha, self.shift_g, self.round.marked, self.round.total);
    }

    /// The cut that this ACK allows and reports, else growth.
    fn react(&mut self, ack: &AckSample) -> Reaction {
        if ack.ece && ack.may_reduce {
            return self.cut();
        }
        self.window.grow(ack);
        Reaction::None
    }

    /// Half of alpha comes off the window.
    pub(super) fn cut(&mut self) -> Reaction {
        let (cwnd, mss) = (self.window.cwnd(), self.window.mss().max(1));
        let target = match self.arithmetic {
            Arithmetic::Linux => {
                let segments = cwnd / mss;
                cwnd - (segments - cut(segments, self.alpha, KERNEL_BITS, 0)) * mss
            }
            _ => cut(cwnd, self.alpha, self.arithmetic.bits(), 0),
        };
        self.window.cut_to(target);
        Reaction::Reduced
    }
}

/// The part of the bytes acknowledged cumulatively that this ACK reports as marked.
///
/// RFC 8257 §3.3 ignores SACK: an ACK counts with the bytes by which it advances SND.UNA, or not at
/// all. The decoder speaks of delivered bytes, so its share is carried over.
fn marked_of_acked(ack: &AckSample) -> u64 {
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
        if self.arithmetic == Arithmetic::FreeBsd {
            let reaction = self.react(ack);
            self.observe(ack);
            return reaction;
        }
        self.observe(ack);
        self.react(ack)
    }
    fn on_event(&mut self, event: &CongestionEvent) {
        // Alpha itself is untouched: loss is answered as by any other TCP (RFC 8257 §3.5).
        if let CongestionEvent::Rto { .. } = event {
            match self.arithmetic {
                Arithmetic::Q20 => self.round.restart = true,
                Arithmetic::Linux => {}
                Arithmetic::FreeBsd => {
                    if !self.round.restart {
                        self.update_alpha();
                    }
                    self.round.restart = true;
                }
            }
        }
        self.window.on_event(event);
    }
    fn cwnd(&self) -> u64 {
        self.window.cwnd()
    }
    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }
    fn probe(&self, out: &mut dyn Probe) {
        out.value("alpha", Unit::Q20, u64::from(self.alpha_q20()));
    }
}

#[cfg(test)]
mod tests;
