//! Errors in a script's text, with their position.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// An error in a script's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptError {
    /// Name of the script.
    pub name: String,
    /// The whole text.
    pub text: Arc<str>,
    /// Byte range of the error.
    pub span: Range<usize>,
    /// Description of the error.
    pub message: String,
    /// Description of the correction.
    pub help: Option<String>,
}

impl ScriptError {
    /// An error about `span` of `text`.
    pub fn new(
        name: &str,
        text: &Arc<str>,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> Self {
        let end = span.end.min(text.len());
        let span = span.start.min(end)..end;
        let text = Arc::clone(text);
        Self { name: name.to_string(), text, span, message: message.into(), help: None }
    }

    /// Adds how to correct it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The line, counted from one.
    pub fn line(&self) -> usize {
        line(&self.text, self.span.start)
    }
}

/// Line of byte `at`, counted from one.
pub(super) fn line(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|b| *b == b'\n').count() + 1
}

impl fmt::Display for ScriptError {
    /// `name:line: message`, then the line with a caret under the position.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line();
        writeln!(f, "{}:{number}: {}", self.name, self.message)?;
        let shown = self.text.lines().nth(number - 1).unwrap_or("");
        let bytes = self.text.as_bytes();
        let start = self.span.start;
        let line_start = bytes.iter().take(start).rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let column = self.text.get(line_start..start).map_or(0, |s| s.chars().count());
        let under = self.text.get(self.span.clone()).and_then(|s| s.lines().next());
        let width = under.map_or(1, |s| s.chars().count()).max(1);
        write!(f, "    {shown}\n    {}{}", " ".repeat(column), "^".repeat(width))?;
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ScriptError {}
