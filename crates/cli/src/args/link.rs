//! The network between real hosts, for `lowtide live bottleneck` and `--through`.

use std::path::PathBuf;

use clap::Args;
use lowtide_units::Duration;

use super::time;

pub(super) const EXAMPLES: &str = "\
The network is that of a scenario, switches, queues, markers, links that fail and all, or two hosts and a line between
them. It runs in real time between interfaces: what it marks and drops, the simulator's code decides. Each host has
one port:

  HOST=tun:NAME=ADDRESS/BITS[,ADDRESS/BITS][@NETNS]      an interface NAME with these addresses is made, in the network
                                                         namespace NETNS: a name of `ip netns`, or the number
                                                         of a process in it
  HOST=packet:NAME=ADDRESS/BITS[,...]                    an interface that is there, one end of a veth pair; these
                                                         are the host's, at the other end

Examples:
  ip netns add left; ip netns add right
  lowtide live bottleneck --rate 100Mbit/s --delay 50us --mark step --k 20 \\
    --port a.0=tun:eth0=10.77.0.1/24@left --port b.0=tun:eth0=10.77.0.2/24@right --capture a.0=left.pcapng
  lowtide live bottleneck queue-buildup -s topology.link-rate=100Mbit/s --port ...
  lowtide live bottleneck --fault loss=1% --fault a.0:reorder=2%/3ms --port ...
  lowtide live client --peer kernel --kernel-ecn on --scheme dctcp -s ect=data --through --mark step --k 20";

/// A network, and how it is run.
#[derive(Clone, Debug, Args)]
pub(crate) struct LinkArgs {
    /// Rate of the line, each way; 100 Mbit/s without it
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// Delay of the line, one way; 50 us without it
    #[arg(long, value_name = "TIME")]
    pub(crate) delay: Option<String>,
    /// What the queue in front of it may hold (`200pkt`, `300kB`); 200 packets without it
    #[arg(long, value_name = "SIZE")]
    pub(crate) buffer: Option<String>,
    /// The marker of that queue (`lowtide list markers`)
    #[arg(long, value_name = "KIND")]
    pub(crate) mark: Option<String>,
    /// K of the marker, packets or a size
    #[arg(long, value_name = "K")]
    pub(crate) k: Option<String>,
    /// Set a key of the scenario whose network it is
    #[arg(long = "net", value_name = "KEY=VALUE")]
    pub(crate) net: Vec<String>,
    /// What goes wrong with a share of the packets that a host sends, or each host: loss, duplicate, corrupt, ce,
    /// bleach, reorder (with its delay)
    #[arg(long = "fault", value_name = "[HOST:]KIND=SHARE[/TIME]")]
    pub(crate) faults: Vec<String>,
    /// Whatever is drawn follows from it
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// So long before something is due the thread no longer sleeps
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "0us")]
    pub(crate) spin: Duration,
    /// Real-time priority of its thread (SCHED_FIFO); 0 for none
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u8).range(0..=99))]
    pub(crate) priority: u8,
    /// The core that its thread stays on
    #[arg(long, value_name = "N")]
    pub(crate) core: Option<usize>,
    /// How often its queues are looked at, for the JSON result
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) sample: Option<Duration>,
}

impl LinkArgs {
    /// Something was said of the network.
    pub(crate) fn is_given(&self) -> bool {
        let line = [&self.rate, &self.delay, &self.buffer, &self.mark, &self.k];
        line.iter().any(|o| o.is_some()) || !self.net.is_empty() || !self.faults.is_empty()
    }
}

#[derive(Debug, Args)]
pub(crate) struct BottleneckArgs {
    /// The scenario whose network it is; two hosts `a.0` and `b.0` and a line between them without it
    pub(crate) scenario: Option<String>,
    /// A host's port
    #[arg(long = "port", value_name = "HOST=tun:NAME=ADDRESS/BITS[@NETNS]", required = true)]
    pub(crate) ports: Vec<String>,
    /// Set a key of the scenario
    #[arg(short = 's', long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seconds to run for; until Ctrl-C without it
    #[arg(short, long, value_name = "SECONDS", value_parser = super::quantity::seconds)]
    pub(crate) time: Option<Duration>,
    /// What passes a host's port, as a pcapng file
    #[arg(long = "capture", value_name = "HOST=FILE")]
    pub(crate) captures: Vec<String>,
    /// Make interfaces even in what may be the machine's own network namespace
    #[arg(long, value_name = "here", value_parser = ["here"])]
    pub(crate) netns: Option<String>,
    /// Go on as this user once devices are open; without it root goes on without capabilities
    #[arg(long, value_name = "NAME|UID[:GROUP]")]
    pub(crate) user: Option<String>,
    /// MTU of interfaces that are made, bytes
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1280..))]
    pub(crate) mtu: u16,
    #[command(flatten)]
    pub(crate) link: LinkArgs,
    /// One JSON object, as --json
    #[arg(short = 'J')]
    pub(crate) as_json: bool,
}

/// A network between our host and the kernel's.
#[derive(Debug, Args)]
pub(crate) struct ThroughArgs {
    /// Put a network between the two, with `--peer kernel`: that of a scenario, between its first host (ours) and its
    /// last, or a line
    #[arg(long, value_name = "SCENARIO", num_args = 0..=1, default_missing_value = "")]
    pub(crate) through: Option<String>,
    /// What passes our host's port of that network, as a pcapng file
    #[arg(long, value_name = "FILE")]
    pub(crate) capture: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) link: LinkArgs,
}
