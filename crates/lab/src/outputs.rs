//! Outputs of a run directory that follow from its tables: `summary.json`, figures as SVG and CSV,
//! and the report.

use lowtide_charts::{Chart, Figure, FigureFiles};
use lowtide_record::{Manifest, RunDir};

use crate::error::LabError;
use crate::flow;
use crate::naming::point_text;
use crate::plots::{self, PlotInput, ReportSection};
use crate::report;
use crate::results::Results;
use crate::results_json::ResultsJson;
use crate::stored::CompletedExperiment;
use crate::tails;
use crate::transports::Transports;

/// Writes the outputs and returns their names.
pub(crate) fn write(
    dir: &RunDir,
    manifest: &Manifest,
    results: &Results,
) -> Result<Vec<String>, LabError> {
    let mut files = Vec::new();
    let mut write = |path: String, content: &str| -> Result<(), LabError> {
        dir.write(&path, content)?;
        files.push(path);
        Ok(())
    };
    let found = ResultsJson::new(manifest, results);
    let mut json = serde_json::to_string_pretty(&found)
        .map_err(|e| LabError::Draw { what: "summary.json".to_owned(), reason: e.to_string() })?;
    json.push('\n');
    write("summary.json".to_owned(), &json)?;
    write("tails.csv".to_owned(), &tails::to_csv(&results.tails))?;
    write("cdf.csv".to_owned(), &tails::distributions_csv(&results.runs))?;
    let transports = Transports::new(manifest, &results.runs);
    // Figures and report show labels; tables, summary.json and file names keep the keys.
    let (labelled, shown) = results.relabelled(manifest, &transports);
    let source = PlotInput { manifest: &labelled, results: &shown };
    let figures = draw(dir, source, PlotInput { manifest, results })?;
    for (_, figure) in &figures {
        write(format!("figures/{}.svg", figure.id), &figure.svg)?;
        write(format!("figures/{}.csv", figure.id), &figure.csv)?;
    }
    write(
        "report.html".to_owned(),
        &report::render(source, (&transports, &found.headline), &figures)?,
    )?;
    Ok(files)
}

/// Draws the figures of a complete run directory, as its report shows them.
///
/// # Errors
/// A table cannot be read, or a figure cannot be drawn.
pub fn figures(dir: &RunDir, finished: &CompletedExperiment) -> Result<Vec<FigureFiles>, LabError> {
    let (manifest, results) = (&finished.manifest, &finished.results);
    let (labelled, shown) = results.relabelled(manifest, &finished.transports());
    let source = PlotInput { manifest: &labelled, results: &shown };
    let drawn = draw(dir, source, PlotInput { manifest, results })?;
    Ok(drawn.into_iter().map(|(_, figure)| figure).collect())
}

/// Returns the figures of a complete run directory before they are drawn.
///
/// # Errors
/// A table cannot be read.
pub fn charts(dir: &RunDir, finished: &CompletedExperiment) -> Result<Vec<Chart>, LabError> {
    let (manifest, results) = (&finished.manifest, &finished.results);
    let (labelled, shown) = results.relabelled(manifest, &finished.transports());
    let source = PlotInput { manifest: &labelled, results: &shown };
    let mut out: Vec<Chart> =
        plots::figures(dir, source)?.into_iter().map(|(_, f)| Chart::Panels(f)).collect();
    let flows = flow::recorded_plots(dir, PlotInput { manifest, results })?;
    out.extend(flows.into_iter().map(Chart::Lanes));
    Ok(out)
}

/// Draws the figures of `labelled`, and the plots of recorded flows, which have the keys.
fn draw(
    dir: &RunDir,
    labelled: PlotInput<'_>,
    keyed: PlotInput<'_>,
) -> Result<Vec<(ReportSection, FigureFiles)>, LabError> {
    let mut out = Vec::new();
    let frames = plots::frames(dir, labelled)?;
    let point = point_text(&labelled.point());
    for (section, figure) in plots::figures(dir, labelled)? {
        let others: Vec<(&str, &Figure)> = frames
            .iter()
            .filter_map(|p| Some((p.name.as_str(), p.figures.iter().find(|f| f.id == figure.id)?)))
            .collect();
        out.push((section, FigureFiles::of(&figure)?.with_frames(&others, &point)?));
    }
    for stack in flow::recorded_plots(dir, keyed)? {
        out.push((ReportSection::SingleFlows, FigureFiles::of_chart(&Chart::Lanes(stack))?));
    }
    Ok(out)
}
