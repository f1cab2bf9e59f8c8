//! The program and its arguments. In a Python package the process is the interpreter, and the
//! program is the script that called [`crate::main_from`].

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The program and its arguments, without its name.
#[derive(Clone, Debug)]
struct Invocation {
    program: PathBuf,
    args: Vec<OsString>,
}

/// Set by [`set`]; otherwise the process is the program.
static GIVEN: Mutex<Option<Invocation>> = Mutex::new(None);

/// Sets program and arguments in place of those of the process, for the command that follows.
pub(crate) fn set(program: PathBuf, args: Vec<OsString>) {
    *GIVEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(Invocation { program, args });
}

fn given() -> Option<Invocation> {
    GIVEN.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Returns the arguments without the name of the program.
pub(crate) fn args() -> Vec<OsString> {
    given().map_or_else(|| std::env::args_os().skip(1).collect(), |given| given.args)
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
    given().map_or_else(std::env::current_exe, |given| Ok(given.program))
}
