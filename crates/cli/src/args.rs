//! The arguments of the command line. The help texts are its documentation.

mod analyze;
mod backend;
mod bench;
mod compare;
mod diff;
#[cfg(target_os = "linux")]
mod flow;
mod groups;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod live;
mod memory;
mod plan;
#[cfg(target_os = "linux")]
mod proxy;
#[cfg(target_os = "linux")]
mod quantity;
mod reproduce;
#[cfg(target_os = "linux")]
mod testbed;
mod threads;
#[cfg(target_os = "linux")]
mod uml;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use lowtide_units::{Duration, parse_duration};

pub(crate) use analyze::AnalyzeArgs;
pub(crate) use backend::{BackendArg, RealArgs};
pub(crate) use bench::BenchArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use diff::DiffArgs;
#[cfg(target_os = "linux")]
pub(crate) use flow::FlowArg;
pub(crate) use groups::command;
#[cfg(target_os = "linux")]
pub(crate) use link::{BottleneckArgs, LinkArgs, ThroughArgs};
#[cfg(target_os = "linux")]
pub(crate) use live::{
    KernelEcnArg, LiveBenchArgs, LiveClientArgs, LiveCommand, LiveHostArgs, LiveLoadArgs,
    LiveServerArgs, LiveStackArgs, NetnsArg, PeerArg,
};
pub(crate) use memory::MemoryArg;
pub(crate) use plan::PlanArgs;
#[cfg(target_os = "linux")]
pub(crate) use proxy::ProxyArgs;
pub(crate) use reproduce::{PapersCommand, ReproduceArgs};
#[cfg(target_os = "linux")]
pub(crate) use testbed::{TestbedCommand, TestbedDirArgs, TestbedRunArgs, TestbedUpArgs};
pub(crate) use threads::ThreadCount;
#[cfg(target_os = "linux")]
pub(crate) use uml::UmlArgs;

/// The data-centre transport workbench: one TCP, many switches, honest reports.
#[derive(Debug, Parser)]
#[command(name = "lowtide", version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Print one JSON object on stdout instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// No progress and no hints on stderr
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario: tables, figures and a report
    #[command(after_long_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Compare two results seed by seed, with confidence intervals and verdicts
    #[command(after_long_help = compare::EXAMPLES)]
    Compare(CompareArgs),
    /// Find where two runs differ: settings, digests, tables, the first packet
    #[command(after_long_help = diff::EXAMPLES)]
    Diff(DiffArgs),
    /// Compute K, g and buffer by DCTCP's analysis, and check them by simulation
    #[command(after_long_help = plan::EXAMPLES)]
    Plan(PlanArgs),
    /// Run every pair of stacks as sender, receiver and neighbour
    #[command(after_long_help = MATRIX_EXAMPLES)]
    Matrix(MatrixArgs),
    /// Check a scenario and estimate its cost, or verify the hashes of a run directory
    Check(CheckArgs),
    /// List scenarios, schemes, profiles, congestion controls, markers ...
    List {
        /// Only this kind
        kind: Option<ListKind>,
    },
    /// Explain a scheme, profile, switch, marker ..., or where a flow's time went (--flow)
    Explain {
        /// Its name; with --diff two names of profiles or schemes (`linux`, `linux+dctcp`); with --flow
        /// a run directory
        #[arg(required = true)]
        names: Vec<String>,
        /// Print the switches in which two differ, each with its source
        #[arg(long, conflicts_with = "flow")]
        diff: bool,
        #[command(flatten)]
        flow: OptionalFlowArgs,
        /// Print every event of the flow
        #[arg(long, requires = "flow")]
        all: bool,
    },
    /// Print a commented scenario file to start from
    New {
        #[arg(help = templates())]
        kind: String,
    },
    /// Print the JSON Schema of scenario files
    Schema,
    /// Print a table of a run directory
    Table {
        /// The run directory
        dir: PathBuf,
        /// Which table: flows, probes, queues, queue_levels, queue_samples, delays or links; with queries
        /// queries; with classes at switches queue_classes; with shared buffers buffer_pools; with traced flows trace_segments, trace_hops or trace_senders
        table: String,
        /// As CSV instead of aligned columns
        #[arg(long)]
        csv: bool,
    },
    /// Render the report of a run directory again
    Report {
        /// The run directory
        dir: PathBuf,
    },
    /// The papers: their experiments, and which of their claims reproduce
    Papers {
        #[command(subcommand)]
        what: PapersCommand,
    },
    /// The name of `papers reproduce` in the version before
    #[command(hide = true)]
    Reproduce(ReproduceArgs),
    /// Draw a flow: time-sequence, window, round trip, throughput and queue
    Plot(PlotArgs),
    /// Write the packets of a flow as a pcapng file
    Pcap(PcapArgs),
    /// Analyse a capture: ECN feedback, marks, losses, timeouts, stalls
    #[command(after_long_help = analyze::EXAMPLES)]
    Analyze(AnalyzeArgs),
    /// Measure the simulator's speed
    #[command(after_long_help = bench::EXAMPLES)]
    Bench(BenchArgs),
    /// Run packetdrill scripts against our TCP in virtual time
    Packetdrill(PacketdrillArgs),
    /// Our TCP on real packets, with the Linux kernel or another lowtide as peer
    #[cfg(target_os = "linux")]
    #[command(after_long_help = live::EXAMPLES)]
    Live {
        #[command(subcommand)]
        what: Box<LiveCommand>,
    },
    /// Linux hosts in network namespaces around our switch model
    #[cfg(target_os = "linux")]
    Testbed {
        #[command(subcommand)]
        what: TestbedCommand,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// A scenario and what the command line changes of it.
#[derive(Debug, Args)]
pub(crate) struct ScenarioArgs {
    /// A scenario file, or the name of an embedded scenario (`lowtide list scenarios`)
    pub(crate) scenario: String,
    /// Set a key; it wins over the file and over compared schemes
    #[arg(short = 's', long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Sweep a key over values, in place of the file's sweep of it
    #[arg(long, value_name = "KEY=A,B,...")]
    pub(crate) over: Vec<String>,
    /// Number of seeds
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArg,
    /// Where the results would be written; `runs/<scenario>/<hash>` without it
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArg,
    /// Runs at a time; all processors without it
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
    /// Threads of each run: `auto` for the processors that are left when there are fewer runs than those;
    /// fewer where more would not pay. The results are the same
    #[arg(long, value_name = "N|auto", default_value = "auto")]
    pub(crate) threads: ThreadCount,
    /// Where to write; `runs/<scenario>/<hash>` without it
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Forget finished runs in that directory instead of continuing
    #[arg(long)]
    pub(crate) afresh: bool,
    /// Do one task of a job array: the runs whose number leaves I when divided by N, from 0 to N - 1. The
    /// task that finds all runs finished completes the directory
    #[arg(long, value_name = "I", requires = "of", conflicts_with = "afresh")]
    pub(crate) index: Option<usize>,
    /// How many tasks the job array has
    #[arg(long, value_name = "N", requires = "index", value_parser = tasks)]
    pub(crate) of: Option<usize>,
    /// Record everything about these flows (`0`, `short.2`), in every run: tables `trace_*`, and their
    /// plots in the report. Without it `plot`, `pcap` and `explain` make the run again
    #[arg(long, value_name = "FLOW,...", value_delimiter = ',')]
    pub(crate) trace: Vec<String>,
    /// Who makes the runs. Real packets run in real time, one run after the other (docs/testbed.md)
    #[arg(long, value_enum, default_value_t = BackendArg::Sim)]
    pub(crate) backend: BackendArg,
    #[command(flatten)]
    pub(crate) real: RealArgs,
}

/// Which run of a directory.
#[derive(Debug, Args)]
pub(crate) struct RunSelectorArgs {
    /// Only this scheme; all of them without it
    #[arg(long)]
    pub(crate) scheme: Option<String>,
    /// The seed; the first one without it
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// The value of a swept key; the last point without it
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) at: Vec<String>,
}

/// One flow of a directory.
#[derive(Debug, Args)]
pub(crate) struct FlowSelectorArgs {
    /// The run directory
    pub(crate) dir: PathBuf,
    /// The flow: its number, or its place in its group (`7`, `short.2`)
    #[arg(long, value_name = "FLOW")]
    pub(crate) flow: String,
    #[command(flatten)]
    pub(crate) run: RunSelectorArgs,
}

/// A flow where none must be named.
#[derive(Debug, Args)]
pub(crate) struct OptionalFlowArgs {
    /// The flow of a run directory: its number, or its place in its group (`7`, `short.2`)
    #[arg(long, value_name = "FLOW")]
    pub(crate) flow: Option<String>,
    /// Only this scheme; all of them without it
    #[arg(long, requires = "flow")]
    pub(crate) scheme: Option<String>,
    /// The seed; the first one without it
    #[arg(long, requires = "flow")]
    pub(crate) seed: Option<u64>,
    /// The value of a swept key; the last point without it
    #[arg(long, value_name = "KEY=VALUE", requires = "flow")]
    pub(crate) at: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    #[command(flatten)]
    pub(crate) flow: FlowSelectorArgs,
    /// From when on, in time of the run
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) from: Option<Duration>,
    /// Until when
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) to: Option<Duration>,
    /// Directory for the files; `figures` of the run directory without it
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PcapArgs {
    #[command(flatten)]
    pub(crate) flow: FlowSelectorArgs,
    /// Where the capture is taken
    #[arg(long, value_enum, default_value_t = CapturePointArg::Sender)]
    pub(crate) place: CapturePointArg,
    /// The file; with several schemes left open each gets its name in front of the ending
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

/// Where a capture is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum CapturePointArg {
    /// At the sending host.
    Sender,
    /// At the receiving host.
    Receiver,
    /// At the port at which the flow waited longest.
    Bottleneck,
}

fn time(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|e| e.to_string())
}

/// A number of tasks.
fn tasks(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=1_000_000) => Ok(n),
        _ => Err("expected a whole number from 1 to 1000000".to_owned()),
    }
}

/// The templates of `new`, each with its line.
fn templates() -> String {
    let line = |t: &lowtide_scenario::Template| format!("`{}`: {}", t.name, t.summary);
    let lines: Vec<String> = lowtide_scenario::TEMPLATES.iter().map(line).collect();
    format!("Which one:\n{}", lines.join("\n"))
}

const RUN_EXAMPLES: &str = "\
A directory that was interrupted is continued by the same command.

Examples:
  lowtide run queue-buildup
  lowtide run queue-buildup --over switch.mark.k='10 pkt','20 pkt','40 pkt' --seeds 10
  lowtide run queue-buildup --index $SLURM_ARRAY_TASK_ID --of 8     one task of eight, counted from 0
Tasks write into the same directory, from as many machines as share it. Whatever order they end in, the
last one merges, and a `lowtide run` without --index does what is missing.";

const MATRIX_EXAMPLES: &str = "\
A sender or receiver is written as a scheme (`dctcp`), a profile (`linux`), both (`linux/dctcp`), and
switches over them (`dctcp+cwr=never`). Each is a whole host: its sender-side switches decide where it
sends, its receiver-side ones where it receives (`lowtide list switches`). Every pair runs alone, and
sharing the bottleneck with every neighbour, which is a sender with its own natural receiver.

Verdicts: healthy, collapsed-window, blind-to-congestion, starves-neighbour, starved-by-neighbour; each but
the first with the mechanism behind it and the numbers that show it. docs/matrix.md says how they are made.

Examples:
  lowtide matrix                                        everything that is registered
  lowtide matrix --senders dctcp,sack --receivers dctcp,ecn
  lowtide matrix --senders dctcp+cwr=never --receivers ecn --neighbours none
  lowtide matrix --share sack,dctcp --hosts 10          k of 10 hosts moved, 0 to 10
  lowtide matrix --print setup > my.toml; lowtide matrix my.toml -s switch.mark.k='40 pkt'
  lowtide matrix --json | jq '.pairs[] | select(.verdict != \"healthy\")'";

#[derive(Debug, Args)]
pub(crate) struct MatrixArgs {
    /// The setup: a scenario file, or the name of an embedded scenario; `matrix` (`share` with --share)
    /// without it
    #[arg(value_name = "FILE")]
    pub(crate) scenario: Option<String>,
    /// Who sends; every registered scheme that differs as a sender, without it
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub(crate) senders: Option<Vec<String>>,
    /// Who receives; every registered scheme that differs as a receiver, without it
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub(crate) receivers: Option<Vec<String>>,
    /// Who shares the bottleneck; the senders without it, `none` for nobody
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub(crate) neighbours: Option<Vec<String>>,
    /// Move k of n hosts from A to B instead, k from 0 to n
    #[arg(long, value_name = "A,B", value_delimiter = ',', num_args = 1,
          conflicts_with_all = ["senders", "receivers", "neighbours", "thresholds"])]
    pub(crate) share: Option<Vec<String>>,
    /// With --share: how many hosts there are
    #[arg(long, value_name = "N", default_value_t = 10, requires = "share",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) hosts: u32,
    /// With --share: which end of a host pair moves
    #[arg(long, value_enum, default_value_t = MoveArg::Both, requires = "share")]
    pub(crate) moves: MoveArg,
    /// A TOML file with other thresholds of the verdicts, or a part of them
    #[arg(long, value_name = "FILE")]
    pub(crate) thresholds: Option<PathBuf>,
    /// Print a built-in file to start from, and run nothing
    #[arg(long, value_enum)]
    pub(crate) print: Option<PrintArg>,
    /// Set a key of the setup
    #[arg(short = 's', long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Number of seeds
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<u64>,
    /// Runs at a time; all processors without it
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
    #[command(flatten)]
    pub(crate) memory: MemoryArg,
    /// Where to write; `runs/<setup>/<hash>` without it
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Forget finished runs in that directory instead of continuing
    #[arg(long)]
    pub(crate) afresh: bool,
}

/// Which end of a host pair moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum MoveArg {
    /// Senders and receivers.
    Both,
    /// Only the senders.
    Senders,
    /// Only the receivers.
    Receivers,
}

/// Built-in files of `matrix`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum PrintArg {
    /// The setup of the matrix.
    Setup,
    /// The setup of --share.
    ShareSetup,
    /// The thresholds of the verdicts.
    Thresholds,
}

#[derive(Debug, Args)]
pub(crate) struct PacketdrillArgs {
    /// Scripts, and directories that are searched for `*.pkt`
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Settings laid over those of each script, as `profile=linux ecn=1 ts=0 iw=10`
    #[arg(long, value_name = "SETTINGS")]
    pub(crate) so_flags: Option<String>,
    /// Show every packet in the notation of scripts, with its time
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Print one script as stock packetdrill takes it with the shared object, instead of running it
    #[arg(long, conflicts_with_all = ["so_flags", "verbose"])]
    pub(crate) stock: bool,
}

/// Kinds of things that can be listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ListKind {
    /// Embedded scenarios.
    Scenarios,
    /// Experiments of the papers.
    Experiments,
    /// Bundles to compare.
    Schemes,
    /// Settings of known stacks.
    Profiles,
    /// Congestion controls.
    Cc,
    /// Acknowledgement policies.
    Ack,
    /// Feedback decoders.
    Feedback,
    /// Markers (AQM).
    Markers,
    /// Topologies.
    Topologies,
    /// Workloads.
    Workloads,
    /// Distributions of sizes and of times.
    Distributions,
    /// Switches of data centres: memory, buffers, ports.
    SwitchProfiles,
    /// Hosts: what stands between TCP and the line.
    HostProfiles,
    /// Switches of the transport.
    Switches,
    /// Benchmarks.
    Benchmarks,
}
