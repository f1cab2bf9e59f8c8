//! Arguments of `packetdrill`.

use std::path::PathBuf;

use clap::Args;
#[cfg(real_packets)]
use clap::ValueEnum;

/// Examples of `packetdrill`.
pub(crate) const EXAMPLES: &str = "\
Examples:
  lowtide packetdrill my.pkt
  lowtide packetdrill --against kernel my.pkt
  lowtide packetdrill --against kernel --profile linux -j 16 crates/packetdrill/scripts";

#[derive(Debug, Args)]
pub(crate) struct PacketdrillArgs {
    /// Scripts, or directories to search for `*.pkt`
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Settings that override those of each script, as `profile=linux ecn=1 ts=0 iw=10`
    #[arg(long, value_name = "SETTINGS")]
    pub(crate) so_flags: Option<String>,
    /// Profile instead of that of each script, whose congestion control stays. Settings that a
    /// Linux kernel cannot be told are left out, and named
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Host that runs the scripts, instead of our TCP: the running kernel, in real time, through a
    /// TUN interface in a namespace per script. Takes root
    #[cfg(real_packets)]
    #[arg(long, value_name = "HOST")]
    pub(crate) against: Option<AgainstArg>,
    /// Least tolerance of times in microseconds, and 12.5 % of the time since the event before;
    /// 4000 with `--against`, as in packetdrill
    #[arg(long, value_name = "US")]
    pub(crate) tolerance_usecs: Option<u32>,
    /// Scripts that run at the same time, with `--against`
    #[cfg(real_packets)]
    #[arg(short, long, value_name = "N", default_value_t = 1, requires = "against",
          value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: u16,
    /// Print every packet in script notation, with its time
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// Hosts of `--against`.
#[cfg(real_packets)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum AgainstArg {
    /// The running kernel.
    Kernel,
}
