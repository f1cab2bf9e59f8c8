//! Checks whether stock packetdrill can read a script: its grammar as TCP tests need it, and its
//! checks while parsing. Written from observed behaviour; contains no packetdrill code.

mod lexer;

use lexer::Token;

type Result<T> = std::result::Result<T, String>;

/// Options of the program, and whether each takes a value.
const OPTIONS: &[(&str, bool)] = &[
    ("ip_version", true),
    ("bind_port", true),
    ("connect_port", true),
    ("remote_ip", true),
    ("local_ip", true),
    ("mtu", true),
    ("tolerance_usecs", true),
    ("tolerance_percent", true),
    ("tcp_ts_tick_usecs", true),
    ("so_flags", true),
    ("verbose", false),
];

/// Calls of TCP tests, with their number of arguments.
const CALLS: &[(&str, std::ops::RangeInclusive<usize>)] = &[
    ("socket", 3..=3),
    ("bind", 3..=3),
    ("listen", 2..=2),
    ("accept", 3..=3),
    ("connect", 3..=3),
    ("read", 3..=3),
    ("recv", 4..=4),
    ("write", 3..=3),
    ("send", 4..=4),
    ("sendto", 6..=6),
    ("close", 1..=1),
    ("shutdown", 2..=2),
    ("fcntl", 2..=3),
    ("ioctl", 2..=3),
    ("getsockopt", 5..=5),
    ("setsockopt", 5..=5),
];

/// An argument of a call, as far as it is checked.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Argument {
    Any,
    Number,
    List(Vec<Argument>),
    Other,
}

struct Reader {
    tokens: Vec<(Token, usize)>,
    at: usize,
}

/// Checks a whole script.
///
/// # Errors
/// The reason that packetdrill would reject it, with the line.
pub(super) fn check(text: &str) -> Result<()> {
    let mut reader = Reader { tokens: lexer::read(text)?, at: 0 };
    let outcome = reader.script();
    outcome.map_err(|why| format!("line {}: {why}", reader.line()))
}

impl Reader {
    fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(0, |(_, line)| *line)
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn eat(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    fn mark(&mut self, mark: char) -> bool {
        self.eat(&Token::Mark(mark))
    }

    fn expect(&mut self, mark: char) -> Result<()> {
        if self.mark(mark) { Ok(()) } else { Err(format!("{:?} where `{mark}` is", self.peek())) }
    }

    fn word(&mut self, word: &'static str) -> bool {
        self.eat(&Token::Reserved(word))
    }

    /// Reads a number of at most `most`.
    fn number(&mut self, most: i64) -> Result<i64> {
        match self.next() {
            Some(Token::Integer(n)) if (0..=most).contains(&n) => Ok(n),
            other => Err(format!("{other:?} where a number up to {most} is")),
        }
    }

    fn script(&mut self) -> Result<()> {
        while let Some(Token::Option(name)) = self.peek().cloned() {
            self.at += 1;
            self.option(&name)?;
        }
        let mut first = true;
        while self.peek().is_some() {
            let zero = self.event()?;
            if first && !zero {
                return Err("the first event is not at zero".to_string());
            }
            first = false;
        }
        if first { Err("no events".to_string()) } else { Ok(()) }
    }

    fn option(&mut self, name: &str) -> Result<()> {
        let Some((_, takes)) = OPTIONS.iter().find(|(known, _)| *known == name) else {
            return Err(format!("option {name} is not known"));
        };
        if self.mark('=') != *takes {
            return Err(format!("option {name} and its value"));
        }
        if !takes {
            return Ok(());
        }
        let value = match self.next() {
            Some(Token::Integer(n)) => n.to_string(),
            Some(Token::Word(text) | Token::Text(text) | Token::Address(text)) => text,
            Some(Token::Reserved(version @ ("ipv4" | "ipv6"))) => version.to_string(),
            other => return Err(format!("{other:?} is no value of an option")),
        };
        let number: f64 = value.parse().unwrap_or(-1.0);
        let fits = match name {
            "tolerance_usecs" => number > 0.0,
            "tolerance_percent" => (0.0..=100.0).contains(&number),
            "tcp_ts_tick_usecs" => (0.0..=1e6).contains(&number),
            "bind_port" | "connect_port" => (1.0..=65_535.0).contains(&number),
            "ip_version" => matches!(value.as_str(), "ipv4" | "ipv6"),
            _ => true,
        };
        if fits { Ok(()) } else { Err(format!("bad --{name}: {value}")) }
    }

    /// Parses one event; returns true if its time is zero.
    fn event(&mut self) -> Result<bool> {
        let (mut ranged, mut zero) = (false, true);
        if self.mark('*') {
            ranged = true;
        } else {
            let relative = self.mark('+');
            let from = self.time()?;
            zero = from == 0.0;
            if self.mark('~') {
                ranged = true;
                if self.mark('+') != relative {
                    return Err("one end of the range is relative".to_string());
                }
                if self.time()? < from {
                    return Err("the range is backwards".to_string());
                }
            }
            if self.eat(&Token::Ellipsis) {
                return Err("a call that blocks needs its own thread".to_string());
            }
        }
        let out = match self.next() {
            Some(Token::Mark('<')) => self.packet(true).map(|()| false),
            Some(Token::Mark('>')) => self.packet(false).map(|()| true),
            Some(Token::Word(name)) => self.call(&name).map(|()| false),
            Some(Token::Command(_)) => Ok(false),
            other => Err(format!("{other:?} where an action is")),
        }?;
        if ranged && !out {
            return Err("an uncertain time is for outbound packets".to_string());
        }
        Ok(zero)
    }

    fn time(&mut self) -> Result<f64> {
        match self.next() {
            Some(Token::Float(text)) if !text.starts_with('-') => {
                format!("0{text}").parse().map_err(|_| format!("{text} is no time"))
            }
            Some(Token::Integer(n)) if n >= 0 => Ok(n as f64),
            other => Err(format!("{other:?} where a time is")),
        }
    }

    fn packet(&mut self, inbound: bool) -> Result<()> {
        if self.mark('[') {
            match self.next() {
                Some(Token::Reserved("noecn" | "ect0" | "ect1" | "ce")) => {}
                Some(Token::Reserved("ect01")) if !inbound => {}
                other => return Err(format!("{other:?} is no ECN field here")),
            }
            self.expect(']')?;
        }
        self.flags()?;
        let u32_max = i64::from(u32::MAX);
        let from = self.number(u32_max)?;
        self.expect(':')?;
        let to = self.number(u32_max)?;
        self.expect('(')?;
        let len = self.number(65_535)?;
        self.expect(')')?;
        if from + len != to {
            return Err("inconsistent sequence numbers and payload size".to_string());
        }
        if self.word("ack") {
            self.number(u32_max)?;
        }
        if self.word("win") {
            self.number(65_535)?;
        } else if inbound {
            return Err("the window must be specified for inbound packets".to_string());
        }
        if self.word("urg") {
            self.number(65_535)?;
        }
        if self.mark('<') { self.options(inbound) } else { Ok(()) }
    }

    /// Parses letters with an optional trailing dot, a dot alone, or a dash.
    fn flags(&mut self) -> Result<()> {
        match self.next() {
            Some(Token::Word(letters)) if letters.bytes().all(|b| b"FSRPEWAU".contains(&b)) => {
                self.mark('.');
                Ok(())
            }
            Some(Token::Mark('.' | '-')) => Ok(()),
            other => Err(format!("{other:?} where the flags are")),
        }
    }

    fn options(&mut self, inbound: bool) -> Result<()> {
        if self.eat(&Token::Ellipsis) {
            self.expect('>')?;
            let message = "<...> can only be used with outbound packets".to_string();
            return if inbound { Err(message) } else { Ok(()) };
        }
        let mut len = 0;
        loop {
            len += self.tcp_option()?;
            if self.mark('>') {
                break;
            }
            self.expect(',')?;
        }
        if len % 4 == 0 && len <= 40 { Ok(()) } else { Err(format!("options of {len} bytes")) }
    }

    /// Parses one option; returns its length in bytes.
    fn tcp_option(&mut self) -> Result<i64> {
        let u32_max = i64::from(u32::MAX);
        match self.next() {
            Some(Token::Reserved("nop" | "eol")) => Ok(1),
            Some(Token::Reserved("mss")) => self.number(65_535).map(|_| 4),
            Some(Token::Reserved("wscale")) => self.number(255).map(|_| 3),
            Some(Token::Reserved("sackOK")) => Ok(2),
            Some(Token::Reserved("sack")) => {
                let mut len = 2;
                while matches!(self.peek(), Some(Token::Integer(_))) {
                    self.number(u32_max)?;
                    self.expect(':')?;
                    self.number(u32_max)?;
                    len += 8;
                }
                if len > 2 { Ok(len) } else { Err("no block".to_string()) }
            }
            Some(Token::Reserved("TS")) => {
                for word in ["val", "ecr"] {
                    if !self.word(word) {
                        return Err(format!("{:?} where `{word}` is", self.peek()));
                    }
                    self.number(u32_max)?;
                }
                Ok(10)
            }
            other => Err(format!("{other:?} is no TCP option")),
        }
    }

    fn call(&mut self, name: &str) -> Result<()> {
        let Some((_, count)) = CALLS.iter().find(|(known, _)| *known == name) else {
            return Err(format!("no call {name}"));
        };
        self.expect('(')?;
        let mut arguments = Vec::new();
        if !self.mark(')') {
            arguments = self.list(')')?;
        }
        if !count.contains(&arguments.len()) {
            return Err(format!("{name} with {} arguments", arguments.len()));
        }
        for (index, argument) in arguments.iter().enumerate() {
            let number_list = *argument == Argument::List(vec![Argument::Number]);
            let fits = match (name, index) {
                ("bind" | "accept" | "connect", 1 | 2)
                | ("read" | "recv" | "write" | "send" | "sendto", 1)
                | ("sendto", 4 | 5) => *argument == Argument::Any,
                ("socket", 0) => matches!(argument, Argument::Any | Argument::Number),
                ("getsockopt" | "setsockopt", 3) => number_list || *argument == Argument::Other,
                ("getsockopt", 4) | ("ioctl", 2) => number_list,
                _ => *argument == Argument::Number,
            };
            if !fits {
                return Err(format!("argument {} of {name} is {argument:?}", index + 1));
            }
        }
        self.expect('=')?;
        let result = match self.next() {
            Some(Token::Integer(n) | Token::Hex(n)) => n,
            other => return Err(format!("{other:?} is no result")),
        };
        // An error name requires a remark after it.
        let error = matches!(self.peek(), Some(Token::Word(_)));
        if error {
            self.at += 1;
            if result != -1 || self.peek() != Some(&Token::Mark('(')) {
                return Err("an error without a remark".to_string());
            }
        }
        if self.mark('(') {
            let mut words = 0;
            while matches!(self.peek(), Some(Token::Word(_) | Token::Reserved("flags"))) {
                self.at += 1;
                words += 1;
            }
            self.expect(')')?;
            if words == 0 {
                return Err("an empty remark".to_string());
            }
        }
        Ok(())
    }

    /// Parses arguments up to `end` and consumes `end`.
    fn list(&mut self, end: char) -> Result<Vec<Argument>> {
        let mut out = Vec::new();
        loop {
            out.push(self.argument()?);
            if self.mark(end) {
                return Ok(out);
            }
            self.expect(',')?;
        }
    }

    fn argument(&mut self) -> Result<Argument> {
        match self.next() {
            Some(Token::Ellipsis) => Ok(Argument::Any),
            Some(Token::Integer(_) | Token::Hex(_)) => Ok(Argument::Number),
            Some(Token::Text(_)) => Ok(Argument::Other),
            Some(Token::Word(_)) => {
                while self.mark('|') {
                    match self.next() {
                        Some(Token::Word(_)) => {}
                        other => return Err(format!("{other:?} after `|`")),
                    }
                }
                Ok(Argument::Number)
            }
            Some(Token::Mark('[')) => self.list(']').map(Argument::List),
            Some(Token::Mark('{')) => {
                for (word, mark) in [("onoff", ','), ("linger", '}')] {
                    if !self.word(word) {
                        return Err(format!("{:?} where `{word}` is", self.peek()));
                    }
                    self.expect('=')?;
                    self.number(i64::MAX)?;
                    self.expect(mark)?;
                }
                Ok(Argument::Other)
            }
            other => Err(format!("{other:?} is no argument")),
        }
    }
}
