//! Tails as text: digits of values, and the CSV file.

use lowtide_output::csv;
use lowtide_rows::HostRange;

use super::{Percentile, TailRow};

/// Characters of an interval with three digits; a longer one has two.
const LONG: usize = 12;

/// Formats a positive value with three significant digits.
pub fn significant(value: f64) -> String {
    digits(value, 3)
}

fn digits(value: f64, significant: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        value.to_string()
    } else {
        // Rounding may add a digit before the point.
        let rounded = format!("{value:.*e}", significant as usize - 1);
        let exponent = rounded.rsplit_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
        if !(-4..5).contains(&exponent) {
            return rounded;
        }
        let after = (significant - 1 - exponent).max(0) as usize;
        format!("{value:.after$}")
    }
}

/// Formats an interval, as `1.02–1.19`.
pub fn range([low, high]: [f64; 2]) -> String {
    let text = |n| format!("{}\u{2013}{}", digits(low, n), digits(high, n));
    let three = text(3);
    if three.chars().count() > LONG { text(2) } else { three }
}

/// Returns the rows as CSV: a line per scheme, point, group, class, metric and percentile.
pub(crate) fn to_csv(rows: &[TailRow]) -> String {
    let keys: Vec<&str> = rows.first().map_or_else(Vec::new, |row| row.point.keys().collect());
    let mut head = vec!["scheme"];
    head.extend(&keys);
    head.extend([
        "group",
        "class",
        "metric",
        "unit",
        "seeds",
        "flows",
        "unfinished",
        "blocked_on",
        "failed",
        "in_warmup",
        "percentile",
        "value",
        "ci95_low",
        "ci95_high",
        "interval",
        "note",
    ]);
    let mut text = csv::line(head);
    for row in rows {
        for which in Percentile::ALL {
            text.push_str(&line(row, which, &keys));
        }
    }
    text
}

fn line(row: &TailRow, which: Percentile, keys: &[&str]) -> String {
    let found = row.quantile(which);
    let number = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
    let reasons: Vec<String> = row.blocked_on.iter().map(|(r, n)| format!("{r}: {n}")).collect();
    let mut cells = vec![row.scheme.clone()];
    let value = |key: &&str| HostRange::value_text(row.point.get(key).unwrap_or_default());
    cells.extend(keys.iter().map(value));
    cells.extend([
        row.group.clone(),
        row.class.clone().unwrap_or_default(),
        row.metric.key().to_owned(),
        row.unit.to_owned(),
        row.seeds.to_string(),
        row.flows.to_string(),
        row.unfinished.to_string(),
        reasons.join("; "),
        row.failed.to_string(),
        row.in_warmup.to_string(),
        which.name().to_owned(),
        number(found.value),
        number(found.ci95.map(|ci| ci[0])),
        number(found.ci95.map(|ci| ci[1])),
        found.interval.map_or("", super::IntervalMethod::name).to_owned(),
        found.note.clone().unwrap_or_default(),
    ]);
    csv::line(cells.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_significant_digits() {
        let shown = [1.0216, 68.475, 178.1, 2621.0, 0.012_34, 0.0].map(significant);
        assert_eq!(shown, ["1.02", "68.5", "178", "2621", "0.0123", "0"]);
        assert_eq!(range([1.0, 1.234]), "1.00\u{2013}1.23");
        assert_eq!(range([0.0328, 0.0786]), "0.033\u{2013}0.079");
        assert_eq!(significant(2.5e6), "2.50e6");
        assert_eq!(significant(99.97), "100");
    }
}
