//! Tells the control of a sender from the features of its window, or says why it cannot.
//!
//! Contract: a control is named if its reductions and its growth fit, and the controls that are
//! equal to it in part of their range are excluded. Rules: `docs/howto/analyze.md`.

use serde::Serialize;

use super::features::{Cut, Features, LARGE};
use super::record::{ReductionCause, SenderRecord};

/// Rounds between reductions, and reductions, that a decision needs.
const MIN_ROUNDS: usize = 20;
/// With fewer round trips nothing is said.
const FEW_ROUNDS: usize = 8;
const MIN_CUTS: usize = 2;
/// Recoveries in one reduction, after which too much of it is hidden.
const MAX_AGAIN: usize = 2;
/// Windows of fewer segments are too coarse for a ratio.
const MIN_WINDOW: f64 = 10.0;
/// Greatest mean error of the growth.
const MAX_ERROR: f64 = 0.12;
/// Rounds that exclude a control that is equal to NewReno in small windows, or early.
const MIN_EXCLUDING: usize = 4;
/// Bytes of the path without a queue, of the window: in this range Westwood, which reduces to them,
/// reduces to about a half.
const HALF_PATH: std::ops::Range<f64> = 0.39..0.62;
/// Greater alpha, at which DCTCP cuts as deeply as others, and a lesser one, at which it does not.
const DEEP: f64 = 0.5;
const SHALLOW: f64 = 0.35;
/// Least lag of paced segments, of the time between ACKs. Those of an ACK clock have 0.05 or less.
const PACED: f64 = 0.15;
const MIN_CYCLES: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(in super::super) enum SenderControl {
    Reno,
    Cubic,
    Bbr,
    Dctcp,
    OneSidedDctcp,
    Unknown,
}

impl SenderControl {
    pub(in super::super) const fn name(self) -> &'static str {
        match self {
            Self::Reno => "NewReno",
            Self::Cubic => "CUBIC",
            Self::Bbr => "BBR",
            Self::Dctcp => "DCTCP",
            Self::OneSidedDctcp => "one-sided DCTCP",
            Self::Unknown => "cannot tell",
        }
    }
}

/// Echo of marks that the receiver sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Echo {
    /// RFC 3168.
    Latched,
    /// DCTCP or ODCTCP.
    Exact,
    /// AccECN: no segment says that the sender reduced its window.
    Accurate,
    Unknown,
}

/// The control of a sender, with the numbers that decide it.
#[derive(Clone, Debug, Serialize)]
pub(in super::super) struct SenderVerdict {
    pub(in super::super) control: SenderControl,
    pub(in super::super) why: Vec<String>,
    #[serde(flatten)]
    numbers: Features,
}

impl SenderVerdict {
    /// Returns the verdict, if there are rounds enough for any. `at_sender`: the capture is there;
    /// `base`: least round trip, nanoseconds.
    pub(in super::super) fn of(
        record: &SenderRecord,
        at_sender: bool,
        (mss, base): (u64, u64),
        echo: Echo,
    ) -> Option<Self> {
        if record.rounds.len() < FEW_ROUNDS {
            return None;
        }
        let f = Features::of(record, mss, base);
        let (control, why) = if at_sender {
            let (control, why) = decide(&f, echo);
            (control, vec![why, numbers(&f)])
        } else {
            let why = "its flight shows only in a capture of both directions at the sender";
            (SenderControl::Unknown, vec![why.to_owned()])
        };
        Some(Self { control, why, numbers: f })
    }
}

fn numbers(f: &Features) -> String {
    let start = match f.start_growth {
        0.0 => String::new(),
        x => format!(", growth before the first reduction up to x{x:.1} a round"),
    };
    let avoidance = match f.calm_rounds {
        0 => String::new(),
        n => format!(
            "; in {n} rounds between reductions {:.2} segments per window acknowledged, off \
             NewReno's growth by {:.0} %, CUBIC's by {:.0} %",
            f.growth_segments,
            f.newreno_error * 100.0,
            f.cubic_error * 100.0
        ),
    };
    format!(
        "first flight {:.0} segments{start}{avoidance}; segments follow an ACK by {:.0} % of the \
         time between ACKs",
        f.first_flight_segments,
        f.ack_lag * 100.0
    )
}

/// Returns the reductions whose depth `expected` gives, and all that are large enough to tell. They
/// may be `slack` segments deeper; a part `above` of the window is its growth while it shows.
fn fitting(
    f: &Features,
    (slack, above): (f64, f64),
    expected: impl Fn(&Cut) -> f64,
) -> (Vec<&Cut>, usize) {
    let measured = |c: &&Cut| c.cause != ReductionCause::Timer && c.before >= MIN_WINDOW;
    let cuts: Vec<&Cut> = f.cuts.iter().filter(measured).collect();
    let all = cuts.len();
    let fits = |c: &&Cut| {
        let off = c.after - c.before * expected(c);
        let part = c.before * 0.025;
        off >= -slack - part && off <= slack - 0.4 + c.before * above
    };
    (cuts.into_iter().filter(fits).collect(), all)
}

fn decide(f: &Features, echo: Echo) -> (SenderControl, String) {
    use SenderControl::{Bbr, Cubic, Dctcp, OneSidedDctcp, Reno, Unknown};
    let paced = f.ack_lag >= PACED;
    let cycled = f.gain_cycles >= MIN_CYCLES && f.gain_cycles * 2 >= f.peaks;
    if paced && (cycled || (f.probe_rtts > 0 && f.gain_cycles >= 2)) {
        let why = format!(
            "paced; {} of {} peaks of the flight follow the one before by 6 to 11 least round trips \
             (BBR's gain cycle has 8), and {} times at most 5 segments were in flight for 150 ms \
             (PROBE_RTT)",
            f.gain_cycles, f.peaks, f.probe_rtts
        );
        return (Bbr, why);
    }
    if echo == Echo::Accurate {
        let why = "AccECN has no CWR: the capture does not show which marks reduced the window";
        return (Unknown, why.to_owned());
    }
    if f.reductions == 0 {
        let why = format!("no loss or mark reduced the window in {} round trips", f.rounds);
        return (Unknown, why);
    }
    if let Some(why) = dctcp(f) {
        return match echo {
            Echo::Latched => (OneSidedDctcp, why + "; the receiver's echo is RFC 3168's"),
            Echo::Exact => (Dctcp, why + "; the receiver's echo is exact"),
            Echo::Unknown | Echo::Accurate => {
                (Unknown, why + ": DCTCP or one-sided DCTCP; the receiver's echo is unknown")
            }
        };
    }
    let (half, all) = fitting(f, (1.6, 0.025), |_| 0.5);
    let (cubic, _) = fitting(f, (2.0, 0.05), |_| 0.7);
    let enough =
        all >= MIN_CUTS && f.calm_rounds >= MIN_ROUNDS && f.overlapping_recoveries <= MAX_AGAIN;
    let counts = |n: usize, to: &str| format!("{n} of {all} reductions are to {to} of the window");
    if enough && cubic.len() * 5 >= all * 4 && f.cubic_error <= MAX_ERROR && f.silent == 0 {
        let why = format!("{}; growth as CUBIC's (RFC 9438 §4)", counts(cubic.len(), "0.7"));
        return (Cubic, why);
    }
    let grows = (0.93..1.07).contains(&f.growth_segments) && f.newreno_error <= MAX_ERROR;
    if enough && half.len() * 10 >= all * 9 && grows && f.silent == 0 {
        let why = counts(half.len(), "0.5") + "; growth of one segment per window";
        let also = equals_of_reno(f, &half);
        if also.is_empty() {
            return (Reno, why);
        }
        return (Unknown, format!("{why}: NewReno, or {}", also.join(", or ")));
    }
    let ratios = f.cuts.iter().map(Cut::ratio);
    let (least, most) = ratios.fold((f64::MAX, 0.0_f64), |(a, b), r| (a.min(r), b.max(r)));
    let why = if enough {
        format!(
            "none of NewReno, CUBIC, BBR and DCTCP fits: {all} reductions are to {least:.2} to \
             {most:.2} of the window, median {:.2}",
            f.median_ratio
        )
    } else {
        format!(
            "{all} reductions of windows of at least {MIN_WINDOW} segments, {} rounds between them, \
             and {} recoveries within one: at least {MIN_CUTS}, {MIN_ROUNDS} and at most \
             {MAX_AGAIN} decide",
            f.calm_rounds, f.overlapping_recoveries
        )
    };
    (Unknown, why)
}

/// Returns the controls that send as NewReno does in all that was seen.
fn equals_of_reno(f: &Features, half: &[&Cut]) -> Vec<String> {
    let mut out = Vec::new();
    if f.large < MIN_EXCLUDING {
        out.push(format!("HighSpeed TCP, its equal up to {LARGE} segments"));
    }
    if f.late < MIN_EXCLUDING {
        out.push("H-TCP, its equal for the first seconds after a reduction".to_owned());
    }
    if half.iter().filter(|c| !HALF_PATH.contains(&c.path)).count() < MIN_CUTS {
        out.push("Westwood, which reduces to the path without a queue".to_owned());
    }
    out
}

/// Returns the evidence that the reductions follow alpha (RFC 8257 §3.3).
fn dctcp(f: &Features) -> Option<String> {
    let by_alpha = |c: &Cut| 1.0 - c.alpha / 2.0;
    let (fit, all) = fitting(f, (2.5, 0.025), by_alpha);
    let count = |cuts: &[&Cut], deep: bool| {
        cuts.iter().filter(|c| if deep { c.alpha >= DEEP } else { c.alpha <= SHALLOW }).count()
    };
    let measured = f.cuts.iter().filter(|c| c.before >= MIN_WINDOW);
    let deep = measured.filter(|c| c.alpha >= DEEP && c.cause != ReductionCause::Timer).count();
    let marks = fit.iter().filter(|c| c.cause == ReductionCause::Mark).count();
    let follows = count(&fit, true) >= 1 && count(&fit, true) * 2 >= deep;
    let often = marks >= 5 && fit.len() * 4 >= all * 3 && count(&fit, false) >= 3;
    let grows = f.turns < 5.0 || (0.85..1.15).contains(&f.growth_segments);
    (follows && often && grows).then(|| {
        let alphas = fit.iter().map(|c| c.alpha);
        let (least, most) = alphas.fold((1.0_f64, 0.0_f64), |(a, b), x| (a.min(x), b.max(x)));
        format!(
            "{} of {all} reductions are to 1 - alpha/2 of the window, with alpha of {least:.2} to \
             {most:.2} by the echoed marks",
            fit.len()
        )
    })
}
