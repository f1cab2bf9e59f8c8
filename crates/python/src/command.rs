//! The command `lowtide` of the package.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;

/// Runs the command with arguments, which are without the name of the program. `program` starts it
/// again. Returns the exit status.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, program: PathBuf, args: Vec<OsString>) -> u8 {
    py.detach(|| lowtide::main_from(program, args))
}
