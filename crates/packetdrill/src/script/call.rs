//! Socket calls in script notation: `write(4, ..., 1000) = 1000`.

use std::ops::Range;

use super::cursor::{Cursor, Result};
use super::{Call, CallResult, Expr, Syscall};
use crate::host::Errno;

pub(super) const SYSCALLS: [(&str, Syscall); 16] = [
    ("socket", Syscall::Socket),
    ("bind", Syscall::Bind),
    ("listen", Syscall::Listen),
    ("accept", Syscall::Accept),
    ("connect", Syscall::Connect),
    ("read", Syscall::Read),
    ("recv", Syscall::Recv),
    ("write", Syscall::Write),
    ("send", Syscall::Send),
    ("sendto", Syscall::SendTo),
    ("close", Syscall::Close),
    ("shutdown", Syscall::Shutdown),
    ("fcntl", Syscall::Fcntl),
    ("ioctl", Syscall::Ioctl),
    ("getsockopt", Syscall::GetSockOpt),
    ("setsockopt", Syscall::SetSockOpt),
];

pub(super) fn call(at: &mut Cursor<'_>) -> Result<Call> {
    let start = at.pos;
    let name = at.ident();
    let found = SYSCALLS.iter().find(|(n, _)| *n == name).map(|(_, f)| *f);
    let Some(function) = found else {
        let known: Vec<&str> = SYSCALLS.iter().map(|(n, _)| *n).collect();
        return Err(at
            .error(start..at.pos, format!("`{name}` is not supported"))
            .help(format!("there are assert and {}", known.join(", "))));
    };
    at.skip_space()?;
    at.expect("(")?;
    let args = arguments(at, ")")?;
    at.skip_space()?;
    at.expect("=")?;
    at.skip_space()?;
    let result = result(at)?;
    at.skip_blanks()?;
    // A remark in parentheses: `(Operation now in progress)`.
    if at.eat("(") {
        at.until(")", "this remark")?;
        at.skip_blanks()?;
    }
    if !at.at_end() && at.peek() != Some('\n') {
        return Err(at.unexpected("the end of the call"));
    }
    Ok(Call { syscall: function, args, result })
}

fn result(at: &mut Cursor<'_>) -> Result<Option<CallResult>> {
    if at.eat("...") {
        return Ok(None);
    }
    let value = at.integer()?;
    at.skip_blanks()?;
    let start = at.pos;
    match (value, at.ident()) {
        (-1, "") => Ok(Some(CallResult::Error(None))),
        (-1, name) => {
            let errno = Errno::named(name).ok_or_else(|| {
                at.error(start..at.pos, format!("`{name}` is not an error of a supported call"))
            })?;
            Ok(Some(CallResult::Error(Some(errno))))
        }
        (_, "") => Ok(Some(CallResult::Value(value))),
        (_, name) => {
            let message = format!("`{name}` after a result that is not an error; write -1 {name}");
            Err(at.error(start..at.pos, message))
        }
    }
}

/// Parses arguments up to `end` and consumes `end`.
fn arguments(at: &mut Cursor<'_>, end: &str) -> Result<Vec<(Expr, Range<usize>)>> {
    let mut out = Vec::new();
    at.skip_space()?;
    if at.eat(end) {
        return Ok(out);
    }
    loop {
        at.skip_space()?;
        let start = at.pos;
        let expr = expression(at, 0)?;
        out.push((expr, start..at.pos));
        at.skip_space()?;
        if at.eat(end) {
            return Ok(out);
        }
        at.expect(",")?;
    }
}

/// Maximum nesting depth of brackets.
const DEPTH: u32 = 8;

fn expression(at: &mut Cursor<'_>, depth: u32) -> Result<Expr> {
    if depth > DEPTH {
        return Err(at.error(at.pos..at.pos + 1, "brackets are nested too deeply"));
    }
    if at.eat("...") {
        return Ok(Expr::Any);
    }
    if at.eat("\"") {
        return at.until("\"", "this text").map(|s| Expr::Text(s.to_string()));
    }
    if at.eat("[") {
        return Ok(Expr::List(list(at, "]", depth)?));
    }
    if at.eat("{") {
        return structure(at, depth);
    }
    if at.peek().is_some_and(|c| c.is_ascii_digit() || c == '-') {
        return at.integer().map(Expr::Int);
    }
    let name = at.ident();
    if name.is_empty() {
        return Err(at.unexpected("an argument"));
    }
    if at.eat("(") {
        return Ok(Expr::Apply(name.to_string(), list(at, ")", depth)?));
    }
    let mut names = vec![name.to_string()];
    at.skip_space()?;
    while at.eat("|") {
        at.skip_space()?;
        let name = at.ident();
        if name.is_empty() {
            return Err(at.unexpected("a name after `|`"));
        }
        names.push(name.to_string());
        at.skip_space()?;
    }
    Ok(Expr::Names(names))
}

fn list(at: &mut Cursor<'_>, end: &str, depth: u32) -> Result<Vec<Expr>> {
    let mut out = Vec::new();
    at.skip_space()?;
    if at.eat(end) {
        return Ok(out);
    }
    loop {
        at.skip_space()?;
        out.push(expression(at, depth + 1)?);
        at.skip_space()?;
        if at.eat(end) {
            return Ok(out);
        }
        at.expect(",")?;
    }
}

fn structure(at: &mut Cursor<'_>, depth: u32) -> Result<Expr> {
    let mut out = Vec::new();
    loop {
        at.skip_space()?;
        if at.eat("}") {
            return Ok(Expr::Struct(out));
        }
        at.eat(".");
        let name = at.ident().to_string();
        if name.is_empty() {
            return Err(at.unexpected("the name of a field"));
        }
        at.skip_space()?;
        at.expect("=")?;
        at.skip_space()?;
        out.push((name, expression(at, depth + 1)?));
        at.skip_space()?;
        if !at.eat(",") {
            at.expect("}")?;
            return Ok(Expr::Struct(out));
        }
    }
}
