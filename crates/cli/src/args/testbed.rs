//! `lowtide testbed`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{RunArgs, ScenarioArgs, UmlArgs, uml};

pub(super) const UP_EXAMPLES: &str = "\
The network is that of the scenario; each host is a network namespace `lowtide-HOST` with the interface `eth0`, and has
the kernel's TCP as the first scheme wants it. The command keeps it up until Ctrl-C or `lowtide testbed down`.
Whatever ends it, what was left behind is found and removed by the next `up` or `down`. docs/testbed.md shows more.

Examples:
  lowtide testbed up queue-buildup-100m
  ip netns exec lowtide-receivers.0 iperf3 -s                              another terminal
  ip netns exec lowtide-senders.0 iperf3 -c 10.66.0.4                      a third one
  lowtide testbed run queue-buildup-100m -s compare.schemes='[\"ecn\"]'    its flows, in that testbed
  lowtide testbed down";

/// What `lowtide testbed` does.
#[derive(Debug, Subcommand)]
pub(crate) enum TestbedCommand {
    /// Make the network of a scenario out of namespaces with names, and keep it up
    #[command(after_long_help = UP_EXAMPLES)]
    Up(TestbedUpArgs),
    /// Run the flows of a scenario in the testbed that is up
    Run(Box<TestbedRunArgs>),
    /// Take the testbed down, or what is left of one
    Down(TestbedDirArgs),
    /// Run a command of lowtide inside User Mode Linux: a kernel with its own DCTCP, RED and netem
    #[command(after_long_help = uml::EXAMPLES)]
    Uml(UmlArgs),
    /// The first process of such a machine
    #[command(hide = true)]
    UmlGuest {
        /// The folder of its job
        folder: PathBuf,
    },
}

/// A testbed to make.
#[derive(Debug, Args)]
pub(crate) struct TestbedUpArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) place: TestbedDirArgs,
}

/// Runs in a testbed.
#[derive(Debug, Args)]
pub(crate) struct TestbedRunArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) place: TestbedDirArgs,
}

/// Where the testbed is.
#[derive(Debug, Args)]
pub(crate) struct TestbedDirArgs {
    /// Keep names and state below this folder, where `ip netns` does not look
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) below: Option<PathBuf>,
}
