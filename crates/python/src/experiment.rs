//! A complete run directory with its results.

use std::path::PathBuf;

use lowtide_charts::Chart;
use lowtide_lab::compare::{CompareOptions, compare};
use lowtide_lab::{CompletedExperiment, load_open};
use lowtide_record::RunDir;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::exception;
use crate::figure::{self, Style};
use crate::json::json_text;
use crate::table;

/// Results of a scenario.
#[pyclass(frozen)]
pub(crate) struct Experiment {
    dir: RunDir,
    finished: CompletedExperiment,
}

impl Experiment {
    pub(crate) fn new(py: Python<'_>, finished: CompletedExperiment) -> PyResult<Self> {
        let opened = RunDir::open(&finished.dir).map_err(|e| exception::of_record(py, &e));
        Ok(Self { dir: opened?.0, finished })
    }

    fn charts(&self, py: Python<'_>) -> PyResult<Vec<Chart>> {
        let drawn = py.detach(|| lowtide_deployment::charts(&self.dir, &self.finished));
        let mut charts = drawn.map_err(|e| exception::of_lab(py, e, None))?;
        let of_paper = py.detach(|| lowtide_papers::charts(&self.dir, &self.finished));
        charts.extend(of_paper.map_err(|e| exception::of_paper(py, e))?);
        Ok(charts)
    }
}

/// Loads a complete run directory.
#[pyfunction]
pub(crate) fn load(py: Python<'_>, dir: PathBuf) -> PyResult<Experiment> {
    let loaded = py.detach(|| load_open(&dir));
    let (dir, finished) = loaded.map_err(|e| exception::of_lab(py, e, None))?;
    Ok(Experiment { dir, finished })
}

#[pymethods]
impl Experiment {
    /// The directory.
    #[getter]
    fn dir(&self) -> PathBuf {
        self.finished.dir.clone()
    }

    /// The digest of all runs.
    #[getter]
    fn digest(&self) -> &str {
        &self.finished.results.digest
    }

    /// The manifest, JSON.
    fn manifest(&self, py: Python<'_>) -> PyResult<String> {
        json_text(py, &self.finished.manifest)
    }

    /// The verdict, one sentence each.
    fn verdict(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.finished.headline().all().cloned().collect())
    }

    /// Sentences that a reader must know before the numbers.
    fn findings(&self) -> Vec<String> {
        self.finished.results.findings.iter().map(lowtide_lab::RunFinding::sentence).collect()
    }

    /// Labels of the schemes, by name.
    fn labels(&self) -> std::collections::BTreeMap<String, String> {
        self.finished.transports().labels()
    }

    /// Metrics over seeds, JSON.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        json_text(py, &self.finished.results.summary)
    }

    /// Percentiles of all seeds together, JSON.
    fn tails(&self, py: Python<'_>) -> PyResult<String> {
        json_text(py, &self.finished.results.tails)
    }

    /// The comparisons of the headline, JSON.
    fn comparisons(&self, py: Python<'_>) -> PyResult<String> {
        let headline = py.detach(|| self.finished.headline());
        json_text(py, &headline.comparisons)
    }

    /// Names of the tables.
    fn tables(&self) -> Vec<&'static str> {
        self.dir.table_names()
    }

    /// A table as a capsule with an `ArrowArrayStream`.
    fn stream<'py>(&self, py: Python<'py>, table: &str) -> PyResult<Bound<'py, PyCapsule>> {
        table::stream(py, &self.dir, table)
    }

    /// The schema of a table as a capsule with an `ArrowSchema`.
    fn schema<'py>(&self, py: Python<'py>, table: &str) -> PyResult<Bound<'py, PyCapsule>> {
        table::schema(py, &self.dir, table)
    }

    /// Columns of a table: name, unit, description, whether it is numeric.
    fn columns(
        &self,
        py: Python<'_>,
        table: &str,
    ) -> PyResult<Vec<(String, String, String, bool)>> {
        let opened = self.dir.text_table(table).map_err(|e| exception::of_record(py, &e))?;
        let column = |c: &lowtide_record::TextColumn| {
            (c.name.clone(), c.unit.clone(), c.description.clone(), c.numeric)
        };
        Ok(opened.columns().iter().map(column).collect())
    }

    /// Compares with other results seed by seed. `pairs` are schemes here with schemes there.
    /// Returns JSON.
    #[pyo3(signature = (other, pairs, metrics, queues, same_within))]
    fn compare(
        &self,
        py: Python<'_>,
        other: &Self,
        pairs: Vec<(String, String)>,
        metrics: Vec<String>,
        queues: Vec<String>,
        same_within: f64,
    ) -> PyResult<String> {
        let options = CompareOptions {
            metrics,
            queues,
            schemes: pairs,
            same_within,
            ..CompareOptions::default()
        };
        let (a, b) = (&self.finished.results, &other.finished.results);
        let found = py.detach(|| compare(a, b, &options));
        json_text(py, &found.map_err(|e| exception::of_lab(py, e, None))?)
    }

    /// Names, titles and captions of the figures.
    fn figures(&self, py: Python<'_>) -> PyResult<Vec<(String, String, String)>> {
        let row = |c: &Chart| (c.id().to_owned(), c.title().to_owned(), c.caption().to_owned());
        Ok(self.charts(py)?.iter().map(row).collect())
    }

    /// A figure as a file of `format`: `svg`, `pdf` or `png`.
    fn figure_file(
        &self,
        py: Python<'_>,
        name: &str,
        format: &str,
        style: Style,
    ) -> PyResult<Vec<u8>> {
        let charts = self.charts(py)?;
        figure::file(py, find(py, &charts, name)?, format, &style)
    }

    /// The values of a figure, CSV.
    fn figure_csv(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        Ok(find(py, &self.charts(py)?, name)?.to_csv())
    }

    /// A figure before it is drawn, JSON: axes, series, styles.
    fn figure_json(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        let charts = self.charts(py)?;
        let text = find(py, &charts, name)?.to_whole_json();
        text.map_err(|e| exception::of_run(py, &e.to_string()))
    }
}

fn find<'a>(py: Python<'_>, charts: &'a [Chart], name: &str) -> PyResult<&'a Chart> {
    charts.iter().find(|chart| chart.id() == name).ok_or_else(|| {
        let names: Vec<String> = charts.iter().map(|c| format!("`{}`", c.id())).collect();
        let help = match names.as_slice() {
            [] => "these results have no figures".to_owned(),
            names => format!("the figures are {}", names.join(", ")),
        };
        exception::of_request(py, &format!("no figure is named `{name}`"), Some(&help))
    })
}
