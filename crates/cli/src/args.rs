//! Command-line arguments. The help texts are their documentation.

#[cfg(real_packets)]
mod admission;
mod advise;
mod analyze;
mod backend;
mod bench;
mod compare;
mod diff;
#[cfg(feature = "figures")]
mod figure;
#[cfg(real_packets)]
mod flow;
mod groups;
#[cfg(real_packets)]
mod kernel;
#[cfg(real_packets)]
mod link;
#[cfg(real_packets)]
mod live;
#[cfg(real_packets)]
mod live_stack;
mod memory;
mod packetdrill;
mod plan;
#[cfg(real_packets)]
mod proxy;
mod publish;
#[cfg(real_packets)]
mod quantity;
mod reproduce;
mod sweep;
mod switch_config;
mod table;
#[cfg(real_packets)]
mod testbed;
mod threads;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use lowtide_deployment::rollout;
use lowtide_record::RunSelection;
use lowtide_units::{Duration, parse_duration};

pub(crate) use advise::AdviseArgs;
pub(crate) use analyze::AnalyzeArgs;
#[cfg(real_packets)]
pub(crate) use backend::BottleneckArg;
pub(crate) use backend::{BackendArg, RealArgs};
pub(crate) use bench::BenchArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use diff::DiffArgs;
#[cfg(feature = "figures")]
pub(crate) use figure::FigureArgs;
#[cfg(real_packets)]
pub(crate) use flow::FlowArg;
pub(crate) use groups::command;
#[cfg(real_packets)]
pub(crate) use kernel::{
    KernelCommand, KernelLoadArgs, KernelStatsArgs, KernelUnloadArgs, KernelWatchArgs,
};
#[cfg(real_packets)]
pub(crate) use link::{BottleneckArgs, LinkArgs, ThroughArgs};
#[cfg(real_packets)]
pub(crate) use live::{
    KernelEcnArg, LiveBenchArgs, LiveClientArgs, LiveCommand, LiveHostArgs, LiveLoadArgs,
    LiveServerArgs, PeerArg,
};
#[cfg(real_packets)]
pub(crate) use live_stack::{LiveStackArgs, NetnsArg};
pub(crate) use memory::MemoryArg;
pub(crate) use packetdrill::PacketdrillArgs;
pub(crate) use plan::PlanArgs;
#[cfg(real_packets)]
pub(crate) use proxy::ProxyArgs;
pub(crate) use publish::{BundleArgs, CiteArgs};
pub(crate) use reproduce::{PapersCommand, ReproduceArgs};
pub(crate) use sweep::MergeArgs;
pub(crate) use switch_config::{ExportArgs, ImportArgs, ImportFormat};
pub(crate) use table::TableArgs;
#[cfg(real_packets)]
pub(crate) use testbed::{TestbedCommand, TestbedDirArgs, TestbedRunArgs, TestbedUpArgs};
pub(crate) use threads::ThreadCount;

/// A data-centre transport workbench: one TCP in a packet simulator and on real packets.
#[derive(Debug, Parser)]
#[command(name = "lowtide", version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Print one JSON object on stdout instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print no progress and no hints on stderr
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Form of progress on stderr
    #[arg(
        long,
        global = true,
        value_name = "FORM",
        default_value = "bar",
        hide_default_value = true
    )]
    pub(crate) progress: ProgressForm,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Form of progress on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressForm {
    /// A bar, if stderr is a terminal
    Bar,
    /// Lines for programs: `progress`, the share done (0 to 1), a text
    Lines,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario and write tables, figures and a report
    #[command(after_long_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Merge parts of a sweep from several machines into a run directory
    #[command(after_long_help = sweep::MERGE_EXAMPLES)]
    Merge(MergeArgs),
    /// Compare results, paired by seed, with confidence intervals and verdicts
    #[command(after_long_help = compare::EXAMPLES)]
    Compare(CompareArgs),
    /// Show where two runs differ: settings, digests, tables, first packet
    #[command(after_long_help = diff::EXAMPLES)]
    Diff(DiffArgs),
    /// Advise K and the buffer of a fabric, by analysis and simulation
    #[command(after_long_help = advise::EXAMPLES)]
    Advise(Box<AdviseArgs>),
    /// Compute K, g and buffer of a DCTCP link by analysis, and check them by simulation
    #[command(after_long_help = plan::EXAMPLES)]
    Plan(PlanArgs),
    /// Run every pair of stacks as sender and receiver, alone and next to each neighbour
    #[command(after_long_help = MATRIX_EXAMPLES)]
    Matrix(MatrixArgs),
    /// Read the configuration of a switch (SONiC) into `[switch]` of a scenario
    #[command(after_long_help = switch_config::IMPORT_EXAMPLES)]
    Import(ImportArgs),
    /// Print the switch of a scenario as the configuration of a real one (SONiC and others)
    #[command(after_long_help = switch_config::EXPORT_EXAMPLES)]
    Export(ExportArgs),
    /// Check a scenario and estimate its cost, or verify the hashes of a run directory
    Check(CheckArgs),
    /// List scenarios, schemes, profiles, congestion controls, markers, result tables ...
    List {
        /// Kind to list; default: all, `switches` and `keys` only with --json
        kind: Option<ListKind>,
    },
    /// Explain a scheme, profile, switch, table ..., or a flow's completion time (--flow)
    Explain {
        /// Names to explain (`dctcp`, `flows`, `flows.fct_ps`); with --diff two profiles or
        /// schemes (`linux`, `linux+dctcp`); with --flow one run directory
        #[arg(required = true)]
        names: Vec<String>,
        /// Print the switches in which two profiles or schemes differ, each with its source
        #[arg(long, conflicts_with = "flow")]
        diff: bool,
        #[command(flatten)]
        flow: OptionalFlowArgs,
        /// Print all events of the flow; default: 40
        #[arg(long, requires = "flow")]
        all: bool,
    },
    /// Print a commented scenario template
    New {
        #[arg(help = templates())]
        kind: String,
    },
    /// Print an embedded scenario, setup or experiment, to edit
    Show {
        /// Name (`lowtide list scenarios`, `lowtide papers list`)
        name: String,
    },
    /// Print the JSON Schema of scenario files
    Schema,
    /// Print a table of a run directory
    #[command(after_long_help = table::EXAMPLES)]
    Table(TableArgs),
    /// Render the figures and the report of a run directory again
    Report {
        /// Run directory
        dir: PathBuf,
    },
    /// List and run the papers' experiments, and judge which of their claims reproduce
    Papers {
        #[command(subcommand)]
        command: PapersCommand,
    },
    /// Plot a flow: time-sequence, window, round trip, throughput and queue
    Plot(PlotArgs),
    /// Draw a figure for a paper: PDF, SVG or PNG of a width, with embedded fonts
    #[cfg(feature = "figures")]
    #[command(after_long_help = figure::EXAMPLES)]
    Figure(Box<FigureArgs>),
    /// Write the packets of a flow as a pcapng file
    Pcap(PcapArgs),
    /// Pack a run directory for artefact evaluation, or verify and repeat such an archive
    #[command(after_long_help = publish::BUNDLE_EXAMPLES)]
    Bundle(BundleArgs),
    /// Print citations of the tool, or of the sources of schemes and experiments
    #[command(after_long_help = publish::CITE_EXAMPLES)]
    Cite(CiteArgs),
    /// Analyse a capture: ECN feedback, marks, losses, timeouts, stalls
    #[command(after_long_help = analyze::EXAMPLES)]
    Analyze(AnalyzeArgs),
    /// Measure the simulator's speed
    #[command(after_long_help = bench::EXAMPLES)]
    Bench(BenchArgs),
    /// Run packetdrill scripts against our TCP in virtual time, or against the Linux kernel
    #[command(after_long_help = packetdrill::EXAMPLES)]
    Packetdrill(PacketdrillArgs),
    /// Run our TCP on real packets, with the Linux kernel or another lowtide as peer
    #[cfg(real_packets)]
    #[command(after_long_help = live::EXAMPLES)]
    Live {
        #[command(subcommand)]
        command: Box<LiveCommand>,
    },
    /// Run Linux hosts in network namespaces, connected by our switch model
    #[cfg(real_packets)]
    Testbed {
        #[command(subcommand)]
        command: TestbedCommand,
    },
    /// Load BPF twins of the schemes into the running Linux kernel
    #[cfg(real_packets)]
    Kernel {
        #[command(subcommand)]
        command: KernelCommand,
    },
    /// Print the completion script of a shell
    Completions {
        /// Shell
        shell: Shell,
    },
    /// Write the man pages of all commands into a directory
    Man {
        /// Directory, created if needed
        dir: PathBuf,
    },
}

/// A scenario and its overrides.
#[derive(Debug, Args)]
pub(crate) struct ScenarioArgs {
    /// Scenario file, or name of an embedded scenario (`lowtide list scenarios`)
    pub(crate) scenario: String,
    /// Set a key; overrides the file and the compared schemes
    #[arg(short = 's', long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Sweep a key over values; replaces the file's sweep of this key
    #[arg(long, value_name = "KEY=A,B,...")]
    pub(crate) over: Vec<String>,
    /// Number of seeds; default: that of the scenario
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArg,
    /// Output directory whose free disk space is checked; default: `runs/<scenario>/<hash>`
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArg,
    /// Parallel runs; default: one per CPU
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
    /// Most threads of each run; `auto`: the CPUs that parallel runs leave idle. A run takes fewer
    /// threads if more do not pay. Results do not depend on it
    #[arg(long, value_name = "N|auto", default_value = "auto")]
    pub(crate) threads: ThreadCount,
    /// Output directory; default: `runs/<scenario>/<hash>`
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Discard finished runs in the output directory instead of continuing
    #[arg(long)]
    pub(crate) afresh: bool,
    /// With --part: task I of a job array, from 0 to N - 1: the runs whose number modulo N is I
    #[arg(long, value_name = "I", requires = "of")]
    pub(crate) index: Option<usize>,
    /// Number of tasks of the job array
    #[arg(long, value_name = "N", requires = "index", value_parser = tasks)]
    pub(crate) of: Option<usize>,
    /// With --part: only these runs, by number (`3,17-19`)
    #[arg(long, value_name = "LIST", conflicts_with = "index", value_parser = sweep::run_list)]
    pub(crate) runs: Option<RunSelection>,
    /// With --index or --runs: write these runs to their own directory; `lowtide merge` makes the
    /// results of all parts
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub(crate) part: Option<PathBuf>,
    /// Record all events of these flows (`0`, `short.2`) in every run: tables `trace_*`, plots in
    /// the report; default: none, and `plot`, `pcap` and `explain --flow` repeat the run
    #[arg(long, value_name = "FLOW,...", value_delimiter = ',')]
    pub(crate) trace: Vec<String>,
    /// Backend of the runs; real packets run in real time, one run at a time
    /// (docs/howto/testbed.md)
    #[arg(long, value_enum, default_value_t = BackendArg::Sim)]
    pub(crate) backend: BackendArg,
    #[command(flatten)]
    pub(crate) real: RealArgs,
}

/// Selects runs of a directory.
#[derive(Debug, Args)]
pub(crate) struct RunSelectorArgs {
    /// Scheme; default: all
    #[arg(long)]
    pub(crate) scheme: Option<String>,
    /// Seed; default: the first
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Value of a swept key; default: the last point
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) at: Vec<String>,
}

/// Selects a flow of a directory.
#[derive(Debug, Args)]
pub(crate) struct FlowSelectorArgs {
    /// Run directory
    pub(crate) dir: PathBuf,
    /// Flow: its number, or its index in its group (`7`, `short.2`)
    #[arg(long, value_name = "FLOW")]
    pub(crate) flow: String,
    #[command(flatten)]
    pub(crate) run: RunSelectorArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArg,
}

/// Selects a flow of a directory, if one is given.
#[derive(Debug, Args)]
pub(crate) struct OptionalFlowArgs {
    /// Flow of a run directory: its number, or its index in its group (`7`, `short.2`)
    #[arg(long, value_name = "FLOW")]
    pub(crate) flow: Option<String>,
    /// Scheme; default: all
    #[arg(long, requires = "flow")]
    pub(crate) scheme: Option<String>,
    /// Seed; default: the first
    #[arg(long, requires = "flow")]
    pub(crate) seed: Option<u64>,
    /// Value of a swept key; default: the last point
    #[arg(long, value_name = "KEY=VALUE", requires = "flow")]
    pub(crate) at: Vec<String>,
    #[command(flatten)]
    pub(crate) memory: MemoryArg,
}

#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    #[command(flatten)]
    pub(crate) flow: FlowSelectorArgs,
    /// Start of the plotted interval, in time of the run
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) from: Option<Duration>,
    /// End of the plotted interval, in time of the run
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) to: Option<Duration>,
    /// Output directory; default: `figures` in the run directory
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PcapArgs {
    #[command(flatten)]
    pub(crate) flow: FlowSelectorArgs,
    /// Capture point
    #[arg(long, value_enum, default_value_t = CapturePointArg::Sender)]
    pub(crate) place: CapturePointArg,
    /// Output file; with several schemes one file each, with the scheme before the extension
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

/// Capture point of `pcap`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum CapturePointArg {
    /// Sending host.
    Sender,
    /// Receiving host.
    Receiver,
    /// Port at which the flow waited longest.
    Bottleneck,
}

/// Parses a number of tasks.
fn tasks(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=1_000_000) => Ok(n),
        _ => Err("expected a whole number from 1 to 1000000".to_owned()),
    }
}

/// Help of `new KIND`: a line for each template.
fn templates() -> String {
    let line = |t: &lowtide_scenario::Template| format!("`{}`: {}", t.name, t.summary);
    let lines: Vec<String> = lowtide_scenario::TEMPLATES.iter().map(line).collect();
    format!("Template:\n{}", lines.join("\n"))
}

const RUN_EXAMPLES: &str = "\
After an interruption the same command continues.

Examples:
  lowtide run queue-buildup
  lowtide run queue-buildup --over switch.mark.k='10 pkt','20 pkt','40 pkt' --seeds 10
  lowtide run queue-buildup --index 3 --of 8 --part parts/3     one of 8 tasks, numbered from 0
  lowtide merge out parts/*                                     the results of all 8
Several machines share a sweep so: each task writes a part, and `lowtide merge` merges the parts or
says which runs are missing (docs/howto/sweeps.md).";

const MATRIX_EXAMPLES: &str = "\
A sender or receiver is a scheme (`dctcp`), a profile (`linux`) or both (`linux/dctcp`), with
optional switches (`dctcp+cwr=never`). It configures a whole host: its sender-side switches apply
where it sends, its receiver-side switches where it receives (`lowtide list switches`). Every pair
runs alone, and shares the bottleneck with each neighbour: a sender with its own receiver.

Verdicts: healthy, collapsed-window, blind-to-congestion, starves-neighbour, starved-by-neighbour.
All but `healthy` name the mechanism and the numbers that show it. docs/howto/matrix.md
defines them.

Examples:
  lowtide matrix                                        all registered schemes
  lowtide matrix --senders dctcp,sack --receivers dctcp,ecn
  lowtide matrix --senders dctcp+cwr=never --receivers ecn --neighbours none
  lowtide matrix --on leaf-spine --share sack,dctcp     when 0 to 100 % of its hosts move
  lowtide matrix --print setup > my.toml; lowtide matrix my.toml -s switch.mark.k='40 pkt'
  lowtide matrix --json | jq '.pairs[] | select(.verdict != \"healthy\")'";

#[derive(Debug, Args)]
pub(crate) struct MatrixArgs {
    /// Scenario file, or name of an embedded scenario; default: `matrix`
    #[arg(value_name = "FILE", conflicts_with = "on")]
    pub(crate) scenario: Option<String>,
    /// Stacks that send; default: all registered schemes that differ as senders
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub(crate) senders: Option<Vec<String>>,
    /// Stacks that receive; default: all registered schemes that differ as receivers
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub(crate) receivers: Option<Vec<String>>,
    /// Stacks that share the bottleneck with each pair, or `none`; default: the senders
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub(crate) neighbours: Option<Vec<String>>,
    /// Instead of pairs: move hosts of the scenario of --on from A to B
    #[arg(long, value_name = "A,B", value_delimiter = ',', num_args = 1,
          conflicts_with_all = ["senders", "receivers", "neighbours"])]
    pub(crate) share: Option<Vec<String>>,
    /// With --share: move the hosts of this scenario, a file or a name
    #[arg(long, value_name = "SCENARIO", requires = "share")]
    pub(crate) on: Option<String>,
    /// With --on: moved shares of the hosts in percent; 0 is added
    #[arg(long, value_name = "P,Q,...", value_delimiter = ',', requires = "on",
          default_values = rollout::DEFAULT_POINTS)]
    pub(crate) points: Vec<String>,
    /// With --on: draw the moved hosts one by one, or by rack; the seed draws
    #[arg(long, value_enum, default_value_t = DrawArg::Random, requires = "on")]
    pub(crate) draw: DrawArg,
    /// With --on: sides of the moved hosts that move
    #[arg(long, value_enum, default_value_t = MoveArg::Both, requires = "on")]
    pub(crate) moves: MoveArg,
    /// TOML file with thresholds of the verdicts; missing ones keep their built-in values
    #[arg(long, value_name = "FILE")]
    pub(crate) thresholds: Option<PathBuf>,
    /// Print a built-in file and run nothing
    #[arg(long, value_enum)]
    pub(crate) print: Option<PrintArg>,
    /// Set a key of the setup
    #[arg(short = 's', long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Number of seeds; default: that of the setup (5); with --on that of the scenario, or 10 if it
    /// has fewer
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<u64>,
    /// Parallel runs; default: one per CPU
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
    #[command(flatten)]
    pub(crate) memory: MemoryArg,
    /// Output directory; default: `runs/<setup>/<hash>`
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Discard finished runs in the output directory instead of continuing
    #[arg(long)]
    pub(crate) afresh: bool,
}

/// Units in which the moved hosts are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum DrawArg {
    /// Single hosts.
    Random,
    /// Whole racks.
    Rack,
}

/// Sides of the moved hosts that move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum MoveArg {
    /// Senders and receivers.
    Both,
    /// Senders only.
    Senders,
    /// Receivers only.
    Receivers,
}

/// Built-in files of `matrix`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum PrintArg {
    /// Setup of the matrix.
    Setup,
    /// Thresholds of the verdicts.
    Thresholds,
}

/// Kinds of `list`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ListKind {
    /// Embedded scenarios.
    Scenarios,
    /// Experiments of the papers.
    Experiments,
    /// Schemes: a choice of congestion control, ACK policy, decoder and switches.
    Schemes,
    /// Profiles: all switches of a known stack.
    Profiles,
    /// Congestion controls.
    Cc,
    /// Acknowledgement policies.
    Ack,
    /// ECN feedback decoders.
    Feedback,
    /// Markers (AQM).
    Markers,
    /// Topologies.
    Topologies,
    /// Workloads.
    Workloads,
    /// Distributions of sizes and times.
    Distributions,
    /// Data-centre switches: memory, buffers, ports.
    SwitchProfiles,
    /// Host stacks: clock, timestamps, NIC and delays.
    HostProfiles,
    /// Settings of the transport.
    Switches,
    /// Benchmarks.
    Benchmarks,
    /// Result tables, with their columns (--json).
    Tables,
    /// Tables of a scenario file, with their keys (--json).
    Keys,
}

#[cfg(test)]
mod tests {
    #[test]
    fn all_commands_are_well_defined() {
        super::command().debug_assert();
    }
}
