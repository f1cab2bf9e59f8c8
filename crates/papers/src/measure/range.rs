//! The possible range of a measure's value, inside which its interval is.

use lowtide_stats::ValueRange;

use super::reduce::Reduce;
use super::rows::RowsMeasure;
use super::{ClaimMeasure, Extreme};
use crate::rates::RatesStatistic;
use crate::windows::WindowsStatistic;

impl ClaimMeasure {
    /// Returns the possible range of its value in one seed.
    pub(crate) fn range(&self) -> ValueRange {
        match self {
            Self::Metric(metric) => metric.range(),
            Self::Rows(rows) => rows.range(),
            Self::Rates(rates) if rates.rates == RatesStatistic::Jain => ValueRange::SHARE,
            Self::Windows(windows) if windows.windows == WindowsStatistic::Correlation => {
                ValueRange { least: -1.0, most: 1.0 }
            }
            Self::Windows(windows)
                if matches!(
                    windows.windows,
                    WindowsStatistic::ShareAtZero | WindowsStatistic::ShareAtFull
                ) =>
            {
                ValueRange::SHARE
            }
            Self::Ratio(pair) if is_share(pair) => ValueRange::SHARE,
            Self::Ratio(pair) if pair.iter().any(|part| part.range().least < 0.0) => {
                ValueRange::ANY
            }
            Self::Rates(_)
            | Self::Windows(_)
            | Self::Ratio(_)
            | Self::Extreme(Extreme::LargestMagnitude, _) => ValueRange::NOT_NEGATIVE,
            Self::Difference(pair) => {
                let [a, b] = [pair[0].range(), pair[1].range()];
                range(a.least - b.most, a.most - b.least)
            }
            Self::Sum(parts) => {
                let all = || parts.iter().map(Self::range);
                range(all().map(|r| r.least).sum(), all().map(|r| r.most).sum())
            }
            Self::Extreme(extreme, parts) => {
                let of = |end: fn(ValueRange) -> f64| {
                    parts.iter().map(|p| end(p.range())).reduce(|a, b| extreme.of(a, b))
                };
                let ends = of(|r| r.least).zip(of(|r| r.most));
                ends.map_or(ValueRange::ANY, |(least, most)| range(least, most))
            }
            Self::Least(least) => {
                let mut results = least.results().map(Self::range);
                // All results have one kind of measure, and so one range.
                results.next().unwrap_or(ValueRange::NOT_NEGATIVE)
            }
        }
    }
}

/// Without a least value there is no interval on the logarithm.
fn range(least: f64, most: f64) -> ValueRange {
    if least.is_finite() { ValueRange { least, most } } else { ValueRange::ANY }
}

/// Whether the first counts some of the rows that the second counts.
fn is_share([part, whole]: &[ClaimMeasure; 2]) -> bool {
    let (ClaimMeasure::Rows(part), ClaimMeasure::Rows(whole)) = (part, whole) else { return false };
    let among = whole.r#where.iter().all(|(key, filter)| part.r#where.get(key) == Some(filter));
    let counts = [part.reduce, whole.reduce] == [Reduce::Count; 2];
    counts && among && part.table == whole.table && part.column == whole.column
}

impl RowsMeasure {
    fn range(&self) -> ValueRange {
        let values = self.reduce.is_location_statistic() || self.reduce == Reduce::Sum;
        let slowdown = self.column == "fct_ps" && self.over.as_deref() == Some("ideal_ps");
        if self.reduce == Reduce::Jain {
            ValueRange::SHARE
        } else if values && (self.minus.is_some() || self.plus < 0.0) {
            // Only differences of two columns are signed.
            ValueRange::ANY
        } else if values && slowdown && self.per <= 1.0 {
            ValueRange::SLOWDOWN
        } else {
            ValueRange::NOT_NEGATIVE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(measure: &str) -> [f64; 2] {
        let found: ClaimMeasure = toml::from_str(measure).unwrap_or_else(|e| panic!("{e}"));
        let found = found.range();
        [found.least, found.most]
    }

    #[test]
    fn a_measure_has_the_possible_range_of_its_value() {
        const ANY: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];
        const POSITIVE: [f64; 2] = [0.0, f64::INFINITY];
        let rows = |rest: &str| range(&format!("table = \"flows\"\ncolumn = \"fct_ps\"\n{rest}"));
        let count = |filter: &str| {
            format!(
                "{{ table = \"queries\", column = \"timeouts\", reduce = \"count\", where = \
                 {{ scheme = \"a\"{filter} }} }}"
            )
        };
        let jain = "{ metric = \"jain\", group = \"g\" }";
        for (found, wanted) in [
            (range("metric = \"jain\"\ngroup = \"g\""), [0.0, 1.0]),
            (range("metric = \"timeout_fraction\"\ngroup = \"g\""), [0.0, 1.0]),
            (range("metric = \"utilisation\"\nqueue = \"q\""), [0.0, 1.0]),
            (range("metric = \"slowdown.p99\"\ngroup = \"g\""), [1.0, f64::INFINITY]),
            (range("metric = \"fct_ms.p99\"\ngroup = \"g\""), POSITIVE),
            (range("rates = \"jain\"\ngroup = \"g\""), [0.0, 1.0]),
            (range("rates = \"mean\"\ngroup = \"g\""), POSITIVE),
            (rows("reduce = \"mean\""), POSITIVE),
            (rows("reduce = \"p99\"\nover = \"ideal_ps\""), [1.0, f64::INFINITY]),
            (rows("reduce = \"min\"\nminus = \"ideal_ps\""), ANY),
            (rows("reduce = \"sd\"\nminus = \"ideal_ps\""), POSITIVE),
            (rows("reduce = \"mean\"\nplus = -3"), ANY),
            (rows("reduce = \"jain\""), [0.0, 1.0]),
            (range(&format!("difference = [{jain}, {jain}]")), [-1.0, 1.0]),
            (range(&format!("ratio = [{jain}, {jain}]")), POSITIVE),
            (range(&format!("sum = [{jain}, {jain}]")), [0.0, 2.0]),
            (range(&format!("ratio = [{}, {}]", count(", timeouts = 1"), count(""))), [0.0, 1.0]),
            (range(&format!("ratio = [{}, {}]", count(""), count(", timeouts = 1"))), POSITIVE),
        ] {
            assert_eq!(found.map(f64::to_bits), wanted.map(f64::to_bits), "{found:?} {wanted:?}");
        }
    }
}
