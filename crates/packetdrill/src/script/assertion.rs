//! Assertions: `assert cwnd == 10, ssthresh >= 5`, and `%{ assert tcpi_snd_cwnd == 10 }%`.

use std::ops::Range;

use lowtide_units::parse_duration;

use super::cursor::{Cursor, Result};
use crate::fields::{self, Field, FieldKind, Operand};

/// One comparison.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Byte range in the script.
    pub span: Range<usize>,
    /// The field.
    pub left: &'static Field,
    /// Comparison operator.
    pub operator: Operator,
    /// Right side.
    pub right: Operand,
}

/// Comparison operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// `==`.
    Equal,
    /// `!=`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
}

const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

impl Operator {
    /// Operator as text.
    pub fn text(self) -> &'static str {
        OPERATORS.iter().find(|(_, o)| *o == self).map_or("", |(text, _)| text)
    }

    /// True if the operator holds for two values in this order.
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// True if the word `assert` follows, rather than a call of that name.
pub(super) fn is_assertion(at: &Cursor<'_>) -> bool {
    at.rest().strip_prefix("assert").is_some_and(|rest| rest.starts_with([' ', '\t']))
}

/// Parses `assert a == 1, b >= 2` up to the end of the line.
pub(super) fn statement(at: &mut Cursor<'_>) -> Result<Vec<Comparison>> {
    at.expect("assert")?;
    let mut out = Vec::new();
    loop {
        at.skip_blanks()?;
        out.push(comparison(at)?);
        at.skip_blanks()?;
        if !(at.eat(",") || at.eat("&&") || eat_word(at, "and")) {
            break;
        }
    }
    if !at.at_end() && at.peek() != Some('\n') {
        return Err(at.unexpected("`,` or the end of the assertion"));
    }
    Ok(out)
}

/// Parses `%{ ... }%`: assertions, one per line or separated by `;`, each with an optional message.
pub(super) fn block(at: &mut Cursor<'_>) -> Result<Vec<Comparison>> {
    let start = at.pos;
    at.expect("%{")?;
    let inside = at.pos;
    let code = at.until("}%", "this block")?;
    let mut within = Cursor::new(at.name, at.source, &at.text[..inside + code.len()], inside);
    let mut out = Vec::new();
    loop {
        skip_python(&mut within);
        if within.at_end() {
            break;
        }
        let word = within.pos;
        match within.ident() {
            "assert" => python_assert(&mut within, &mut out)?,
            other => {
                let end = word + other.len().max(1);
                let what = if other.is_empty() { within.word() } else { other };
                let message = format!("`{what}` is not supported in a block");
                let help = "a block holds `assert FIELD OP VALUE` only; no Python is run";
                return Err(within.error(word..end, message).help(help));
            }
        }
    }
    if out.is_empty() {
        return Err(at.error(start..at.pos, "this block asserts nothing"));
    }
    Ok(out)
}

/// Skips spaces, line ends, `;` and Python comments.
fn skip_python(at: &mut Cursor<'_>) {
    loop {
        let rest = at.rest();
        let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
        at.pos += rest.len() - trimmed.len();
        if !trimmed.starts_with('#') {
            return;
        }
        at.pos += trimmed.find('\n').unwrap_or(trimmed.len());
    }
}

fn python_assert(at: &mut Cursor<'_>, out: &mut Vec<Comparison>) -> Result<()> {
    at.skip_blanks()?;
    let bracket = at.eat("(");
    loop {
        at.skip_blanks()?;
        out.push(comparison(at)?);
        at.skip_blanks()?;
        if !(eat_word(at, "and") || at.eat("&&")) {
            break;
        }
    }
    if bracket {
        at.expect(")")?;
        at.skip_blanks()?;
    }
    // The message that Python would print.
    if at.eat(",") {
        let rest = at.rest();
        at.pos += rest.find(['\n', ';']).unwrap_or(rest.len());
    }
    if at.at_end() || at.rest().starts_with(['\n', ';', '#']) {
        Ok(())
    } else {
        Err(at.unexpected("the end of the assertion"))
    }
}

fn eat_word(at: &mut Cursor<'_>, word: &str) -> bool {
    let after = at.rest().strip_prefix(word);
    after.is_some_and(|rest| rest.starts_with(char::is_whitespace)) && at.eat(word)
}

fn comparison(at: &mut Cursor<'_>) -> Result<Comparison> {
    let start = at.pos;
    let name = at.ident();
    let Some(left) = fields::find(name) else {
        if name.is_empty() {
            return Err(at.unexpected("the name of a field"));
        }
        let error = at.error(start..at.pos, format!("there is no field `{name}`"));
        return Err(match fields::unsupported_reason(name) {
            Some(why) => error.help(why),
            None => error.help(format!("fields are {}", fields::names(name.starts_with("tcpi_")))),
        });
    };
    at.skip_blanks()?;
    let found = OPERATORS.iter().find(|(text, _)| at.rest().starts_with(text));
    let Some((text, operator)) = found else {
        return Err(at.unexpected("one of == != < <= > >="));
    };
    at.eat(text);
    at.skip_blanks()?;
    let right = operand(at, left)?;
    let words = matches!(left.kind, FieldKind::Name);
    if words && !matches!(operator, Operator::Equal | Operator::NotEqual) {
        return Err(at.error(start..at.pos, format!("`{name}` is a name: compare by == or !=")));
    }
    Ok(Comparison { span: start..at.pos, left, operator: *operator, right })
}

fn operand(at: &mut Cursor<'_>, left: &'static Field) -> Result<Operand> {
    let start = at.pos;
    if at.peek().is_some_and(|c| c.is_ascii_digit() || c == '.') {
        return number(at, left);
    }
    let name = at.ident();
    if name.is_empty() {
        return Err(at.unexpected("a value"));
    }
    // Words come first: in `limited_by == cwnd` the right side is the limit, not the field.
    if let Some(word) = fields::word(left, name) {
        return Ok(word);
    }
    if let Some(field) = fields::find(name) {
        if field.kind != left.kind {
            let message = format!("`{}` and `{}` are of different kinds", left.name, field.name);
            return Err(at.error(start..at.pos, message));
        }
        return Ok(Operand::Field(field));
    }
    let message = format!("`{name}` is not a value of `{}`", left.name);
    Err(at.error(start..at.pos, message).help(fields::expects(left)))
}

/// Parses `10`, `0.25`, `64/1024`, with a unit for times.
fn number(at: &mut Cursor<'_>, left: &'static Field) -> Result<Operand> {
    let start = at.pos;
    let rest = at.rest();
    let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let text = &rest[..digits];
    at.pos += digits;
    let unit = at.ident();
    let span = start..at.pos;
    let wrong = |message: String| at.error(span.clone(), message).help(fields::expects(left));
    if left.kind == FieldKind::Time {
        let time = parse_duration(&format!("{text} {unit}")).map_err(|e| wrong(e.to_string()))?;
        return Ok(Operand::Time(time));
    }
    if !unit.is_empty() || left.kind == FieldKind::Name {
        return Err(wrong(format!("`{text}{unit}` is not a value of `{}`", left.name)));
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let joined: Option<i128> = format!("{whole}{fraction}").parse().ok();
    let (Some(top), true) = (joined, fraction.len() <= 12 && whole.len() <= 20) else {
        return Err(wrong(format!("`{text}` is not a number")));
    };
    let mut bottom = 10_i128.pow(fraction.len() as u32);
    if at.eat("/") {
        let by: u64 = at.number("a number to divide by")?;
        if by == 0 {
            return Err(at.error(start..at.pos, "nothing can be divided by zero"));
        }
        bottom *= i128::from(by);
    }
    Ok(Operand::Number(top, bottom))
}
