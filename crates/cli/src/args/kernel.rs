//! `lowtide kernel`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const LOAD_EXAMPLES: &str = "\
Registers a BPF congestion control (struct_ops) with the running kernel: no module, no reboot. It is
registered for the whole machine and stays until `lowtide kernel unload` or a reboot; without
--cgroup, --route or --default only sockets that ask for it (TCP_CONGESTION) use it. Needs root and
a binary built with `--features kernel`. docs/howto/kernel.md says which side to change first.

Examples:
  lowtide kernel load lt_dctcp
  lowtide kernel load lt_odctcp_snd --param shift-g=5 --route 10.0.0.0/8
  lowtide kernel load lt_odctcp_rcv --cgroup /sys/fs/cgroup/system.slice/storage.service
  ip netns exec rack1 lowtide kernel load lt_dctcp --unrestricted --default    of that namespace
  lowtide kernel list
  lowtide kernel unload lt_dctcp";

/// Parts of `kernel`.
#[derive(Debug, Subcommand)]
pub(crate) enum KernelCommand {
    /// Load a twin, and select the sockets that use it
    #[command(after_long_help = LOAD_EXAMPLES)]
    Load(KernelLoadArgs),
    /// List the twins: state, parameters, cgroups and sockets
    List,
    /// Show mode of ECN, alpha, window, cuts and marks of each socket that uses a twin
    Stats(KernelStatsArgs),
    /// Show `stats` again and again, until Ctrl-C
    Watch(KernelWatchArgs),
    /// Unload a twin: its selections and its registration
    Unload(KernelUnloadArgs),
    /// Print a systemd unit that loads a twin at boot
    Unit(KernelLoadArgs),
}

/// A twin to load.
#[derive(Debug, Args)]
pub(crate) struct KernelLoadArgs {
    /// Name of a twin (`lt_dctcp`), or of its scheme (`dctcp`); `lowtide kernel list` names them
    pub(crate) name: String,
    /// Set a parameter; may be repeated
    #[arg(long = "param", value_name = "NAME=VALUE")]
    pub(crate) params: Vec<String>,
    /// Select it for new sockets of this cgroup (version 2); may be repeated
    #[arg(long = "cgroup", value_name = "DIR")]
    pub(crate) cgroups: Vec<PathBuf>,
    /// Maximum delay of ACKs of the sockets in those cgroups, as `1 ms`
    #[arg(long, value_name = "TIME", requires = "cgroups")]
    pub(crate) delack_max: Option<String>,
    /// Select it for new connections over this route of the main table; may be repeated
    #[arg(long = "route", value_name = "PREFIX")]
    pub(crate) routes: Vec<String>,
    /// Make it the default of new sockets of this network namespace
    #[arg(long)]
    pub(crate) default: bool,
    /// Let every user choose it, and every network namespace have it as its default; otherwise it
    /// is restricted, as Linux's dctcp (RFC 8257: controlled networks)
    #[arg(long)]
    pub(crate) unrestricted: bool,
}

/// Format of the statistics.
#[derive(Debug, Args)]
pub(crate) struct KernelStatsArgs {
    /// Print them in Prometheus's text format
    #[arg(long, conflicts_with = "json")]
    pub(crate) prometheus: bool,
}

/// Interval of the statistics.
#[derive(Debug, Args)]
pub(crate) struct KernelWatchArgs {
    /// Time between two looks, as `500 ms`
    #[arg(long, value_name = "TIME", default_value = "1 s")]
    pub(crate) every: String,
}

/// A twin to unload.
#[derive(Debug, Args)]
pub(crate) struct KernelUnloadArgs {
    /// Name of a twin, or of its scheme
    pub(crate) name: String,
    /// Even if sockets use it (they keep it until they close), or routes or defaults name it (they
    /// lose it)
    #[arg(long)]
    pub(crate) force: bool,
}
