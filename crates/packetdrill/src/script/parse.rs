//! Parses text into events.

use std::sync::Arc;

use super::cursor::{Cursor, Result};
use super::{
    Action, EventTime, Script, ScriptEvent, ScriptOption, assertion, call, conditional, packet,
};

pub(super) fn script(name: &str, text: &str) -> Result<Script> {
    let shown: Arc<str> = Arc::from(text);
    let chosen = conditional::apply(name, &shown)?;
    let mut at = Cursor::new(name, &shown, &chosen, 0);
    let mut options: Vec<ScriptOption> = Vec::new();
    let mut events: Vec<ScriptEvent> = Vec::new();
    loop {
        at.skip_space()?;
        if at.at_end() {
            break;
        }
        if at.rest().starts_with("--") {
            let setting = option(&mut at)?;
            if !events.is_empty() {
                let message = format!("`--{}` comes after the first event", setting.name);
                return Err(at.error(setting.span, message).help("options come first"));
            }
            options.push(setting);
            continue;
        }
        events.push(event(&mut at)?);
    }
    Ok(Script { name: name.to_string(), text: shown, options, events })
}

/// Parses `--name=value`; the value extends to the end of the line or is quoted.
fn option(at: &mut Cursor<'_>) -> Result<ScriptOption> {
    let start = at.pos;
    at.expect("--")?;
    let name = at.ident().to_string();
    if name.is_empty() {
        return Err(at.unexpected("the name of an option"));
    }
    let mut value = String::new();
    if at.eat("=") {
        if at.eat("\"") {
            value = at.until("\"", "this value")?.to_string();
        } else {
            let rest = at.rest();
            let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
            let line = line.split("//").next().unwrap_or(line);
            at.pos += line.len();
            value = line.trim().to_string();
        }
    }
    Ok(ScriptOption { span: start..at.pos, name, value })
}

fn event(at: &mut Cursor<'_>) -> Result<ScriptEvent> {
    let start = at.pos;
    let (when, until) = time(at)?;
    at.skip_blanks()?;
    let action_at = at.pos;
    let is_call = at.peek().is_some_and(|c| c.is_ascii_alphabetic());
    let action = if at.rest().starts_with(['<', '>']) {
        Action::Packet(packet::packet(at)?)
    } else if at.eat("`") {
        Action::Command(at.until("`", "this command")?.trim().to_string())
    } else if at.rest().starts_with("%{") {
        Action::Assert(assertion::block(at)?)
    } else if assertion::is_assertion(at) {
        Action::Assert(assertion::statement(at)?)
    } else if is_call {
        Action::Call(call::call(at)?)
    } else if at.rest().starts_with('{') {
        let message = "actions in braces (splice, grouped events) are not supported";
        return Err(at.error(at.pos..at.pos + 1, message));
    } else {
        return Err(at.unexpected("a packet, a call, a command or an assertion"));
    };
    let end = at.end();
    let is_out = matches!(&action, Action::Packet(p) if !p.inbound);
    let event = ScriptEvent { span: start..end, action_at, when, until, action };
    let ranged = matches!(
        when,
        EventTime::Any | EventTime::AbsoluteRange(..) | EventTime::RelativeRange(..)
    );
    if ranged && !is_out {
        let message = "only an outbound packet (`>`) can have an uncertain time";
        return Err(at.error(event.span, message));
    }
    if until.is_some() && !matches!(event.action, Action::Call(_)) {
        let message = "`...` between two times is for calls that block; packets take `~`";
        return Err(at.error(event.span, message));
    }
    Ok(event)
}

/// Parses `1.5`, `+.1`, `*`, `a~b`, `+a~+b`, and `a...b` for blocking calls. A missing time is
/// `+0`.
fn time(at: &mut Cursor<'_>) -> Result<(EventTime, Option<lowtide_units::Duration>)> {
    if at.eat("*") {
        return Ok((EventTime::Any, None));
    }
    let relative = at.eat("+");
    let timed = relative || at.peek().is_some_and(|c| c.is_ascii_digit() || c == '.');
    if !timed {
        return Ok((EventTime::Relative(lowtide_units::Duration::ZERO), None));
    }
    let start = at.pos;
    let from = at.seconds()?;
    at.skip_blanks()?;
    if at.eat("~") {
        at.skip_blanks()?;
        if at.eat("+") != relative {
            let message = "both ends of a range are relative, or neither: `+a~+b` or `a~b`";
            return Err(at.error(start..at.pos, message));
        }
        let to = at.seconds()?;
        if to < from {
            return Err(at.error(start..at.pos, "this range ends before it begins"));
        }
        let range = if relative { EventTime::RelativeRange } else { EventTime::AbsoluteRange };
        return Ok((range(from, to), None));
    }
    let when = if relative { EventTime::Relative(from) } else { EventTime::Absolute(from) };
    if !at.eat("...") {
        return Ok((when, None));
    }
    let plus = at.eat("+");
    if plus && !relative {
        let message = "the end of an absolute time range is absolute too";
        return Err(at.error(start..at.pos, message));
    }
    let until = at.seconds()?;
    if until < from {
        return Err(at.error(start..at.pos, "this call returns before it begins"));
    }
    Ok((when, Some(until)))
}
