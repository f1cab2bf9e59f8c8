//! The calls of a tape on a fresh endpoint.

use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError};

use lowtide_units::Instant;
use thiserror::Error;

use super::call::Call;
use super::{Boundary, HEADER};

/// What a replay saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replay {
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
    Differs {
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
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    fn take(&self) -> String {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for Memory {
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
pub fn replay(tape: &mut dyn BufRead) -> Result<Replay, ReplayError> {
    let mut seen = Replay { calls: 0, segments: 0, transmissions: 0, end: Instant::ZERO };
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
    let memory = Memory::default();
    let mut boundary = Boundary::new(seed, Some(Box::new(memory.clone())));
    memory.take();

    while let Some(line) = next(&mut text)? {
        let parsed = text.split_once(' ').and_then(|(time, rest)| {
            let (call, answer) = rest.split_once(" > ")?;
            Some((Instant::from_ps(time.parse().ok()?), call, Call::parse(call)?, answer))
        });
        let (now, said, call, expected) = parsed.ok_or_else(|| bad(line, &text))?;
        seen.calls += 1;
        seen.end = now;
        seen.segments += u64::from(matches!(call, Call::Segment { .. }));
        let transmits = matches!(call, Call::Transmit { .. });
        perform(&mut boundary, now, call);
        let produced = memory.take();
        let got = produced.trim_end().rsplit_once(" > ").map_or("nothing", |(_, answer)| answer);
        if got != expected {
            return Err(ReplayError::Differs {
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
fn perform(boundary: &mut Boundary, now: Instant, call: Call) {
    match call {
        Call::Listen { port, backlog, config } => {
            let _ = boundary.listen(now, port, config, backlog);
        }
        Call::Unlisten { port } => boundary.unlisten(now, port),
        Call::Connect { local, remote, port, config } => {
            let _ = boundary.connect(now, local, remote, port, config);
        }
        Call::Segment { local, remote, segment } => {
            boundary.handle_segment(now, local, remote, &segment);
        }
        Call::Reply => {
            boundary.poll_reply(now);
        }
        Call::Path { id, seq, report } => {
            boundary.handle_path_report(now, id, seq, report);
        }
        Call::Timeout { id } => boundary.handle_timeout(now, id),
        Call::Transmit { id } => {
            boundary.poll_transmit(now, id);
        }
        Call::Transmitted { id, transmit, stamp } => {
            boundary.on_transmitted(now, id, transmit, stamp);
        }
        Call::Event { id } => {
            boundary.poll_event(now, id);
        }
        Call::Send { id, n } => boundary.send(now, id, n),
        Call::Space { id } => {
            boundary.send_space(now, id);
        }
        Call::Read { id, n } => boundary.read(now, id, n),
        Call::Nagle { id, on } => boundary.set_nagle(now, id, on),
        Call::TimeWaits { n } => boundary.set_time_wait_limit(now, n),
        Call::Buffer { id, n } => boundary.set_receive_buffer(now, id, n),
        Call::Discard { id } => boundary.discard_out_of_order(now, id),
        Call::Close { id } => boundary.close(now, id),
        Call::Abort { id } => boundary.abort(now, id),
        Call::Release { id } => boundary.release(now, id),
    }
}
