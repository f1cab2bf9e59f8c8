//! The table beside the headline: swept values down, schemes across, and how
//! far each scheme is from the first.

use serde::Serialize;

use crate::figure::number::{MISSING, significant};
use crate::view::{Line, Point, ReportData};

/// More schemes than this and the ratios would crowd the table.
const RATIOS: usize = 4;

/// The table, as text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Matrix {
    /// What stands above the first column; empty when nothing is swept.
    key: String,
    /// What the cells are.
    title: String,
    schemes: Vec<String>,
    /// Heads of the columns of ratios.
    ratios: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    label: String,
    cells: Vec<Cell>,
    ratios: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Cell {
    mean: String,
    interval: String,
    partial: bool,
}

/// The first curve as a table; `None` without one.
pub(super) fn of(data: &ReportData) -> Option<Matrix> {
    let curve = data.curves.first()?;
    let (first, others) = curve.lines.split_first()?;
    let with_ratios = !others.is_empty() && curve.lines.len() <= RATIOS;
    let places: Vec<(String, f64)> = match &data.sweep {
        Some(axis) => axis.ticks.iter().map(|tick| (tick.label.clone(), tick.value)).collect(),
        None => vec![(String::new(), first.points.first()?.x)],
    };
    let rows = places
        .into_iter()
        .map(|(label, x)| Row {
            label,
            cells: curve.lines.iter().map(|line| cell(point(line, x))).collect(),
            ratios: if with_ratios {
                let base = point(first, x).and_then(|point| point.mean);
                others
                    .iter()
                    .map(|line| ratio(base, point(line, x).and_then(|point| point.mean)))
                    .collect()
            } else {
                Vec::new()
            },
        })
        .collect();
    let unit = if curve.unit.is_empty() { String::new() } else { format!(", {}", curve.unit) };
    Some(Matrix {
        key: data.sweep.as_ref().map_or_else(String::new, |axis| axis.key.clone()),
        title: format!("{}, {}{unit}", curve.label, curve.group),
        schemes: curve.lines.iter().map(|line| line.scheme.clone()).collect(),
        ratios: if with_ratios {
            others.iter().map(|line| format!("{} ÷ {}", first.scheme, line.scheme)).collect()
        } else {
            Vec::new()
        },
        rows,
    })
}

fn point(line: &Line, x: f64) -> Option<&Point> {
    line.points.iter().find(|point| point.x.total_cmp(&x).is_eq())
}

fn cell(point: Option<&Point>) -> Cell {
    let mean = point.and_then(|point| point.mean);
    Cell {
        mean: mean.map_or_else(|| MISSING.to_owned(), |mean| significant(mean, 4)),
        interval: match (mean, point.and_then(Point::interval)) {
            (Some(_), Some((lo, hi))) => {
                format!("{} to {}", significant(lo, 4), significant(hi, 4))
            }
            _ => String::new(),
        },
        partial: point.is_some_and(Point::is_partial),
    }
}

fn ratio(base: Option<f64>, other: Option<f64>) -> String {
    match (base, other) {
        (Some(base), Some(other)) if other > 0.0 => significant(base / other, 3),
        _ => MISSING.to_owned(),
    }
}
