//! `lowtide live`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use lowtide_units::{Duration, parse_duration};

use super::flow::{FlowArg, flow};
use super::quantity::{seconds, size};
use super::{BottleneckArgs, ProxyArgs, ThroughArgs, link, proxy};

/// What `lowtide live` does.
#[derive(Debug, Subcommand)]
pub(crate) enum LiveCommand {
    /// Send to a server, or with -R receive from it, and compare checksums at the end
    #[command(after_long_help = CLIENT_EXAMPLES)]
    Client(LiveClientArgs),
    /// Serve clients until Ctrl-C
    #[command(after_long_help = SERVER_EXAMPLES)]
    Server(LiveServerArgs),
    /// The network of a scenario in real time, between interfaces
    #[command(after_long_help = link::EXAMPLES)]
    Bottleneck(BottleneckArgs),
    /// Our TCP beside the kernel's, between namespaces that the command makes
    #[command(after_long_help = BENCH_NOTES)]
    Bench(LiveBenchArgs),
    /// Relay connections between the kernel's TCP and ours
    #[command(after_long_help = proxy::EXAMPLES)]
    Proxy(ProxyArgs),
    /// Make every call of a recording again on a fresh endpoint, and say whether every answer is the same
    Replay {
        /// The recording, as --record writes it
        recording: PathBuf,
    },
}

pub(super) const EXAMPLES: &str = "\
Real packets need Linux, root (CAP_NET_ADMIN) and /dev/net/tun; nothing else has to be installed. With
`--peer kernel` the command makes a network namespace without a name, which is gone when it ends, and the
kernel's TCP at the other end itself. Otherwise it runs in the namespace in which it is started, and refuses
that of the machine unless told `--netns here`. docs/live.md shows the rest.

Examples:
  lowtide live client --peer kernel                 our TCP sends to the kernel's for 10 s
  lowtide live server --peer kernel -n 1G           the kernel's TCP sends 1 GiB to ours
  lowtide live client --peer kernel --through --rate 100Mbit/s --mark step --k 20
  lowtide live replay run.record";

const BENCH_NOTES: &str = "\
Each end has one processor. What a kernel does for a packet is partly done on the other's, so that processor time is
that of both ends together; `machine` is everything that ran meanwhile. \"offloads\" lines move up to 64 kB at once,
the others packet by packet, which is what a bottleneck that marks sees.";

const CLIENT_EXAMPLES: &str = "\
Examples:
  lowtide live client --peer kernel -P 4 -t 5       four connections, five seconds
  lowtide live client --peer kernel -R -n 500M      the kernel sends
  lowtide live client --peer kernel --flow time=9 --flow start=3,time=3 --flow start=4,bytes=1M,reverse
  lowtide live client --peer kernel --kernel-ecn on --scheme dctcp -i 0.5 -J
  lowtide live client --peer kernel -s recovery=sack -s send-buffer='1 MB' --record run.record
  ip netns exec lt lowtide live client 10.77.0.1    a server in the namespace `lt`";

const SERVER_EXAMPLES: &str = "\
Examples:
  lowtide live server --peer kernel -n 500M         the kernel sends 500 MiB to us
  lowtide live server --peer kernel -R -t 5 -C dctcp
  ip netns exec lt lowtide live server              clients reach it at 10.77.0.2 and fd77::2, port 5201";

/// What `lowtide live bench` measures.
#[derive(Debug, Args)]
pub(crate) struct LiveBenchArgs {
    /// Every line so often; medians are shown
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeats: u32,
    /// How long each sends
    #[arg(short = 't', long, default_value = "1s", value_parser = parse_duration)]
    pub(crate) time: Duration,
    /// The CPUs of the two ends, or one that they share
    #[arg(long, alias = "processors", value_name = "A,B", value_delimiter = ',', default_values_t = [0, 1])]
    pub(crate) cpus: Vec<usize>,
    /// Segments that our TCP hands over at once; the kernel cuts them, as it does with its own
    #[arg(long, value_name = "N", default_value_t = 44, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) segments: u32,
    /// The kernel's congestion control
    #[arg(long, value_name = "NAME", default_value = "reno")]
    pub(crate) kernel_cc: String,
}

/// Memory of a host: a few connections at least.
fn memory(text: &str) -> Result<u64, String> {
    size(text).and_then(|n| match n {
        0x0010_0000..=0x0100_0000_0000 => Ok(n),
        _ => Err("expected 1M to 1024G".to_owned()),
    })
}

/// Whose TCP is at the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum PeerArg {
    /// Whoever is there.
    #[default]
    Any,
    /// The kernel's, which this command starts in a namespace of its own.
    Kernel,
}

/// In which network namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum NetnsArg {
    /// A new one without a name, which ends with this command.
    New,
    /// That in which the command was started, even if it is the machine's own.
    Here,
}

/// `net.ipv4.tcp_ecn`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum KernelEcnArg {
    /// 0: neither asked for nor taken.
    Off,
    /// 1: asked for and taken.
    On,
    /// 2, Linux's default: taken.
    #[default]
    Passive,
}

/// The host that lowtide's TCP is, and who is at the other end.
#[derive(Debug, Args)]
pub(crate) struct LiveHostArgs {
    /// Who is at the other end
    #[arg(long, value_enum, default_value_t)]
    pub(crate) peer: PeerArg,
    /// Port of the server
    #[arg(short, long, default_value_t = 5201, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// The kernel's congestion control, in a new namespace
    #[arg(long, value_name = "NAME", default_value = "reno")]
    pub(crate) kernel_cc: String,
    /// Whether the kernel asks for ECN (on), takes it (on, passive), or neither, in a new namespace
    #[arg(long, value_enum, default_value_t)]
    pub(crate) kernel_ecn: KernelEcnArg,
    #[command(flatten)]
    pub(crate) own: LiveStackArgs,
}

/// The host that lowtide's TCP is.
#[derive(Debug, Args)]
pub(crate) struct LiveStackArgs {
    /// The device: `tun:NAME` is made, and gone with the command; `packet:NAME` is there, one end of a veth pair or
    /// somebody else's TUN interface
    #[arg(long, value_name = "KIND:NAME", default_value = "tun:lt0")]
    pub(crate) device: String,
    /// Our addresses, each with the bits of its network, in which the kernel has another address
    #[arg(long = "addr", value_name = "ADDRESS/BITS", value_delimiter = ',',
          default_values = ["10.77.0.2/24", "fd77::2/64"])]
    pub(crate) addresses: Vec<String>,
    /// The kernel's address in such a network; its first, without it
    #[arg(long = "kernel-addr", value_name = "ADDRESS", value_delimiter = ',')]
    pub(crate) kernels: Vec<IpAddr>,
    /// MTU of the device, and the largest packet that we send, bytes
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1280..))]
    pub(crate) mtu: u16,
    /// Let several segments be one packet between the kernel and us: fast, and without a mark, a stamp and an
    /// acknowledgement for each
    #[arg(long)]
    pub(crate) offload: bool,
    /// In which network namespace: a new one with `--peer kernel`, else that of the caller, unless it is the
    /// machine's
    #[arg(long, value_enum)]
    pub(crate) netns: Option<NetnsArg>,
    /// The profile of our TCP (`lowtide list profiles`)
    #[arg(long, default_value = "linux")]
    pub(crate) profile: String,
    /// A scheme over it (`lowtide list schemes`)
    #[arg(long)]
    pub(crate) scheme: Option<String>,
    /// Our congestion control (`lowtide list cc`)
    #[arg(short = 'C', long, value_name = "NAME")]
    pub(crate) congestion: Option<String>,
    /// Set a switch of our TCP (`lowtide list switches`)
    #[arg(short = 's', long = "set", value_name = "SWITCH=VALUE")]
    pub(crate) set: Vec<String>,
    /// The most connections that may be half open; further SYNs are answered with cookies, or dropped with
    /// `-s syn-cookies=off`
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) half_open: u32,
    /// The most memory for all connections together; above half of it each is held to its share
    #[arg(long, value_name = "BYTES", default_value = "64M", value_parser = memory)]
    pub(crate) memory: u64,
    /// The most connections that are closed here and cannot end for their peer's sake; beyond them the oldest is reset
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) orphans: u32,
    /// Go on as this user once devices are open; without it root goes on without capabilities
    #[arg(long, value_name = "NAME|UID[:GROUP]")]
    pub(crate) user: Option<String>,
    /// Record every call into the transport in this file, for `lowtide live replay`
    #[arg(long, alias = "tape", value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// One JSON object, as --json
    #[arg(short = 'J')]
    pub(crate) as_json: bool,
}

/// What a client does.
#[derive(Debug, Args)]
pub(crate) struct LiveLoadArgs {
    /// Seconds to send for
    #[arg(short, long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) time: Duration,
    /// Bytes to send on each connection, in place of a time (`500M`, `3 GB`)
    #[arg(short = 'n', long, value_name = "BYTES", value_parser = size)]
    pub(crate) bytes: Option<u64>,
    /// Connections at a time
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) parallel: u32,
    /// One connection of a schedule, several times for several: start=SECONDS, time=SECONDS or bytes=BYTES, length=BYTES,
    /// reverse; the rest as the other options say
    #[arg(long = "flow", value_name = "start=S,time=S,...", value_parser = flow, conflicts_with = "parallel")]
    pub(crate) flows: Vec<FlowArg>,
    /// The server sends, the client receives
    #[arg(short = 'R', long)]
    pub(crate) reverse: bool,
    /// Bytes of one write
    #[arg(short, long, value_name = "BYTES", default_value = "128K", value_parser = size)]
    pub(crate) length: u64,
    /// Seconds between two lines of output; 0 for none
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub(crate) interval: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct LiveClientArgs {
    /// The server; with `--peer kernel` it is ours, and this is not needed
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
    /// End after one client
    #[arg(short = '1', long)]
    pub(crate) one_off: bool,
    /// The most connections at a time; for one more the longest silent one is reset, or the new one
    #[arg(long, alias = "most", value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max_connections: u32,
    /// Seconds without a byte after which a connection is reset; its request has 10 at most
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) idle: Duration,
    /// What the kernel's client does, with `--peer kernel`
    #[command(flatten)]
    pub(crate) load: LiveLoadArgs,
    #[command(flatten)]
    pub(crate) host: LiveHostArgs,
    #[command(flatten)]
    pub(crate) through: ThroughArgs,
}
