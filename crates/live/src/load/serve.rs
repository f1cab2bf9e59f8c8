//! Many connections at the server's side.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::exchange::{Progress, serve_one};
use super::run::StreamReport;
use super::{Accept, Pipe};
use crate::clock::Clock;

/// When a server ends.
#[derive(Clone, Copy)]
pub struct ServePlan<'a> {
    /// After so many connections; `None` for never.
    pub connections: Option<usize>,
    /// When somebody sets this.
    pub stop: &'a AtomicBool,
    /// Is told of each connection when it begins.
    pub began: &'a (dyn Fn(&Arc<dyn Pipe>) + Sync),
}

/// How often a server that waits looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// Serves every connection that comes in, each by a thread of its own, and tells `done` how it went.
///
/// # Errors
/// The listener is gone.
pub fn serve(
    listener: &dyn Accept,
    plan: ServePlan<'_>,
    done: &(dyn Fn(StreamReport) + Sync),
) -> io::Result<()> {
    let clock = Clock::start();
    std::thread::scope(|scope| {
        let mut accepted = 0;
        let all: Result<(), io::Error> = loop {
            if plan.stop.load(Ordering::Relaxed) || plan.connections.is_some_and(|n| accepted >= n)
            {
                break Ok(());
            }
            let pipe = match listener.next(LOOK) {
                Ok(Some(pipe)) => pipe,
                Ok(None) => continue,
                Err(e) => break Err(e),
            };
            accepted += 1;
            (plan.began)(&pipe);
            let number = accepted;
            let serve = move || done(one(&pipe, number, clock));
            if let Err(e) = std::thread::Builder::new().spawn_scoped(scope, serve) {
                break Err(e);
            }
        };
        all
    })
}

fn one(pipe: &Arc<dyn Pipe>, number: usize, clock: Clock) -> StreamReport {
    let start = clock.now();
    let progress = Progress::default();
    let peer = pipe.peer().ok();
    let result = serve_one(&**pipe, &progress);
    let mut report = StreamReport {
        number,
        peer,
        way: None,
        start: start.since_start(),
        bytes: progress.bytes.load(Ordering::Relaxed),
        took: clock.now().saturating_since(start),
        outcome: None,
        error: None,
        info: pipe.info(),
    };
    match result {
        Ok((request, outcome)) => {
            report.way = Some(request.way);
            report.outcome = Some(outcome);
        }
        Err(error) => report.error = Some(error.to_string()),
    }
    report
}
