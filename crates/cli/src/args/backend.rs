//! Who makes runs: the simulator, or real packets.

use clap::{Args, ValueEnum};

/// Who makes the runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum BackendArg {
    /// The simulator.
    #[default]
    Sim,
    /// Lowtide's TCP over real packets.
    Live,
    /// The Linux kernel's TCP, each host in a network namespace of its own.
    Kernel,
    /// The same inside User Mode Linux, whose kernel has DCTCP (docs/uml.md).
    Uml,
}

/// How runs on real packets are made.
#[derive(Clone, PartialEq, Eq, Debug, Default, Args)]
pub(crate) struct RealArgs {
    /// With `live`: hosts that have the kernel's TCP instead, by name, group or pattern (`senders`, `*.0`)
    #[arg(long, value_name = "HOSTS,...", value_delimiter = ',')]
    pub(crate) kernel_hosts: Vec<String>,
    /// With `kernel` or `uml`: hosts that have lowtide's TCP instead
    #[arg(long, value_name = "HOSTS,...", value_delimiter = ',')]
    pub(crate) our_hosts: Vec<String>,
    /// Another control of the kernel in the place of one of ours: `odctcp=bpf_odctcp`
    #[arg(long, value_name = "OURS=KERNEL")]
    pub(crate) kernel_cc: Vec<String>,
    /// Make a run again while the machine underneath takes more than 1 % of the processors' time for others, so often at
    /// most; the one from which it took least counts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) tries: Option<u32>,
}
