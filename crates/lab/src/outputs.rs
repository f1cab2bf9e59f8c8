//! Outputs of a run directory that follow from its tables: `summary.json`, figures as SVG and CSV,
//! and the report.

use lowtide_charts::FigureFiles;
use lowtide_record::{Manifest, RunDir};

use crate::error::LabError;
use crate::flow;
use crate::plots::{self, PlotInput, ReportSection};
use crate::report;
use crate::results::Results;
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
    let envelope = results.envelope(manifest);
    let mut json = serde_json::to_string_pretty(&envelope)
        .map_err(|e| LabError::Draw { what: "summary.json".to_owned(), reason: e.to_string() })?;
    json.push('\n');
    write("summary.json".to_owned(), &json)?;
    write("tails.csv".to_owned(), &tails::to_csv(&results.tails))?;
    write("cdf.csv".to_owned(), &tails::distributions_csv(&results.runs))?;
    let transports = Transports::new(manifest, results);
    // Figures and report show labels; tables, summary.json and file names keep the keys.
    let (labelled, shown) = transports.relabelled(manifest, results);
    let source = PlotInput { manifest: &labelled, results: &shown };
    let mut figures = Vec::new();
    for (question, figure) in plots::figures(dir, source)? {
        figures.push((question, FigureFiles::of(&figure)?));
    }
    for stack in flow::recorded_plots(dir, PlotInput { manifest, results })? {
        figures.push((ReportSection::SingleFlows, FigureFiles::of_stack(&stack)?));
    }
    for (_, figure) in &figures {
        write(format!("figures/{}.svg", figure.id), &figure.svg)?;
        write(format!("figures/{}.csv", figure.id), &figure.csv)?;
    }
    write("report.html".to_owned(), &report::render(source, &transports, &figures)?)?;
    Ok(files)
}
