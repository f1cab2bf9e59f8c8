//! `lowtide packetdrill`: scripts in, one line per script out.

#[cfg(real_packets)]
mod kernel;

use std::fs;
use std::path::{Path, PathBuf};

use lowtide_input_files::SCRIPT;
use lowtide_packetdrill::run::{self, RunOptions, ScriptReport};
use lowtide_packetdrill::script::{Script, ScriptError};
use lowtide_units::Duration;
use serde::Serialize;

use crate::args::PacketdrillArgs;
use crate::error::CommandError;
use crate::output::Output;

#[derive(Serialize)]
struct PacketdrillOutput {
    /// The kernel that ran the scripts; null for our TCP.
    against: Option<String>,
    passed: usize,
    failed: usize,
    /// Scripts that could not be run.
    refused: usize,
    /// Scripts that need what the kernel lacks, or that last too long for it.
    not_judged: usize,
    scripts: Vec<ScriptOutcome>,
}

#[derive(Serialize)]
struct ScriptOutcome {
    name: String,
    /// `ok`, `fail`, `refused`, `lacking` or `too-long`.
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

/// Result of one script.
enum Ran {
    Report(ScriptReport),
    Refused(ScriptError),
    /// The kernel cannot judge it: verdict and reason.
    #[cfg(real_packets)]
    NotJudged(&'static str, String),
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
    let mut all = Verdicts { verbose: args.verbose, out, scripts: Vec::new(), refused: Vec::new() };
    #[cfg(real_packets)]
    if args.against.is_some() {
        kernel::run(args, &paths, out, |name, ran| all.add(name, ran))?;
        return all.finish(Some(kernel::name()));
    }
    let (so_flags, profile) = (args.so_flags.clone(), args.profile.clone());
    let tolerance = args.tolerance_usecs.map(|us| Duration::from_us(u64::from(us)));
    let options = RunOptions { so_flags, profile, tolerance };
    for path in &paths {
        let name = path.display().to_string();
        let ran = Script::parse(&name, &read(path)?).and_then(|s| run::run(&s, &options));
        all.add(&name, ran.map_or_else(Ran::Refused, Ran::Report))?;
    }
    all.finish(None)
}

/// Verdicts so far, printed one by one.
struct Verdicts {
    verbose: bool,
    out: Output,
    scripts: Vec<ScriptOutcome>,
    refused: Vec<ScriptError>,
}

impl Verdicts {
    fn add(&mut self, name: &str, ran: Ran) -> Result<(), CommandError> {
        let text = |text: String| if self.out.json { Ok(()) } else { self.out.text(&text) };
        self.scripts.push(match ran {
            Ran::Report(report) => {
                if !self.out.json {
                    print_report(&report, self.verbose, self.out)?;
                }
                script_outcome(report, self.verbose)
            }
            Ran::Refused(error) => {
                text(format!("BAD   {name}:{}: {}", error.line(), error.message))?;
                let verdict = not_run(name, "refused", error.line(), &error.message);
                let help = error.help.clone();
                self.refused.push(error);
                ScriptOutcome {
                    failure: verdict.failure.map(|f| FailureDetail { help, ..f }),
                    ..verdict
                }
            }
            #[cfg(real_packets)]
            Ran::NotJudged(verdict, reason) => {
                text(format!("-     {name}: {reason}"))?;
                not_run(name, verdict, 1, &reason)
            }
        });
        Ok(())
    }

    fn finish(mut self, against: Option<String>) -> Result<(), CommandError> {
        let count = |verdict| self.scripts.iter().filter(|v| v.verdict == verdict).count();
        let (total, passed, failed) = (self.scripts.len(), count("ok"), count("fail"));
        let refused = self.refused.len();
        let not_judged = total - passed - failed - refused;
        if against.is_some() {
            for script in &mut self.scripts {
                script.digest = None;
            }
        }
        if self.out.json {
            let scripts = self.scripts;
            let answer =
                PacketdrillOutput { against, passed, failed, refused, not_judged, scripts };
            self.out.answer("lowtide.packetdrill/1", &answer)?;
        } else {
            let by =
                against.map_or(String::new(), |by| format!(", {not_judged} not judged by {by}"));
            self.out.text(&format!(
                "{total} scripts: {passed} ok, {failed} failed, {refused} refused{by}"
            ))?;
        }
        if !self.refused.is_empty() {
            return Err(CommandError::Scripts(self.refused));
        }
        if failed > 0 {
            return Err(CommandError::Run(format!("{failed} of {total} scripts failed")));
        }
        Ok(())
    }
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

fn not_run(name: &str, verdict: &'static str, line: usize, message: &str) -> ScriptOutcome {
    ScriptOutcome {
        name: name.to_string(),
        verdict,
        events: 0,
        ended_s: None,
        digest: None,
        failure: Some(FailureDetail {
            line,
            at_s: None,
            message: message.to_owned(),
            help: None,
            expected: None,
            got: None,
            differs: Vec::new(),
        }),
        notes: Vec::new(),
        packets: None,
    }
}
