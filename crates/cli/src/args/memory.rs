//! Memory limit of runs: `--memory`.

use clap::Args;
use lowtide_lab::ResourceLimits;
use lowtide_units::{Bytes, parse_bytes};

/// `--memory`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct MemoryArg {
    /// Memory limit of all runs together, as `8 GB`: a run that needs more is refused, and as many
    /// run in parallel as fit; default: 90 % of the free memory of the machine or control group
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<Bytes>,
}

fn size(text: &str) -> Result<Bytes, String> {
    match parse_bytes(text) {
        Ok(size) if size.as_u64() == 0 => Err("expected a size above 0".to_owned()),
        Ok(size) => Ok(size),
        Err(e) => Err(e.to_string()),
    }
}

impl MemoryArg {
    /// Limits of runs that are not stored.
    pub(crate) fn limits(self) -> ResourceLimits<'static> {
        let resident = Some(&crate::machine::resident as &(dyn Fn() -> Option<u64> + Sync));
        ResourceLimits { memory: self.limit(), disk: None, resident }
    }

    /// Limit in bytes; `None` if none was given and the system reports no free memory.
    pub(crate) fn limit(self) -> Option<u64> {
        self.memory.map(Bytes::as_u64).or_else(crate::machine::memory)
    }
}
