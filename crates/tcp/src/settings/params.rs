//! Values of the parameters of congestion controls, policies and decoders, by the part that
//! declares them.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use lowtide_schema::{Param, ParamError, Value, ValueError, Values};
use once_cell::race::OnceBox;

/// The parameters that were set, by owner and name.
///
/// Two are equal if the same parameters have the same values. The complete values of a part are
/// made once and shared by all connections of one configuration.
#[derive(Default)]
pub struct Params {
    set: Vec<SetParam>,
    complete: CompleteList,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct SetParam {
    owner: &'static str,
    name: &'static str,
    value: Value,
}

/// Complete values of parts, as an append-only linked list.
#[derive(Default)]
struct CompleteList(OnceBox<CompleteNode>);

struct CompleteNode {
    owner: &'static str,
    params: &'static [Param],
    values: Values,
    next: CompleteList,
}

impl Params {
    /// No parameter set: all have their defaults.
    pub const fn new() -> Self {
        Self { set: Vec::new(), complete: CompleteList(OnceBox::new()) }
    }

    /// Sets `param` of `owner`, replacing an earlier value.
    ///
    /// # Errors
    /// `value` is not of the parameter's kind.
    pub fn set(
        &mut self,
        owner: &'static str,
        param: &Param,
        value: Value,
    ) -> Result<(), ValueError> {
        param.kind.check(&value)?;
        self.complete = CompleteList::default();
        let name = param.name;
        match self.set.iter_mut().find(|set| set.owner == owner && set.name == name) {
            Some(set) => set.value = value,
            None => self.set.push(SetParam { owner, name, value }),
        }
        Ok(())
    }

    /// Returns the value set for `owner.name`.
    pub fn get(&self, owner: &str, name: &str) -> Option<&Value> {
        self.set.iter().find(|set| set.owner == owner && set.name == name).map(|set| &set.value)
    }

    /// Returns the values of a part that declares `params`: those that were set, or else the
    /// defaults.
    ///
    /// # Errors
    /// A required parameter is not set, or a default is not of its parameter's kind.
    pub fn complete(&self, owner: &str, params: &'static [Param]) -> Result<Values, ParamError> {
        Values::complete(params, |param| self.get(owner, param.name).cloned())
    }

    /// As [`Params::complete`], made at the first call and then shared: connections are opened
    /// often, and the texts of defaults are slow to parse.
    ///
    /// # Panics
    /// [`Params::complete`] fails. The parameters of this crate have valid defaults.
    pub(crate) fn values(&self, owner: &'static str, params: &'static [Param]) -> &Values {
        let mut at = &self.complete;
        loop {
            match at.0.get() {
                Some(node) if node.owner == owner && core::ptr::eq(node.params, params) => {
                    return &node.values;
                }
                Some(node) => at = &node.next,
                None => {
                    let values = self
                        .complete(owner, params)
                        .unwrap_or_else(|error| panic!("parameters of `{owner}`: {error}"));
                    let next = CompleteList::default();
                    // If another thread appends first, the search continues from its node.
                    let _ = at.0.set(Box::new(CompleteNode { owner, params, values, next }));
                }
            }
        }
    }
}

impl Clone for Params {
    fn clone(&self) -> Self {
        Self { set: self.set.clone(), complete: CompleteList::default() }
    }
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        self.set == other.set
    }
}

impl Eq for Params {}

impl fmt::Debug for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.set).finish()
    }
}

#[cfg(test)]
mod tests {
    use lowtide_schema::{DefaultValue, ValueKind};

    use super::*;

    const fn count(name: &'static str, default: DefaultValue) -> Param {
        let kind = ValueKind::Count { min: 1, max: 9 };
        Param { name, kind, default, doc: "A test.", source: "lowtide" }
    }

    static CONTROL: &[Param] = &[count("a", DefaultValue::Is("3"))];
    static POLICY: &[Param] =
        &[count("b", DefaultValue::Is("4")), count("c", DefaultValue::Required)];

    #[test]
    fn a_later_value_replaces_the_values_that_were_complete() {
        let mut params = Params::new();
        assert_eq!(params.values("x", CONTROL).count("a"), 3);
        params.set("x", &CONTROL[0], Value::Count(5)).unwrap();
        params.set("x", &POLICY[1], Value::Count(7)).unwrap();
        assert_eq!(params.values("x", CONTROL).count("a"), 5);
        // The policy of the same name has its own values.
        let policy = params.values("x", POLICY);
        assert_eq!((policy.count("b"), policy.count("c")), (4, 7));
        assert!(core::ptr::eq(policy, params.values("x", POLICY)), "made once");
    }

    #[test]
    fn equality_and_copies_ignore_the_complete_values() {
        let (mut a, b) = (Params::new(), Params::new());
        assert_eq!(a.values("x", CONTROL).count("a"), 3);
        assert_eq!(a, b);
        a.set("x", &CONTROL[0], Value::Count(3)).unwrap();
        assert_ne!(a, b);
        assert_eq!(a.clone(), a);
    }

    #[test]
    fn a_value_of_the_wrong_kind_and_a_missing_one_are_errors() {
        let mut params = Params::new();
        assert!(params.set("x", &CONTROL[0], Value::Count(10)).is_err());
        assert_eq!(params, Params::new());
        let error = params.complete("x", POLICY).unwrap_err();
        assert_eq!(error.param, Some("c"));
    }
}
