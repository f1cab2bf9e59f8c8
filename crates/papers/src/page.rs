//! One page of all requested experiments: each claim of the paper beside our result, and the
//! paper's figures redrawn.
//!
//! Contract: the page is self-contained and loads nothing from the network. It follows from the run
//! directories and the files of claims alone, so it can be rebuilt without running anything.

use std::path::{Path, PathBuf};

use lowtide_charts::page::{self, fill};
use lowtide_charts::{Chart, Figure, FigureFiles, number};
use lowtide_lab::{CompletedExperiment, figures as report_figures, load_open};
use lowtide_record::{RunDir, SweepPoint, write_atomic};
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use super::judge::ClaimResult;
use super::reproduce::ReproductionResult;
use super::source::RunData;
use super::verdict::ClaimVerdict;
use super::{ClaimError, Experiment, ExperimentClaims, PaperFigure, Variation, experiments};
use crate::error::PaperError;

/// The name of the page.
pub const REPRODUCTION_PAGE: &str = "reproduction.html";

/// Figures of the report shown for an experiment without figures of the paper.
const FROM_REPORT: usize = 2;

/// A claim on the page, and its values as text.
#[derive(Serialize)]
struct ClaimLine<'a> {
    #[serde(flatten)]
    claim: &'a ClaimResult,
    name: &'a str,
    paper: String,
    ours: String,
    holds: String,
}

/// Writes the page of these experiments into `root` and returns its path.
pub fn write_page(
    root: &Path,
    done: &[(Experiment, PathBuf, ReproductionResult)],
    quick: bool,
    command: &str,
) -> Result<PathBuf, PaperError> {
    let mut papers: Vec<(&str, Vec<Value>, Vec<ClaimResult>)> = Vec::new();
    for (row, dir, outcome) in done {
        let section = section(row, dir, outcome)?;
        match papers.iter_mut().find(|(paper, ..)| *paper == row.paper) {
            Some((_, sections, claims)) => {
                sections.push(section);
                claims.extend(outcome.claims.iter().cloned());
            }
            None => papers.push((row.paper, vec![section], outcome.claims.clone())),
        }
    }
    let papers: Vec<Value> = papers
        .into_iter()
        .map(|(paper, sections, claims)| {
            context! { paper, sections, score => Serde(score(&claims)) }
        })
        .collect();
    let page = context! { papers, quick, command, version => env!("CARGO_PKG_VERSION") };
    let path = root.join(REPRODUCTION_PAGE);
    write_atomic(&path, fill(include_str!("page.html"), &page)?.as_bytes())?;
    Ok(path)
}

fn section(
    row: &Experiment,
    root: &Path,
    outcome: &ReproductionResult,
) -> Result<Value, PaperError> {
    let expected = ExperimentClaims::parse(row.expected, &row.claims_path())?;
    let (dir, finished) = load_open(root)?;
    let manifest = &finished.manifest;
    let source = RunData { dir: &dir, runs: &finished.results.runs, seeds: &manifest.seeds };
    let mut figures = Vec::new();
    for figure in paper_figures(row, &expected, source, &manifest.points)? {
        figures.push(figure_context(row, FigureFiles::of(&figure)?));
    }
    if figures.is_empty() {
        let drawn = report_figures(&dir, &finished)?.into_iter().take(FROM_REPORT);
        figures = drawn
            .map(|figure| {
                let caption = "From the experiment's own report.".to_owned();
                figure_context(row, FigureFiles { caption, ..figure })
            })
            .collect();
    }
    for Variation { vary, dir, varied } in &outcome.variations {
        figures.push(figure_context(row, FigureFiles::of(&vary.draw(dir, &expected, varied)?)?));
    }
    Ok(context! {
        id => row.id(),
        title => expected.title,
        paper => expected.paper,
        calibration => expected.calibration,
        figures,
        claims => Serde(outcome.claims.iter().map(ClaimLine::new).collect::<Vec<_>>()),
        seeds => manifest.seeds.len(),
        hops => number(outcome.hops as f64 / 1e6),
        digest => manifest.digest.clone().unwrap_or_default(),
        hash => manifest.scenario_hash.clone(),
    })
}

/// Returns the figures of the paper from the tables of a run directory.
fn paper_figures(
    row: &Experiment,
    expected: &ExperimentClaims,
    source: RunData<'_>,
    points: &[SweepPoint],
) -> Result<Vec<Figure>, PaperError> {
    let draw = |figure: &PaperFigure| {
        let fail = |message: String| ClaimError {
            file: row.claims_path(),
            message: format!("figure `{}`: {message}", figure.id),
        };
        Ok(figure.draw(source, points).map_err(fail)?)
    };
    expected.figures.iter().map(draw).collect()
}

/// Returns the figures of the paper for a run directory of one of its embedded experiments, with
/// the names that they have on the page; none for other directories.
///
/// # Errors
/// A measure of a figure cannot be computed.
pub fn charts(dir: &RunDir, finished: &CompletedExperiment) -> Result<Vec<Chart>, PaperError> {
    let manifest = &finished.manifest;
    let Some(row) = experiments().into_iter().find(|row| row.id() == manifest.scenario) else {
        return Ok(Vec::new());
    };
    let expected = ExperimentClaims::parse(row.expected, &row.claims_path())?;
    let source = RunData { dir, runs: &finished.results.runs, seeds: &manifest.seeds };
    let figures = paper_figures(&row, &expected, source, &manifest.points)?;
    let named = |figure: Figure| Figure { id: format!("{}-{}", row.id(), figure.id), ..figure };
    Ok(figures.into_iter().map(named).map(Chart::Panels).collect())
}

fn figure_context(row: &Experiment, drawn: FigureFiles) -> Value {
    let id = format!("{}-{}", row.id(), drawn.id);
    page::figure(&FigureFiles { id, ..drawn }, None)
}

/// Number of counted claims per verdict, and the number of claims that are not counted.
fn score(claims: &[ClaimResult]) -> Vec<(String, usize)> {
    let counting = || claims.iter().filter(|c| !c.calibrated);
    let mut out: Vec<(String, usize)> = ClaimVerdict::ALL
        .iter()
        .map(|v| (v.name().to_owned(), counting().filter(|c| c.verdict == *v).count()))
        .collect();
    let fitted = claims.len() - counting().count();
    if fitted > 0 {
        out.push(("not counted".to_owned(), fitted));
    }
    out
}

impl<'a> ClaimLine<'a> {
    fn new(claim: &'a ClaimResult) -> Self {
        let unit = if claim.unit.is_empty() { String::new() } else { format!(" {}", claim.unit) };
        let ours = match (claim.measured, claim.ci95) {
            (None, _) => "\u{2013}".to_owned(),
            (Some(m), None) => format!("{}{unit} =", number(m)),
            (Some(m), Some([a, b])) => {
                format!("{}{unit} ({} to {})", number(m), number(a), number(b))
            }
        };
        let name = claim.id.split_once('/').map_or(claim.id.as_str(), |(_, name)| name);
        let paper = claim
            .reported
            .map_or_else(|| "an order".to_owned(), |r| format!("{}{unit}", number(r)));
        Self { claim, name, paper, ours, holds: claim.band_text() }
    }
}
