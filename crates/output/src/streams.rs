//! Standard output and standard error: the only module that writes to them.
//!
//! Contract: no function panics. Errors of stdout are returned; errors of stderr are ignored, since
//! there is no third stream to report them. A text of stderr has no control characters but its line
//! ends; colours are added by this program only ([`styled`]).

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, StderrLock, StdoutLock, Write};

use crate::terminal::printable;

/// Writes `text` to stdout and flushes it.
///
/// # Errors
/// Stdout cannot be written to; [`io::ErrorKind::BrokenPipe`] if its reader has closed it.
pub fn data(text: &str) -> io::Result<()> {
    data_with(|out| out.write_all(text.as_bytes()))
}

/// As [`data`], but a terminal gets [`printable`] text. Files and pipes get it unchanged.
///
/// # Errors
/// As [`data`].
pub fn data_or_printable(text: &str) -> io::Result<()> {
    if stdout_is_terminal() { data(&printable(text)) } else { data(text) }
}

/// Passes a buffered writer of stdout to `fill`, and flushes it.
///
/// # Errors
/// Those of `fill`, or stdout cannot be written to.
pub fn data_with(
    fill: impl FnOnce(&mut BufWriter<StdoutLock<'static>>) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    fill(&mut out)?;
    out.flush()
}

/// Whether stdout is a terminal.
pub fn stdout_is_terminal() -> bool {
    stdout().is_terminal()
}

/// Writes a line to stderr.
pub fn note(text: impl Display) {
    let text = text.to_string();
    // One call writes the whole line, so that lines of several threads are not mixed.
    let line = format!("{}\n", printable(&text));
    let _ = stderr().write_all(line.as_bytes());
}

/// Writes a line to stderr that has escape sequences for colours; they are removed unless stderr is
/// a terminal that wants them. The caller has made everything else printable.
pub fn styled(text: &str) {
    let _ = writeln!(anstream::AutoStream::auto(stderr()), "{text}");
}

#[expect(clippy::disallowed_methods, reason = "the module that writes to it")]
fn stdout() -> io::Stdout {
    io::stdout()
}

#[expect(clippy::disallowed_methods, reason = "the module that writes to it")]
fn stderr() -> StderrLock<'static> {
    io::stderr().lock()
}
