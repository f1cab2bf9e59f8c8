//! `lowtide bundle`: archives of run directories for artefact evaluation.

mod repeat;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lowtide_bundle::{
    BundleError, BundleInfo, BundleSource, PackedBundle, UnpackedBundle, find_repeated, pack,
    unpack,
};
use lowtide_papers::{Tool, bibtex, cff};
use lowtide_record::RunDir;
use serde::Serialize;

use super::cite::sources;
use crate::args::BundleArgs;
use crate::error::CommandError;
use crate::output::Output;
use repeat::{RepeatPlan, is_repeat_command, repeat_plan};

/// Output directory of a repetition, in the folder of the archive.
const REPEATED: &str = "repeated";

#[derive(Serialize)]
struct PackOutput<'a> {
    schema: &'static str,
    version: &'static str,
    path: &'a Path,
    bytes: u64,
    files: usize,
    bundle: &'a BundleInfo,
}

#[derive(Serialize)]
struct VerifyOutput<'a> {
    schema: &'static str,
    version: &'static str,
    files: usize,
    /// Digest of the repetition; null without `--repeat`.
    repeated_digest: Option<&'a str>,
    bundle: &'a BundleInfo,
}

impl From<BundleError> for CommandError {
    fn from(error: BundleError) -> Self {
        match error {
            BundleError::Lab(error) => error.into(),
            BundleError::Io { .. } | BundleError::Damaged(_) => Self::Run(error.to_string()),
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
    let (_, manifest) = RunDir::open(&args.path).map_err(BundleError::from)?;
    let RepeatPlan { args: repeat, scenario } = repeat_plan(&args.path, &manifest);
    // A scheme of another crate may name sources without a citation.
    let cited = manifest.schemes.iter().filter_map(|name| sources(std::slice::from_ref(name)).ok());
    let mut sources: Vec<_> = cited.flatten().collect();
    sources.sort_by_key(|r| &r.key);
    sources.dedup();
    let tool = Tool { version: &manifest.version };
    let mut files = vec![
        ("CITATION.cff".to_owned(), cff(tool, &[])),
        ("REFERENCES.bib".to_owned(), bibtex(Some(tool), &sources)),
    ];
    files.extend(scenario.map(|text| (format!("{}.toml", manifest.scenario), text)));
    let packed = pack(&args.path, BundleSource { repeat, files }, args.out.as_deref())?;
    let PackedBundle { path, info, files, bytes } = &packed;
    if out.json {
        let (schema, version) = ("lowtide.bundle-written/1", env!("CARGO_PKG_VERSION"));
        let (files, bytes) = (*files, *bytes);
        return out.json(&PackOutput { schema, version, path, bytes, files, bundle: info });
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

fn verify(args: &BundleArgs, out: Output) -> Result<(), CommandError> {
    let temporary;
    let into = match &args.out {
        Some(dir) if dir.exists() => {
            let message = format!("`{}` exists", dir.display());
            let help = "-o names a new directory to unpack into".to_owned();
            return Err(CommandError::Usage(message, Some(help)));
        }
        Some(dir) => {
            std::fs::create_dir_all(dir)
                .map_err(|e| CommandError::unwritable("create", dir, &e))?;
            dir.clone()
        }
        None => {
            temporary = tempfile::tempdir().map_err(|e| {
                CommandError::unwritable("create a directory in", &std::env::temp_dir(), &e)
            })?;
            temporary.path().to_path_buf()
        }
    };
    let unpacked = unpack(&args.path, &into)?;
    let repeated = if args.repeat { Some(repeat(&unpacked, out)?) } else { None };
    let UnpackedBundle { info, files, .. } = &unpacked;
    if out.json {
        let (schema, version) = ("lowtide.bundle-verified/1", env!("CARGO_PKG_VERSION"));
        let repeated_digest = repeated.as_deref();
        let files = *files;
        out.json(&VerifyOutput { schema, version, files, repeated_digest, bundle: info })?;
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

/// Repeats the runs in a process of this program. Returns their digest.
fn repeat(unpacked: &UnpackedBundle, out: Output) -> Result<String, CommandError> {
    let UnpackedBundle { dir, info, .. } = unpacked;
    let Some(args) = info.repeat.as_ref().filter(|args| is_repeat_command(args)) else {
        let reason = info.not_repeatable.as_deref().unwrap_or("its command is none of `lowtide`'s");
        let message = format!("the archive has no command that repeats its runs: {reason}");
        return Err(CommandError::Usage(message, None));
    };
    let program = std::env::current_exe().map_err(|e| failed("find", Path::new("lowtide"), &e))?;
    let mut command = Command::new(&program);
    command.args(args).args(["-o", REPEATED]).current_dir(dir).stdout(Stdio::null());
    if out.quiet {
        command.arg("--quiet");
    }
    let status = command.status().map_err(|e| failed("run", &program, &e))?;
    let root: PathBuf = dir.join(REPEATED);
    // A run with failed flows, or with a claim that regressed, has results too.
    let found = find_repeated(&root, info).and_then(|manifest| manifest.digest);
    found.ok_or_else(|| CommandError::Run(format!("the repetition gave no results ({status})")))
}

fn failed(action: &str, path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::Run(format!("cannot {action} {}: {error}", path.display()))
}
