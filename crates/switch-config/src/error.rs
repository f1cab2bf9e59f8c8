//! Errors, each with what would be right.

use crate::vendor::Vendor;

/// Error of an import or an export.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum ConfigError {
    /// A table or a field of CONFIG_DB is missing or has no valid value.
    #[error("{at}: {problem}")]
    Field {
        /// Table, entry and field, as `WRED_PROFILE|WEB|green_min_threshold`.
        at: String,
        /// The error, and a correct value.
        problem: String,
    },
    /// Two files have different values for one entry.
    #[error("`{0}` is in two files with different values: pass files of one switch")]
    Conflict(String),
    /// Several queues with different settings.
    #[error("the queues differ: {0}; choose one with {1}")]
    SeveralQueues(String, &'static str),
    /// The switch of a scenario has a setting that the real one lacks.
    #[error("{vendor} cannot express `{key}`: {problem}")]
    Inexpressible {
        /// The switch.
        vendor: Vendor,
        /// Key below `[switch]`.
        key: String,
        /// The values that it can express.
        problem: String,
    },
    /// The switch has no such port or queue.
    #[error("{vendor}: {problem}")]
    Placement {
        /// The switch.
        vendor: Vendor,
        /// The error, and a correct value.
        problem: String,
    },
}

impl ConfigError {
    pub(crate) fn field(at: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Field { at: at.into(), problem: problem.into() }
    }

    pub(crate) fn inexpressible(vendor: Vendor, key: &str, problem: impl Into<String>) -> Self {
        Self::Inexpressible { vendor, key: key.to_owned(), problem: problem.into() }
    }

    pub(crate) fn placement(vendor: Vendor, problem: impl Into<String>) -> Self {
        Self::Placement { vendor, problem: problem.into() }
    }
}
