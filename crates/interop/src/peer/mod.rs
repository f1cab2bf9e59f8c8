//! Peer programs in Rust. Those in Go and C are in `peers/`.

pub mod kernel;
pub mod smoltcp;

use std::io::{self, BufRead};

use lowtide_output::streams;

use crate::script::EndpointReport;

/// Sends `line` to the runner.
pub(crate) fn send_line(line: &str) {
    // If the runner is gone, standard input ends this program.
    let _ = streams::data(&format!("{line}\n"));
}

/// Waits for `go`, then starts a thread that ends the process when standard input ends.
///
/// # Errors
/// The runner is gone, or the thread cannot be started.
pub(crate) fn wait_for_go() -> io::Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    if line.trim() != "go" {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the runner did not send `go`"));
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

/// Writes the report and keeps the stack running until the runner closes standard input.
pub(crate) fn report(account: &EndpointReport) {
    send_line(&serde_json::to_string(account).unwrap_or_default());
}
