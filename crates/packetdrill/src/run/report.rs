//! Result of a run.

use std::fmt::{self, Write as _};
use std::ops::Range;
use std::sync::Arc;

use lowtide_units::{Duration, Instant};

use crate::script::{Script, ScriptError};

/// The outcome of one script.
#[derive(Clone, Debug)]
pub struct ScriptReport {
    /// Name of the script.
    pub name: String,
    /// Why it failed; `None` when it passed.
    pub failure: Option<ScriptFailure>,
    /// Warnings for the author that are not failures.
    pub notes: Vec<Note>,
    /// Events that passed.
    pub events: usize,
    /// All packets in script notation, with their times.
    pub packets: Vec<String>,
    /// Hash of all packets in and out with their times: two runs must agree.
    pub digest: u64,
    /// The virtual time at the end.
    pub ended: Instant,
}

/// A remark about one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The line, counted from one.
    pub line: usize,
    /// The remark.
    pub text: String,
}

/// Description of a failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptFailure {
    /// Name of the script.
    pub name: String,
    /// Its text.
    pub text: Arc<str>,
    /// Byte range of the failed event.
    pub span: Range<usize>,
    /// The line, counted from one.
    pub line: usize,
    /// The virtual time.
    pub at: Instant,
    /// Description of the failure.
    pub message: String,
    /// Expected value, in script notation.
    pub expected: Option<String>,
    /// Actual value, in script notation and numbers.
    pub got: Option<String>,
    /// Fields in which the two differ.
    pub differs: Vec<String>,
}

impl ScriptFailure {
    pub(super) fn new(
        script: &Script,
        span: &Range<usize>,
        at: Instant,
        message: impl Into<String>,
    ) -> Self {
        Self {
            name: script.name.clone(),
            text: Arc::clone(&script.text),
            span: span.clone(),
            line: script.line(span.start),
            at,
            message: message.into(),
            expected: None,
            got: None,
            differs: Vec::new(),
        }
    }
}

impl fmt::Display for ScriptFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} (at {})", self.name, self.line, self.message, seconds(self.at))?;
        if let Some(expected) = &self.expected {
            write!(f, "\n  expected: {expected}")?;
        }
        if let Some(got) = &self.got {
            write!(f, "\n  got:      {got}")?;
        }
        for difference in &self.differs {
            write!(f, "\n  {difference}")?;
        }
        Ok(())
    }
}

/// Why a run stops early.
#[derive(Debug)]
pub(super) enum ExecError {
    /// The stack did not do as the script says.
    Failure(Box<ScriptFailure>),
    /// The script is invalid.
    Script(Box<ScriptError>),
}

impl From<ScriptFailure> for ExecError {
    fn from(failure: ScriptFailure) -> Self {
        Self::Failure(Box::new(failure))
    }
}

impl From<ScriptError> for ExecError {
    fn from(error: ScriptError) -> Self {
        Self::Script(Box::new(error))
    }
}

impl ScriptReport {
    pub(super) fn new(script: &Script, notes: Vec<Note>) -> Self {
        Self {
            name: script.name.clone(),
            failure: None,
            notes,
            events: 0,
            packets: Vec::new(),
            digest: 0,
            ended: Instant::ZERO,
        }
    }

    /// True if the script passed.
    pub const fn passed(&self) -> bool {
        self.failure.is_none()
    }

    pub(super) fn trace(&mut self, at: Instant, packet: &str) {
        self.packets.push(format!("{} {packet}", seconds(at)));
    }

    pub(super) fn note(&mut self, script: &Script, at: usize, text: String) {
        self.notes.push(Note { line: script.line(at), text });
    }
}

/// A time in script notation: microseconds, or finer if needed.
pub(super) fn seconds(at: Instant) -> String {
    fraction(at.since_start())
}

fn fraction(time: Duration) -> String {
    const SECOND: u64 = 1_000_000_000_000;
    let ps = time.as_ps();
    let mut digits = String::new();
    let _ = write!(digits, "{:012}", ps % SECOND);
    while digits.len() > 6 && digits.ends_with('0') {
        digits.pop();
    }
    format!("{}.{digits}", ps / SECOND)
}
