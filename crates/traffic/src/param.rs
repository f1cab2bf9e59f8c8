//! The parameters that workloads declare, and their values.

use std::sync::Arc;

use lowtide_units::{Bytes, Duration, Parts, Rate};

use crate::cdf::{Cdf, Measure};

/// What a parameter of a workload accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamKind {
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
        min: Parts,
        /// Most.
        max: Parts,
    },
    /// The name of a built-in distribution of this measure, one value (`1 MB`, `10 ms`) that is always
    /// drawn, or the path of a file: see [`Cdf::written`] and [`Cdf::parse`].
    Distribution(Measure),
    /// The path of a file of the user, which the workload reads itself.
    File,
    /// As this, or `off`.
    Optional(&'static ParamKind),
}

/// A value of a parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParamValue {
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
    Parts(Parts),
    /// What sizes or spans are drawn from.
    Distribution(Arc<Cdf>),
    /// A file as it was read.
    File(Arc<UserFile>),
    /// `off` of an optional one.
    Off,
}

/// One parameter as its workload declares it.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name in kebab case.
    pub name: &'static str,
    /// What it accepts.
    pub kind: ParamKind,
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
