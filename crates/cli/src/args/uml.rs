//! `lowtide testbed uml`.

use std::path::PathBuf;

use clap::Args;
use lowtide_units::{Bytes, Duration, parse_bytes, parse_duration};

pub(super) const EXAMPLES: &str = "\
The machine sees the host's files, read-only except the current folder and the folders of --write.
Output and exit status are those of the command. The machine ends with this process, even if it is
killed. docs/howto/uml.md shows more.

Examples:
  lowtide testbed uml -- live client --peer kernel --kernel-cc dctcp --kernel-ecn on --scheme dctcp
  lowtide testbed uml --limit 2min -- live server --peer kernel --kernel-cc dctcp -t 60 -J";

#[derive(Debug, Args)]
pub(crate) struct UmlArgs {
    /// Memory of the machine; the host allocates the used part only
    #[arg(long, value_name = "BYTES", default_value = "512 MiB", value_parser = memory)]
    pub(crate) memory: Bytes,
    /// Time limit of the command
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = parse_duration)]
    pub(crate) limit: Duration,
    /// Writable folder, besides the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) write: Vec<PathBuf>,
    /// Kernel module to load, besides those of networking
    #[arg(long, value_name = "NAME")]
    pub(crate) module: Vec<String>,
    /// Kernel file; default: `linux.uml` in PATH
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
