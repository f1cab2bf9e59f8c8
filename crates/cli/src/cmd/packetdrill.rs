//! `lowtide packetdrill`: scripts in, one line per script out.

use std::fs;
use std::path::{Path, PathBuf};

use lowtide_input_files::SCRIPT;
use lowtide_packetdrill::run::{self, RunOptions, ScriptReport};
use lowtide_packetdrill::script::{Script, ScriptError};
use serde::Serialize;

use crate::args::PacketdrillArgs;
use crate::error::CommandError;
use crate::output::Output;

#[derive(Serialize)]
struct PacketdrillOutput {
    passed: usize,
    failed: usize,
    /// Scripts that could not be run.
    refused: usize,
    scripts: Vec<ScriptOutcome>,
}

#[derive(Serialize)]
struct ScriptOutcome {
    name: String,
    /// `ok`, `fail` or `refused`.
    verdict: &'static str,
    events: usize,
    ended_s: Option<f64>,
    digest: Option<String>,
    /// Line and reason of the failure or refusal.
    failure: Option<FailureDetail>,
    notes: Vec<ScriptNote>,
    /// Every packet, with `--verbose`.
    packets: Option<Vec<String>>,
}

#[derive(Serialize)]
struct FailureDetail {
    line: usize,
    at_s: Option<f64>,
    message: String,
    help: Option<String>,
    expected: Option<String>,
    got: Option<String>,
    differs: Vec<String>,
}

#[derive(Serialize)]
struct ScriptNote {
    line: usize,
    text: String,
}

pub(crate) fn packetdrill(args: &PacketdrillArgs, out: Output) -> Result<(), CommandError> {
    let mut paths = Vec::new();
    for path in &args.files {
        collect(path, &mut paths)?;
    }
    if paths.is_empty() {
        let help = "directories are searched for *.pkt; name any other file".to_string();
        return Err(CommandError::Usage("no scripts were found".to_string(), Some(help)));
    }
    let options = RunOptions { so_flags: args.so_flags.clone() };
    let mut verdicts = Vec::new();
    let mut refused = Vec::new();
    for path in &paths {
        let name = path.display().to_string();
        let ran = Script::parse(&name, &read(path)?).and_then(|s| run::run(&s, &options));
        match ran {
            Ok(report) => {
                if !out.json {
                    print_report(&report, args.verbose, out)?;
                }
                verdicts.push(script_outcome(report, args.verbose));
            }
            Err(error) => {
                if !out.json {
                    out.text(&format!("BAD   {name}:{}: {}", error.line(), error.message))?;
                }
                verdicts.push(refused_outcome(&name, &error));
                refused.push(error);
            }
        }
    }
    let failed = verdicts.iter().filter(|v| v.verdict == "fail").count();
    let passed = verdicts.len() - failed - refused.len();
    let answer = PacketdrillOutput { passed, failed, refused: refused.len(), scripts: verdicts };
    if out.json {
        out.answer("lowtide.packetdrill/1", &answer)?;
    } else {
        let total = answer.scripts.len();
        out.text(&format!(
            "{total} scripts: {passed} ok, {failed} failed, {} refused",
            refused.len()
        ))?;
    }
    if !refused.is_empty() {
        return Err(CommandError::Scripts(refused));
    }
    if failed > 0 {
        return Err(CommandError::Run(format!(
            "{failed} of {} scripts failed",
            answer.scripts.len()
        )));
    }
    Ok(())
}

/// Collects a file, or every `*.pkt` below a directory, in order of name.
fn collect(path: &Path, out: &mut Vec<PathBuf>) -> Result<(), CommandError> {
    if !path.is_dir() {
        out.push(path.to_path_buf());
        return Ok(());
    }
    let cannot = |e| CommandError::Usage(format!("cannot read {}: {e}", path.display()), None);
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(cannot)? {
        entries.push(entry.map_err(cannot)?.path());
    }
    entries.sort();
    for entry in entries {
        // A symbolic link to a directory may form a cycle.
        if entry.is_dir() && !entry.is_symlink() {
            collect(&entry, out)?;
        } else if entry.extension().is_some_and(|e| e == "pkt") {
            out.push(entry);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, CommandError> {
    lowtide_input_files::read_text(path, &SCRIPT)
        .map_err(|e| CommandError::Usage(format!("cannot read {}: {e}", path.display()), None))
}

fn print_report(report: &ScriptReport, verbose: bool, out: Output) -> Result<(), CommandError> {
    if verbose {
        for packet in &report.packets {
            out.text(&format!("      {packet}"))?;
        }
    }
    for note in &report.notes {
        out.note(&format!("{}:{}: note: {}", report.name, note.line, note.text));
    }
    let Some(failure) = &report.failure else {
        return out.text(&format!("ok    {}", report.name));
    };
    out.text(&format!("FAIL  {}", failure.to_string().replace('\n', "\n      ")))
}

fn script_outcome(report: ScriptReport, verbose: bool) -> ScriptOutcome {
    let why = report.failure.map(|failure| FailureDetail {
        line: failure.line,
        at_s: Some(failure.at.as_secs_f64()),
        message: failure.message,
        help: None,
        expected: failure.expected,
        got: failure.got,
        differs: failure.differs,
    });
    ScriptOutcome {
        name: report.name,
        verdict: if why.is_some() { "fail" } else { "ok" },
        events: report.events,
        ended_s: Some(report.ended.as_secs_f64()),
        digest: Some(format!("{:016x}", report.digest)),
        failure: why,
        notes: report
            .notes
            .into_iter()
            .map(|n| ScriptNote { line: n.line, text: n.text })
            .collect(),
        packets: verbose.then_some(report.packets),
    }
}

fn refused_outcome(name: &str, error: &ScriptError) -> ScriptOutcome {
    ScriptOutcome {
        name: name.to_string(),
        verdict: "refused",
        events: 0,
        ended_s: None,
        digest: None,
        failure: Some(FailureDetail {
            line: error.line(),
            at_s: None,
            message: error.message.clone(),
            help: error.help.clone(),
            expected: None,
            got: None,
            differs: Vec::new(),
        }),
        notes: Vec::new(),
        packets: None,
    }
}
