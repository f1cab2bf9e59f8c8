//! `lowtide-interop`: tests our TCP against other stacks, case by case.
#![cfg_attr(not(target_os = "linux"), expect(unused, reason = "there are no TUN interfaces"))]

use lowtide_output::streams;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use lowtide_interop::cases::{Case, all, quick, repeat};
use lowtide_interop::peer;
use lowtide_interop::peers::{PEERS, Peer, probe};
use lowtide_interop::script::EndpointScript;
use lowtide_interop::suite::Suite;
use lowtide_interop::table::{CaseCounts, count, markdown, print_result, remarks};

/// Runs connections between our TCP and others, with faults between them, and prints a table.
#[derive(Parser, Debug)]
#[command(name = "lowtide-interop")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
struct Args {
    #[command(subcommand)]
    role: Option<Role>,
    /// Only this peer; may be repeated.
    #[arg(long, value_enum)]
    peer: Vec<Peer>,
    /// Only cases whose name contains this text; may be repeated.
    #[arg(long)]
    case: Vec<String>,
    /// The short subset that `cargo test` runs.
    #[arg(long)]
    quick: bool,
    /// Runs every case this many times, each time with other seeds.
    #[arg(long, default_value_t = 1)]
    rounds: u32,
    /// Number of cases to run in parallel.
    #[arg(long, default_value_t = 3)]
    jobs: usize,
    /// Folder for the packets of both interfaces, two files per case.
    #[arg(long)]
    captures: Option<PathBuf>,
    /// Prints only the table, as in `docs/explanation/testing.md`.
    #[arg(long)]
    markdown: bool,
    /// A skipped peer is a failure.
    #[arg(long)]
    require_all: bool,
    /// Prints the cases and the available peers, and runs nothing.
    #[arg(long)]
    list: bool,
}

/// Role of the program when the suite starts it.
#[derive(Subcommand, Debug)]
enum Role {
    /// One end of one connection.
    #[command(hide = true)]
    Peer {
        /// `kernel` or `smoltcp`.
        stack: String,
        /// The script.
        script: Vec<String>,
    },
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.role {
        None => suite(&args),
        Some(Role::Peer { stack, script }) => run_peer(stack, script).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|why| {
        streams::note(format_args!("error: {why}"));
        ExitCode::from(2)
    })
}

fn run_peer(stack: &str, script: &[String]) -> Result<(), String> {
    let script = EndpointScript::from_args(script)?;
    let done = match stack {
        "kernel" => peer::kernel::main(&script),
        "smoltcp" => peer::smoltcp::main(&script),
        _ => return Err(format!("there is no stack `{stack}`: there are kernel and smoltcp")),
    };
    done.map_err(|e| e.to_string())
}

fn print(text: &str) -> Result<(), String> {
    streams::data(text).map_err(|e| format!("cannot write to stdout: {e}"))
}

fn suite(args: &Args) -> Result<ExitCode, String> {
    let mut cases = if args.quick { quick() } else { all() };
    let wanted = |c: &Case| args.case.iter().any(|text| c.to_string().contains(text));
    cases.retain(|c| args.case.is_empty() || wanted(c));
    let cases = repeat(&cases, args.rounds);
    if cases.is_empty() {
        return Err("no case has such a name; `--list` shows all".to_owned());
    }
    let peers = if args.peer.is_empty() { PEERS.to_vec() } else { args.peer.clone() };
    if args.list {
        for peer in peers {
            let why = probe(peer).map_or_else(|m| m.why, |()| "here".to_owned());
            print(&format!("{peer}: {why}\n"))?;
        }
        for case in &cases {
            print(&format!("{case}\n"))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(folder) = &args.captures {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let captures = args.captures.as_ref().map(|f| f.canonicalize()).transpose();
    let captures = captures.map_err(|e| format!("--captures: {e}"))?;
    let program = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
    let suite = Suite { program, jobs: args.jobs, captures };
    let mut results = Vec::new();
    for peer in peers {
        results.extend(suite.run(peer, &cases, &print_result));
    }
    print(&markdown(&results))?;
    if !args.markdown {
        print(&format!("\n{}", remarks(&results)))?;
    }
    let counts = count(&results);
    let CaseCounts { passed, failed, known, skipped } = counts;
    streams::note(format_args!(
        "{passed} passed, {failed} failed, {known} failed as known, {skipped} skipped"
    ));
    let bad = failed > 0 || (args.require_all && skipped > 0);
    Ok(if bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
