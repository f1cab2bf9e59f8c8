//! `lowtide testbed uml`.

use std::path::PathBuf;

use clap::Args;
use lowtide_units::{Bytes, Duration, parse_bytes, parse_duration};

pub(super) const EXAMPLES: &str = "\
The machine sees the files of this one, read-only but for the current folder and what --write names. Output and
exit status are those of the command. It is gone with this process, however that ends. docs/uml.md shows the rest.

Examples:
  lowtide testbed uml -- live client --peer kernel --kernel-cc dctcp --kernel-ecn on --scheme dctcp
  lowtide testbed uml --limit 2min -- live server --peer kernel --kernel-cc dctcp -t 60 -J > result.json";

#[derive(Debug, Args)]
pub(crate) struct UmlArgs {
    /// Memory of the machine; it takes from this one what it uses
    #[arg(long, value_name = "BYTES", default_value = "512 MiB", value_parser = memory)]
    pub(crate) memory: Bytes,
    /// How long the command may take
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = limit)]
    pub(crate) limit: Duration,
    /// A folder in which the command may write, beside the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) write: Vec<PathBuf>,
    /// A module to load beside those of networking
    #[arg(long, value_name = "NAME")]
    pub(crate) module: Vec<String>,
    /// The kernel; `linux.uml` of the search path without it
    #[arg(long, value_name = "FILE")]
    pub(crate) kernel: Option<PathBuf>,
    /// Arguments of lowtide, after `--`
    #[arg(last = true, required = true, value_name = "ARGS")]
    pub(crate) args: Vec<String>,
}

fn memory(text: &str) -> Result<Bytes, String> {
    let bytes = parse_bytes(text).map_err(|e| e.to_string())?;
    match bytes.as_u64() >> 20 {
        64..=65_536 => Ok(bytes),
        _ => Err("expected 64 MiB to 64 GiB".to_owned()),
    }
}

fn limit(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|e| e.to_string())
}
