//! Backend of runs: the simulator, or real packets.

use clap::{Args, ValueEnum};

/// Backend of the runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum BackendArg {
    /// Simulator.
    #[default]
    Sim,
    /// Lowtide's TCP on real packets.
    Live,
    /// TCP of the Linux kernel, one network namespace per host.
    Kernel,
}

/// Networks of runs on real packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum BottleneckArg {
    /// The simulator's network, in a thread of this program.
    User,
    /// Devices of the kernel: a BPF program marks, or the kernel's red, codel or pie.
    Kernel,
    /// As `kernel`, with the kernel's `fq_codel` in place of codel.
    KernelFqCodel,
}

/// Options of runs on real packets.
#[derive(Clone, PartialEq, Eq, Debug, Default, Args)]
pub(crate) struct RealArgs {
    /// With `live`: hosts with the kernel's TCP, by name, group or pattern (`senders`, `*.0`);
    /// default: none
    #[arg(long, value_name = "HOSTS,...", value_delimiter = ',')]
    pub(crate) kernel_hosts: Vec<String>,
    /// With `kernel`: hosts with lowtide's TCP; default: none
    #[arg(long, value_name = "HOSTS,...", value_delimiter = ',')]
    pub(crate) our_hosts: Vec<String>,
    /// Kernel's congestion control in place of one of ours: `odctcp=bpf_odctcp`
    #[arg(long, value_name = "OURS=KERNEL")]
    pub(crate) kernel_cc: Vec<String>,
    /// With `kernel`: the network, ours in user space or devices of the kernel (a star); default:
    /// user
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) bottleneck: Option<BottleneckArg>,
    /// Most attempts of a run: repeat it while CPU steal exceeds 1 %, and keep the attempt with the
    /// least steal; default: 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) tries: Option<u32>,
}
