//! A call that is not possible now, or an argument out of range.

use std::fmt;

use pyo3::prelude::*;

use crate::exception;

/// Becomes a `RequestError`.
#[derive(Debug)]
pub(super) struct Misuse {
    message: String,
    help: Option<String>,
}

impl Misuse {
    pub(super) fn new(message: impl fmt::Display, help: impl Into<String>) -> Self {
        Self { message: message.to_string(), help: Some(help.into()) }
    }

    /// An error whose message already has the correction.
    pub(super) fn of(error: impl fmt::Display) -> Self {
        Self { message: error.to_string(), help: None }
    }

    pub(super) fn raised(self, py: Python<'_>) -> PyErr {
        exception::of_request(py, &self.message, self.help.as_deref())
    }
}
