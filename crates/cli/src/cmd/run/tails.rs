//! Tails on the terminal: percentiles by size class, and the comparisons of schemes.

use lowtide_lab::{
    CompletedExperiment, Headline, PERCENTILES, SchemeComparison, ShownEstimate, TailMetric,
    TailRow,
};
use lowtide_record::SweepPoint;
use lowtide_stats::LEAST_SEEDS;
use lowtide_units::Quantile;

use super::point::values;
use crate::error::CommandError;
use crate::output::Output;

/// Limit on columns of ratios.
const MAX_PAIRS: usize = 3;

pub(super) fn show(
    points: &[&SweepPoint],
    (finished, headline): (&CompletedExperiment, &Headline),
    out: Output,
) -> Result<(), CommandError> {
    let rows = &finished.results.tails;
    if rows.iter().any(|row| row.seeds > 1 && row.seeds < LEAST_SEEDS) {
        out.paragraph(&format!(
            "In brackets: the least and the greatest of the seeds. From {LEAST_SEEDS} seeds on there are \
             95 % intervals."
        ))?;
    }
    let transports = finished.transports();
    let label = |scheme: &str| transports.label(scheme).to_owned();
    let mut sets: Vec<(&str, TailMetric)> = Vec::new();
    for row in rows {
        if !sets.contains(&(&row.group, row.metric)) {
            sets.push((&row.group, row.metric));
        }
    }
    // The flows of the first sentence come first.
    let first = headline.comparisons.first().map(|of| of.group.as_str());
    sets.sort_by_key(|(group, metric)| (Some(*group) != first, metric.is_of_flows()));
    let mut told: Vec<&str> = Vec::new();
    for (group, metric) in sets {
        let tell = !told.contains(&group);
        told.push(group);
        let of: Vec<&TailRow> = rows
            .iter()
            .filter(|r| r.group == group && r.metric == metric && points.contains(&&r.point))
            .collect();
        let classes = of.iter().any(|r| r.class.is_some());
        if classes {
            for point in points {
                let at: Vec<&TailRow> = of.iter().copied().filter(|r| r.point == **point).collect();
                let place = lowtide_lab::point_text(point);
                let place = if place.is_empty() { place } else { format!(", {place}") };
                let title = format!("{}{place}, by size", title(group, metric));
                table((&title, "size"), (&at, tell), &|row| row.sizes(), &label, out)?;
            }
        } else if metric != TailMetric::Slowdown {
            // Flows of one size have nearly one ideal time; the report has their slowdown.
            let point = |row: &TailRow| values(&row.point.0);
            table((&title(group, metric), "point"), (&of, true), &point, &label, out)?;
        }
    }
    comparisons(points, headline, &label, out)
}

fn title(group: &str, metric: TailMetric) -> String {
    match metric {
        TailMetric::Slowdown => format!("{group}: slowdown (completion time over the ideal)"),
        _ => format!("{group}: {}, ms", metric.title()),
    }
}

/// Prints a table with a row per first column and scheme: each value above its interval; and, if
/// `tell`, the flows that did not complete.
fn table(
    (title, first): (&str, &str),
    (rows, tell): (&[&TailRow], bool),
    name: &dyn Fn(&TailRow) -> String,
    label: &dyn Fn(&str) -> String,
    out: Output,
) -> Result<(), CommandError> {
    let mut head = vec![first, "scheme", "flows"];
    head.extend(PERCENTILES.map(Quantile::name));
    let mut notes: Vec<String> = Vec::new();
    let mut unfinished: Vec<String> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for name in rows.iter().map(|row| name(row)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut cells: Vec<Vec<String>> = Vec::new();
    for wanted in &names {
        for (i, row) in rows.iter().filter(|row| name(row) == *wanted).enumerate() {
            let lead = if i == 0 { wanted.clone() } else { String::new() };
            let mut line = vec![lead, label(&row.scheme), flows(row)];
            line.extend(row.percentiles().map(|(_, found)| cell(found)));
            cells.push(line);
            for (which, found) in row.percentiles() {
                note(&mut notes, which, found);
            }
            unfinished.extend(cut_off(row, wanted, label).filter(|_| tell));
        }
    }
    out.text(title)?;
    out.narrow_table(&head, &[2, 3, 4, 5, 6], &cells)?;
    for text in unfinished.iter().chain(&notes) {
        out.paragraph(text)?;
    }
    Ok(())
}

/// Returns the count of flows, with the incomplete ones below.
fn flows(row: &TailRow) -> String {
    match (row.unfinished, row.failed) {
        (0, 0) => row.flows.to_string(),
        (unfinished, 0) => format!("{}\n{unfinished} cut", row.flows),
        (unfinished, failed) => format!("{}\n{} lost", row.flows, unfinished + failed),
    }
}

/// Returns a sentence about flows of a row that did not complete.
fn cut_off(row: &TailRow, name: &str, label: &dyn Fn(&str) -> String) -> Option<String> {
    if row.unfinished + row.failed == 0 {
        return None;
    }
    let reasons: Vec<String> = row.blocked_on.iter().map(|(why, n)| format!("{n} {why}")).collect();
    Some(format!(
        "{name}, {}: {} unfinished ({}), {} failed, of {}",
        label(&row.scheme),
        row.unfinished,
        if reasons.is_empty() { "no reason recorded".to_owned() } else { reasons.join(", ") },
        row.failed,
        row.flows
    ))
}

/// Returns a value with its interval in the next line.
fn cell(of: &ShownEstimate) -> String {
    if of.value.is_none() && of.between.is_none() {
        return "\u{2013}".to_owned();
    }
    above(of.value_text(), &of.interval_text())
}

/// Returns a value above its interval, if it has one.
fn above(value: String, interval: &str) -> String {
    if interval.is_empty() { value } else { format!("{value}\n{interval}") }
}

/// Adds the reason of a missing value or interval, once for each percentile.
fn note(notes: &mut Vec<String>, which: Quantile, of: &ShownEstimate) {
    if let Some(note) = &of.note {
        let text = format!("{}: {note}", which.name());
        if !notes.contains(&text) {
            notes.push(text);
        }
    }
}

/// Prints the comparisons of the shown points: a row per measure, a column per scheme that is
/// compared with the first.
fn comparisons(
    shown: &[&SweepPoint],
    headline: &Headline,
    label: &dyn Fn(&str) -> String,
    out: Output,
) -> Result<(), CommandError> {
    let all: Vec<&SchemeComparison> =
        headline.comparisons.iter().filter(|of| shown.contains(&&of.point)).collect();
    let Some(first) = all.first() else { return Ok(()) };
    let mut others: Vec<&str> = Vec::new();
    let mut names: Vec<(String, &SweepPoint)> = Vec::new();
    for of in &all {
        if of.schemes[0] == first.schemes[0] && !others.contains(&of.schemes[1].as_str()) {
            others.push(&of.schemes[1]);
        }
        let name = (of.measure(), &of.point);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let left_out = others.len().saturating_sub(MAX_PAIRS);
    others.truncate(MAX_PAIRS);
    let rows = names.iter().map(|(measure, point)| {
        let of = |other: &&str| {
            let found = all.iter().find(|of| {
                of.schemes[0] == first.schemes[0]
                    && of.schemes[1] == **other
                    && of.measure() == *measure
                    && of.point == **point
            });
            found.map_or_else(|| "\u{2013}".to_owned(), |of| ratio_cell(of))
        };
        [measure.clone(), values(&point.0)].into_iter().chain(others.iter().map(of)).collect()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let mut head = vec!["measure".to_owned(), "point".to_owned()];
    let baseline = label(&first.schemes[0]);
    head.extend(others.iter().map(|other| format!("{} / {baseline}", label(other))));
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    out.text("ratios, paired by seed: 95 % intervals of each, verdicts of all together (Holm)")?;
    let right: Vec<usize> = (2..head.len()).collect();
    out.narrow_table(&head, &right, &rows)?;
    if left_out > 0 {
        out.text(&format!("{left_out} more schemes are in summary.json"))?;
    }
    Ok(())
}

fn ratio_cell(of: &SchemeComparison) -> String {
    let shown = &of.shown;
    let ratio = format!("{} {}", shown.ratio_value_text(), shown.verdict_text());
    above(ratio, &shown.ratio_interval_text())
}
