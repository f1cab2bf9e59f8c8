//! Socket options as scripts write them.

use super::args::Args;
use super::{Outcome, Result, Runner};
use crate::host::{Errno, SocketOption, SocketValue};
use crate::script::Expr;

impl Runner<'_> {
    fn socket_option(&self, args: &Args<'_>) -> Result<SocketOption> {
        let (level, name) = (args.name(1).unwrap_or(""), args.name(2).unwrap_or(""));
        SocketOption::named(level, name).ok_or_else(|| {
            let span = args.call.args.get(2).map_or(args.event.span.clone(), |(_, s)| s.clone());
            self.script
                .error(span, format!("the socket option {level} {name} is not supported"))
                .help(
                    "there are SOL_SOCKET SO_ERROR, SO_REUSEADDR, SO_REUSEPORT, SO_LINGER, \
                     SO_SNDBUF, SO_RCVBUF and SOL_TCP TCP_NODELAY, TCP_MAXSEG, TCP_CONGESTION",
                )
                .into()
        })
    }

    fn option_value(&self, args: &Args<'_>) -> Result<SocketValue> {
        let wanted = "[number], {onoff=N, linger=N} or \"name\"";
        Ok(match args.expr(3) {
            Some(Expr::List(items)) => match items.as_slice() {
                [Expr::Int(n)] => SocketValue::Int(*n as i32),
                [Expr::Text(text)] => SocketValue::Text(text.clone()),
                _ => return Err(self.refuse(args, 3, wanted)),
            },
            Some(Expr::Text(text)) => SocketValue::Text(text.clone()),
            Some(Expr::Struct(fields)) => {
                let field = |wanted: &str| {
                    fields.iter().find_map(|(name, value)| match value {
                        Expr::Int(n) if name == wanted => Some(*n),
                        _ => None,
                    })
                };
                match (field("onoff"), field("linger")) {
                    (Some(on), Some(seconds)) => {
                        SocketValue::Linger { on: on != 0, seconds: seconds.max(0) as u32 }
                    }
                    _ => return Err(self.refuse(args, 3, wanted)),
                }
            }
            _ => return Err(self.refuse(args, 3, wanted)),
        })
    }

    pub(super) fn setsockopt(&mut self, args: &Args<'_>) -> Result<Outcome> {
        let (option, value) = (self.socket_option(args)?, self.option_value(args)?);
        let fd = self.fd(args)?;
        Ok(self.host.set_option(fd, option, &value).map(|()| 0))
    }

    pub(super) fn getsockopt(&mut self, args: &Args<'_>) -> Result<Outcome> {
        let option = self.socket_option(args)?;
        let any = matches!(args.expr(3), Some(Expr::Any));
        let wanted = if any { None } else { Some(self.wanted_option(args, option)?) };
        let fd = self.fd(args)?;
        let got = match self.host.option(fd, option) {
            Ok(got) => got,
            Err(error) => return Ok(Err(error)),
        };
        if wanted.as_ref().is_some_and(|wanted| *wanted != got) {
            let mut failure = self.failure(args.event, "the option has another value");
            failure.expected = wanted.map(|w| shown(option, &w));
            failure.got = Some(shown(option, &got));
            return Err(failure.into());
        }
        Ok(Ok(0))
    }

    /// The expected value; SO_ERROR may be written by name.
    fn wanted_option(&self, args: &Args<'_>, option: SocketOption) -> Result<SocketValue> {
        if let (SocketOption::Error, Some(Expr::List(items))) = (option, args.expr(3))
            && let [Expr::Names(names)] = items.as_slice()
            && let [name] = names.as_slice()
        {
            let errno = Errno::named(name);
            let errno = errno.ok_or_else(|| self.refuse(args, 3, "[number] or [name of an error]"));
            return errno.map(|e| SocketValue::Int(e.number()));
        }
        self.option_value(args)
    }
}

fn shown(option: SocketOption, value: &SocketValue) -> String {
    match value {
        SocketValue::Int(n) => {
            match Errno::numbered(*n).filter(|_| option == SocketOption::Error) {
                Some(errno) => format!("{n}, {errno}"),
                None => n.to_string(),
            }
        }
        SocketValue::Linger { on, seconds } => {
            format!("{{onoff={}, linger={seconds}}}", i32::from(*on))
        }
        SocketValue::Text(text) => format!("\"{text}\""),
    }
}
