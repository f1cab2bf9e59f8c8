//! Tails as a CSV file.

use lowtide_output::csv;
use lowtide_rows::HostRange;
use lowtide_stats::IntervalMethod;

use super::TailRow;
use crate::shown_estimate::ShownEstimate;

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
        "least",
        "most",
        "ci95_low",
        "ci95_high",
        "seeds_low",
        "seeds_high",
        "interval",
        "note",
    ]);
    let mut text = csv::line(head);
    for row in rows {
        for (which, found) in row.percentiles() {
            text.push_str(&line(row, which.name(), found, &keys));
        }
    }
    text
}

fn line(row: &TailRow, percentile: &str, found: &ShownEstimate, keys: &[&str]) -> String {
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
        percentile.to_owned(),
    ]);
    cells.extend(found.csv_cells());
    cells.push(found.interval.map_or("", IntervalMethod::name).to_owned());
    cells.push(found.note.clone().unwrap_or_default());
    csv::line(cells.iter().map(String::as_str))
}
