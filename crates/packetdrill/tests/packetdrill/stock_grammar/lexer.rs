//! Tokens of a script as stock packetdrill reads them.

/// One token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    /// `...`
    Ellipsis,
    /// `--name`
    Option(String),
    /// Decimal digits with a point; at least one digit follows it.
    Float(String),
    Integer(i64),
    Hex(i64),
    /// A reserved word: `ack`, `mss`, `ect0`.
    Reserved(&'static str),
    /// Any other word: flags, names of calls and constants.
    Word(String),
    /// A double-quoted string.
    Text(String),
    /// A backquoted command.
    Command(String),
    /// `%{ }%`
    Code,
    Address(String),
    /// Any other character.
    Mark(char),
}

/// Words that cannot be flags, names or parts of a remark.
const RESERVED: &[&str] = &[
    "sa_family",
    "sin_port",
    "sin_addr",
    "msg_name",
    "msg_iov",
    "msg_flags",
    "msg_control",
    "cmsg_data",
    "cmsg_level",
    "cmsg_type",
    "ee_errno",
    "ee_origin",
    "ee_type",
    "ee_code",
    "ee_info",
    "ee_data",
    "scm_sec",
    "scm_nsec",
    "fd",
    "u32",
    "u64",
    "ptr",
    "events",
    "revents",
    "onoff",
    "linger",
    "htons",
    "ipv4",
    "ipv6",
    "icmp",
    "udp",
    "gre",
    "raw",
    "sum",
    "off",
    "key",
    "seq",
    "none",
    "checksum",
    "present",
    "mpls",
    "label",
    "tc",
    "ttl",
    "inet_addr",
    "inet6_addr",
    "ack",
    "eol",
    "ecr",
    "mss",
    "mtu",
    "nop",
    "sack",
    "sackOK",
    "md5",
    "TS",
    "FO",
    "FOEXP",
    "tos",
    "flowlabel",
    "flags",
    "Flags",
    "val",
    "win",
    "urg",
    "wscale",
    "ect01",
    "ect0",
    "ect1",
    "noecn",
    "ce",
    "id",
];

/// Returns each token with its line.
pub(super) fn read(text: &str) -> Result<Vec<(Token, usize)>, String> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let line = text[..at].matches('\n').count() + 1;
        let (token, len) = next(rest).map_err(|why| format!("line {line}: {why}"))?;
        if let Some(token) = token {
            out.push((token, line));
        }
        at += len;
    }
    Ok(out)
}

/// Longest token at the start of `rest` and its length; no token for blanks and comments.
fn next(rest: &str) -> Result<(Option<Token>, usize), String> {
    let first = rest.chars().next().unwrap_or(' ');
    let count = |from: &str, is: fn(u8) -> bool| from.bytes().take_while(|b| is(*b)).count();
    if matches!(first, ' ' | '\t' | '\n') {
        return Ok((None, count(rest, |b| matches!(b, b' ' | b'\t' | b'\n'))));
    }
    if rest.starts_with("//") {
        let end = rest.find('\n').ok_or("this comment has no line end")?;
        return Ok((None, end + 1));
    }
    if rest.starts_with("/*") {
        return Ok((None, comment(rest).ok_or("this comment does not end")?));
    }
    if rest.starts_with("...") {
        return Ok((Some(Token::Ellipsis), 3));
    }
    if rest.starts_with("%{") {
        let end = rest.find("}%").ok_or("this block does not end")?;
        return Ok((Some(Token::Code), end + 2));
    }
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if let Some(name) = rest.strip_prefix("--") {
        let len = count(name, word);
        if len > 0 {
            return Ok((Some(Token::Option(name[..len].to_string())), len + 2));
        }
    }
    for (quote, make) in
        [('"', Token::Text as fn(String) -> Token), ('`', Token::Command as fn(String) -> Token)]
    {
        if let Some(inside) = rest.strip_prefix(quote) {
            let end = inside.find(quote).ok_or("this quote does not end")?;
            return Ok((Some(make(inside[..end].to_string())), end + 2));
        }
    }
    Ok(numbers_and_words(rest, first))
}

/// In a comment, a star consumes the next character unless it is a slash.
fn comment(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let mut at = 2;
    loop {
        match bytes.get(at)? {
            b'*' if bytes.get(at + 1) == Some(&b'/') => return Some(at + 2),
            b'*' => at += 2,
            _ => at += 1,
        }
    }
}

fn numbers_and_words(rest: &str, first: char) -> (Option<Token>, usize) {
    let sign = usize::from(first == '-');
    let digits = |from: usize| rest[from..].bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(sign);
    let fraction = match rest[sign + whole..].strip_prefix('.') {
        Some(_) => digits(sign + whole + 1),
        None => 0,
    };
    let word = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    let float = if fraction > 0 { sign + whole + 1 + fraction } else { 0 };
    let integer = if whole > 0 { sign + whole } else { 0 };
    let hex = rest.strip_prefix("0x").map_or(0, |hex| {
        let len = hex.bytes().take_while(u8::is_ascii_hexdigit).count();
        if len > 0 { len + 2 } else { 0 }
    });
    // The longest match wins; on a tie the first in this order.
    let address = address(rest);
    let longest = float.max(integer).max(hex).max(word).max(address);
    if longest == 0 {
        return (Some(Token::Mark(first)), first.len_utf8());
    }
    let text = &rest[..longest];
    let token = if longest == float {
        Token::Float(text.to_string())
    } else if longest == integer {
        Token::Integer(text.parse().unwrap_or(i64::MAX))
    } else if longest == hex {
        Token::Hex(i64::from_str_radix(&text[2..], 16).unwrap_or(i64::MAX))
    } else if longest == word {
        match RESERVED.iter().find(|reserved| **reserved == text) {
            Some(reserved) => Token::Reserved(reserved),
            None => Token::Word(text.to_string()),
        }
    } else {
        Token::Address(text.to_string())
    };
    (Some(token), longest)
}

/// Length of an IP address, or 0. A range of numbers such as `1:1001` is not one.
fn address(rest: &str) -> usize {
    let is = |b: &u8| b.is_ascii_hexdigit() || matches!(b, b':' | b'.');
    let len = rest.bytes().take_while(is).count();
    let found = (1..=len).rev().find(|len| rest[..*len].parse::<std::net::IpAddr>().is_ok());
    found.unwrap_or(0)
}
