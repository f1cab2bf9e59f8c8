//! Memory limit of runs: `--memory`.

use clap::Args;
use lowtide_units::{Bytes, parse_bytes};

/// `--memory`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct MemoryArg {
    /// Memory that all runs together may take, as `8 GB`: a run that needs more is refused, and as many go
    /// side by side as fit. Nine tenths of what the machine, or its control group, has free without it
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<Bytes>,
}

fn size(text: &str) -> Result<Bytes, String> {
    match parse_bytes(text) {
        Ok(size) if size.as_u64() == 0 => Err("runs need some memory".to_owned()),
        Ok(size) => Ok(size),
        Err(e) => Err(e.to_string()),
    }
}

impl MemoryArg {
    /// The limit in bytes; `None` where none was given and the system does not tell.
    pub(crate) fn limit(self) -> Option<u64> {
        self.memory.map(Bytes::as_u64).or_else(crate::machine::memory)
    }
}
