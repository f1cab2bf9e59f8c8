//! Names that users choose from.

use lowtide_scenario::embedded_scenarios;
use lowtide_tcp::scheme;
use pyo3::prelude::*;

/// Embedded scenarios: names with titles.
#[pyfunction]
pub(crate) fn scenarios() -> Vec<(&'static str, String)> {
    embedded_scenarios().iter().map(|s| (s.name, s.title())).collect()
}

/// Schemes: names with summaries.
#[pyfunction]
pub(crate) fn schemes() -> Vec<(&'static str, &'static str)> {
    scheme::REGISTRY.all().map(|s| (s.name, s.summary)).collect()
}

/// Version of lowtide.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    lowtide_lab::VERSION
}

/// Digest of the program: equal digests, equal runs of equal scenarios.
#[pyfunction]
pub(crate) fn program() -> &'static str {
    lowtide_lab::program_digest()
}
