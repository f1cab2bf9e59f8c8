//! A value over seeds with its 95 % interval, and its text in tables.

use lowtide_lab::OverSeeds;
use serde::Serialize;

/// A value over seeds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// The mean over seeds, or the percentile of all seeds' flows together.
    pub value: f64,
    /// Its 95 % interval; null for one seed, for equal seeds, and for a percentile of too few seeds
    /// or flows.
    pub ci95: Option<[f64; 2]>,
}

/// Flows that a 99th percentile needs.
pub(crate) const P99_FLOWS: usize = 100;

impl Estimate {
    /// Returns the mean of one value per seed, unless a seed has no value.
    pub(crate) fn over_seeds(values: impl IntoIterator<Item = Option<f64>>) -> Option<Self> {
        let over = OverSeeds::new(&values.into_iter().collect::<Vec<_>>());
        Some(Self { value: over.mean?, ci95: over.ci95 })
    }
}

/// Limit on the decimals of a number, so that tables stay narrow.
const MAX_DECIMALS: i32 = 5;

/// Formats a number with three significant digits, or two below 1.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let whole = value.abs().log10().floor() as i32 + 1;
    let decimals = if whole > 0 { 3 - whole } else { 2 - whole };
    format!("{value:.*}", usize::try_from(decimals.min(MAX_DECIMALS)).unwrap_or(0))
}

/// Formats a value with its interval.
pub(crate) fn with_interval(Estimate { value, ci95 }: Estimate) -> String {
    let text = number(value);
    match ci95 {
        Some([low, high]) => format!("{text} [{}, {}]", number(low), number(high)),
        None => text,
    }
}

/// Returns why a percentile of `flows` flows that needs `needed` is absent.
pub(crate) fn reason(flows: usize, needed: usize) -> String {
    if flows < needed { format!("needs {needed}") } else { "unfinished".to_owned() }
}

/// Returns the value and its interval as three cells of a CSV file.
pub(crate) fn csv_cells(estimate: Option<Estimate>) -> [String; 3] {
    let interval = estimate.and_then(|e| e.ci95);
    let values =
        [estimate.map(|e| e.value), interval.map(|[low, _]| low), interval.map(|[_, high]| high)];
    values.map(|v| v.map_or_else(String::new, |v| v.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(
            [0.0, 0.000_33, 0.012_3, 0.5, 1.234, 12.34, 123.4, 1234.5].map(number),
            ["0", "0.00033", "0.012", "0.50", "1.23", "12.3", "123", "1234"]
        );
    }

    #[test]
    fn one_seed_and_equal_seeds_have_no_interval() {
        let of = |values: &[f64]| Estimate::over_seeds(values.iter().copied().map(Some));
        assert_eq!(of(&[7.0]), Some(Estimate { value: 7.0, ci95: None }));
        assert_eq!(of(&[7.0, 7.0]), of(&[7.0]));
        let of_two = of(&[6.0, 8.0]).unwrap();
        let [low, high] = of_two.ci95.unwrap();
        assert!(low < 6.0 && 8.0 < high, "{low} {high}");
        assert_eq!(with_interval(of_two), format!("7.00 [{}, {}]", number(low), number(high)));
        assert_eq!(Estimate::over_seeds([Some(1.0), None]), None, "a seed has no value");
    }
}
