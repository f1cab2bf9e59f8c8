//! The whole `lowtide` command with the parts of this crate, one file each.

// As in `lowtide-tcp`, so that `abe.rs` compiles unchanged in both crates.
extern crate alloc;

use std::error::Error;
use std::process::ExitCode;

#[expect(unreachable_pub, reason = "it would be public in `crates/congestion/src/cc/`")]
mod abe;
mod abe_scheme;
/// The control of the tutorial, which is in a crate outside of the workspace there.
#[expect(unreachable_pub, reason = "it is public in its crate")]
#[path = "../../own-crate/src/capped.rs"]
mod capped;
#[cfg(test)]
mod conformance;
mod ring;
#[expect(unreachable_pub, reason = "it would be public in `crates/traffic/src/workload/`")]
mod ring_all_reduce;
mod tcn;

fn main() -> ExitCode {
    if let Err(error) = register() {
        lowtide_output::streams::note(format_args!("error: {error}"));
        return ExitCode::FAILURE;
    }
    lowtide::main()
}

/// Registers the parts, one line each. A name that lowtide has is an error.
fn register() -> Result<(), Box<dyn Error>> {
    lowtide_tcp::cc::REGISTRY.register(&abe::ENTRY)?;
    lowtide_tcp::cc::REGISTRY.register(&capped::ENTRY)?;
    lowtide_tcp::scheme::REGISTRY.register(&abe_scheme::ENTRY)?;
    lowtide_net::aqm::REGISTRY.register(&tcn::ENTRY)?;
    lowtide_net::topology::REGISTRY.register(&ring::ENTRY)?;
    lowtide_traffic::workload::REGISTRY.register(&ring_all_reduce::ENTRY)?;
    Ok(())
}
