//! Cells of estimates in tables and CSV files.

use lowtide_lab::{ShownComparison, ShownEstimate};

/// Formats a value, its bounds if cut-off flows could change it, or the reason of its absence.
pub(crate) fn value(of: &ShownEstimate) -> String {
    let text = of.value_text();
    text.strip_suffix(" flows").map_or(text.clone(), str::to_owned)
}

/// Columns of an estimate in a CSV file, after its name.
pub(crate) const ESTIMATE_COLUMNS: [&str; 7] =
    ["", "_at_least", "_at_most", "_ci95_low", "_ci95_high", "_seeds_low", "_seeds_high"];

/// Columns of a ratio in a CSV file.
pub(crate) const RATIO_COLUMNS: [&str; 5] =
    ["ratio", "ratio_ci95_low", "ratio_ci95_high", "ratio_seeds_low", "ratio_seeds_high"];

/// Returns the cells of an estimate in the order of [`ESTIMATE_COLUMNS`].
pub(crate) fn csv_cells(of: Option<&ShownEstimate>) -> [String; 7] {
    of.map(ShownEstimate::csv_cells).unwrap_or_default()
}

/// Returns the cells of a ratio in the order of [`RATIO_COLUMNS`].
pub(crate) fn ratio_cells(of: Option<&ShownComparison>) -> [String; 5] {
    of.map(ShownComparison::ratio_csv_cells).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use lowtide_stats::{Estimate, PointValue, ValueRange, seed_mean};

    use super::*;

    fn of(values: &[f64]) -> Estimate {
        let values: Vec<_> = values.iter().copied().map(Some).collect();
        seed_mean(&values, ValueRange::NOT_NEGATIVE)
    }

    #[test]
    fn cells_say_whether_an_interval_is_that_or_a_range_of_seeds() {
        // R: t.test(c(6, 8, 7, 7, 7))$conf.int.
        let five = csv_cells(Some(&of(&[6.0, 8.0, 7.0, 7.0, 7.0]).into()));
        assert!(five[3].starts_with("6.122") && five[4].starts_with("7.877"), "{five:?}");
        let two = csv_cells(Some(&of(&[6.0, 8.0]).into()));
        assert_eq!(two, ["7", "", "", "", "", "6", "8"]);
        let between = PointValue::Between { low: 2.0, high: None };
        let bounds = Estimate { point: between, ..of(&[1.0]) };
        assert_eq!(csv_cells(Some(&bounds.into())), ["", "2", "", "", "", "", ""]);
        assert_eq!(
            (csv_cells(None), ratio_cells(None)),
            ([""; 7].map(String::from), [""; 5].map(String::from))
        );
        let few =
            PointValue::Missing { reason: lowtide_stats::MissingValue::FewFlows { needs: 100 } };
        assert_eq!(value(&Estimate { point: few, ..of(&[]) }.into()), "needs 100");
    }
}
