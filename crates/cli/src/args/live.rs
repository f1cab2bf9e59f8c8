//! `lowtide live`.

use std::net::IpAddr;

use clap::{Args, Subcommand, ValueEnum};
use lowtide_units::{Duration, parse_duration};

use super::admission::LeastRateArgs;
use super::flow::{FlowArg, flow};
use super::quantity::{seconds, size};
use super::{BottleneckArgs, LiveStackArgs, ProxyArgs, ThroughArgs, link, proxy};

/// Parts of `live`.
#[derive(Debug, Subcommand)]
pub(crate) enum LiveCommand {
    /// Send to a server (with -R: receive from it), and compare checksums at the end
    #[command(after_long_help = CLIENT_EXAMPLES)]
    Client(LiveClientArgs),
    /// Serve clients until Ctrl-C
    #[command(after_long_help = SERVER_EXAMPLES)]
    Server(LiveServerArgs),
    /// Run the network of a scenario in real time between interfaces
    #[command(after_long_help = link::EXAMPLES)]
    Bottleneck(BottleneckArgs),
    /// Measure our TCP and the kernel's between namespaces that the command creates
    #[command(after_long_help = BENCH_NOTES)]
    Bench(LiveBenchArgs),
    /// Relay connections between the kernel's TCP and ours
    #[command(after_long_help = proxy::EXAMPLES)]
    Proxy(ProxyArgs),
}

pub(super) const EXAMPLES: &str = "\
Real packets need Linux, root (CAP_NET_ADMIN) and /dev/net/tun, and nothing else. With
`--peer kernel` the command creates an unnamed network namespace with the kernel's TCP at the other
end; the namespace ends with the command. Otherwise the command runs in the current namespace, and
refuses the machine's own without `--netns here`. docs/howto/live.md shows more.

Examples:
  lowtide live client --peer kernel                 our TCP sends to the kernel's for 10 s
  lowtide live server --peer kernel -n 1G           the kernel's TCP sends 1 GiB to ours
  lowtide live client --peer kernel --through --rate 100Mbit/s --mark step --k 20";

const BENCH_NOTES: &str = "\
Each end has one CPU. A kernel does part of the work for a packet on the CPU of the other end, so
the CPU time is that of both ends; `machine` is the CPU time of all processes meanwhile. The
\"offloads\" lines move up to 64 kB at once; the others move single packets, as a marking bottleneck
sees them.";

const CLIENT_EXAMPLES: &str = "\
Examples:
  lowtide live client --peer kernel -P 4 -t 5       4 connections, 5 s
  lowtide live client --peer kernel -R -n 500M      the kernel sends 500 MiB
  lowtide live client --peer kernel --flow time=9 --flow start=3,time=3,reverse
  lowtide live client --peer kernel --kernel-ecn on --scheme dctcp -i 0.5 -J
  lowtide live client --peer kernel -s recovery=sack -s send-buffer='1 MB'
  ip netns exec lt lowtide live client 10.77.0.1    a server in the namespace `lt`";

const SERVER_EXAMPLES: &str = "\
Examples:
  lowtide live server --peer kernel -n 500M         the kernel sends 500 MiB to us
  lowtide live server --peer kernel -R -t 5 -C dctcp
  ip netns exec lt lowtide live server              reached at 10.77.0.2 and fd77::2, port 5201";

/// Arguments of `live bench`.
#[derive(Debug, Args)]
pub(crate) struct LiveBenchArgs {
    /// Repeats of each line; the median is shown
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeats: u32,
    /// Sending time of each repeat
    #[arg(short = 't', long, default_value = "1s", value_parser = parse_duration)]
    pub(crate) time: Duration,
    /// CPUs of the two ends, or one that they share
    #[arg(long, value_name = "A,B", value_delimiter = ',',
          default_values_t = [0, 1])]
    pub(crate) cpus: Vec<usize>,
    /// Most segments of a packet that our TCP passes to the kernel, which splits it (TSO)
    #[arg(long, value_name = "N", default_value_t = 44,
          value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) segments: u32,
    /// Congestion control of the kernel
    #[arg(long, value_name = "NAME", default_value = "reno")]
    pub(crate) kernel_cc: String,
}

/// TCP at the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum PeerArg {
    /// Any host in reach.
    #[default]
    Any,
    /// The kernel, in a namespace that this command creates.
    Kernel,
}

/// Values of `net.ipv4.tcp_ecn`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum KernelEcnArg {
    /// 0: neither requested nor accepted.
    Off,
    /// 1: requested and accepted.
    On,
    /// 2, the default of Linux: accepted.
    #[default]
    Passive,
    /// 3: Accurate ECN requested and accepted; 3 to 5 exist since Linux 7.0.
    Accecn,
    /// 4: Accurate ECN accepted, classic ECN requested.
    AccecnIn,
    /// 5: Accurate ECN accepted, nothing requested.
    AccecnPassive,
}

/// Host of lowtide's TCP, and its peer.
#[derive(Debug, Args)]
pub(crate) struct LiveHostArgs {
    /// TCP at the other end
    #[arg(long, value_enum, default_value_t)]
    pub(crate) peer: PeerArg,
    /// TCP port of the server
    #[arg(short, long, default_value_t = 5201, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// Congestion control of the kernel, in a new namespace
    #[arg(long, value_name = "NAME", default_value = "reno")]
    pub(crate) kernel_cc: String,
    /// ECN of the kernel (`net.ipv4.tcp_ecn`), in a new namespace
    #[arg(long, value_enum, default_value_t)]
    pub(crate) kernel_ecn: KernelEcnArg,
    #[command(flatten)]
    pub(crate) own: LiveStackArgs,
}

/// Load of a client.
#[derive(Debug, Args)]
pub(crate) struct LiveLoadArgs {
    /// Seconds to send
    #[arg(short, long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) time: Duration,
    /// Bytes to send per connection (`500M`, `3 GB`), instead of a time
    #[arg(short = 'n', long, value_name = "BYTES", value_parser = size)]
    pub(crate) bytes: Option<u64>,
    /// Parallel connections
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) parallel: u32,
    /// Scheduled connection, repeatable: start=SECONDS, time=SECONDS or bytes=BYTES, length=BYTES,
    /// reverse; defaults are the values of the other options
    #[arg(long = "flow", value_name = "start=S,time=S,...", value_parser = flow,
          conflicts_with = "parallel")]
    pub(crate) flows: Vec<FlowArg>,
    /// Reverse the direction: the server sends, the client receives
    #[arg(short = 'R', long)]
    pub(crate) reverse: bool,
    /// Bytes per write
    #[arg(short, long, value_name = "BYTES", default_value = "128K", value_parser = size)]
    pub(crate) length: u64,
    /// Seconds between interval reports; 0 for none
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub(crate) interval: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct LiveClientArgs {
    /// Address of the server; default with `--peer kernel`: that of the kernel
    pub(crate) server: Option<IpAddr>,
    #[command(flatten)]
    pub(crate) load: LiveLoadArgs,
    #[command(flatten)]
    pub(crate) host: LiveHostArgs,
    #[command(flatten)]
    pub(crate) through: ThroughArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LiveServerArgs {
    /// Exit after one client
    #[arg(short = '1', long)]
    pub(crate) one_off: bool,
    /// Most concurrent connections; further ones wait until one ends, or lags and yields. If more
    /// than half are taken, each source (IPv4 address or IPv6 /64) is limited to its share
    #[arg(long, value_name = "N", default_value_t = 512,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max_connections: u32,
    /// Idle timeout of a connection, seconds; it is then reset; 0 for none. Its request must arrive
    /// within 10 s
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) idle: Duration,
    #[command(flatten)]
    pub(crate) least_rate: LeastRateArgs,
    // Load of the kernel's client, with `--peer kernel`.
    #[command(flatten)]
    pub(crate) load: LiveLoadArgs,
    #[command(flatten)]
    pub(crate) host: LiveHostArgs,
    #[command(flatten)]
    pub(crate) through: ThroughArgs,
}
