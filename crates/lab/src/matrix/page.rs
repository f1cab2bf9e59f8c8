//! `report.html` of a matrix: one file that needs nothing else, in the style of every other report.

use std::fmt::Write as _;

use lowtide_record::{Manifest, RunDir};
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use super::answer::{Answer, PairRow};
use super::ends::Same;
use super::maps;
use super::verdict::Verdict;
use crate::error::LabError;
use crate::figure::{HeatMap, number};
use crate::report;

/// A table of the page.
#[derive(Serialize)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) head: Vec<String>,
    /// Columns of names, from the left.
    pub(crate) names: usize,
    pub(crate) rows: Vec<Vec<String>>,
    /// Shown when it is asked for.
    pub(crate) folded: bool,
}

/// A part of the page, with figures that are drawn already.
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) figures: Vec<Drawn>,
    pub(crate) tables: Vec<Table>,
}

/// A drawn figure.
pub(crate) struct Drawn {
    pub(crate) id: String,
    pub(crate) caption: String,
    pub(crate) svg: String,
    pub(crate) csv: String,
}

/// What stands at the head and the foot of a page of this kind.
pub(crate) struct Frame {
    pub(crate) lead: String,
    pub(crate) same: Vec<String>,
    pub(crate) findings: Vec<[String; 4]>,
    pub(crate) thresholds: Option<String>,
    pub(crate) place: String,
}

/// Cells that a finding names; the tables name all of them.
const MOST_NAMED: usize = 8;

/// Writes the figures and the report and returns their names.
pub(crate) fn write(
    dir: &RunDir,
    manifest: &Manifest,
    answer: &Answer,
) -> Result<Vec<String>, LabError> {
    let alone = drawn(&maps::alone(answer))?;
    let beside = drawn(&maps::beside(answer))?;
    let mut sections = vec![Section {
        title: "Each pair alone".to_owned(),
        text: String::new(),
        figures: alone,
        tables: vec![table(answer, false)],
    }];
    if !beside.is_empty() {
        sections.push(Section {
            title: "Next to each neighbour".to_owned(),
            text: "A starving pair and its starved neighbour are seen from both sides: each scheme is \
                   a neighbour as well as a pair."
                .to_owned(),
            figures: beside,
            tables: vec![table(answer, true)],
        });
    }
    let neighbours = match answer.neighbours.len() {
        0 => String::new(),
        1 => ", alone and next to one neighbour".to_owned(),
        n => format!(", alone and next to each of {n} neighbours"),
    };
    let thresholds = toml::to_string(&answer.thresholds)
        .map_err(|e| LabError::Draw { what: "the thresholds".to_owned(), reason: e.to_string() })?;
    let frame = Frame {
        lead: format!(
            "{} senders x {} receivers{neighbours} \u{b7} {} {} each",
            answer.senders.len(),
            answer.receivers.len(),
            answer.seeds,
            if answer.seeds == 1 { "seed" } else { "seeds" },
        ),
        same: same(answer),
        findings: findings(&answer.pairs).into_iter().map(unbroken).collect(),
        thresholds: Some(thresholds),
        place: "One column per sender, against the last receiver and next to the last neighbour."
            .to_owned(),
    };
    page(dir, manifest, &frame, &sections)
}

/// Writes the figures of `sections` and the page around them.
pub(crate) fn page(
    dir: &RunDir,
    manifest: &Manifest,
    frame: &Frame,
    sections: &[Section],
) -> Result<Vec<String>, LabError> {
    let mut files = Vec::new();
    for figure in sections.iter().flat_map(|s| &s.figures) {
        for (ending, content) in [("svg", &figure.svg), ("csv", &figure.csv)] {
            let path = format!("figures/{}.{ending}", figure.id);
            dir.write(&path, content)?;
            files.push(path);
        }
    }
    let figure = |figure: &Drawn| {
        context! {
            id => figure.id.as_str(),
            caption => figure.caption.as_str(),
            svg => Value::from_safe_string(figure.svg.clone()),
            csv => report::data_uri(&figure.csv),
        }
    };
    let parts: Vec<Value> = sections
        .iter()
        .map(|s| {
            context! {
                title => s.title.as_str(),
                text => s.text.as_str(),
                figures => s.figures.iter().map(figure).collect::<Vec<_>>(),
                tables => Serde(&s.tables),
            }
        })
        .collect();
    let (deciding, rest) = report::settings(&manifest.settings);
    let values = context! {
        manifest => Serde(manifest),
        lead => frame.lead.as_str(),
        same => Serde(&frame.same),
        findings => Serde(&frame.findings),
        parts,
        thresholds => frame.thresholds.as_deref(),
        place => frame.place.as_str(),
        deciding => Serde(deciding),
        rest => Serde(rest),
    };
    dir.write("report.html", &report::fill(include_str!("page.html"), &values)?)?;
    files.push("report.html".to_owned());
    Ok(files)
}

fn drawn(maps: &[HeatMap]) -> Result<Vec<Drawn>, LabError> {
    maps.iter()
        .map(|map| {
            let (id, caption) = (map.id.clone(), map.caption.clone());
            Ok(Drawn { id, caption, svg: map.to_svg()?, csv: map.to_csv() })
        })
        .collect()
}

/// What was left out because something else stands for it.
fn same(answer: &Answer) -> Vec<String> {
    let line = |side: &str, same: &[Same]| {
        let named: Vec<String> = same.iter().map(|s| format!("{} as {}", s.name, s.as_)).collect();
        (!same.is_empty()).then(|| format!("The same as {side}: {}.", named.join(", ")))
    };
    let lines = [line("senders", &answer.same_senders), line("receivers", &answer.same_receivers)];
    lines.into_iter().flatten().collect()
}

/// Verdicts and mechanisms with the cells that they were found in, the most frequent first.
pub fn findings(rows: &[PairRow]) -> Vec<[String; 4]> {
    let mut found: Vec<(Verdict, &'static str, Vec<String>)> = Vec::new();
    for row in rows {
        let why = row.mechanism.unwrap_or("\u{2013}");
        let name = cell_name(row);
        match found.iter_mut().find(|(v, w, _)| *v == row.verdict && *w == why) {
            Some((.., names)) => names.push(name),
            None => found.push((row.verdict, why, vec![name])),
        }
    }
    found.sort_by_key(|(verdict, _, names)| (*verdict, usize::MAX - names.len()));
    let line = |(verdict, why, names): (Verdict, &str, Vec<String>)| {
        let mut which = names.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
        if names.len() > MOST_NAMED {
            // Writing to a string cannot fail.
            let _ = write!(which, " and {} more", names.len() - MOST_NAMED);
        }
        [verdict.name().to_owned(), why.to_owned(), names.len().to_string(), which]
    };
    found.into_iter().map(line).collect()
}

/// The names of cells do not break at the end of a line.
fn unbroken(mut finding: [String; 4]) -> [String; 4] {
    let [.., which] = &mut finding;
    for sign in [" > ", " | "] {
        *which = which.replace(sign, &sign.replace(' ', "\u{a0}"));
    }
    finding
}

/// `dctcp > ecn`, or `dctcp > ecn | sack` next to a neighbour.
fn cell_name(row: &PairRow) -> String {
    let beside = row.neighbour.as_ref().map_or_else(String::new, |n| format!(" | {n}"));
    format!("{} > {}{beside}", row.sender, row.receiver)
}

fn show(value: Option<f64>) -> String {
    value.map_or_else(|| "\u{2013}".to_owned(), |v| number((v * 1000.0).round() / 1000.0))
}

/// Every pair alone, or every pair next to a neighbour that is not healthy.
fn table(answer: &Answer, beside: bool) -> Table {
    let wanted = |row: &&PairRow| {
        row.neighbour.is_some() == beside && (!beside || row.verdict != Verdict::Healthy)
    };
    let rows: Vec<Vec<String>> =
        answer.pairs.iter().filter(wanted).map(|row| line(row, beside)).collect();
    let head =
        ["Pair", "Verdict", "Mechanism", "Goodput", "Share", "Queue", "p99", "cwnd", "CE", "Again"];
    let title = if beside {
        format!("{} cells that are not healthy", rows.len())
    } else {
        "Goodput in Mbit/s; queue, median and 99th percentile, in packets; cwnd, median, in segments; \
         share of bytes with CE; share of bytes sent again"
            .to_owned()
    };
    let head = head.into_iter().filter(|h| beside || *h != "Share").map(str::to_owned).collect();
    Table { title, head, names: 3, rows, folded: beside }
}

fn line(row: &PairRow, beside: bool) -> Vec<String> {
    let mut out = vec![
        cell_name(row),
        row.verdict.name().to_owned(),
        row.mechanism.unwrap_or("\u{2013}").to_owned(),
        show(row.pair.goodput_mbps),
    ];
    if beside {
        out.push(show(row.pair.goodput_share));
    }
    let numbers = [
        row.queue.p50_packets,
        row.queue.p99_packets,
        row.pair.window_segments,
        row.pair.marked,
        row.pair.retransmitted,
    ];
    out.extend(numbers.map(show));
    out
}
