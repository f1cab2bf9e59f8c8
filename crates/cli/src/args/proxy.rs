//! `lowtide live proxy`.

use clap::Args;
use lowtide_live::relay::RelayRoute;
use lowtide_units::Duration;

use super::LiveStackArgs;
use super::admission::LeastRateArgs;
use super::quantity::{seconds, size};

pub(super) const EXAMPLES: &str = "\
A route is a listening TCP and port, `=`, and a target. The relay accepts a connection by one TCP
and opens one to the target by the other. After Ctrl-C or SIGTERM it accepts no more connections;
open ones have --drain seconds to end. docs/howto/live.md shows how packets are routed to our
addresses.

Examples:
  lowtide live proxy kernel:127.0.0.1:8080=10.1.0.9:80 --scheme odctcp-sender -s ect=data
  lowtide live proxy lowtide:80=127.0.0.1:8080 --scheme odctcp        before an unchanged server
  lowtide live proxy kernel:127.0.0.1:8080=10.1.0.9:80 lowtide:80=127.0.0.1:8081 --idle 300";

#[derive(Debug, Args)]
pub(crate) struct ProxyArgs {
    /// `kernel:ADDRESS:PORT=TARGET` (the kernel accepts, our TCP connects) or `lowtide:PORT=TARGET`
    /// (the reverse); TARGET is ADDRESS:PORT
    #[arg(required = true, value_name = "ROUTE")]
    pub(crate) routes: Vec<RelayRoute>,
    /// Most concurrent connections; further ones wait until one ends, or lags and yields. If more
    /// than half are taken, each source (IPv4 address or IPv6 /64) is limited to its share
    #[arg(long, value_name = "N", default_value_t = 1000,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max_connections: u32,
    /// Buffer of each direction of a connection, bytes
    #[arg(long, value_name = "BYTES", default_value = "64K", value_parser = buffer)]
    pub(crate) buffer: u64,
    /// Timeout of the connection to a target, seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) connect: Duration,
    /// Idle timeout of a connection, seconds; it is then reset; 0 for none
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds)]
    pub(crate) idle: Duration,
    #[command(flatten)]
    pub(crate) least_rate: LeastRateArgs,
    /// Seconds that open connections have to end at shutdown
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) drain: Duration,
    /// Seconds between interval reports; 0 for none
    #[arg(short, long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) interval: Duration,
    #[command(flatten)]
    pub(crate) own: LiveStackArgs,
}

fn buffer(text: &str) -> Result<u64, String> {
    size(text).and_then(|n| match n {
        1024..=0x0100_0000 => Ok(n),
        _ => Err("expected 1K to 16M".to_owned()),
    })
}
