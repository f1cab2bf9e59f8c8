//! Keys of a scenario file: name, type, default and description.
//!
//! Contract: descriptions only. Tables of keys are in [`crate::table_spec`], keys of a topology in
//! [`crate::topology_keys`], all others in `tables/`.

use lowtide_schema::{DefaultValue, Param};
use lowtide_units::Fraction;

use crate::value::KeyType;

/// One key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeySpec {
    pub(crate) name: &'static str,
    pub(crate) ty: KeyType,
    pub(crate) default: DefaultValue,
    pub(crate) doc: &'static str,
}

pub(crate) const fn key(
    name: &'static str,
    ty: KeyType,
    default: DefaultValue,
    doc: &'static str,
) -> KeySpec {
    KeySpec { name, ty, default, doc }
}

/// A fraction of one.
pub(crate) const SHARE: KeyType = KeyType::Parts { min: Fraction::ZERO, max: Fraction::ONE };

impl KeySpec {
    /// Returns the key of a declared parameter.
    pub(crate) const fn of_param(param: &Param) -> Self {
        let ty = KeyType::of_kind(param.kind);
        Self { name: param.name, ty, default: param.default, doc: param.doc }
    }
}
