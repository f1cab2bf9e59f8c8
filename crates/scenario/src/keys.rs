//! What a key of a scenario file is: a name, what it accepts, its default and what it means.
//!
//! Contract: descriptions only. Tables of keys are in [`crate::section`]; the keys that a topology brings
//! are made in [`crate::fabric`], the others stand in `tables/`.

use lowtide_traffic::workload;
use lowtide_units::Fraction;

use crate::value::KeyType;

use KeyDefault::{Is, Required};

/// What holds where a key is not written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyDefault {
    /// It must be written.
    Required,
    /// This value.
    Is(&'static str),
    /// No value; this is what happens then.
    Unset(&'static str),
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeySpec {
    pub(crate) name: &'static str,
    pub(crate) ty: KeyType,
    pub(crate) default: KeyDefault,
    pub(crate) doc: &'static str,
}

pub(crate) const fn key(
    name: &'static str,
    ty: KeyType,
    default: KeyDefault,
    doc: &'static str,
) -> KeySpec {
    KeySpec { name, ty, default, doc }
}

/// A share of a whole.
pub(crate) const SHARE: KeyType = KeyType::Parts { min: Fraction::ZERO, max: Fraction::ONE };

impl KeySpec {
    /// The key of a workload's parameter.
    pub(crate) fn of_param(param: &workload::WorkloadParam) -> Self {
        let ty = KeyType::of(param.kind);
        let default = param.default.map_or(Required, Is);
        Self { name: param.name, ty, default, doc: param.doc }
    }
}
