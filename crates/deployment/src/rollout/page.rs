//! Writes the result of a rollout: JSON, CSV, figures and `report.html`.

use lowtide_charts::{Chart, Figure, FigureFiles};
use lowtide_lab::{LabError, Results};
use lowtide_record::{Manifest, RunDir};
use lowtide_stats::LEAST_SEEDS;

use super::figures::{flow_figures, goodput_figures, query_figures, queue_figure};
use super::flows::read;
use super::result::{RolloutResult, rollout_result};
use super::text::{Tables, describe};
use super::{SHARE_KEY, csv_files};
use crate::html_page::{self, PageMeta, PageTable, Section, json};
use crate::request::RolloutRequest;
use crate::text_table::TextTable;

/// Queries by class of the client, if the scenario has queries.
const QUERIES_CSV: &str = "deployment-queries.csv";

/// Goodput by pair of classes.
const GOODPUT_CSV: &str = "deployment-goodput.csv";

/// The longest queue.
const QUEUES_CSV: &str = "deployment-queues.csv";

/// Explains the section of goodput.
const GOODPUT: &str = "Bytes delivered after the warm-up, over the time for them. Means over the \
    seeds in which the pair has such flows, and of the same flows with no host moved.";

/// Explains the section of queues.
const QUEUE: &str = "In each run the queue at a switch with the greatest 99th percentile of its \
    length over time; means over seeds.";

/// Explains the section of queries.
const QUERIES: &str = "Completion times of queries by the class of the client, whose servers may \
    be of both classes, and of the same queries with no host moved.";

/// Writes all outputs and returns their names.
pub(crate) fn write_outputs(
    request: &RolloutRequest,
    dir: &RunDir,
    manifest: &Manifest,
    results: &Results,
) -> Result<(Vec<String>, RolloutResult), LabError> {
    let runs = read(dir, manifest, SHARE_KEY)?;
    let result = rollout_result(request, manifest, results, &runs);
    dir.write("deployment.json", &json(&result)?)?;
    dir.write("deployment.csv", &csv_files::flows(&result.rows))?;
    dir.write(GOODPUT_CSV, &csv_files::goodput(&result.goodput))?;
    dir.write(QUEUES_CSV, &csv_files::longest_queues(&result.longest_queues))?;
    let mut written = vec!["deployment.json", "deployment.csv", GOODPUT_CSV, QUEUES_CSV];
    if !result.queries.is_empty() {
        dir.write(QUERIES_CSV, &csv_files::queries(&result.queries))?;
        written.push(QUERIES_CSV);
    }
    let drawn =
        |figures: Vec<Figure>| figures.iter().map(FigureFiles::of).collect::<Result<Vec<_>, _>>();
    let (main, by_size) =
        drawn(flow_figures(&result))?.into_iter().partition(|f| ["p99", "ratio"].contains(&&*f.id));
    let section = |title: &str, text: &str, figures, tables: Vec<TextTable>| Section {
        title: title.to_owned(),
        text: text.to_owned(),
        figures,
        tables: tables.into_iter().map(PageTable::from).collect(),
    };
    let Tables {
        effects,
        percentiles,
        by_size: sizes,
        queries,
        mut goodput,
        longest_queues,
        connections,
    } = Tables::of(&result);
    goodput.retain(|table| !table.rows.is_empty());
    let mut sections = Vec::new();
    if !result.rows.is_empty() {
        sections.extend([
            section("Who pays?", &method(&result), main, vec![effects, percentiles]),
            section("Which sizes pay?", "", by_size, vec![sizes]),
        ]);
    }
    if !queries.is_empty() {
        let figures = drawn(query_figures(&result))?;
        sections.push(section("Which queries pay?", QUERIES, figures, queries));
    }
    let figures = drawn(goodput_figures(&result))?;
    sections.push(section("How is the goodput divided?", GOODPUT, figures, goodput));
    let figures = drawn(queue_figure(&result).into_iter().collect())?;
    sections.push(section("How long is the longest queue?", QUEUE, figures, vec![longest_queues]));
    sections.push(section("What did the connections run?", "", Vec::new(), vec![connections]));
    let thresholds = toml::to_string(&result.thresholds)
        .map_err(|e| LabError::Draw { what: "the thresholds".to_owned(), reason: e.to_string() })?;
    let frame = PageMeta {
        lead: result.verdict.clone(),
        equivalent_schemes: vec![describe(&result)],
        findings: Vec::new(),
        thresholds: Some(thresholds),
        settings_note: "At the greatest share.".to_owned(),
    };
    let mut files = html_page::write(dir, manifest, &frame, &sections)?;
    files.extend(written.into_iter().map(str::to_owned));
    Ok((files, result))
}

/// Returns the figures before they are drawn.
pub(crate) fn charts(
    request: &RolloutRequest,
    dir: &RunDir,
    manifest: &Manifest,
    results: &Results,
) -> Result<Vec<Chart>, LabError> {
    let runs = read(dir, manifest, SHARE_KEY)?;
    let result = rollout_result(request, manifest, results, &runs);
    let figures = flow_figures(&result).into_iter().chain(query_figures(&result));
    let figures = figures.chain(goodput_figures(&result)).chain(queue_figure(&result));
    Ok(figures.map(Chart::Panels).collect())
}

fn method(result: &RolloutResult) -> String {
    let interval = if result.seeds < LEAST_SEEDS {
        "Fewer than five seeds have the range of their values and no interval."
    } else {
        "Intervals: 95 %, over seeds."
    };
    format!(
        "Percentiles of all seeds' flows together. The same flows before the move: those between \
         the same hosts at the same seed, with no host moved. The verdict is on the highest \
         percentile, up to p99, for which each seed has enough flows. The verdicts of this \
         page have a familywise error of 5 % (Holm). {interval}"
    )
}
