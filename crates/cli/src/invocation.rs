//! The program and its arguments. In a Python package the process is the interpreter, and the
//! program is the script that called [`crate::main_from`].

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The program and its arguments, without its name.
#[derive(Debug)]
struct Invocation {
    program: PathBuf,
    args: Vec<OsString>,
}

/// Set by [`set`]; otherwise the process is the program.
static GIVEN: OnceLock<Invocation> = OnceLock::new();

/// Sets program and arguments in place of those of the process. The first call counts.
pub(crate) fn set(program: PathBuf, args: Vec<OsString>) {
    // A second command in one process keeps the first program; only scripts call this, once.
    let _ = GIVEN.set(Invocation { program, args });
}

/// Returns the arguments without the name of the program.
pub(crate) fn args() -> Vec<OsString> {
    GIVEN.get().map_or_else(|| std::env::args_os().skip(1).collect(), |given| given.args.clone())
}

/// Returns the arguments as text; bytes that are not UTF-8 are replaced.
pub(crate) fn text_args() -> Vec<String> {
    args().iter().map(|arg| arg.to_string_lossy().into_owned()).collect()
}

/// Returns the path of the program, which starts this command again.
///
/// # Errors
/// The system does not name the file of the process.
pub(crate) fn program() -> std::io::Result<PathBuf> {
    GIVEN.get().map_or_else(std::env::current_exe, |given| Ok(given.program.clone()))
}
