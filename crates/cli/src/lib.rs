//! The `lowtide` command: arguments in, text or JSON out. The logic is in other crates.
//!
//! It is a library so that another crate can add a congestion control to the command: register it
//! ([`lowtide_tcp::cc::REGISTRY`]), then call [`main`].
//!
//! stdout is data, stderr is progress and errors. Exit status: 0 success, 1 a run failed or two
//! runs differ, 2 invalid usage or scenario, 3 a requested bound does not hold, 130 interrupted.

mod args;
mod catalogue;
mod cmd;
mod error;
mod interrupt;
mod machine;
mod output;
mod progress;

use std::process::ExitCode;

use clap::FromArgMatches;

use args::{Cli, Command, ListKind, PapersCommand};
use output::Output;

/// Runs the command with the arguments of this process. Returns its exit status.
pub fn main() -> ExitCode {
    let matches = args::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let out = Output { json: cli.json, quiet: cli.quiet };
    let result = match &cli.command {
        Command::Run(args) => cmd::run::run(args, out),
        Command::Status(args) => cmd::status::status(args, out),
        Command::Merge(args) => cmd::merge::merge(args, out),
        Command::Compare(args) => cmd::compare::compare(args, out),
        Command::Diff(args) => cmd::diff::diff(args, out),
        Command::Advise(args) => cmd::advise::command(args, out),
        Command::Plan(args) => cmd::plan::plan(args, out),
        Command::Matrix(args) => cmd::matrix::matrix(args, out),
        Command::Import(args) => cmd::switch_config::import(args, out),
        Command::Export(args) => cmd::switch_config::export(args, out),
        Command::Check(args) => cmd::check::check(args, out),
        Command::List { kind } => cmd::list::list(*kind, out),
        Command::Explain { names, flow, all, .. } if flow.flow.is_some() => {
            cmd::flow::explain(names, flow, *all, out)
        }
        Command::Explain { names, diff: false, .. } => cmd::explain::explain(names, out),
        Command::Explain { names, diff: true, .. } => cmd::explain::diff(names, out),
        Command::New { kind } => cmd::new::new(kind, out),
        Command::Show { name } => cmd::show::show(name, out),
        Command::Schema => cmd::new::schema(out),
        Command::Table(args) => cmd::table::table(args, out),
        Command::Report { dir } => cmd::report::report(dir, out),
        Command::Papers { command: PapersCommand::List } => {
            cmd::list::list(Some(ListKind::Experiments), out)
        }
        Command::Papers { command: PapersCommand::Reproduce(args) } => {
            cmd::reproduce::reproduce(args, out)
        }
        Command::Reproduce(args) => {
            out.note("`lowtide reproduce` is now `lowtide papers reproduce`");
            cmd::reproduce::reproduce(args, out)
        }
        Command::Plot(args) => cmd::flow::plot(args, out),
        #[cfg(feature = "figures")]
        Command::Figure(args) => cmd::figure::figure(args, out),
        Command::Pcap(args) => cmd::flow::pcap(args, out),
        Command::Bundle(args) => cmd::bundle::bundle(args, out),
        Command::Cite(args) => cmd::cite::cite(args, out),
        Command::Analyze(args) => cmd::analyze::analyze(args, out),
        Command::Bench(args) => cmd::bench::bench(args, out),
        Command::Packetdrill(args) => cmd::packetdrill::packetdrill(args, out),
        #[cfg(real_packets)]
        Command::Live { command } => cmd::live::live(command, out),
        #[cfg(real_packets)]
        Command::Testbed { command } => cmd::testbed::testbed(command, out),
        #[cfg(real_packets)]
        Command::Kernel { command } => cmd::kernel::kernel(command, out),
        Command::Completions { shell } => cmd::new::completions(*shell, out),
        Command::Man { dir } => cmd::man::man(dir, out),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
