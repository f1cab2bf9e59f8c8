//! The network between real hosts, for `lowtide live bottleneck` and `--through`.

use std::path::PathBuf;

use clap::Args;
use lowtide_units::{Duration, parse_duration};

pub(super) const EXAMPLES: &str = "\
The network is that of a scenario, with its switches, queues, markers and link failures, or a line
between two hosts. It runs in real time between interfaces; the simulator's code marks and drops
packets. Each host has one port:

  HOST=tun:NAME=ADDRESS/BITS[,ADDRESS/BITS][@NETNS]
      creates the interface NAME with these addresses of the host, in the network namespace NETNS:
      a name of `ip netns`, or the ID of a process in it
  HOST=packet:NAME=ADDRESS/BITS[,...]
      uses an existing interface, one end of a veth pair; the addresses are the host's, at the
      other end

Examples:
  ip netns add left; ip netns add right
  lowtide live bottleneck --rate 100Mbit/s --delay 50us --mark step --k 20 \\
    --port a.0=tun:eth0=10.77.0.1/24@left --port b.0=tun:eth0=10.77.0.2/24@right \\
    --capture a.0=left.pcapng
  lowtide live bottleneck queue-buildup -s topology.link-rate=100Mbit/s --port ...
  lowtide live bottleneck --fault loss=1% --fault a.0:reorder=2%/3ms --port ...
  lowtide live client --peer kernel --kernel-ecn on --scheme dctcp -s ect=data \\
    --through --mark step --k 20";

/// A network and the settings of its run.
#[derive(Clone, Debug, Args)]
pub(crate) struct LinkArgs {
    /// Rate of the line in each direction; default: 100 Mbit/s
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// One-way delay of the line; default: 50 us
    #[arg(long, value_name = "TIME")]
    pub(crate) delay: Option<String>,
    /// Buffer of the line's queue, packets or a size (`200pkt`, `300kB`); default: 200 packets
    #[arg(long, value_name = "SIZE")]
    pub(crate) buffer: Option<String>,
    /// Marker of the line's queue (`lowtide list markers`); default: none
    #[arg(long, value_name = "KIND")]
    pub(crate) mark: Option<String>,
    /// K of the marker, packets or a size (`20`, `20pkt`, `30kB`)
    #[arg(long, value_name = "K")]
    pub(crate) k: Option<String>,
    /// Set a key of the network's scenario
    #[arg(long = "net", value_name = "KEY=VALUE")]
    pub(crate) net: Vec<String>,
    /// Fault of a share of the packets that HOST sends: loss, duplicate, corrupt, ce, bleach,
    /// reorder (with its delay); default: all hosts
    #[arg(long = "fault", value_name = "[HOST:]KIND=SHARE[/TIME]")]
    pub(crate) faults: Vec<String>,
    /// Seed of all random draws
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Time before each event during which the thread spins instead of sleeping
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "0us")]
    pub(crate) spin: Duration,
    /// Real-time priority of the thread (SCHED_FIFO); 0 for none
    #[arg(long, value_name = "N", default_value_t = 50,
          value_parser = clap::value_parser!(u8).range(0..=99))]
    pub(crate) priority: u8,
    /// CPU core of the thread; default: any
    #[arg(long, value_name = "N")]
    pub(crate) core: Option<usize>,
    /// Interval of queue samples in the JSON result; default: no samples
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) sample: Option<Duration>,
}

impl LinkArgs {
    /// True if an option describes the network.
    pub(crate) fn is_given(&self) -> bool {
        let line = [&self.rate, &self.delay, &self.buffer, &self.mark, &self.k];
        line.iter().any(|o| o.is_some()) || !self.net.is_empty() || !self.faults.is_empty()
    }
}

#[derive(Debug, Args)]
pub(crate) struct BottleneckArgs {
    /// Scenario of the network; default: a line between two hosts, `a.0` and `b.0`
    pub(crate) scenario: Option<String>,
    /// Port of a host
    #[arg(long = "port", value_name = "HOST=tun:NAME=ADDRESS/BITS[@NETNS]", required = true)]
    pub(crate) ports: Vec<String>,
    /// Set a key of the scenario
    #[arg(short = 's', long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seconds to run; default: until Ctrl-C
    #[arg(short, long, value_name = "SECONDS", value_parser = super::quantity::seconds)]
    pub(crate) time: Option<Duration>,
    /// Capture of the packets at a host's port, as a pcapng file
    #[arg(long = "capture", value_name = "HOST=FILE")]
    pub(crate) captures: Vec<String>,
    /// Allow interfaces in the current network namespace, even if it is the machine's own
    #[arg(long, value_name = "here", value_parser = ["here"])]
    pub(crate) netns: Option<String>,
    /// User to run as once devices are open; default: the caller, without capabilities
    #[arg(long, value_name = "NAME|UID[:GROUP]")]
    pub(crate) user: Option<String>,
    /// MTU of created interfaces, bytes
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1280..))]
    pub(crate) mtu: u16,
    #[command(flatten)]
    pub(crate) link: LinkArgs,
    /// Print one JSON object, as --json
    #[arg(short = 'J')]
    pub(crate) as_json: bool,
}

/// A network between our host and the kernel's.
#[derive(Debug, Args)]
pub(crate) struct ThroughArgs {
    /// With `--peer kernel`: network between the two, a line or that of a scenario, whose first
    /// host is ours and whose last host is the kernel's
    #[arg(long, value_name = "SCENARIO", num_args = 0..=1, default_missing_value = "")]
    pub(crate) through: Option<String>,
    /// With --through: capture of the packets at our host's port, as a pcapng file
    #[arg(long, value_name = "FILE")]
    pub(crate) capture: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) link: LinkArgs,
}
