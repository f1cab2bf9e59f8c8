//! Errors of a file, collected and reported together.

use std::borrow::Cow;
use std::sync::Arc;

use crate::error::ScenarioError;
use crate::toml_tree::{SourceSpan, SourceText};

/// Collects errors.
#[derive(Debug)]
pub(crate) struct Diagnostics<'a> {
    sources: Cow<'a, [SourceText]>,
    errors: Vec<ScenarioError>,
}

impl<'a> Diagnostics<'a> {
    pub(crate) fn new(sources: &'a [SourceText]) -> Self {
        Self { sources: Cow::Borrowed(sources), errors: Vec::new() }
    }
    /// Adds a source text, a file that the scenario names, and returns its number.
    pub(crate) fn add_source(&mut self, source: SourceText) -> usize {
        let known =
            self.sources.iter().position(|s| s.name == source.name && s.text == source.text);
        known.unwrap_or_else(|| {
            self.sources.to_mut().push(source);
            self.sources.len() - 1
        })
    }
    /// Adds an error that has its location.
    pub(crate) fn push(&mut self, error: ScenarioError) {
        self.errors.push(error);
    }
    /// Adds an error at `at`.
    pub(crate) fn add(&mut self, at: SourceSpan, message: impl Into<String>, help: Option<String>) {
        self.errors.push(error_at(&self.sources, at, message, help));
    }
    /// Returns whether there is no error so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }
    /// Returns the number of errors.
    pub(crate) fn len(&self) -> usize {
        self.errors.len()
    }
    pub(crate) fn into_errors(self) -> Vec<ScenarioError> {
        self.errors
    }
}

/// Returns an error about a location in the sources.
pub(crate) fn error_at(
    sources: &[SourceText],
    at: SourceSpan,
    message: impl Into<String>,
    help: Option<String>,
) -> ScenarioError {
    let source = &sources[at.source];
    ScenarioError {
        message: message.into(),
        help,
        // The root and implicit values have no location.
        span: (at.start < at.end).then(|| at.range()),
        file: source.name.clone(),
        text: Arc::clone(&source.text),
    }
}
