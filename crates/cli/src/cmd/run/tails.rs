//! Tails on the terminal: percentiles by size class, and the ratios of the shortest flows.

use lowtide_lab::{
    CompletedExperiment, Percentile, TailMetric, TailQuantile, TailRatio, TailRow, TailVerdict,
    range, significant,
};
use lowtide_record::SweepPoint;

use super::point::values;
use crate::error::CommandError;
use crate::output::Output;

/// Limit on columns of ratios.
const MAX_PAIRS: usize = 3;

pub(super) fn show(
    points: &[&SweepPoint],
    finished: &CompletedExperiment,
    out: Output,
) -> Result<(), CommandError> {
    let rows = &finished.results.tails;
    let transports = finished.transports();
    let label = |scheme: &str| transports.label(scheme).to_owned();
    let mut sets: Vec<(&str, TailMetric)> = Vec::new();
    for row in rows {
        if !sets.contains(&(&row.group, row.metric)) {
            sets.push((&row.group, row.metric));
        }
    }
    let asked = finished.manifest.question.as_ref().map(|question| question.traffic.as_str());
    sets.sort_by_key(|(group, _)| Some(*group) != asked);
    for (group, metric) in sets {
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
                table(&title, "size", &at, &|row| row.sizes(), &label, out)?;
            }
        } else if metric != TailMetric::Slowdown {
            // Flows of one size have nearly one ideal time; the report has their slowdown.
            let point = |row: &TailRow| values(&row.point.0);
            table(&title(group, metric), "point", &of, &point, &label, out)?;
        }
    }
    ratios(points, finished, &label, out)
}

fn title(group: &str, metric: TailMetric) -> String {
    match metric {
        TailMetric::Slowdown => format!("{group}: slowdown (completion time over the ideal)"),
        TailMetric::FctMs | TailMetric::QctMs => format!("{group}: {}, ms", metric.title()),
    }
}

/// Prints a table with a row per first column and scheme: each value above its interval.
fn table(
    title: &str,
    first: &str,
    rows: &[&TailRow],
    name: &dyn Fn(&TailRow) -> String,
    label: &dyn Fn(&str) -> String,
    out: Output,
) -> Result<(), CommandError> {
    let mut head = vec![first, "scheme", "flows"];
    head.extend(Percentile::ALL.map(Percentile::name));
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
            line.extend(Percentile::ALL.map(|which| cell(row.quantile(which))));
            cells.push(line);
            for which in Percentile::ALL {
                note(&mut notes, which, row.quantile(which));
            }
            unfinished.extend(cut_off(row, wanted, label));
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

/// Returns a value with its interval in the next line, or the reason of its absence.
fn cell(of: &TailQuantile) -> String {
    let Some(value) = of.value else {
        return of.note.clone().unwrap_or_default();
    };
    let value = significant(value);
    match of.ci95 {
        Some(ci95) => format!("{value}\n{}", range(ci95)),
        None if of.seed_independent => format!("{value} ="),
        None => value,
    }
}

/// Adds the reason of a missing interval, once for each percentile.
fn note(notes: &mut Vec<String>, which: Percentile, of: &TailQuantile) {
    if let (Some(_), Some(note)) = (of.value, &of.note) {
        let text = format!("{} without interval: {note}", which.name());
        if !notes.contains(&text) {
            notes.push(text);
        }
    }
}

/// Prints the ratios of the tails of the shortest flows, one column per pair of schemes.
fn ratios(
    shown: &[&SweepPoint],
    finished: &CompletedExperiment,
    label: &dyn Fn(&str) -> String,
    out: Output,
) -> Result<(), CommandError> {
    let ratios = finished.results.shortest_ratios();
    let Some(first) = ratios.first() else { return Ok(()) };
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    let mut points: Vec<&SweepPoint> = Vec::new();
    for ratio in &ratios {
        if !pairs.contains(&(&ratio.a, &ratio.b)) {
            pairs.push((&ratio.a, &ratio.b));
        }
        if shown.contains(&&ratio.point) && !points.contains(&&ratio.point) {
            points.push(&ratio.point);
        }
    }
    let left_out = pairs.len().saturating_sub(MAX_PAIRS);
    pairs.truncate(MAX_PAIRS);
    let heads: Vec<String> =
        pairs.iter().map(|(a, b)| format!("{} / {}", label(b), label(a))).collect();
    let mut head = vec!["point"];
    head.extend(heads.iter().map(String::as_str));
    let rows = points.iter().map(|point| {
        let of = |(a, b): &(&str, &str)| {
            let found = ratios.iter().find(|r| r.point == **point && r.a == *a && r.b == *b);
            found.map_or_else(|| "no value".to_owned(), |ratio| ratio_cell(ratio, label))
        };
        std::iter::once(values(&point.0)).chain(pairs.iter().map(of)).collect()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let class = first.class.as_ref().map_or_else(String::new, |class| format!(", {class}"));
    out.text(&format!(
        "{}{class}: paired ratio of {} {}, shorter tail, interval",
        first.group,
        first.percentile.name(),
        first.metric.title()
    ))?;
    let right: Vec<usize> = (1..head.len()).collect();
    out.narrow_table(&head, &right, &rows)?;
    if left_out > 0 {
        out.text(&format!("{left_out} more pairs of schemes are in summary.json"))?;
    }
    Ok(())
}

fn ratio_cell(ratio: &TailRatio, label: &dyn Fn(&str) -> String) -> String {
    let verdict = match ratio.verdict {
        TailVerdict::AShorter => label(&ratio.a),
        TailVerdict::BShorter => label(&ratio.b),
        TailVerdict::Same => "same".to_owned(),
        TailVerdict::Undecided => "undecided".to_owned(),
    };
    let value = significant(ratio.ratio);
    let none = if ratio.note.is_some() { "no interval" } else { "every seed" };
    let interval = ratio.ci95.map_or_else(|| none.to_owned(), range);
    format!("{value} {verdict}\n{interval}")
}
