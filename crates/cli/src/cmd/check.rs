//! `lowtide check`: everything that can be said without running.

use serde::Serialize;

use crate::args::ScenarioArgs;
use crate::cmd::scenario;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn check(args: &ScenarioArgs, out: Output) -> Result<(), Failure> {
    let plan = scenario(args)?.expand()?;
    let _ = (plan, out);
    Ok(())
}

#[derive(Serialize)]
struct Checked {
    schema: &'static str,
}
