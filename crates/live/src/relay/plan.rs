//! Configuration of a relay.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use lowtide_tcp::Config;

use crate::admission::AdmissionLimits;
use crate::error::LiveError;

/// Address that accepts connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListenAddr {
    /// A socket address of the kernel.
    Kernel(SocketAddr),
    /// A port of lowtide's addresses.
    Lowtide(u16),
}

/// A route: connections accepted by one TCP are opened over the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RelayRoute {
    /// The address that accepts.
    pub listen: ListenAddr,
    /// The address to connect to.
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

    /// Parses `kernel:ADDRESS:PORT=ADDRESS:PORT` or `lowtide:PORT=ADDRESS:PORT`. The target is
    /// reached over the other TCP.
    fn from_str(text: &str) -> Result<Self, LiveError> {
        let bad = || LiveError::RelayRoute(text.to_owned());
        let (listen, target) = text.split_once('=').ok_or_else(bad)?;
        let (kind, address) = listen.split_once(':').ok_or_else(bad)?;
        let listen = match kind {
            "kernel" => ListenAddr::Kernel(address.parse().map_err(|_| bad())?),
            "lowtide" => {
                ListenAddr::Lowtide(address.parse().ok().filter(|p| *p > 0).ok_or_else(bad)?)
            }
            _ => return Err(bad()),
        };
        let target: SocketAddr = target.parse().map_err(|_| bad())?;
        if target.port() == 0 {
            return Err(bad());
        }
        Ok(Self { listen, target })
    }
}

/// Configuration of a relay.
#[derive(Clone, Debug)]
pub struct RelayPlan {
    /// Routes, at least one.
    pub routes: Vec<RelayRoute>,
    /// Configuration of lowtide's connections.
    pub config: Config,
    /// Connections at a time, and when they are closed.
    pub admission: AdmissionLimits,
    /// Buffer of each direction of a connection, bytes.
    pub buffer_size: usize,
    /// Time for a target to accept.
    pub connect_timeout: Duration,
    /// Time for connections to end when the relay stops; then they are reset.
    pub drain_timeout: Duration,
}

impl RelayPlan {
    /// 1000 connections, 10 minutes idle, the default least rate, 64 KiB per direction, 10 s to
    /// connect, 10 s to drain.
    pub fn new(routes: Vec<RelayRoute>, config: Config) -> Self {
        Self {
            routes,
            config,
            admission: AdmissionLimits::new(1000, lowtide_units::Duration::from_secs(600)),
            buffer_size: 64 << 10,
            connect_timeout: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_parse_and_display() {
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
