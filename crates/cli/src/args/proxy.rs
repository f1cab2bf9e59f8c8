//! `lowtide live proxy`.

use clap::Args;
use lowtide_live::relay::RelayRoute;
use lowtide_units::Duration;

use super::LiveStackArgs;
use super::quantity::{seconds, size};

pub(super) const EXAMPLES: &str = "\
A route says where connections come in and, after `=`, where they go; the other TCP carries them there. Ctrl-C or
SIGTERM ends the relay: nothing more is accepted, and what is open has --drain to end. docs/live.md shows how
packets get to and from our addresses.

Examples:
  lowtide live proxy kernel:127.0.0.1:8080=10.1.0.9:80 --scheme odctcp-sender -s ect=data
  lowtide live proxy lowtide:80=127.0.0.1:8080 --scheme odctcp        for a server that cannot change its kernel
  lowtide live proxy kernel:127.0.0.1:8080=10.1.0.9:80 lowtide:80=127.0.0.1:8081 --max-connections 5000 --idle 300";

#[derive(Debug, Args)]
pub(crate) struct ProxyArgs {
    /// `kernel:ADDRESS:PORT=TARGET` (the kernel accepts, ours goes on) or `lowtide:PORT=TARGET` (the reverse); TARGET
    /// is an address and a port
    #[arg(required = true, value_name = "ROUTE")]
    pub(crate) routes: Vec<RelayRoute>,
    /// The most connections at a time; further ones wait
    #[arg(long, alias = "most", value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max_connections: u32,
    /// Bytes that may wait in the relay for each direction of a connection
    #[arg(long, value_name = "BYTES", default_value = "64K", value_parser = buffer)]
    pub(crate) buffer: u64,
    /// Seconds that a target may take to answer
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) connect: Duration,
    /// Seconds without a byte after which a connection is reset; never without it
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) idle: Option<Duration>,
    /// Seconds that connections may go on when the relay is to end
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) drain: Duration,
    /// Seconds between two lines of output; 0 for none
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
