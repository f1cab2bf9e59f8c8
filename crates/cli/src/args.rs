//! What may be typed. The help texts are the documentation of the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use lowtide_units::{Duration, parse_duration};

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
    /// Run a scenario: every scheme, point and seed, then tables, figures and a report
    Run(RunArgs),
    /// Check a scenario without running it, and estimate what it costs
    Check(ScenarioArgs),
    /// List what there is: scenarios, schemes, profiles, controls ...
    List {
        /// Only this kind
        kind: Option<ListKind>,
    },
    /// Explain a scheme, profile, switch, control, policy, decoder, marker, topology or workload; or,
    /// with --flow, where a flow's time went
    Explain {
        /// Its name; with --diff two names of profiles or schemes (`linux`, `linux+dctcp`); with --flow
        /// a run directory
        #[arg(required = true)]
        names: Vec<String>,
        /// Print the switches in which two differ, each with its source
        #[arg(long, conflicts_with = "flow")]
        diff: bool,
        #[command(flatten)]
        flow: OptionalFlow,
        /// Print every event of the flow
        #[arg(long, requires = "flow")]
        all: bool,
    },
    /// Print a commented scenario file to start from
    New {
        /// Which: `star` or `dumbbell`
        kind: String,
    },
    /// Print the JSON Schema of scenario files
    Schema,
    /// Print a result table of a run directory
    Table {
        /// The run directory
        dir: PathBuf,
        /// Which table: flows, probes, queues, queue_levels, queue_samples or links; with traced flows
        /// trace_segments, trace_hops or trace_senders
        table: String,
        /// As CSV instead of aligned columns
        #[arg(long)]
        csv: bool,
    },
    /// Write the report of a run directory again
    Report {
        /// The run directory
        dir: PathBuf,
    },
    /// Draw a flow: time-sequence, window, round trip, throughput and queue, one above the other
    Plot(PlotArgs),
    /// Write the packets of a flow as a capture that Wireshark and tshark open
    Pcap(PcapArgs),
    /// Measure the simulator's speed
    Bench {
        /// Which benchmarks; all of them without a name
        names: Vec<String>,
        /// How many times each; the median is printed
        #[arg(short = 'n', long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
        runs: u32,
    },
    /// Run packetdrill scripts against the transport, in virtual time
    Packetdrill(PacketdrillArgs),
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
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// Runs at a time; all processors without it
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
    /// Where to write; `runs/<scenario>/<hash>` without it
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Forget finished runs in that directory instead of continuing
    #[arg(long)]
    pub(crate) afresh: bool,
    /// Record everything about these flows (`0`, `short.2`), in every run: tables `trace_*`, and their
    /// plots in the report. Without it `plot`, `pcap` and `explain` make the run again
    #[arg(long, value_name = "FLOW,...", value_delimiter = ',')]
    pub(crate) trace: Vec<String>,
}

/// Which run of a directory.
#[derive(Debug, Args)]
pub(crate) struct WhichRun {
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

/// A flow where none must be named.
#[derive(Debug, Args)]
pub(crate) struct OptionalFlow {
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
    /// The run directory
    pub(crate) dir: PathBuf,
    /// The flow: its number, or its place in its group (`7`, `short.2`)
    #[arg(long, value_name = "FLOW")]
    pub(crate) flow: String,
    #[command(flatten)]
    pub(crate) run: WhichRun,
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
    /// The run directory
    pub(crate) dir: PathBuf,
    /// The flow: its number, or its place in its group (`7`, `short.2`)
    #[arg(long, value_name = "FLOW")]
    pub(crate) flow: String,
    #[command(flatten)]
    pub(crate) run: WhichRun,
    /// Where the capture is taken
    #[arg(long, value_enum, default_value_t = Place::Sender)]
    pub(crate) place: Place,
    /// The file; with several schemes left open each gets its name in front of the ending
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

/// Where a capture is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Place {
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
    /// Switches of the transport.
    Switches,
    /// Benchmarks.
    Benchmarks,
}
