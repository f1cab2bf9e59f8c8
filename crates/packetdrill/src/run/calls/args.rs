//! Arguments of a call.

use std::ops::Range;

use super::{Result, Runner};
use crate::run::report::ExecError;
use crate::script::{Call, Expr, ScriptError, ScriptEvent};

/// Maximum bytes of one read or write call.
const MAX_BYTES: i64 = 64 << 20;

pub(super) struct Args<'a> {
    pub(super) event: &'a ScriptEvent,
    pub(super) call: &'a Call,
}

impl Args<'_> {
    pub(super) fn expr(&self, index: usize) -> Option<&Expr> {
        self.call.args.get(index).map(|(expr, _): &(Expr, Range<usize>)| expr)
    }

    /// The argument if it is a single name.
    pub(super) fn name(&self, index: usize) -> Option<&str> {
        match self.expr(index) {
            Some(Expr::Names(names)) => match names.as_slice() {
                [name] => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn has_name(&self, index: usize, name: &str) -> bool {
        matches!(self.expr(index), Some(Expr::Names(names)) if names.iter().any(|n| n == name))
    }
}

impl Runner<'_> {
    /// Accepts `...` or a combination of these names.
    pub(super) fn one_of(&self, args: &Args<'_>, index: usize, names: &[&str]) -> Result<()> {
        match args.expr(index) {
            Some(Expr::Any) => Ok(()),
            Some(Expr::Names(given)) if given.iter().all(|n| names.contains(&n.as_str())) => Ok(()),
            _ => Err(self.refuse(args, index, &names.join(", "))),
        }
    }

    pub(super) fn refuse(&self, args: &Args<'_>, index: usize, wanted: &str) -> ExecError {
        let (span, given) = match args.call.args.get(index) {
            Some((_, span)) => (span.clone(), "this argument is not supported"),
            None => (args.event.span.clone(), "an argument is missing"),
        };
        let error: ScriptError = self.script.error(span, given);
        error.help(format!("argument {} is {wanted}", index + 1)).into()
    }

    pub(super) fn int(&self, args: &Args<'_>, index: usize) -> Result<i64> {
        match args.expr(index) {
            Some(Expr::Int(n)) => Ok(*n),
            _ => Err(self.refuse(args, index, "a number")),
        }
    }

    pub(super) fn size(&self, args: &Args<'_>, index: usize) -> Result<i64> {
        let n = self.int(args, index)?;
        if (0..=MAX_BYTES).contains(&n) {
            return Ok(n);
        }
        Err(self.refuse(args, index, &format!("a size of at most {MAX_BYTES} bytes")))
    }

    /// The host's descriptor for the first argument; an unknown number maps to an invalid one.
    pub(super) fn fd(&self, args: &Args<'_>) -> Result<i32> {
        let number = self.int(args, 0)?;
        Ok(self.calls.fds.get(&number).map_or(-1, |d| d.host_fd))
    }

    /// Port of an address: `...` or `{sa_family = AF_INET, sin_port = htons(8080), ...}`.
    pub(super) fn port(&self, args: &Args<'_>, index: usize) -> Result<Option<u16>> {
        let refused = || self.refuse(args, index, "`...` or an address with a sin_port");
        let fields = match args.expr(index) {
            Some(Expr::Any) => return Ok(None),
            Some(Expr::Struct(fields)) => fields,
            _ => return Err(refused()),
        };
        let port = fields.iter().find(|(name, _)| name == "sin_port" || name == "sin6_port");
        match port.map(|(_, value)| value) {
            Some(Expr::Apply(function, inner)) if function == "htons" => match inner.as_slice() {
                [Expr::Int(port)] => u16::try_from(*port).map(Some).map_err(|_| refused()),
                _ => Err(refused()),
            },
            _ => Err(refused()),
        }
    }

    /// Flags of `recv` and `send`.
    pub(super) fn message_flags(&self, args: &Args<'_>, known: &[&str]) -> Result<Vec<String>> {
        match args.expr(3) {
            Some(Expr::Int(0)) => Ok(Vec::new()),
            Some(Expr::Names(names)) if names.iter().all(|n| known.contains(&n.as_str())) => {
                Ok(names.clone())
            }
            _ => Err(self.refuse(args, 3, &format!("0 or {}", known.join("|")))),
        }
    }
}
