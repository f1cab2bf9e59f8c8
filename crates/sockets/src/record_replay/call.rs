//! Text format of boundary calls and their results.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use lowtide_tcp::{Config, ConnId, FourTuple, IcmpReport, Transmit, TransmitId};
use lowtide_units::{HostStamp, Instant};
use lowtide_wire::{Segment, SeqNum};

use super::{config, segment};

/// A call of a [`lowtide_tcp::Connection`] without a result.
#[derive(Clone, Copy, Debug)]
pub enum ConnCall {
    /// `handle_timeout`.
    Timeout,
    /// `send`, bytes.
    Send(u64),
    /// `read`, bytes.
    Read(u64),
    /// `set_nagle`.
    SetNagle(bool),
    /// `set_receive_buffer`, bytes.
    SetReceiveBuffer(u64),
    /// `discard_out_of_order`.
    DiscardOutOfOrder,
    /// `close`.
    Close,
    /// `abort`.
    Abort,
}

/// A call of the boundary, without its time.
#[derive(Clone, Debug)]
pub(super) enum EndpointCall {
    Listen { port: u16, backlog: usize, config: Arc<Config> },
    Unlisten { port: u16 },
    Reconfigure { port: u16, config: Arc<Config> },
    SetNextIsn { isn: SeqNum },
    Connect { local: SocketAddr, remote: IpAddr, port: u16, config: Arc<Config> },
    Segment { local: IpAddr, remote: IpAddr, segment: Box<Segment> },
    Reply,
    Icmp { id: ConnId, seq: SeqNum, report: IcmpReport },
    Transmit { id: ConnId },
    Transmitted { id: ConnId, transmit: TransmitId, stamp: HostStamp },
    Event { id: ConnId },
    SendSpace { id: ConnId },
    SetTimeWaitLimit { n: usize },
    Conn { id: ConnId, call: ConnCall },
    Release { id: ConnId },
}

impl fmt::Display for EndpointCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen { port, backlog, config: c } => {
                write!(f, "listen {port} {backlog} {}", config::write(c))
            }
            Self::Unlisten { port } => write!(f, "unlisten {port}"),
            Self::Reconfigure { port, config: c } => {
                write!(f, "reconfigure {port} {}", config::write(c))
            }
            Self::SetNextIsn { isn } => write!(f, "next-isn {}", isn.raw()),
            Self::Connect { local, remote, port, config: c } => {
                f.write_str("connect ")?;
                // Port 0 is an ephemeral port.
                match local.port() {
                    0 => local.ip().fmt(f)?,
                    _ => local.fmt(f)?,
                }
                write!(f, " {remote} {port} {}", config::write(c))
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
            Self::Transmit { id } => write!(f, "transmit {}", id.0),
            Self::Transmitted { id, transmit, stamp } => {
                write!(f, "transmitted {} {} {}", id.0, transmit.0, stamp.0)
            }
            Self::Event { id } => write!(f, "event {}", id.0),
            Self::SendSpace { id } => write!(f, "space {}", id.0),
            Self::SetTimeWaitLimit { n } => write!(f, "time-waits {n}"),
            Self::Conn { id, call } => match call {
                ConnCall::Timeout => write!(f, "timeout {}", id.0),
                ConnCall::Send(n) => write!(f, "send {} {n}", id.0),
                ConnCall::Read(n) => write!(f, "read {} {n}", id.0),
                ConnCall::SetNagle(on) => write!(f, "nagle {} {on}", id.0),
                ConnCall::SetReceiveBuffer(n) => write!(f, "buffer {} {n}", id.0),
                ConnCall::DiscardOutOfOrder => write!(f, "discard {}", id.0),
                ConnCall::Close => write!(f, "close {}", id.0),
                ConnCall::Abort => write!(f, "abort {}", id.0),
            },
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
            "reconfigure" => {
                let (port, config) = rest.split_once(' ').unwrap_or((rest, ""));
                let config = Arc::new(config::read(config).ok()?);
                return Some(Self::Reconfigure { port: port.parse().ok()?, config });
            }
            "connect" => {
                let mut words = rest.splitn(4, ' ');
                let (local, remote) = (words.next()?, words.next()?.parse().ok()?);
                let any_port = |ip| SocketAddr::new(ip, 0);
                let local = local.parse().or_else(|_| local.parse().map(any_port)).ok()?;
                let port = words.next()?.parse().ok()?;
                let config = Arc::new(config::read(words.next().unwrap_or("")).ok()?);
                return Some(Self::Connect { local, remote, port, config });
            }
            _ => {}
        }
        let mut words = rest.split_ascii_whitespace();
        let call = match name {
            "time-waits" => Self::SetTimeWaitLimit { n: words.next()?.parse().ok()? },
            "next-isn" => Self::SetNextIsn { isn: SeqNum::new(words.next()?.parse().ok()?) },
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
        let call = match name {
            "path" => {
                let seq = SeqNum::new(u32::try_from(number()?).ok()?);
                let report = match words.next()? {
                    "refused" => IcmpReport::HardError,
                    mtu => IcmpReport::TooBig { mtu: mtu.parse().ok()? },
                };
                return Some(Self::Icmp { id, seq, report });
            }
            "transmit" => return Some(Self::Transmit { id }),
            "transmitted" => {
                let (transmit, stamp) = (TransmitId(number()?), HostStamp(number()?));
                return Some(Self::Transmitted { id, transmit, stamp });
            }
            "event" => return Some(Self::Event { id }),
            "space" => return Some(Self::SendSpace { id }),
            "release" => return Some(Self::Release { id }),
            "timeout" => ConnCall::Timeout,
            "send" => ConnCall::Send(number()?),
            "read" => ConnCall::Read(number()?),
            "nagle" => ConnCall::SetNagle(words.next()?.parse().ok()?),
            "buffer" => ConnCall::SetReceiveBuffer(number()?),
            "discard" => ConnCall::DiscardOutOfOrder,
            "close" => ConnCall::Close,
            "abort" => ConnCall::Abort,
            _ => return None,
        };
        Some(Self::Conn { id, call })
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
