//! Parameters declared by workloads, and their values.

use std::sync::Arc;

use lowtide_units::{Bytes, Duration, Fraction, Rate};

use crate::cdf::{Cdf, CdfKind};

/// Values that a parameter accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkloadParamKind {
    /// A whole number in a closed range.
    Count {
        /// Least.
        min: u64,
        /// Most.
        max: u64,
    },
    /// A size of at least one byte.
    Size,
    /// A size of at least one byte, or `unlimited`.
    SizeOrUnlimited,
    /// A duration.
    Time,
    /// Bits per second.
    Rate,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// A fraction in a closed range, as `15 %`: probabilities, loads, factors.
    Parts {
        /// Least.
        min: Fraction,
        /// Most.
        max: Fraction,
    },
    /// A built-in distribution of this kind, a constant (`1 MB`, `10 ms`), or the path of a file:
    /// see [`Cdf::from_text`] and [`Cdf::parse`].
    Distribution(CdfKind),
    /// The path of a user's file, which the workload parses.
    File,
    /// A value of this kind, or `off`.
    Optional(&'static WorkloadParamKind),
}

/// A value of a parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WorkloadParamValue {
    /// A number.
    Count(u64),
    /// A size; `None` is unlimited.
    Size(Option<Bytes>),
    /// A duration.
    Time(Duration),
    /// Bits per second.
    Rate(Rate),
    /// One of the names.
    Choice(&'static str),
    /// A fraction.
    Parts(Fraction),
    /// Distribution of sizes or durations.
    Distribution(Arc<Cdf>),
    /// Contents of a file.
    File(Arc<UserFile>),
    /// `off` for an optional parameter.
    Off,
}

/// Declaration of one parameter.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadParam {
    /// Name in kebab case.
    pub name: &'static str,
    /// Values that it accepts.
    pub kind: WorkloadParamKind,
    /// Default, as in a scenario; `None` is a required parameter.
    pub default: Option<&'static str>,
    /// One sentence with the unit.
    pub doc: &'static str,
}

/// A user's file; a crate above this one reads it from disk.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct UserFile {
    /// Name in the scenario; errors begin with it.
    pub name: String,
    /// Contents.
    pub text: String,
}
