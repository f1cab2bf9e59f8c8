//! From text to events.

use std::sync::Arc;

use super::cursor::{Cursor, Result};
use super::{Action, Event, Script, Setting, When, assertion, call, conditional, packet};

pub(super) fn script(name: &str, text: &str) -> Result<Script> {
    let shown: Arc<str> = Arc::from(text);
    let chosen = conditional::apply(name, &shown)?;
    let mut at = Cursor::new(name, &shown, &chosen, 0);
    let mut options: Vec<Setting> = Vec::new();
    let mut events: Vec<Event> = Vec::new();
    loop {
        at.skip_space()?;
        if at.is_over() {
            break;
        }
        if at.rest().starts_with("--") {
            let setting = option(&mut at)?;
            if !events.is_empty() {
                let message = format!("`--{}` stands after the first event", setting.name);
                return Err(at.error(setting.span, message).help("options come first"));
            }
            options.push(setting);
            continue;
        }
        events.push(event(&mut at)?);
    }
    Ok(Script { name: name.to_string(), text: shown, options, events })
}

/// `--name=value`, the value up to the end of the line or in quotes.
fn option(at: &mut Cursor<'_>) -> Result<Setting> {
    let start = at.at;
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
            at.at += line.len();
            value = line.trim().to_string();
        }
    }
    Ok(Setting { span: start..at.at, name, value })
}

fn event(at: &mut Cursor<'_>) -> Result<Event> {
    let start = at.at;
    let (when, until) = time(at)?;
    at.skip_blanks()?;
    let action_at = at.at;
    let is_call = at.peek().is_some_and(|c| c.is_ascii_alphabetic());
    let action = if at.rest().starts_with(['<', '>']) {
        Action::Packet(packet::packet(at)?)
    } else if at.eat("`") {
        Action::Command(at.until("`", "this command")?.trim().to_string())
    } else if at.rest().starts_with("%{") {
        Action::Assert(assertion::block(at)?)
    } else if assertion::stands_here(at) {
        Action::Assert(assertion::statement(at)?)
    } else if is_call {
        Action::Call(call::call(at)?)
    } else if at.rest().starts_with('{') {
        let message = "actions in braces (splice, grouped events) are not supported";
        return Err(at.error(at.at..at.at + 1, message));
    } else {
        return Err(at.unexpected("a packet, a call, a command or an assertion"));
    };
    let end = at.end();
    let is_out = matches!(&action, Action::Packet(p) if !p.inbound);
    let event = Event { span: start..end, action_at, when, until, action };
    let ranged = matches!(when, When::Any | When::AbsoluteRange(..) | When::RelativeRange(..));
    if ranged && !is_out {
        let message = "only a packet that is expected (`>`) can come at an uncertain time";
        return Err(at.error(event.span, message));
    }
    if until.is_some() && !matches!(event.action, Action::Call(_)) {
        let message = "`...` between two times is for calls that block; packets take `~`";
        return Err(at.error(event.span, message));
    }
    Ok(event)
}

/// `1.5`, `+.1`, `*`, `a~b`, `+a~+b`, and `a...b` for calls that block. No time at all is `+0`.
fn time(at: &mut Cursor<'_>) -> Result<(When, Option<lowtide_units::Duration>)> {
    if at.eat("*") {
        return Ok((When::Any, None));
    }
    let relative = at.eat("+");
    let timed = relative || at.peek().is_some_and(|c| c.is_ascii_digit() || c == '.');
    if !timed {
        return Ok((When::Relative(lowtide_units::Duration::ZERO), None));
    }
    let start = at.at;
    let from = at.seconds()?;
    at.skip_blanks()?;
    if at.eat("~") {
        at.skip_blanks()?;
        if at.eat("+") != relative {
            let message = "both ends of a range are relative, or neither: `+a~+b` or `a~b`";
            return Err(at.error(start..at.at, message));
        }
        let to = at.seconds()?;
        if to < from {
            return Err(at.error(start..at.at, "this range ends before it begins"));
        }
        let range = if relative { When::RelativeRange } else { When::AbsoluteRange };
        return Ok((range(from, to), None));
    }
    let when = if relative { When::Relative(from) } else { When::Absolute(from) };
    if !at.eat("...") {
        return Ok((when, None));
    }
    let plus = at.eat("+");
    if plus && !relative {
        let message = "the end of an absolute time range is absolute too";
        return Err(at.error(start..at.at, message));
    }
    let until = at.seconds()?;
    if until < from {
        return Err(at.error(start..at.at, "this call returns before it begins"));
    }
    Ok((when, Some(until)))
}
