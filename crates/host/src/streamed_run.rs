//! A run whose trace is passed on in parts, so that it need not fit into memory.
//!
//! Contract: the parts of a complete run, one after the other, are the trace of [`crate::run`], and
//! the digest is the same.

use lowtide_sim::Stop;
use lowtide_units::Instant;

use crate::error::RunError;
use crate::results::outcome::Outcome;
use crate::results::trace::Trace;
use crate::run::{begin, conclude};
use crate::setup::Setup;

/// A part of a trace.
#[derive(Debug)]
pub struct TracePart<'a> {
    /// Rows from the end of the part before on.
    pub rows: Trace,
    /// End of the part: later parts have no rows before it.
    pub until: Instant,
    /// Names of the ports, by number.
    pub ports: &'a [String],
}

/// Runs `setup`. After every [`lowtide_sim::POLL_EVERY`] events `take` gets a part of the trace;
/// `true` ends the run as interrupted. The last part has all remaining rows.
pub fn run_streamed(
    setup: &Setup,
    take: &mut dyn FnMut(TracePart<'_>) -> bool,
) -> Result<Outcome, RunError> {
    let (mut world, mut sched) = begin(setup)?;
    let count = world.net.ports().count();
    let name = |port| world.net.digest_name(port).unwrap_or_default().to_owned();
    let ports: Vec<String> = (0..count).map(name).collect();
    let end = world.end;
    let stop = loop {
        let stop = lowtide_sim::run(&mut world, &mut sched, end, &mut |_| true);
        if stop != Stop::Interrupted {
            break stop;
        }
        let now = sched.now();
        let (rows, until) = match &mut world.tracer {
            Some(tracer) => tracer.take_final(now, &mut world.net),
            None => (Trace::default(), now),
        };
        if take(TracePart { rows, until, ports: &ports }) {
            break stop;
        }
    };
    let mut outcome = conclude(world, &sched, stop);
    let rows = outcome.trace.take().unwrap_or_default();
    if stop != Stop::Interrupted {
        take(TracePart { rows, until: Instant::FAR_FUTURE, ports: &ports });
    }
    Ok(outcome)
}
