//! Replay of a recording on a fresh endpoint.

use std::io::{self, BufRead, Read as _, Write};
use std::sync::{Arc, Mutex, PoisonError};

use lowtide_units::Instant;
use thiserror::Error;

use super::call::EndpointCall;
use super::{HEADER, RecordedEndpoint};

/// Summary of a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplaySummary {
    /// Number of calls.
    pub calls: u64,
    /// Number of arriving segments among them.
    pub segments: u64,
    /// Number of transmissions.
    pub transmissions: u64,
    /// Time of the last call.
    pub end: Instant,
}

/// Invalid recording, or a result that differs.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// Reading failed.
    #[error("cannot read the recording: {0}")]
    Io(#[from] io::Error),
    /// A line that is not a call.
    #[error("line {line} of the recording is not a call that this version knows: {text}")]
    Line {
        /// Line number, from 1.
        line: u64,
        /// Text of the line.
        text: String,
    },
    /// A result differs.
    #[error("line {line} of the recording: {call}\n  then: {expected}\n  now:  {got}")]
    Mismatch {
        /// Line number, from 1.
        line: u64,
        /// The call.
        call: String,
        /// The recorded result.
        expected: String,
        /// The result of the replay.
        got: String,
    },
}

/// A recording in memory.
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

/// Longest line, bytes: far above that of a call with the largest segment.
const MAX_LINE: u64 = 1 << 20;

/// The error of a line, with its begin; control characters are replaced.
fn bad_line(line: u64, text: &str) -> ReplayError {
    let plain = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    ReplayError::Line { line, text: text.chars().take(200).map(plain).collect() }
}

/// Repeats every call of a recording on a fresh endpoint and compares every result. An incomplete
/// last line is ignored.
///
/// # Errors
/// An invalid recording, and the first result that differs.
pub fn replay(recording: &mut dyn BufRead) -> Result<ReplaySummary, ReplayError> {
    let mut summary = ReplaySummary { calls: 0, segments: 0, transmissions: 0, end: Instant::ZERO };
    let mut number = 0;
    let mut text = String::new();
    let mut next = |text: &mut String| -> Result<Option<u64>, ReplayError> {
        text.clear();
        number += 1;
        let n = (&mut *recording).take(MAX_LINE).read_line(text)?;
        if n as u64 == MAX_LINE && !text.ends_with('\n') {
            return Err(bad_line(number, text));
        }
        Ok((n > 0 && text.pop() == Some('\n')).then_some(number))
    };

    if next(&mut text)?.is_none() || text != HEADER {
        return Err(bad_line(1, &text));
    }
    next(&mut text)?;
    let seed = text.strip_prefix("seed ").and_then(|s| s.parse().ok());
    let seed = seed.ok_or_else(|| bad_line(2, &text))?;
    let memory = SharedBuffer::default();
    let mut boundary = RecordedEndpoint::new(seed, Some(Box::new(memory.clone())));
    memory.take();

    while let Some(line) = next(&mut text)? {
        let parsed = text.split_once(' ').and_then(|(time, rest)| {
            let (call, result) = rest.split_once(" > ")?;
            Some((Instant::from_ps(time.parse().ok()?), call, EndpointCall::parse(call)?, result))
        });
        let (now, call_text, call, expected) = parsed.ok_or_else(|| bad_line(line, &text))?;
        summary.calls += 1;
        summary.end = now;
        summary.segments += u64::from(matches!(call, EndpointCall::Segment { .. }));
        let transmits = matches!(call, EndpointCall::Transmit { .. });
        apply_call(&mut boundary, now, call);
        let produced = memory.take();
        let got = produced.trim_end().rsplit_once(" > ").map_or("nothing", |(_, answer)| answer);
        if got != expected {
            return Err(ReplayError::Mismatch {
                line,
                call: call_text.to_owned(),
                expected: expected.to_owned(),
                got: got.to_owned(),
            });
        }
        let idle = expected == "rest" || expected.starts_with("next ");
        summary.transmissions += u64::from(transmits && !idle);
    }
    Ok(summary)
}

/// Repeats a call; its result goes to the recording of `boundary`.
fn apply_call(boundary: &mut RecordedEndpoint, now: Instant, call: EndpointCall) {
    match call {
        EndpointCall::Listen { port, backlog, config } => {
            let _ = boundary.listen(now, port, config, backlog);
        }
        EndpointCall::Unlisten { port } => boundary.unlisten(now, port),
        EndpointCall::Connect { local, remote, port, config } => {
            let _ = boundary.connect(now, local.ip(), local.port(), remote, port, config);
        }
        EndpointCall::Reconfigure { port, config } => boundary.reconfigure(now, port, config),
        EndpointCall::SetNextIsn { isn } => boundary.set_next_isn(now, isn),
        EndpointCall::Segment { local, remote, segment } => {
            boundary.handle_segment(now, local, remote, &segment);
        }
        EndpointCall::Reply => {
            boundary.poll_reply(now);
        }
        EndpointCall::Icmp { id, seq, report } => {
            boundary.handle_icmp_report(now, id, seq, report);
        }
        EndpointCall::Transmit { id } => {
            boundary.poll_transmit(now, id);
        }
        EndpointCall::Transmitted { id, transmit, stamp } => {
            boundary.on_transmitted(now, id, transmit, stamp);
        }
        EndpointCall::Event { id } => {
            boundary.poll_event(now, id);
        }
        EndpointCall::SendSpace { id } => {
            boundary.send_space(now, id);
        }
        EndpointCall::SetTimeWaitLimit { n } => boundary.set_time_wait_limit(now, n),
        EndpointCall::Conn { id, call } => boundary.call(now, id, call),
        EndpointCall::Release { id } => boundary.release(now, id),
    }
}
