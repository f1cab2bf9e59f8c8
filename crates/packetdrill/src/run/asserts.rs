//! Checks assertions against the script's current connection.

use super::peer::Peer;
use super::report::{ExecError, ScriptFailure};
use crate::fields::{self, FieldValue};
use crate::script::{Comparison, Operand, Script};
use crate::stack::Stack;

pub(super) fn check(
    script: &Script,
    stack: &mut Stack,
    peer: &Peer,
    comparison: &Comparison,
) -> Result<(), ExecError> {
    let Comparison { span, left, operator, right } = comparison;
    let view = peer.tuple().and_then(|tuple| stack.view(&tuple));
    let failure =
        |stack: &Stack, message: String| ScriptFailure::new(script, span, stack.now(), message);
    let read = |field: &'static fields::Field| match (&view, field.name) {
        (Some(view), _) => Some(field.read(view)),
        (None, "state") if stack.listens(peer.bind_port()) => Some(FieldValue::Name("LISTEN")),
        (None, "state") => Some(FieldValue::Name("CLOSED")),
        (None, _) => None,
    };
    let Some(value) = read(left) else {
        let message = format!("there is no connection yet to read `{}` from", left.name);
        return Err(failure(stack, message).into());
    };
    let (wanted, shown) = match right {
        Operand::Field(field) => {
            let value = read(field).unwrap_or(FieldValue::Absent);
            (value, format!("{} = {value}", field.name))
        }
        Operand::Number(top, bottom) => {
            let value = FieldValue::Number(*top, *bottom);
            (value, value.to_string())
        }
        Operand::Time(time) => (FieldValue::Time(*time), time.to_string()),
        Operand::Word("infinite") => (FieldValue::Infinite, "infinite".to_string()),
        Operand::Word(word) => (FieldValue::Name(word), (*word).to_string()),
    };
    match fields::compare(value, wanted) {
        Some(order) if operator.holds(order) => Ok(()),
        _ => {
            let mut failure = failure(stack, format!("`{}` is {value}", left.name));
            failure.expected = Some(format!("{} {} {shown}", left.name, operator.text()));
            failure.got = Some(format!("{} = {value}", left.name));
            Err(failure.into())
        }
    }
}
