//! Axes: where a value stands and what is written beside it.

use crate::view::Axis;

use super::number;

/// An axis from its lower to its upper end.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    lo: f64,
    hi: f64,
    log: bool,
    ticks: Vec<(f64, String)>,
    /// Unit of the labels where it differs from that of the values.
    unit: Option<&'static str>,
}

impl Scale {
    /// From 0 to a round number at or above `hi`.
    pub(super) fn from_zero(hi: f64) -> Self {
        let hi = if hi > 0.0 && hi.is_finite() { hi } else { 1.0 };
        let step = round_step(hi / 5.0);
        // A hair of tolerance: 0.3 is three steps of 0.1, not four.
        let count = (hi / step - 1e-9).ceil().max(1.0);
        Self::stepped(0.0, count * step, step, 1.0)
    }

    /// Exactly from `lo` to `hi`, ticks at round numbers between.
    pub(super) fn span(lo: f64, hi: f64) -> Self {
        let (lo, hi) = widen(lo, hi);
        Self::stepped(lo, hi, round_step((hi - lo) / 8.0), 1.0)
    }

    /// Time from `lo` to `hi` seconds, labelled in s, ms or us as the span
    /// asks.
    pub(super) fn time(lo: f64, hi: f64) -> Self {
        let (lo, hi) = widen(lo, hi);
        let (factor, unit) = match hi - lo {
            span if span < 2e-4 => (1e6, "us"),
            span if span < 0.2 => (1e3, "ms"),
            _ => (1.0, "s"),
        };
        let step = round_step((hi - lo) * factor / 8.0) / factor;
        Self { unit: Some(unit), ..Self::stepped(lo, hi, step, factor) }
    }

    /// Logarithmic, from a round number at or below `lo` to one at or above
    /// `hi`; both positive.
    pub(super) fn log(lo: f64, hi: f64) -> Self {
        let round = [1.0, 2.0, 5.0];
        let first = lo.log10().floor() as i32 - 1;
        let last = hi.log10().ceil() as i32 + 1;
        let steps: Vec<f64> = (first..=last)
            .flat_map(|exponent| round.map(|digit| digit * 10_f64.powi(exponent)))
            .collect();
        let below = steps.iter().rev().find(|&&step| step <= lo * (1.0 + 1e-9));
        let above = steps.iter().find(|&&step| step >= hi * (1.0 - 1e-9));
        let (mut lo, mut hi) = (*below.unwrap_or(&lo), *above.unwrap_or(&hi));
        if hi <= lo {
            (lo, hi) = (lo / 2.0, hi * 2.0);
        }
        let decades_only = (hi / lo).log10() > 3.2;
        let ticks = steps
            .into_iter()
            .enumerate()
            .filter(|(index, _)| !decades_only || index % 3 == 0)
            .map(|(_, value)| value)
            .filter(|value| (lo..=hi).contains(value))
            .map(|value| (value, number::tick(value)))
            .collect();
        Self { lo: lo.log10(), hi: hi.log10(), log: true, ticks, unit: None }
    }

    /// The swept values with their own labels, and a little room beside them.
    pub(super) fn swept(axis: &Axis) -> Self {
        let log = axis.log && axis.ticks.iter().all(|tick| tick.value > 0.0);
        let at = |value: f64| if log { value.log10() } else { value };
        let (lo, hi) = range(axis.ticks.iter().map(|tick| at(tick.value))).unwrap_or((0.0, 1.0));
        let room = if hi > lo { (hi - lo) * 0.05 } else { 0.5 };
        Self {
            lo: lo - room,
            hi: hi + room,
            log,
            ticks: axis.ticks.iter().map(|tick| (tick.value, tick.label.clone())).collect(),
            unit: None,
        }
    }

    fn stepped(lo: f64, hi: f64, step: f64, factor: f64) -> Self {
        let first = (lo / step - 1e-9).ceil() as i64;
        let last = (hi / step + 1e-9).floor() as i64;
        let ticks = (first..=last.min(first + 100))
            .map(|count| count as f64 * step)
            .map(|value| (value, number::tick(value * factor)))
            .collect();
        Self { lo, hi, log: false, ticks, unit: None }
    }

    /// Where a value stands: 0 at the lower end, 1 at the upper.
    pub(super) fn share(&self, value: f64) -> f64 {
        let value = if self.log { value.log10() } else { value };
        (value - self.lo) / (self.hi - self.lo)
    }

    /// Values with a label, from the lower end up.
    pub(super) fn ticks(&self) -> &[(f64, String)] {
        &self.ticks
    }

    /// The upper end.
    pub(super) fn upper(&self) -> f64 {
        if self.log { 10_f64.powf(self.hi) } else { self.hi }
    }

    /// Unit of the labels where the axis chose one.
    pub(super) fn unit(&self) -> &'static str {
        self.unit.unwrap_or("")
    }
}

/// Smallest and largest of the finite values.
pub(super) fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|value| value.is_finite()).fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((lo, hi)) => Some((lo.min(value), hi.max(value))),
    })
}

/// Which labels can stand without touching: the first and the last always,
/// the others from the first on while there is room. `at` rises.
pub(super) fn that_fit(at: &[f64], extent: &[f64], gap: f64) -> Vec<bool> {
    let mut shown = vec![false; at.len()];
    let fits = |a: usize, b: usize| at[b] - at[a] >= (extent[a] + extent[b]) / 2.0 + gap;
    let Some(last) = at.len().checked_sub(1) else {
        return shown;
    };
    shown[0] = true;
    let mut previous = 0;
    for index in 1..last {
        if fits(previous, index) && fits(index, last) {
            shown[index] = true;
            previous = index;
        }
    }
    if last > 0 && fits(previous, last) {
        shown[last] = true;
    }
    shown
}

/// The next of 1, 2, 5 times a power of ten at or above `rough`.
fn round_step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|&step| step >= rough * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

fn widen(lo: f64, hi: f64) -> (f64, f64) {
    if hi > lo { (lo, hi) } else { (lo, lo + 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Tick;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks().iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn linear_ends_at_a_round_number() {
        let scale = Scale::from_zero(2985.0);
        assert_eq!(labels(&scale), ["0", "1000", "2000", "3000"]);
        assert!((scale.share(1500.0) - 0.5).abs() < 1e-12);
        assert_eq!(labels(&Scale::from_zero(0.3)), ["0", "0.1", "0.2", "0.3"]);
        assert_eq!(labels(&Scale::from_zero(0.0)).first(), Some(&"0"));
    }

    #[test]
    fn time_chooses_its_unit() {
        let scale = Scale::time(0.0, 0.02);
        assert_eq!(scale.unit(), "ms");
        assert_eq!(labels(&scale), ["0", "5", "10", "15", "20"]);
        assert_eq!(Scale::time(0.5, 2.0).unit(), "s");
        assert_eq!(Scale::time(1.0, 1.0).ticks().len(), 6, "a point in time still has an axis");
    }

    #[test]
    fn log_has_round_ends() {
        let scale = Scale::log(9.3, 241.0);
        assert_eq!(labels(&scale), ["5", "10", "20", "50", "100", "200", "500"]);
        assert!(scale.share(5.0).abs() < 1e-12);
        assert!((scale.share(50.0) - 0.5).abs() < 1e-12);
        assert_eq!(labels(&Scale::log(1.0, 4000.0)), ["1", "10", "100", "1000"]);
    }

    #[test]
    fn swept_values_keep_their_labels_and_fall_back_to_linear() {
        let tick = |label: &str, value| Tick { label: label.to_owned(), value };
        let mut axis = Axis {
            log: true,
            ticks: vec![tick("10 kB", 1e4), tick("1 MB", 1e6)],
            ..Axis::default()
        };
        assert!((Scale::swept(&axis).share(1e5) - 0.5).abs() < 1e-12);
        axis.ticks.push(tick("none", 0.0));
        assert!(Scale::swept(&axis).share(0.0).is_finite());
    }

    #[test]
    fn crowded_labels_give_way_but_the_last_stays() {
        let shown = that_fit(&[0.0, 10.0, 40.0, 95.0, 100.0], &[20.0; 5], 4.0);
        assert_eq!(shown, [true, false, true, false, true]);
        assert_eq!(that_fit(&[], &[], 4.0), Vec::<bool>::new());
        assert_eq!(that_fit(&[3.0], &[20.0], 4.0), [true]);
    }
}
