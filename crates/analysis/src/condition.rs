//! Conditions by which connections are selected: `KEY=VALUE`.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use super::connection::ConnectionReport;

/// A condition on a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    /// Address of either end.
    Host(IpAddr),
    /// Port of either end.
    Port(u16),
    /// A cause of lost time that the answer names.
    Cause(String),
    /// `limited`, `healthy` or `undetermined`.
    Verdict(String),
    /// Kind of a finding.
    Finding(String),
}

impl Condition {
    pub(super) fn holds(&self, c: &ConnectionReport) -> bool {
        let has_end = |holds: &dyn Fn(SocketAddr) -> bool| {
            [&c.client, &c.server].into_iter().any(|end| end.parse().is_ok_and(holds))
        };
        match self {
            Self::Host(host) => has_end(&|end| end.ip() == *host),
            Self::Port(port) => has_end(&|end| end.port() == *port),
            Self::Cause(kind) => c.answer.causes.iter().any(|cause| cause.kind == kind),
            Self::Verdict(verdict) => c.answer.verdict == verdict,
            Self::Finding(kind) => c.findings.iter().any(|f| f.kind == kind),
        }
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE, as `port=443`")?;
        let owned = value.to_owned();
        match key {
            "host" => value.parse().map(Self::Host).map_err(|_| {
                format!("`{value}` is no address; write one as `10.0.0.1` or `2001:db8::1`")
            }),
            "port" => value
                .parse()
                .map(Self::Port)
                .map_err(|_| format!("`{value}` is no port; write a number up to 65535")),
            "cause" => Ok(Self::Cause(owned)),
            "verdict" if ["limited", "healthy", "undetermined"].contains(&value) => {
                Ok(Self::Verdict(owned))
            }
            "verdict" => Err(format!("`{value}` is no verdict: limited, healthy or undetermined")),
            "finding" => Ok(Self::Finding(owned)),
            _ => Err(format!("`{key}` is none of host, port, cause, verdict, finding")),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => write!(f, "host={host}"),
            Self::Port(port) => write!(f, "port={port}"),
            Self::Cause(kind) => write!(f, "cause={kind}"),
            Self::Verdict(verdict) => write!(f, "verdict={verdict}"),
            Self::Finding(kind) => write!(f, "finding={kind}"),
        }
    }
}
