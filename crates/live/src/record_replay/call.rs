//! Text format of boundary calls and their results.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use lowtide_tcp::{Config, ConnId, FourTuple, IcmpReport, Transmit, TransmitId};
use lowtide_units::{HostStamp, Instant};
use lowtide_wire::{Segment, SeqNum};

use super::{config, segment};

/// A call of the boundary, without its time.
#[derive(Clone, Debug)]
pub(super) enum EndpointCall {
    Listen { port: u16, backlog: usize, config: Arc<Config> },
    Unlisten { port: u16 },
    Connect { local: IpAddr, remote: IpAddr, port: u16, config: Arc<Config> },
    Segment { local: IpAddr, remote: IpAddr, segment: Box<Segment> },
    Reply,
    Icmp { id: ConnId, seq: SeqNum, report: IcmpReport },
    Timeout { id: ConnId },
    Transmit { id: ConnId },
    Transmitted { id: ConnId, transmit: TransmitId, stamp: HostStamp },
    Event { id: ConnId },
    Send { id: ConnId, n: u64 },
    SendSpace { id: ConnId },
    Read { id: ConnId, n: u64 },
    SetNagle { id: ConnId, on: bool },
    SetTimeWaitLimit { n: usize },
    SetReceiveBuffer { id: ConnId, n: u64 },
    DiscardOutOfOrder { id: ConnId },
    Close { id: ConnId },
    Abort { id: ConnId },
    Release { id: ConnId },
}

impl fmt::Display for EndpointCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen { port, backlog, config: c } => {
                write!(f, "listen {port} {backlog} {}", config::write(c))
            }
            Self::Unlisten { port } => write!(f, "unlisten {port}"),
            Self::Connect { local, remote, port, config: c } => {
                write!(f, "connect {local} {remote} {port} {}", config::write(c))
            }
            Self::Segment { local, remote, segment: s } => {
                write!(f, "segment {local} {remote} {}", segment::write(s))
            }
            Self::Reply => f.write_str("reply"),
            Self::Icmp { id, seq, report } => {
                let mtu = match report {
                    IcmpReport::TooBig { mtu } => mtu.to_string(),
                    IcmpReport::HardError => "refused".to_owned(),
                };
                write!(f, "path {} {} {mtu}", id.0, seq.raw())
            }
            Self::Timeout { id } => write!(f, "timeout {}", id.0),
            Self::Transmit { id } => write!(f, "transmit {}", id.0),
            Self::Transmitted { id, transmit, stamp } => {
                write!(f, "transmitted {} {} {}", id.0, transmit.0, stamp.0)
            }
            Self::Event { id } => write!(f, "event {}", id.0),
            Self::Send { id, n } => write!(f, "send {} {n}", id.0),
            Self::SendSpace { id } => write!(f, "space {}", id.0),
            Self::Read { id, n } => write!(f, "read {} {n}", id.0),
            Self::SetNagle { id, on } => write!(f, "nagle {} {on}", id.0),
            Self::SetTimeWaitLimit { n } => write!(f, "time-waits {n}"),
            Self::SetReceiveBuffer { id, n } => write!(f, "buffer {} {n}", id.0),
            Self::DiscardOutOfOrder { id } => write!(f, "discard {}", id.0),
            Self::Close { id } => write!(f, "close {}", id.0),
            Self::Abort { id } => write!(f, "abort {}", id.0),
            Self::Release { id } => write!(f, "release {}", id.0),
        }
    }
}

impl EndpointCall {
    /// Parses a call; `None` if `text` is not one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        // A configuration may contain spaces: it is last and extends to the end of the line.
        let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
        match name {
            "listen" => {
                let mut words = rest.splitn(3, ' ');
                let (port, backlog) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
                let config = Arc::new(config::read(words.next().unwrap_or("")).ok()?);
                return Some(Self::Listen { port, backlog, config });
            }
            "connect" => {
                let mut words = rest.splitn(4, ' ');
                let (local, remote) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
                let port = words.next()?.parse().ok()?;
                let config = Arc::new(config::read(words.next().unwrap_or("")).ok()?);
                return Some(Self::Connect { local, remote, port, config });
            }
            _ => {}
        }
        let mut words = rest.split_ascii_whitespace();
        let call = match name {
            "time-waits" => Self::SetTimeWaitLimit { n: words.next()?.parse().ok()? },
            "unlisten" => Self::Unlisten { port: words.next()?.parse().ok()? },
            "segment" => Self::Segment {
                local: words.next()?.parse().ok()?,
                remote: words.next()?.parse().ok()?,
                segment: Box::new(segment::read(&mut words)?),
            },
            "reply" => Self::Reply,
            _ => Self::parse_conn_call(name, &mut words)?,
        };
        words.next().is_none().then_some(call)
    }

    /// Parses a call whose first argument is a connection.
    fn parse_conn_call<'a>(name: &str, words: &mut impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut number = || words.next()?.parse::<u64>().ok();
        let id = ConnId(u32::try_from(number()?).ok()?);
        Some(match name {
            "path" => {
                let seq = SeqNum::new(u32::try_from(number()?).ok()?);
                let report = match words.next()? {
                    "refused" => IcmpReport::HardError,
                    mtu => IcmpReport::TooBig { mtu: mtu.parse().ok()? },
                };
                Self::Icmp { id, seq, report }
            }
            "timeout" => Self::Timeout { id },
            "transmit" => Self::Transmit { id },
            "transmitted" => {
                let (transmit, stamp) = (TransmitId(number()?), HostStamp(number()?));
                Self::Transmitted { id, transmit, stamp }
            }
            "event" => Self::Event { id },
            "send" => Self::Send { id, n: number()? },
            "space" => Self::SendSpace { id },
            "read" => Self::Read { id, n: number()? },
            "nagle" => Self::SetNagle { id, on: words.next()?.parse().ok()? },
            "buffer" => Self::SetReceiveBuffer { id, n: number()? },
            "discard" => Self::DiscardOutOfOrder { id },
            "close" => Self::Close { id },
            "abort" => Self::Abort { id },
            "release" => Self::Release { id },
            _ => return None,
        })
    }
}

/// Result of a call.
#[derive(Clone, Debug)]
pub(super) enum RecordedResult {
    None,
    Text(String),
}

impl RecordedResult {
    pub(super) fn ok(yes: bool) -> Self {
        Self::Text(if yes { "ok" } else { "no" }.to_owned())
    }

    /// The `Debug` format of `value`.
    pub(super) fn debug(value: &impl fmt::Debug) -> Self {
        Self::Text(format!("{value:?}"))
    }

    pub(super) fn from_result<E: fmt::Display>(result: Result<String, E>) -> Self {
        Self::Text(result.unwrap_or_else(|error| error.to_string()))
    }

    pub(super) fn reply(tuple: &FourTuple, reply: &Segment) -> Self {
        Self::Text(format!("{} {} {}", tuple.local, tuple.remote, segment::write(reply)))
    }

    /// A transmission, or the time of the next timer.
    pub(super) fn transmit(transmit: Option<&Transmit>, next: Option<Instant>) -> Self {
        Self::Text(match (transmit, next) {
            (Some(t), _) => {
                let (start, end) = (t.stream.start, t.stream.end);
                let header = segment::write(&t.header);
                format!("{} {start}..{end} {} {} {header}", t.id.0, t.mss, t.segments)
            }
            (None, Some(at)) => format!("next {}", at.as_ps()),
            (None, None) => "rest".to_owned(),
        })
    }
}

impl fmt::Display for RecordedResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("-"),
            Self::Text(text) => f.write_str(text),
        }
    }
}
