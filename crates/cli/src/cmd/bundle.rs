//! `lowtide bundle`: archives of run directories for artefact evaluation.

mod repeat;

use std::path::Path;

use lowtide_input_files::{RESULT_TEXT, SCENARIO, open_beneath, read_open};
use lowtide_lab::execute;
use lowtide_papers::{Tool, bibtex, cff};
use lowtide_record::RunDir;
use lowtide_record::bundle::{
    BundleError, BundleInfo, BundleSource, PackedBundle, RESULTS, UnpackedBundle, pack, unpack,
};
use serde::Serialize;

use super::cite::sources;
use super::run::PlanRunner;
use crate::args::BundleArgs;
use crate::error::CommandError;
use crate::output::Output;
use repeat::{Repetition, find_repetition, gives_these_runs, scenario_file};

/// Output directory of a repetition, in the folder of the archive.
const REPEATED: &str = "repeated";

#[derive(Serialize)]
struct PackOutput<'a> {
    path: &'a Path,
    bytes: u64,
    files: usize,
    bundle: &'a BundleInfo,
}

#[derive(Serialize)]
struct VerifyOutput<'a> {
    files: usize,
    /// Digest of the repetition; null without `--repeat`.
    repeated_digest: Option<&'a str>,
    bundle: &'a BundleInfo,
}

impl From<BundleError> for CommandError {
    fn from(error: BundleError) -> Self {
        match error {
            BundleError::Io { .. } => Self::Unwritable(error.to_string()),
            BundleError::Damaged(_) => Self::Run(error.to_string()),
            BundleError::Record(_) | BundleError::NotBundle { .. } => {
                Self::Usage(error.to_string(), None)
            }
        }
    }
}

pub(crate) fn bundle(args: &BundleArgs, out: Output) -> Result<(), CommandError> {
    if args.verify { verify(args, out) } else { write(args, out) }
}

fn write(args: &BundleArgs, out: Output) -> Result<(), CommandError> {
    if args.path.is_file() {
        let message = format!("`{}` is a file, not a run directory", args.path.display());
        let help = "`--verify` checks an archive".to_owned();
        return Err(CommandError::Usage(message, Some(help)));
    }
    let (dir, manifest) = RunDir::open(&args.path).map_err(BundleError::from)?;
    let (repeat, scenario) = match find_repetition(&dir, &manifest) {
        Ok(Repetition { args, scenario, .. }) => within_limit(args, scenario),
        Err(reason) => (Err(reason), None),
    };
    // A scheme of another crate may name sources without a citation.
    let cited = manifest.schemes.iter().filter_map(|name| sources(std::slice::from_ref(name)).ok());
    let mut sources: Vec<_> = cited.flatten().collect();
    sources.sort_by_key(|r| &r.key);
    sources.dedup();
    let tool = Tool { version: &manifest.version };
    let mut files = vec![
        ("CITATION.cff".to_owned(), cff(tool)),
        ("REFERENCES.bib".to_owned(), bibtex(Some(tool), &sources)),
    ];
    files.extend(scenario.map(|text| (scenario_file(&manifest), text)));
    let packed = pack(&args.path, BundleSource { repeat, files }, args.out.as_deref())?;
    let PackedBundle { path, info, files, bytes } = &packed;
    if out.json {
        let (files, bytes) = (*files, *bytes);
        let body = PackOutput { path, bytes, files, bundle: info };
        return out.answer("lowtide.bundle-written/1", &body);
    }
    if let Some(reason) = &info.not_repeatable {
        out.note(&format!("no command in the archive repeats the runs: {reason}"));
    }
    out.text(&format!(
        "{}: {files} files, {:.1} MB\ndigest {}",
        path.display(),
        *bytes as f64 / 1e6,
        info.digest
    ))
}

/// The command of an archive and the scenario that it reads, which may be too large for it.
fn within_limit(
    args: Vec<String>,
    scenario: Option<String>,
) -> (Result<Vec<String>, String>, Option<String>) {
    let most = SCENARIO.max_bytes;
    match scenario {
        Some(text) if text.len() as u64 > most => {
            let bytes = text.len();
            let reason =
                format!("its scenario with its files has {bytes} B, and a command reads {most} B");
            (Err(reason), None)
        }
        scenario => (Ok(args), scenario),
    }
}

fn verify(args: &BundleArgs, out: Output) -> Result<(), CommandError> {
    let temporary;
    let into = match &args.out {
        Some(dir) if dir.exists() => {
            let message = format!("`{}` exists", dir.display());
            let help = "-o names a new directory to unpack into".to_owned();
            return Err(CommandError::Usage(message, Some(help)));
        }
        Some(dir) => {
            let above = dir.parent().unwrap_or(dir);
            std::fs::create_dir_all(above)
                .map_err(|e| CommandError::unwritable("create", above, &e))?;
            dir.clone()
        }
        None => {
            temporary = tempfile::tempdir().map_err(|e| {
                CommandError::unwritable("create a directory in", &std::env::temp_dir(), &e)
            })?;
            temporary.path().join("archive")
        }
    };
    let unpacked = unpack(&args.path, &into)?;
    let repeated = if args.repeat { Some(repeat(&unpacked, out)?) } else { None };
    let UnpackedBundle { info, files, .. } = &unpacked;
    if out.json {
        let repeated_digest = repeated.as_deref();
        let files = *files;
        let body = VerifyOutput { files, repeated_digest, bundle: info };
        out.answer("lowtide.bundle-verified/1", &body)?;
    } else {
        out.text(&format!(
            "{files} files have their hashes, and the tables give the digest {}",
            info.digest
        ))?;
    }
    match repeated {
        Some(digest) if digest != info.digest => {
            let this = env!("CARGO_PKG_VERSION");
            let cause = match &info.version {
                version if version == this => String::new(),
                version => format!("; the archive is of lowtide {version}, and this is {this}"),
            };
            let message = format!("the repeated runs have the digest {digest}{cause}");
            Err(CommandError::Run(message))
        }
        Some(_) if !out.json => out.text("the repeated runs have the same digest"),
        _ => Ok(()),
    }
}

/// Repeats the runs in this process, as simulations. Returns their digest.
fn repeat(unpacked: &UnpackedBundle, out: Output) -> Result<String, CommandError> {
    let UnpackedBundle { dir, info, manifest, .. } = unpacked;
    let refused = |reason: String, help: &str| {
        let message = format!("the archive has no command that repeats its runs: {reason}");
        CommandError::Usage(message, Some(help.to_owned()))
    };
    let (results, _) = RunDir::open(&dir.join(RESULTS)).map_err(BundleError::from)?;
    let Repetition { args, plan, scenario } =
        find_repetition(&results, manifest).map_err(|reason| {
            let help = "the version that wrote it may repeat its runs; without `--repeat` its \
                        results are verified";
            refused(reason, help)
        })?;
    let asks = "ask its authors for another copy";
    match &info.repeat {
        Some(stated) if *stated == args => {}
        stated => {
            let (stated, args) = (stated.as_deref().unwrap_or_default(), args.as_slice());
            let reason = format!("it states {stated:?}, and its results give {args:?}");
            return Err(refused(reason, asks));
        }
    }
    if scenario.is_some() {
        let file = scenario_file(manifest);
        let text = open_beneath(dir, &file, &RESULT_TEXT)
            .and_then(|opened| read_open(&opened, &RESULT_TEXT))
            .map_err(|e| refused(format!("its `{file}` cannot be read: {e}"), asks))?;
        let text = String::from_utf8(text).unwrap_or_default();
        if !gives_these_runs(&text, manifest) {
            return Err(refused(
                format!("its `{file}` does not give the runs of its results"),
                asks,
            ));
        }
    }
    let source = results.read("scenario.toml").map_err(BundleError::from)?;
    let root = dir.join(REPEATED);
    let runner = PlanRunner { out: Some(&root), ..PlanRunner::default() };
    let finished = runner.run_plan(&plan, &source, out, &|options| execute(&plan, options))?;
    Ok(finished.results.digest)
}
