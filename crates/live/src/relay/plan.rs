//! What a relay does.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use lowtide_tcp::Config;

use crate::error::LiveError;

/// Where connections come in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListenAddr {
    /// At a socket of the kernel.
    Kernel(SocketAddr),
    /// At this port of lowtide's addresses.
    Lowtide(u16),
}

/// Connections that come in at one TCP go out by the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RelayRoute {
    /// Where they come in.
    pub listen: ListenAddr,
    /// Where they go.
    pub target: SocketAddr,
}

impl fmt::Display for RelayRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.listen {
            ListenAddr::Kernel(address) => write!(f, "kernel:{address}={}", self.target),
            ListenAddr::Lowtide(port) => write!(f, "lowtide:{port}={}", self.target),
        }
    }
}

impl FromStr for RelayRoute {
    type Err = LiveError;

    /// `kernel:ADDRESS:PORT=ADDRESS:PORT` or `lowtide:PORT=ADDRESS:PORT`; the target is reached over the other TCP.
    fn from_str(text: &str) -> Result<Self, LiveError> {
        let bad = || LiveError::RelayRoute(text.to_owned());
        let (entry, target) = text.split_once('=').ok_or_else(bad)?;
        let (kind, place) = entry.split_once(':').ok_or_else(bad)?;
        let entry = match kind {
            "kernel" => ListenAddr::Kernel(place.parse().map_err(|_| bad())?),
            "lowtide" => {
                ListenAddr::Lowtide(place.parse().ok().filter(|p| *p > 0).ok_or_else(bad)?)
            }
            _ => return Err(bad()),
        };
        let target: SocketAddr = target.parse().map_err(|_| bad())?;
        if target.port() == 0 {
            return Err(bad());
        }
        Ok(Self { listen: entry, target })
    }
}

/// What a relay does, and how far it goes.
#[derive(Clone, Debug)]
pub struct RelayPlan {
    /// Which connections it takes, at least one route.
    pub routes: Vec<RelayRoute>,
    /// The settings of lowtide's connections.
    pub config: Config,
    /// The most connections at a time, counting both sides of one as one; further ones wait where they come in.
    pub max_connections: usize,
    /// Bytes that may wait in the relay for each direction of a connection.
    pub buffer_size: usize,
    /// How long a target may take to answer.
    pub connect_timeout: Duration,
    /// How long a connection may be without a byte in either direction before both sides are reset; `None` for ever.
    pub idle_timeout: Option<Duration>,
    /// How long connections may go on when the relay is to end; then they are reset.
    pub drain_timeout: Duration,
}

impl RelayPlan {
    /// 1000 connections, 64 KiB for each direction, 10 s to connect, 10 s to drain, no limit of idleness.
    pub fn new(routes: Vec<RelayRoute>, config: Config) -> Self {
        Self {
            routes,
            config,
            max_connections: 1000,
            buffer_size: 64 << 10,
            connect_timeout: Duration::from_secs(10),
            idle_timeout: None,
            drain_timeout: Duration::from_secs(10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_names_one_side_and_has_the_other_tcp_at_the_other() {
        let route: RelayRoute = "kernel:127.0.0.1:80=10.77.0.1:8080".parse().unwrap();
        assert_eq!(route.listen, ListenAddr::Kernel("127.0.0.1:80".parse().unwrap()));
        assert_eq!(route.target, "10.77.0.1:8080".parse().unwrap());
        assert_eq!(route.to_string(), "kernel:127.0.0.1:80=10.77.0.1:8080");
        let route: RelayRoute = "lowtide:443=[::1]:8080".parse().unwrap();
        assert_eq!((route.listen, route.target.is_ipv6()), (ListenAddr::Lowtide(443), true));
        for bad in [
            "",
            "kernel:80=10.0.0.1:80",
            "lowtide:0=10.0.0.1:80",
            "lowtide:80=10.0.0.1",
            "lowtide:80=10.0.0.1:0",
            "linux:80=10.0.0.1:80",
            "lowtide:80",
        ] {
            assert!(
                bad.parse::<RelayRoute>().unwrap_err().to_string().contains("lowtide:PORT"),
                "{bad}"
            );
        }
    }
}
