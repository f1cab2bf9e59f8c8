//! The parameters that workloads declare, and their values.

use std::sync::Arc;

use lowtide_units::{Bytes, Duration, Fraction, Rate};

use crate::cdf::{Cdf, CdfKind};

/// What a parameter of a workload accepts.
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
    /// A span of time.
    Time,
    /// Bits per second.
    Rate,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// A share of a whole in a closed range, as `15 %`: probabilities, loads, factors.
    Parts {
        /// Least.
        min: Fraction,
        /// Most.
        max: Fraction,
    },
    /// The name of a built-in distribution of this measure, one value (`1 MB`, `10 ms`) that is always
    /// drawn, or the path of a file: see [`Cdf::from_text`] and [`Cdf::parse`].
    Distribution(CdfKind),
    /// The path of a file of the user, which the workload reads itself.
    File,
    /// As this, or `off`.
    Optional(&'static WorkloadParamKind),
}

/// A value of a parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WorkloadParamValue {
    /// A number.
    Count(u64),
    /// A size; `None` is unlimited.
    Size(Option<Bytes>),
    /// A span of time.
    Time(Duration),
    /// Bits per second.
    Rate(Rate),
    /// A name.
    Choice(&'static str),
    /// A share.
    Parts(Fraction),
    /// What sizes or spans are drawn from.
    Distribution(Arc<Cdf>),
    /// A file as it was read.
    File(Arc<UserFile>),
    /// `off` of an optional one.
    Off,
}

/// One parameter as its workload declares it.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadParam {
    /// Name in kebab case.
    pub name: &'static str,
    /// What it accepts.
    pub kind: WorkloadParamKind,
    /// The default as people would write it; `None` must be given.
    pub default: Option<&'static str>,
    /// One sentence with the unit.
    pub doc: &'static str,
}

/// A file of the user: who reads it from the disk is above this crate.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct UserFile {
    /// As the scenario names it; errors begin with it.
    pub name: String,
    /// What stands in it.
    pub text: String,
}
