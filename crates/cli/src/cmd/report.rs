//! `lowtide report`: renders figures and report of a run directory again.

use std::path::Path;

use crate::error::CommandError;
use crate::output::Output;

pub(crate) fn report(dir: &Path, out: Output) -> Result<(), CommandError> {
    let finished = lowtide_deployment::rerender_report(dir)?;
    out.text(&finished.dir.join("report.html").display().to_string())
}
