//! `lowtide analyze`: the behaviour of a transport, from a capture.

use std::fs::File;
use std::io::{Read as _, Take};
use std::path::{Path, PathBuf};

use lowtide_analysis::{Analysis, AnalysisError, AnalysisOptions, Page, SocketStatistics, pair};
use lowtide_input_files::{CAPTURE, SOCKETS, is_refusal};
use lowtide_record::write_atomic;
use serde::Serialize;

use crate::args::AnalyzeArgs;
use crate::error::CommandError;
use crate::output::{JsonAnswer, Output};

const SCHEMA: &str = "lowtide.analysis/4";
const PAIR_SCHEMA: &str = "lowtide.path/1";
/// Directions that the text of two captures shows.
const SHOWN: usize = 20;

#[derive(Serialize)]
struct AnalyzeOutput<'a> {
    #[serde(flatten)]
    analysis: &'a Analysis,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
}

pub(crate) fn analyze(args: &AnalyzeArgs, out: Output) -> Result<(), CommandError> {
    let name = args.file.display().to_string();
    if let Some(second) = &args.second {
        return compare(&args.file, second, args.all, out);
    }
    let from_stdin = name == "-";
    if from_stdin && args.out.is_some() {
        let message = "plots read the capture twice, which stdin does not allow".to_owned();
        let help = "write it to a file first: `tcpdump -w FILE`".to_owned();
        return Err(CommandError::Usage(message, Some(help)));
    }
    let rto_min_ns = args.rto_min.as_ps() / 1_000;
    let options = AnalysisOptions {
        flows: args.flow.clone(),
        conditions: args.conditions.clone(),
        top: args.top,
        series: args.series,
        gain: args.gain,
        rto_min_ns,
        sockets: args.ss.as_deref().map(sockets).transpose()?,
    };
    let analysis = if from_stdin {
        Analysis::of("stdin", std::io::stdin().lock(), &options)
    } else {
        Analysis::of(&name, open(&args.file)?, &options)
    };
    let analysis = analysis.map_err(|e| failure(e, &name))?;
    let files = match &args.out {
        Some(dir) => write(&analysis, &args.file, dir)?,
        None => Vec::new(),
    };
    if out.json {
        // With many connections the text is longer than the capture.
        let files = files.iter().map(|f| f.display().to_string()).collect();
        out.answer(SCHEMA, &AnalyzeOutput { analysis: &analysis, files })?;
    } else {
        out.text(&analysis.text(args.all || args.top.is_some()))?;
        if let Some(page) = files.first() {
            out.note(&format!("\n{}", page.display()));
        }
    }
    match analysis.broken() {
        Some(why) => Err(CommandError::Run(format!("{name} was not read to its end: {why}"))),
        None => Ok(()),
    }
}

/// Reports the path between two captures.
fn compare(first: &Path, second: &Path, all: bool, out: Output) -> Result<(), CommandError> {
    let names = [first, second].map(|path| path.display().to_string());
    let read =
        |path, name: &str| pair::Observations::read(open(path)?).map_err(|e| failure(e, name));
    let captures = [read(first, &names[0])?, read(second, &names[1])?];
    let report = pair::compare(names, &captures).map_err(|e| failure(e, ""))?;
    if out.json {
        return out.answer(PAIR_SCHEMA, &report);
    }
    out.text(&report.text(if all { usize::MAX } else { SHOWN }))
}

fn sockets(path: &Path) -> Result<SocketStatistics, CommandError> {
    let refused =
        |why: String| CommandError::Usage(format!("--ss {}: {why}", path.display()), None);
    let read = lowtide_input_files::read(path, &SOCKETS).map_err(|e| refused(e.to_string()))?;
    SocketStatistics::parse(&String::from_utf8_lossy(&read)).map_err(refused)
}

fn open(path: &Path) -> Result<Take<File>, CommandError> {
    let directory = path.is_dir();
    let help =
        "a run directory has no capture; `lowtide pcap DIR --flow F -o FILE` writes one".to_owned();
    if directory {
        let message = format!("{} is a directory, not a capture", path.display());
        return Err(CommandError::Usage(message, Some(help)));
    }
    let opened = lowtide_input_files::open(path, &CAPTURE).map_err(|e| {
        // A capture may come from a pipe, but not by name.
        let help = is_refusal(&e).then(|| "`-` reads a capture from stdin".to_owned());
        CommandError::Usage(format!("cannot open {}: {e}", path.display()), help)
    })?;
    Ok(opened.take(CAPTURE.max_bytes))
}

fn failure(error: AnalysisError, name: &str) -> CommandError {
    match error {
        AnalysisError::NotFound { message, help } => CommandError::Usage(message, help),
        AnalysisError::Capture(error) => CommandError::Run(format!("{name}: {error}")),
        error @ AnalysisError::Chart(_) => error.into(),
    }
}

/// Writes the page, the JSON and the figures. Returns their paths, the page first.
fn write(analysis: &Analysis, capture: &Path, dir: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let page = Page::of(analysis, open(capture)?)?;
    let mut json = serde_json::to_string_pretty(&JsonAnswer::new(SCHEMA, analysis))
        .map_err(|e| CommandError::Run(format!("cannot write the analysis as JSON: {e}")))?;
    json.push('\n');
    let head = [("analysis.html".to_owned(), page.html), ("analysis.json".to_owned(), json)];
    let figures = page.figures.into_iter().map(|(name, text)| (format!("figures/{name}"), text));
    let mut files = Vec::new();
    for (name, text) in head.into_iter().chain(figures) {
        let path = dir.join(name);
        write_atomic(&path, text.as_bytes())?;
        files.push(path);
    }
    Ok(files)
}
