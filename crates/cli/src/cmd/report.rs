//! `lowtide report`: figures and report of a run directory, written again.

use std::path::Path;

use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn report(dir: &Path, out: Output) -> Result<(), Failure> {
    let finished = lowtide_lab::report(dir).map_err(|e| Failure::Usage(e.to_string(), None))?;
    out.text(&finished.dir.join("report.html").display().to_string())
}
