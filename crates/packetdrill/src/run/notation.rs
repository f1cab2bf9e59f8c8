//! Packets in script notation; TCP options to and from bytes.

use std::fmt;

use lowtide_wire::{AccEcnOrder, DelayStamps, Ecn, Flags};

use crate::script::{EcnSpec, PacketSpec, TcpOption};

/// A packet to print.
#[derive(Clone, Debug)]
pub(super) struct Notation<'a> {
    pub(super) spec: &'a PacketSpec,
}

impl Notation<'_> {
    pub(super) fn inbound(spec: &PacketSpec) -> String {
        Notation { spec }.to_string()
    }

    pub(super) fn expected(spec: &PacketSpec) -> String {
        Notation { spec }.to_string()
    }
}

/// Letters in the order in which packetdrill prints them.
const LETTERS: [(Flags, char); 9] = [
    (Flags::SYN, 'S'),
    (Flags::FIN, 'F'),
    (Flags::RST, 'R'),
    (Flags::PSH, 'P'),
    (Flags::ACK, '.'),
    (Flags::URG, 'U'),
    (Flags::ECE, 'E'),
    (Flags::CWR, 'W'),
    (Flags::AE, 'A'),
];

pub(super) fn flags(flags: Flags) -> String {
    if flags == Flags::NONE {
        return "-".to_string();
    }
    LETTERS.iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, letter)| letter).collect()
}

/// ECN field in script notation.
pub(super) const fn ecn(ecn: Ecn) -> EcnSpec {
    match ecn {
        Ecn::NotEct => EcnSpec::NotEct,
        Ecn::Ect0 => EcnSpec::Ect0,
        Ecn::Ect1 => EcnSpec::Ect1,
        Ecn::Ce => EcnSpec::Ce,
    }
}

impl EcnSpec {
    /// Script notation without brackets.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::NotEct => "noecn",
            Self::Ect0 => "ect0",
            Self::Ect1 => "ect1",
            Self::Ce => "ce",
            Self::Either => "ect01",
        }
    }

    pub(super) fn matches(self, found: Ecn) -> bool {
        self == ecn(found) || (self == Self::Either && matches!(found, Ecn::Ect0 | Ecn::Ect1))
    }
}

impl fmt::Display for Notation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = self.spec;
        write!(f, "{} ", if spec.inbound { '<' } else { '>' })?;
        if let Some(ecn) = spec.ecn {
            write!(f, "[{}] ", ecn.text())?;
        }
        let end = spec.seq.wrapping_add(spec.len);
        write!(f, "{} {}:{end}({})", flags(spec.flags), spec.seq, spec.len)?;
        if let Some(ack) = spec.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(window) = spec.window {
            write!(f, " win {window}")?;
        }
        if spec.urgent != 0 {
            write!(f, " urg {}", spec.urgent)?;
        }
        match &spec.options {
            None => f.write_str(" <...>"),
            Some(options) if options.is_empty() => Ok(()),
            Some(options) => write!(f, " <{}>", list(options)),
        }
    }
}

/// Options separated by commas.
pub(super) fn list(options: &[TcpOption]) -> String {
    let shown: Vec<String> = options.iter().map(ToString::to_string).collect();
    shown.join(",")
}

impl fmt::Display for TcpOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nop => f.write_str("nop"),
            Self::Eol => f.write_str("eol"),
            Self::Mss(mss) => write!(f, "mss {mss}"),
            Self::WindowScale(shift) => write!(f, "wscale {shift}"),
            Self::SackPermitted => f.write_str("sackOK"),
            Self::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(left, right)| write!(f, " {left}:{right}"))
            }
            Self::Timestamps { value, echo } => write!(f, "TS val {value} ecr {echo}"),
            Self::DelayOffer => f.write_str("DX"),
            Self::Delay(DelayStamps { sent, arrived, left }) => {
                write!(f, "DX t1 {sent} t2 {arrived} t3 {left}")
            }
            Self::AccEcn { order, counters } => {
                f.write_str("ECN")?;
                let named = order.fields().into_iter().zip(counters);
                named.into_iter().try_for_each(|(field, counter)| {
                    let name = match field {
                        Ecn::Ect1 => "e1b",
                        Ecn::Ect0 => "e0b",
                        _ => "ceb",
                    };
                    write!(f, " {name} {counter}")
                })
            }
            Self::Raw(bytes) => {
                f.write_str("raw ")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Self::Unknown { kind, data } => write!(f, "kind {kind} ({} bytes)", data.len() + 2),
        }
    }
}

impl TcpOption {
    /// Bytes that it takes in a header.
    pub(crate) fn wire_len(&self) -> usize {
        match self {
            Self::Nop | Self::Eol => 1,
            Self::Mss(_) | Self::DelayOffer => 4,
            Self::WindowScale(_) => 3,
            Self::SackPermitted => 2,
            Self::Sack(blocks) => 2 + 8 * blocks.len(),
            Self::Timestamps { .. } => 10,
            Self::Delay(_) => DelayStamps::WIRE_LEN,
            Self::AccEcn { counters, .. } => 2 + 3 * counters.len(),
            Self::Raw(bytes) => bytes.len(),
            Self::Unknown { data, .. } => 2 + data.len(),
        }
    }

    /// Appends its header bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Nop => out.push(1),
            Self::Eol => out.push(0),
            Self::Mss(mss) => {
                out.extend([2, 4]);
                out.extend(mss.to_be_bytes());
            }
            Self::WindowScale(shift) => out.extend([3, 3, *shift]),
            Self::SackPermitted => out.extend([4, 2]),
            Self::Sack(blocks) => {
                out.extend([5, self.wire_len() as u8]);
                for (left, right) in blocks {
                    out.extend(left.to_be_bytes());
                    out.extend(right.to_be_bytes());
                }
            }
            Self::Timestamps { value, echo } => {
                out.extend([8, 10]);
                out.extend(value.to_be_bytes());
                out.extend(echo.to_be_bytes());
            }
            Self::DelayOffer | Self::Delay(_) => {
                // An experimental option with its identifier (RFC 6994 §3).
                out.extend([254, self.wire_len() as u8]);
                out.extend(DelayStamps::EXID.to_be_bytes());
                if let Self::Delay(DelayStamps { sent, arrived, left }) = self {
                    for stamp in [sent, arrived, left] {
                        out.extend(stamp.to_be_bytes());
                    }
                }
            }
            Self::AccEcn { order, counters } => {
                let kind = if *order == AccEcnOrder::Ect0First { 172 } else { 174 };
                out.extend([kind, self.wire_len() as u8]);
                for counter in counters {
                    let [_, low @ ..] = counter.to_be_bytes();
                    out.extend(low);
                }
            }
            Self::Raw(bytes) => out.extend(bytes),
            Self::Unknown { kind, data } => {
                out.extend([*kind, data.len() as u8 + 2]);
                out.extend(data);
            }
        }
    }

    /// Options in a header, in order. Malformed bytes end the list.
    pub fn read_all(mut bytes: &[u8]) -> Vec<Self> {
        let mut out = Vec::new();
        while let Some((&kind, rest)) = bytes.split_first() {
            match kind {
                0 | 1 => {
                    out.push(if kind == 0 { Self::Eol } else { Self::Nop });
                    bytes = rest;
                }
                _ => {
                    let len = rest.first().map_or(0, |l| usize::from(*l));
                    let Some(data) = bytes.get(2..len) else { break };
                    out.push(Self::of(kind, data));
                    bytes = bytes.get(len..).unwrap_or(&[]);
                }
            }
        }
        out
    }

    fn of(kind: u8, data: &[u8]) -> Self {
        let word = |at: usize| {
            let four = data.get(at..at + 4).and_then(|b| <[u8; 4]>::try_from(b).ok());
            u32::from_be_bytes(four.unwrap_or_default())
        };
        match (kind, data.len()) {
            (2, 2) => Self::Mss((word_16(data) & 0xffff) as u16),
            (3, 1) => Self::WindowScale(data[0]),
            (4, 0) => Self::SackPermitted,
            (5, len) if len > 0 && len % 8 == 0 => {
                Self::Sack((0..len / 8).map(|i| (word(8 * i), word(8 * i + 4))).collect())
            }
            (8, 8) => Self::Timestamps { value: word(0), echo: word(4) },
            (254, len) if word_16(data) == u32::from(DelayStamps::EXID) && len == 2 => {
                Self::DelayOffer
            }
            (254, 14) if word_16(data) == u32::from(DelayStamps::EXID) => {
                let (sent, arrived, left) = (word(2), word(6), word(10));
                Self::Delay(DelayStamps { sent, arrived, left })
            }
            (172 | 174, 0 | 3 | 6 | 9) => {
                let order =
                    if kind == 172 { AccEcnOrder::Ect0First } else { AccEcnOrder::Ect1First };
                let (fields, _) = data.as_chunks::<3>();
                let counters = fields.iter().map(|[a, b, c]| u32::from_be_bytes([0, *a, *b, *c]));
                Self::AccEcn { order, counters: counters.collect() }
            }
            _ => Self::Unknown { kind, data: data.to_vec() },
        }
    }
}

fn word_16(data: &[u8]) -> u32 {
    data.iter().take(2).fold(0, |sum, b| sum << 8 | u32::from(*b))
}
