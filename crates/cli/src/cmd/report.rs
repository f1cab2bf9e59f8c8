//! `lowtide report`: figures and report of a run directory, written again.

use std::path::Path;

use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn report(dir: &Path, out: Output) -> Result<(), Failure> {
    let path = lowtide_lab::write_report(dir).map_err(|e| Failure::Usage(e.to_string(), None))?;
    out.text(&path.display().to_string())
}
