//! Senders by their formulas, round by round.

use super::verdict::SenderControl;
use super::{Echo, ReductionCause, SenderRecord, SenderVerdict};

const MSS: u64 = 1_000;
const BASE: u64 = 40_000_000;

/// A path that holds `path` segments without a queue, and a sender on it.
struct Play {
    record: SenderRecord,
    sent: u64,
    time: u64,
    path: f64,
    lag: u64,
}

impl Play {
    fn new(path: f64) -> Self {
        Self { record: SenderRecord::default(), sent: 0, time: 0, path, lag: 0 }
    }

    /// One round trip with a window of `segments`; returns its time in seconds.
    fn round(&mut self, segments: f64, marked: bool) -> f64 {
        let bytes = segments as u64 * MSS;
        let ns = (BASE as f64 * (segments / self.path).max(1.0)) as u64;
        for _ in 0..4 {
            self.record.on_ack((self.sent, bytes / 4), self.sent + bytes, marked, false);
            self.record.on_sent(bytes, false, Some(ns / 400 * self.lag));
        }
        self.sent += bytes;
        self.time += ns;
        self.record.end(self.time, ns, ns);
        ns as f64 / 1e9
    }

    /// Rounds from `window` on that `grow(window, seconds)` until `most`, a reduction, and so on.
    fn saw(
        path: f64,
        (most, cause): (f64, ReductionCause),
        factor: f64,
        grow: impl Fn(f64, f64) -> f64,
    ) -> SenderVerdict {
        let mut play = Self::new(path);
        let mut window = most;
        for _ in 0..6 {
            play.round(window, false);
            play.record.on_reduction(cause, play.sent);
            window *= factor;
            let (start, mut t) = (window, 0.0);
            while window < most {
                t += play.round(window, false);
                window = grow(start, t).max(window + if factor < 0.6 { 1.0 } else { 0.0 });
            }
        }
        play.verdict(Echo::Unknown)
    }

    fn verdict(&self, echo: Echo) -> SenderVerdict {
        SenderVerdict::of(&self.record, true, (MSS, BASE), echo).expect("rounds")
    }
}

#[test]
fn newreno_is_named_where_its_equals_are_excluded() {
    let reno = |path, most| Play::saw(path, (most, ReductionCause::Loss), 0.5, |_, _| 0.0);
    let verdict = reno(30.0, 100.0);
    assert_eq!(verdict.control, SenderControl::Reno, "{verdict:?}");
    for (path, most, equal) in
        [(50.0, 100.0, "Westwood"), (80.0, 38.0, "HighSpeed"), (200.0, 52.0, "H-TCP")]
    {
        let verdict = reno(path, most);
        assert_eq!(verdict.control, SenderControl::Unknown);
        assert!(verdict.why[0].contains(equal), "{:?}", verdict.why);
    }
    let other = Play::saw(30.0, (100.0, ReductionCause::Loss), 0.8, |w, t| w + 30.0 * t);
    assert_eq!(other.control, SenderControl::Unknown);
    assert!(other.why[0].contains("reductions are to 0.79"), "{:?}", other.why);
}

#[test]
fn cubic_grows_by_time() {
    // RFC 9438 §4.2, from its reduction on; the first base round trip is in its clock.
    let cubic = |start: f64, t: f64| {
        let k = ((200.0 - start) / 0.4).cbrt();
        200.0 + 0.4 * (t + 0.04 - k).powi(3)
    };
    let verdict = Play::saw(180.0, (200.0, ReductionCause::Loss), 0.7, cubic);
    assert_eq!(verdict.control, SenderControl::Cubic, "{verdict:?}");
}

#[test]
fn reductions_by_alpha_are_dctcps() {
    let mut play = Play::new(30.0);
    let (mut window, mut alpha) = (60.0, 1.0);
    for n in 0..120 {
        let marked = n < 3 || n % 6 == 0;
        if marked {
            play.record.on_reduction(ReductionCause::Mark, play.sent);
        }
        play.round(window, marked);
        if marked {
            window *= 1.0 - alpha / 2.0;
        }
        alpha += (f64::from(u8::from(marked)) - alpha) / 16.0;
        window = (window + 1.0_f64).max(16.0);
    }
    for (echo, control) in [
        (Echo::Exact, SenderControl::Dctcp),
        (Echo::Latched, SenderControl::OneSidedDctcp),
        (Echo::Unknown, SenderControl::Unknown),
    ] {
        assert_eq!(play.verdict(echo).control, control, "{:?}", play.verdict(echo));
    }
}

#[test]
fn gain_cycles_count_only_if_paced() {
    let mut play = Play::new(50.0);
    for (lag, control) in [(0, SenderControl::Unknown), (50, SenderControl::Bbr)] {
        play.lag = lag;
        (0..80).for_each(|n| _ = play.round(if n % 8 == 0 { 62.0 } else { 50.0 }, false));
        assert_eq!(play.verdict(Echo::Unknown).control, control);
    }
    let away = SenderVerdict::of(&play.record, false, (MSS, BASE), Echo::Unknown);
    assert_eq!(away.map(|v| v.control), Some(SenderControl::Unknown));
    assert!(SenderVerdict::of(&SenderRecord::default(), true, (MSS, BASE), Echo::Exact).is_none());
}
