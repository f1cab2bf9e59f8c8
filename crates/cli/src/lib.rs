//! The `lowtide` command: arguments in, text or JSON out. The logic is in other crates.
//!
//! It is a library so that another crate can add a congestion control to the command: register it
//! ([`lowtide_tcp::cc::REGISTRY`]), then call [`main`].
//!
//! stdout is data, stderr is progress and errors. Exit status: 0 success, 1 a run failed or two
//! runs differ, 2 invalid usage or scenario, results of another version, or an output that cannot
//! be written, 3 a requested bound does not hold, 130 interrupted.

mod absent;
mod args;
mod arguments;
mod catalogue;
mod cmd;
mod error;
mod interrupt;
mod invocation;
pub mod machine;
mod output;
pub mod progress;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::FromArgMatches;

use args::{Cli, Command, ListKind, PapersCommand};
use error::CommandError;
pub use error::located_text;
use output::Output;

/// Runs the command with the arguments of this process. Returns its exit status.
pub fn main() -> ExitCode {
    ExitCode::from(run())
}

/// Runs the command in a process that is not its own, as a Python interpreter. `program` starts it
/// again in another process; `args` are without the name of the program. Returns the exit status.
pub fn main_from(program: PathBuf, args: Vec<OsString>) -> u8 {
    invocation::set(program, args);
    run()
}

fn run() -> u8 {
    let args = invocation::args();
    if let Err(refused) = arguments::check(&args) {
        return refused.report();
    }
    let words: Vec<String> = args.iter().map(|word| word.to_string_lossy().into()).collect();
    let args = std::iter::once(OsString::from("lowtide")).chain(args);
    let parsed = args::command()
        .try_get_matches_from(args)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            return absent::refusal(&error, &words)
                .map_or_else(|| show(&error), CommandError::report);
        }
    };
    let out = Output { json: cli.json, quiet: cli.quiet, progress: cli.progress };
    let result = match &cli.command {
        Command::Run(args) => cmd::run::run(args, out),
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
        Ok(()) => 0,
        Err(failure) => failure.report(),
    }
}

/// Prints an error of the arguments on stderr, or the help that they asked for on stdout. Returns
/// the exit status.
fn show(error: &clap::Error) -> u8 {
    let printed = error.print();
    match printed {
        Err(e) if !error.use_stderr() => output::unwritable(&e).report(),
        _ => u8::try_from(error.exit_code()).unwrap_or(2),
    }
}
