//! `cargo test -p lowtide --test kernels -- guest NAME [OPTIONS] -- COMMAND` runs a command in a
//! guest, with its output and exit status.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use crate::initramfs::Programs;
use crate::machine::{Guest, NoResult, tools};
use crate::packages::FLEET;

const USAGE: &str = "usage: guest 6.1|6.12|newest [--copy PATH]... [--limit SECONDS] -- COMMAND...
COMMAND is `lowtide ARGS` or another program of the guest: ip, tc, busybox, copied files by
./NAME. Its folder has the copied files and folders.";

/// Runs the command of `args`.
pub(crate) fn main(args: &[String]) -> ExitCode {
    match enter(args) {
        Ok(status) => ExitCode::from(status),
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn enter(args: &[String]) -> Result<u8, String> {
    let (mut files, mut limit) = (Vec::new(), Duration::from_mins(10));
    let mut words = args.iter();
    let name = words.next().ok_or(USAGE)?;
    loop {
        match words.next().map(String::as_str) {
            Some("--copy") => files.push(PathBuf::from(words.next().ok_or(USAGE)?)),
            Some("--limit") => {
                let seconds = words.next().and_then(|text| text.parse().ok()).ok_or(USAGE)?;
                limit = Duration::from_secs(seconds);
            }
            Some("--") => break,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let package = FLEET.into_iter().find(|package| package.name == name).ok_or(USAGE)?;
    let argv: Vec<_> = words.collect();
    if argv.is_empty() {
        return Err(USAGE.to_owned());
    }
    tools()?;
    let programs = Programs::new([&PathBuf::from(env!("CARGO_BIN_EXE_lowtide"))]);
    let guest = Guest::new(package, &programs)?;
    let job = json!({ "job": "programs", "programs": [{ "argv": argv }] });
    let mut status = 1;
    let ended = guest.run(&job, &files, limit, &mut |line| {
        if let Some(text) = line["out"].as_str() {
            println!("{text}");
        } else if let Some(text) = line["err"].as_str() {
            eprintln!("{text}");
        } else if let Some(code) = line["status"].as_u64() {
            status = u8::try_from(code).unwrap_or(1);
        }
    });
    let why = |no: NoResult| match no {
        NoResult::NotJudged(why) | NoResult::Died(why) => why,
    };
    ended.map(|()| status).map_err(why)
}
