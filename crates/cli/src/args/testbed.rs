//! `lowtide testbed`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{RunArgs, ScenarioArgs};

pub(super) const UP_EXAMPLES: &str = "\
Each host of the scenario's network is a network namespace `lowtide-HOST` with the interface `eth0`
and the kernel's TCP, configured by the first scheme. The testbed stays up until Ctrl-C or
`lowtide testbed down`. The next `up` or `down` removes the remains of a killed testbed.
docs/howto/testbed.md shows more.

Examples:
  lowtide testbed up queue-buildup-100m
  ip netns exec lowtide-receivers.0 iperf3 -s                              terminal 2
  ip netns exec lowtide-senders.0 iperf3 -c 10.66.0.4                      terminal 3
  lowtide testbed run queue-buildup-100m -s compare.schemes='[\"ecn\"]'    the scenario's flows
  lowtide testbed down";

/// Parts of `testbed`.
#[derive(Debug, Subcommand)]
pub(crate) enum TestbedCommand {
    /// Create the network of a scenario from named namespaces, and keep it up
    #[command(after_long_help = UP_EXAMPLES)]
    Up(TestbedUpArgs),
    /// Run the flows of a scenario in the testbed that is up
    Run(Box<TestbedRunArgs>),
    /// Take the testbed down, or remove the remains of one
    Down(TestbedDirArgs),
}

/// A testbed to create.
#[derive(Debug, Args)]
pub(crate) struct TestbedUpArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// The network, ours in user space or devices of the kernel (a star); default: user
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) bottleneck: Option<super::BottleneckArg>,
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

/// Location of the testbed.
#[derive(Debug, Args)]
pub(crate) struct TestbedDirArgs {
    /// Folder for names and state; `ip netns` does not see them there
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) below: Option<PathBuf>,
}
