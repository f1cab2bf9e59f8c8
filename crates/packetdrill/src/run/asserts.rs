//! Checks assertions against the script's current connection. Times are equal within `slack`.

use lowtide_units::Duration;

use super::peer::Peer;
use super::report::{ExecError, ScriptFailure};
use crate::fields::{self, Field, FieldValue};
use crate::host::Host;
use crate::script::{Comparison, Operand, Operator, Script};

pub(super) fn check(
    script: &Script,
    host: &mut dyn Host,
    peer: &Peer,
    comparison: &Comparison,
    slack: Duration,
) -> Result<(), ExecError> {
    let Comparison { span, left, operator, right } = comparison;
    let mut read = |field: &'static Field| {
        let value = peer.tuple().and_then(|tuple| host.field(&tuple, field));
        match (value, field.name) {
            (None, "state") if host.listens(peer.bind_port()) => Some(FieldValue::Name("LISTEN")),
            (None, "state") => Some(FieldValue::Name("CLOSED")),
            (value, _) => value,
        }
    };
    let Some(value) = read(left) else {
        let message = format!("there is no connection yet to read `{}` from", left.name);
        return Err(ScriptFailure::new(script, span, host.now(), message).into());
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
    let close = |a: Duration, b: Duration| a.max(b).saturating_sub(a.min(b)) <= slack;
    match (fields::compare(value, wanted), value, wanted) {
        (Some(order), ..) if operator.holds(order) => Ok(()),
        (_, FieldValue::Time(got), FieldValue::Time(wanted))
            if *operator == Operator::Equal && close(got, wanted) =>
        {
            Ok(())
        }
        _ => {
            let message = format!("`{}` is {value}", left.name);
            let mut failure = ScriptFailure::new(script, span, host.now(), message);
            failure.expected = Some(format!("{} {} {shown}", left.name, operator.text()));
            failure.got = Some(format!("{} = {value}", left.name));
            Err(failure.into())
        }
    }
}
