//! Declaration of one parameter.

use crate::kind::ValueKind;

/// Declaration of one parameter of a part.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name in kebab case, as users write it.
    pub name: &'static str,
    /// Accepted values.
    pub kind: ValueKind,
    /// Its value where users set none.
    pub default: DefaultValue,
    /// One sentence with the unit.
    pub doc: &'static str,
    /// Source of the parameter and of its default (`RFC 8257 §3.3`); `lowtide`: our own choice.
    pub source: &'static str,
}

/// Value of a parameter that users do not set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DefaultValue {
    /// Users must set it.
    Required,
    /// This value, as users write it.
    Is(&'static str),
    /// No value; the text describes the effect (`as link-rate`).
    Unset(&'static str),
}

impl DefaultValue {
    /// Returns the default as users write it; `None` if there is none.
    pub const fn text(self) -> Option<&'static str> {
        match self {
            Self::Is(text) => Some(text),
            Self::Required | Self::Unset(_) => None,
        }
    }
}
