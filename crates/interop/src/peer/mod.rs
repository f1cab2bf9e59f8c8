//! The peer programs in Rust. Those in Go and C are in `peers/`.

pub mod kernel;
pub mod smoltcp;

use std::io::{self, BufRead, Write};

use crate::script::EndpointReport;

/// Says `line` to the runner.
pub(crate) fn send_line(line: &str) {
    let mut out = io::stdout().lock();
    // A runner that is gone ends this program by its standard input.
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

/// Waits for `go`. From then on a thread waits for the end of standard input and ends the process.
///
/// # Errors
/// The runner is gone, or there is no thread.
pub(crate) fn wait_for_go() -> io::Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    if line.trim() != "go" {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the runner did not say `go`"));
    }
    let watch = || {
        let mut rest = String::new();
        while io::stdin().lock().read_line(&mut rest).is_ok_and(|n| n > 0) {
            rest.clear();
        }
        std::process::exit(0);
    };
    std::thread::Builder::new().name("stdin".to_owned()).spawn(watch)?;
    Ok(())
}

/// Writes the report and leaves the stack running until the runner ends standard input.
pub(crate) fn report(account: &EndpointReport) {
    send_line(&serde_json::to_string(account).unwrap_or_default());
}
