//! Packets in script notation: `< [ce] P. 1:1001(1000) ack 1 win 257 <nop,nop,TS val 1 ecr 2>`.

use lowtide_wire::{AccEcnOrder, DelayStamps, Flags};

use super::cursor::{Cursor, Result};
use super::{EcnSpec, PacketSpec, TcpOption};

/// Protocols and encapsulations of packetdrill that this interpreter does not support.
const OTHER_PROTOCOLS: [&str; 10] =
    ["icmp", "icmpv6", "udp", "udplite", "sctp", "gre", "mpls", "ipv4", "ipv6", "eth"];

pub(super) fn packet(at: &mut Cursor<'_>) -> Result<PacketSpec> {
    let start = at.pos;
    let inbound = at.eat("<");
    if !inbound {
        at.expect(">")?;
    }
    at.skip_blanks()?;
    let ecn = if at.rest().starts_with('[') { ecn(at)? } else { None };
    at.skip_blanks()?;
    if at.rest().starts_with('(') {
        let word = at.word();
        let message = format!("`{word}`: fields of the IP header other than ECN are not supported");
        return Err(at.error(at.pos..at.pos + word.len(), message));
    }
    let flags = flags(at)?;
    at.skip_blanks()?;
    let (seq, len) = sequence(at)?;
    let mut spec = PacketSpec {
        inbound,
        ecn,
        flags,
        seq,
        len,
        ack: None,
        window: None,
        urgent: 0,
        options: Some(Vec::new()),
    };
    let mut seen_options = false;
    loop {
        at.skip_blanks()?;
        let word = at.pos;
        if at.rest().starts_with('<') && !seen_options {
            spec.options = options(at)?;
            seen_options = true;
            continue;
        }
        match at.ident() {
            "" => break,
            "ack" => {
                at.skip_blanks()?;
                spec.ack = Some(at.number("an acknowledgement number (32 bits)")?);
            }
            "win" => {
                at.skip_blanks()?;
                spec.window = Some(at.number("the window field (16 bits)")?);
            }
            "urg" => {
                at.skip_blanks()?;
                spec.urgent = at.number("the urgent pointer (16 bits)")?;
            }
            other => {
                let message = format!("`{other}` is not supported in a packet");
                let help = "a packet is: < or >, [ecn], flags, first:last(length), ack, win, urg, <options>";
                return Err(at.error(word..at.pos, message).help(help));
            }
        }
    }
    if !at.at_end() && at.peek() != Some('\n') {
        return Err(at.unexpected("the end of the packet"));
    }
    check(at, start, &spec)?;
    if let Some(options) = &spec.options {
        let len: usize = options.iter().map(TcpOption::wire_len).sum();
        if !len.is_multiple_of(4) || len > 40 {
            let message = format!("these options take {len} bytes");
            let help = "a header has room for 40, in whole words of four: align them by nop or eol";
            return Err(at.error(start..at.pos, message).help(help));
        }
    }
    let raw = |option: &TcpOption| matches!(option, TcpOption::Raw(_));
    if !inbound && spec.options.iter().flatten().any(raw) {
        let message = "`raw` is for inbound packets only; write an expected option by its name";
        return Err(at.error(start..at.pos, message));
    }
    if inbound && spec.options.is_none() {
        let message = "`<...>` cannot describe an inbound packet; write its options";
        return Err(at.error(start..at.pos, message));
    }
    Ok(spec)
}

fn check(at: &Cursor<'_>, start: usize, spec: &PacketSpec) -> Result<()> {
    let acks = spec.flags.contains(Flags::ACK);
    let span = start..at.pos;
    if acks && spec.ack.is_none() {
        return Err(at.error(span, "the flag `.` (ACK) needs `ack` and a number"));
    }
    if !acks && spec.ack.is_some() && !spec.inbound {
        return Err(at.error(span, "`ack` without the flag `.` (ACK)"));
    }
    // An RST needs no window.
    if spec.inbound && spec.window.is_none() && !spec.flags.contains(Flags::RST) {
        return Err(at.error(span, "an inbound packet needs `win` and a number"));
    }
    Ok(())
}

fn ecn(at: &mut Cursor<'_>) -> Result<Option<EcnSpec>> {
    at.expect("[")?;
    let start = at.pos;
    let words = at.until("]", "this bracket")?;
    let span = start..start + words.len();
    match words.trim() {
        "noecn" => Ok(Some(EcnSpec::NotEct)),
        "ect0" => Ok(Some(EcnSpec::Ect0)),
        "ect1" => Ok(Some(EcnSpec::Ect1)),
        "ce" => Ok(Some(EcnSpec::Ce)),
        "ect01" => Ok(Some(EcnSpec::Either)),
        other => Err(at
            .error(span, format!("`[{other}]` is not supported"))
            .help("the ECN field is one of noecn, ect0, ect1, ce, ect01")),
    }
}

fn flags(at: &mut Cursor<'_>) -> Result<Flags> {
    let word = at.word();
    let span = at.pos..at.pos + word.len();
    if OTHER_PROTOCOLS.contains(&word) {
        return Err(at.error(span, format!("`{word}` packets are not supported: TCP only")));
    }
    at.pos += word.len();
    if word == "-" {
        return Ok(Flags::NONE);
    }
    let (mut flags, mut ace) = (Flags::NONE, false);
    for letter in word.chars() {
        let flag = match letter {
            'S' => Flags::SYN,
            'F' => Flags::FIN,
            'R' => Flags::RST,
            'P' => Flags::PSH,
            '.' => Flags::ACK,
            'U' => Flags::URG,
            'E' => Flags::ECE,
            'W' => Flags::CWR,
            'A' => Flags::AE,
            '0'..='7' => Flags::NONE.with_ace(letter as u8 - b'0'),
            other => {
                let message = format!("`{other}` is not a TCP flag");
                let help =
                    "flags are S F R P . U E W A, without spaces between them, or - for none";
                return Err(at.error(span, message).help(help));
            }
        };
        // The ACE field as a number, zero included.
        if ace && (letter.is_ascii_digit() || flag.intersects(Flags::ACE))
            || letter.is_ascii_digit() && flags.intersects(Flags::ACE)
        {
            let message = format!("`{letter}`: the ACE field is stated twice");
            return Err(at.error(span, message).help("write a digit, or the flags A, W, E"));
        }
        if letter.is_ascii_digit() {
            ace = true;
        } else if flags.contains(flag) {
            return Err(at.error(span, format!("the flag `{letter}` is repeated")));
        }
        flags |= flag;
    }
    if flags == Flags::NONE {
        return Err(at.unexpected("the TCP flags"));
    }
    Ok(flags)
}

/// Parses `first:last(length)`.
fn sequence(at: &mut Cursor<'_>) -> Result<(u32, u32)> {
    let start = at.pos;
    let seq: u32 = at.number("a sequence number (32 bits)")?;
    at.expect(":")?;
    let end: u32 = at.number("a sequence number (32 bits)")?;
    at.expect("(")?;
    let len: u32 = at.number("a length")?;
    at.expect(")")?;
    if len > 65_000 {
        return Err(at.error(start..at.pos, "no packet is as long as that"));
    }
    if seq.wrapping_add(len) != end {
        let right = seq.wrapping_add(len);
        let message = format!("{seq} and {len} bytes make {right}, not {end}");
        return Err(at.error(start..at.pos, message).help(format!("write {seq}:{right}({len})")));
    }
    Ok((seq, len))
}

/// Parses `<mss 1460,nop,...>`; `<...>` gives `None`.
fn options(at: &mut Cursor<'_>) -> Result<Option<Vec<TcpOption>>> {
    at.expect("<")?;
    at.skip_blanks()?;
    if at.eat("...") {
        at.skip_blanks()?;
        at.expect(">")?;
        return Ok(None);
    }
    let mut out = Vec::new();
    if at.eat(">") {
        return Ok(Some(out));
    }
    loop {
        at.skip_blanks()?;
        out.push(option(at)?);
        at.skip_blanks()?;
        if at.eat(">") {
            return Ok(Some(out));
        }
        at.expect(",")?;
    }
}

fn option(at: &mut Cursor<'_>) -> Result<TcpOption> {
    let start = at.pos;
    let name = at.ident();
    at.skip_blanks()?;
    Ok(match name {
        "nop" => TcpOption::Nop,
        "eol" => TcpOption::Eol,
        "mss" => TcpOption::Mss(at.number("an MSS (16 bits)")?),
        "wscale" => TcpOption::WindowScale(at.number("a window shift (8 bits)")?),
        "sackOK" => TcpOption::SackPermitted,
        "sack" => {
            let mut blocks = Vec::new();
            while at.peek().is_some_and(|c| c.is_ascii_digit()) {
                let left = at.number("a sequence number (32 bits)")?;
                at.expect(":")?;
                blocks.push((left, at.number("a sequence number (32 bits)")?));
                at.skip_blanks()?;
            }
            if blocks.is_empty() {
                return Err(at.unexpected("a block such as `1:1001`"));
            }
            TcpOption::Sack(blocks)
        }
        "TS" => {
            at.expect("val")?;
            at.skip_blanks()?;
            let value = at.number("TSval (32 bits)")?;
            at.skip_blanks()?;
            at.expect("ecr")?;
            at.skip_blanks()?;
            TcpOption::Timestamps { value, echo: at.number("TSecr (32 bits)")? }
        }
        "DX" if at.rest().starts_with("t1") => {
            let mut stamps = [0; 3];
            for (name, stamp) in ["t1", "t2", "t3"].into_iter().zip(&mut stamps) {
                at.expect(name)?;
                at.skip_blanks()?;
                *stamp = at.number("a stamp (nanoseconds, 32 bits)")?;
                at.skip_blanks()?;
            }
            let [sent, arrived, left] = stamps;
            TcpOption::Delay(DelayStamps { sent, arrived, left })
        }
        "DX" => TcpOption::DelayOffer,
        "ECN" => accecn(at)?,
        "raw" => TcpOption::Raw(hex(at)?),
        "" => return Err(at.unexpected("a TCP option")),
        other => {
            return Err(at
                .error(
                    start..start + other.len(),
                    format!("the TCP option `{other}` is not supported"),
                )
                .help("options are mss, nop, eol, wscale, sackOK, sack, TS, ECN, DX, raw"));
        }
    })
}

/// Parses `e0b 1 ceb 0 e1b 1`, `e1b 1 ceb 0 e0b 1`, or the first words of either. Without counters,
/// the order is that of kind 174, as in packetdrill's `e1b` on Linux.
fn accecn(at: &mut Cursor<'_>) -> Result<TcpOption> {
    const NAMES: [(AccEcnOrder, [&str; 3]); 2] = [
        (AccEcnOrder::Ect1First, ["e1b", "ceb", "e0b"]),
        (AccEcnOrder::Ect0First, ["e0b", "ceb", "e1b"]),
    ];
    let [first, second] = NAMES;
    let (order, names) = if at.rest().starts_with("e0b") { second } else { first };
    let mut counters = Vec::new();
    for name in names {
        if !at.eat(name) {
            break;
        }
        at.skip_blanks()?;
        let start = at.pos;
        let counter: u32 = at.number("a counter (24 bits)")?;
        if counter >= 1 << 24 {
            return Err(at.error(start..at.pos, "a counter of this option has 24 bits"));
        }
        counters.push(counter);
        at.skip_blanks()?;
    }
    if at.peek().is_some_and(|c| c.is_ascii_alphabetic()) {
        let help = "write e1b, ceb, e0b (kind 174) or e0b, ceb, e1b (kind 172), in this order";
        return Err(at.unexpected("the next counter of the AccECN option").help(help));
    }
    Ok(TcpOption::AccEcn { order, counters })
}

/// Parses bytes as pairs of hexadecimal digits.
fn hex(at: &mut Cursor<'_>) -> Result<Vec<u8>> {
    let start = at.pos;
    let rest = at.rest();
    let digits = rest.find(|c: char| !c.is_ascii_hexdigit()).map_or(rest, |end| &rest[..end]);
    at.pos += digits.len();
    let pair = |i| digits.get(i..i + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(pair).collect();
    match bytes {
        Some(bytes) if !bytes.is_empty() => Ok(bytes),
        _ => Err(at
            .error(start..at.pos, "these are not hexadecimal bytes")
            .help("write bytes as pairs of hexadecimal digits: raw fe04beef")),
    }
}
