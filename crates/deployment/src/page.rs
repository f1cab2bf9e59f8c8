//! `report.html` of a matrix: one self-contained file in the style of the other reports.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use lowtide_charts::{Chart, FigureFiles, HeatMap};
use lowtide_lab::{LabError, Results, beside_interval};
use lowtide_record::{Manifest, RunDir};

use super::cell::Intervals;
use super::endpoint_stack::EquivalentScheme;
use super::html_page::{self, PageMeta, PageTable, Section, format_number, json};
use super::maps;
use super::request::PairsRequest;
use super::result::{MatrixResult, PairRow, judge_cells};
use super::verdict::PairVerdict;

/// Maximum number of cells that a finding names; the tables name all of them.
const MAX_NAMED: usize = 8;

/// Judges the tables and writes `matrix.json`, the figures and the report.
pub(crate) fn write_outputs(
    request: &PairsRequest,
    dir: &RunDir,
    manifest: &Manifest,
    results: &Results,
) -> Result<(Vec<String>, MatrixResult), LabError> {
    let result = judge_cells(request, dir, manifest, results)?;
    let mut files = vec!["matrix.json".to_owned()];
    dir.write("matrix.json", &json(&result)?)?;
    files.extend(write(dir, manifest, &result)?);
    Ok((files, result))
}

/// Returns the figures of the matrix before they are drawn.
pub(crate) fn charts(
    request: &PairsRequest,
    dir: &RunDir,
    manifest: &Manifest,
    results: &Results,
) -> Result<Vec<Chart>, LabError> {
    let result = judge_cells(request, dir, manifest, results)?;
    let maps = maps::alone(&result).into_iter().chain(maps::with_neighbour(&result));
    Ok(maps.map(Chart::Grids).collect())
}

/// Writes the figures and the report and returns their names.
fn write(
    dir: &RunDir,
    manifest: &Manifest,
    result: &MatrixResult,
) -> Result<Vec<String>, LabError> {
    let alone = drawn(&maps::alone(result))?;
    let beside = drawn(&maps::with_neighbour(result))?;
    let mut sections = vec![Section {
        title: "Each pair alone".to_owned(),
        text: String::new(),
        figures: alone,
        tables: vec![table(result, false)],
    }];
    if !beside.is_empty() {
        sections.push(Section {
            title: "Next to each neighbour".to_owned(),
            text: "A starving pair and its starved neighbour are seen from both sides: each scheme is \
                   a neighbour as well as a pair."
                .to_owned(),
            figures: beside,
            tables: vec![table(result, true)],
        });
    }
    let neighbours = match result.neighbours.len() {
        0 => String::new(),
        1 => ", alone and next to one neighbour".to_owned(),
        n => format!(", alone and next to each of {n} neighbours"),
    };
    let thresholds = toml::to_string(&result.thresholds)
        .map_err(|e| LabError::Draw { what: "the thresholds".to_owned(), reason: e.to_string() })?;
    let frame = PageMeta {
        lead: format!(
            "{} senders x {} receivers{neighbours} \u{b7} {} {} each",
            result.senders.len(),
            result.receivers.len(),
            result.seeds,
            if result.seeds == 1 { "seed" } else { "seeds" },
        ),
        equivalent_schemes: equivalent_schemes(result),
        findings: findings(&result.pairs).into_iter().map(with_nbsp).collect(),
        thresholds: Some(thresholds),
        settings_note:
            "One column per sender, against the last receiver and next to the last neighbour."
                .to_owned(),
    };
    html_page::write(dir, manifest, &frame, &sections)
}

fn drawn(maps: &[HeatMap]) -> Result<Vec<FigureFiles>, LabError> {
    maps.iter().map(|map| Ok(FigureFiles::of_chart(&Chart::Grids(map.clone()))?)).collect()
}

/// Sentences that name the omitted schemes and their equivalents.
fn equivalent_schemes(result: &MatrixResult) -> Vec<String> {
    let line = |side: &str, same: &[EquivalentScheme]| {
        let named: Vec<String> = same.iter().map(|s| format!("{} as {}", s.name, s.as_)).collect();
        (!same.is_empty()).then(|| format!("Equivalent as {side}: {}.", named.join(", ")))
    };
    let lines = [line("senders", &result.same_senders), line("receivers", &result.same_receivers)];
    lines.into_iter().flatten().collect()
}

/// Verdicts and mechanisms with their cells, the most frequent first. Then the cells in which
/// single seeds have another verdict than all together, and those whose sender ran another
/// congestion control than the requested one.
pub fn findings(rows: &[PairRow]) -> Vec<[String; 4]> {
    let mut found: Vec<(PairVerdict, &'static str, Vec<String>)> = Vec::new();
    for row in rows {
        let why = row.mechanism.unwrap_or("\u{2013}");
        let name = cell_name(row);
        match found.iter_mut().find(|(v, w, _)| *v == row.verdict && *w == why) {
            Some((.., names)) => names.push(name),
            None => found.push((row.verdict, why, vec![name])),
        }
    }
    found.sort_by_key(|(verdict, _, names)| (*verdict, usize::MAX - names.len()));
    let disagreeing: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let [same, all] = row.disagreement()?;
            Some(format!("{} ({same} of {all} seeds)", cell_name(row)))
        })
        .collect();
    let line = |first: String, why: String, names: &[String]| {
        let mut which = names.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
        if names.len() > MAX_NAMED {
            // Writing to a string cannot fail.
            let _ = write!(which, " and {} more", names.len() - MAX_NAMED);
        }
        [first, why, names.len().to_string(), which]
    };
    let mut fallbacks: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for row in rows {
        let signals = &row.pair.signals;
        if let (Some(asked), Some(used)) = (&signals.cc, &signals.cc_used)
            && asked != used
        {
            fallbacks.entry((used, asked)).or_default().push(cell_name(row));
        }
    }
    let verdicts = found
        .into_iter()
        .map(|(verdict, why, names)| line(verdict.name().to_owned(), why.to_owned(), &names));
    let ran = fallbacks
        .into_iter()
        .map(|((used, asked), names)| line(format!("ran {used}"), format!("not {asked}"), &names));
    let disagreement = (!disagreeing.is_empty()).then(|| {
        let why = "some seeds alone have another verdict".to_owned();
        line("seeds disagree".to_owned(), why, &disagreeing)
    });
    verdicts.chain(disagreement).chain(ran).collect()
}

/// Prevents line breaks within the names of cells.
fn with_nbsp(mut finding: [String; 4]) -> [String; 4] {
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

/// All pairs alone, or the unhealthy pairs next to a neighbour.
fn table(result: &MatrixResult, beside: bool) -> PageTable {
    let wanted = |row: &&PairRow| {
        row.neighbour.is_some() == beside && (!beside || row.verdict != PairVerdict::Healthy)
    };
    let rows: Vec<Vec<String>> =
        result.pairs.iter().filter(wanted).map(|row| line(row, beside)).collect();
    let head = [
        "Pair",
        "Verdict",
        "Mechanism",
        "Goodput",
        "Share",
        "Queue",
        "p99",
        "cwnd",
        "CE",
        "Retransmitted",
    ];
    let title = if beside {
        format!("{} unhealthy cells", rows.len())
    } else {
        "Goodput in Mbit/s; queue, median and 99th percentile, in packets; cwnd, median, in segments; \
         share of bytes with CE; share of bytes retransmitted. In parentheses: 95 % intervals over seeds; \
         in brackets: the range of fewer than five"
            .to_owned()
    };
    let head = head.into_iter().filter(|h| beside || *h != "Share").map(str::to_owned).collect();
    PageTable { title, head, names: 3, rows, folded: beside }
}

fn line(row: &PairRow, beside: bool) -> Vec<String> {
    let mut out = vec![
        cell_name(row),
        row.verdict.name().to_owned(),
        row.mechanism.unwrap_or("\u{2013}").to_owned(),
    ];
    let cell = |value: Option<f64>, intervals: &Intervals, name: &str| {
        beside_interval(format_number(value), &intervals.text(name))
    };
    let (pair, queue) = (&row.pair, &row.queue);
    let of_pair = |value, name| cell(value, &pair.intervals, name);
    let of_queue = |value, name| cell(value, &queue.intervals, name);
    out.push(of_pair(pair.goodput_mbps, "goodput_mbps"));
    if beside {
        out.push(of_pair(pair.goodput_share, "goodput_share"));
    }
    out.extend([
        of_queue(queue.p50_packets, "p50_packets"),
        of_queue(queue.p99_packets, "p99_packets"),
        format_number(pair.window_segments),
        of_pair(pair.marked, "marked"),
        of_pair(pair.retransmitted, "retransmitted"),
    ]);
    out
}
