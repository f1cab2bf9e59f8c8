//! `lowtide merge`: a run directory from parts.

use crate::args::MergeArgs;
use crate::cmd::run::{check_failed_flows, show};
use crate::error::CommandError;
use crate::output::Output;

pub(crate) fn merge(args: &MergeArgs, out: Output) -> Result<(), CommandError> {
    let (plan, finished) = lowtide_lab::merge(&args.out, &args.parts, &|_| {})?;
    show(&plan, &finished, out)?;
    check_failed_flows(&finished)
}
