//! The calls of a tape on a fresh endpoint.

use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError};

use lowtide_units::Instant;
use thiserror::Error;

use super::call::EndpointCall;
use super::{HEADER, RecordedEndpoint};

/// What a replay saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplaySummary {
    /// Calls that were made.
    pub calls: u64,
    /// Of those the segments that arrived.
    pub segments: u64,
    /// Transmissions that connections made.
    pub transmissions: u64,
    /// The time of the last call.
    pub end: Instant,
}

/// Why a tape could not be replayed, or where it ran differently.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The file cannot be read.
    #[error("cannot read the tape: {0}")]
    Io(#[from] io::Error),
    /// A line that is no call.
    #[error("line {line} of the tape is none that this version reads: {text}")]
    Line {
        /// Which one, from 1.
        line: u64,
        /// What it says.
        text: String,
    },
    /// An answer differs.
    #[error("line {line} of the tape: {call}\n  then: {expected}\n  now:  {got}")]
    Mismatch {
        /// Which one, from 1.
        line: u64,
        /// The call.
        call: String,
        /// The answer on tape.
        expected: String,
        /// The answer now.
        got: String,
    },
}

/// A tape in memory.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl SharedBuffer {
    fn take(&self) -> String {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes every call of a tape on a fresh endpoint and compares every answer. A tape that was cut off in the
/// middle of a line ends before it.
///
/// # Errors
/// A tape that is none, and the first answer that differs.
pub fn replay(tape: &mut dyn BufRead) -> Result<ReplaySummary, ReplayError> {
    let mut seen = ReplaySummary { calls: 0, segments: 0, transmissions: 0, end: Instant::ZERO };
    let mut number = 0;
    let mut text = String::new();
    let mut next = |text: &mut String| -> Result<Option<u64>, ReplayError> {
        text.clear();
        number += 1;
        let n = tape.read_line(text)?;
        Ok((n > 0 && text.pop() == Some('\n')).then_some(number))
    };
    let bad = |line: u64, text: &str| ReplayError::Line { line, text: text.to_owned() };

    if next(&mut text)?.is_none() || text != HEADER {
        return Err(bad(1, &text));
    }
    next(&mut text)?;
    let seed = text.strip_prefix("seed ").and_then(|s| s.parse().ok());
    let seed = seed.ok_or_else(|| bad(2, &text))?;
    let memory = SharedBuffer::default();
    let mut boundary = RecordedEndpoint::new(seed, Some(Box::new(memory.clone())));
    memory.take();

    while let Some(line) = next(&mut text)? {
        let parsed = text.split_once(' ').and_then(|(time, rest)| {
            let (call, answer) = rest.split_once(" > ")?;
            Some((Instant::from_ps(time.parse().ok()?), call, EndpointCall::parse(call)?, answer))
        });
        let (now, said, call, expected) = parsed.ok_or_else(|| bad(line, &text))?;
        seen.calls += 1;
        seen.end = now;
        seen.segments += u64::from(matches!(call, EndpointCall::Segment { .. }));
        let transmits = matches!(call, EndpointCall::Transmit { .. });
        apply_call(&mut boundary, now, call);
        let produced = memory.take();
        let got = produced.trim_end().rsplit_once(" > ").map_or("nothing", |(_, answer)| answer);
        if got != expected {
            return Err(ReplayError::Mismatch {
                line,
                call: said.to_owned(),
                expected: expected.to_owned(),
                got: got.to_owned(),
            });
        }
        let idle = expected == "rest" || expected.starts_with("next ");
        seen.transmissions += u64::from(transmits && !idle);
    }
    Ok(seen)
}

/// The call again; its answer goes to the tape of `boundary`.
fn apply_call(boundary: &mut RecordedEndpoint, now: Instant, call: EndpointCall) {
    match call {
        EndpointCall::Listen { port, backlog, config } => {
            let _ = boundary.listen(now, port, config, backlog);
        }
        EndpointCall::Unlisten { port } => boundary.unlisten(now, port),
        EndpointCall::Connect { local, remote, port, config } => {
            let _ = boundary.connect(now, local, remote, port, config);
        }
        EndpointCall::Segment { local, remote, segment } => {
            boundary.handle_segment(now, local, remote, &segment);
        }
        EndpointCall::Reply => {
            boundary.poll_reply(now);
        }
        EndpointCall::Icmp { id, seq, report } => {
            boundary.handle_icmp_report(now, id, seq, report);
        }
        EndpointCall::Timeout { id } => boundary.handle_timeout(now, id),
        EndpointCall::Transmit { id } => {
            boundary.poll_transmit(now, id);
        }
        EndpointCall::Transmitted { id, transmit, stamp } => {
            boundary.on_transmitted(now, id, transmit, stamp);
        }
        EndpointCall::Event { id } => {
            boundary.poll_event(now, id);
        }
        EndpointCall::Send { id, n } => boundary.send(now, id, n),
        EndpointCall::SendSpace { id } => {
            boundary.send_space(now, id);
        }
        EndpointCall::Read { id, n } => boundary.read(now, id, n),
        EndpointCall::SetNagle { id, on } => boundary.set_nagle(now, id, on),
        EndpointCall::SetTimeWaitLimit { n } => boundary.set_time_wait_limit(now, n),
        EndpointCall::SetReceiveBuffer { id, n } => boundary.set_receive_buffer(now, id, n),
        EndpointCall::DiscardOutOfOrder { id } => boundary.discard_out_of_order(now, id),
        EndpointCall::Close { id } => boundary.close(now, id),
        EndpointCall::Abort { id } => boundary.abort(now, id),
        EndpointCall::Release { id } => boundary.release(now, id),
    }
}
