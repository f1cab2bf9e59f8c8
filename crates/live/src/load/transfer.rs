//! Client and server in one process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::run::OpenFn;
use super::serve::ServePlan;
use super::{Accept, LoadPlan, LoadReport, StreamReport, run, serve};

/// Runs a client and its server, which ends with the client. Returns the reports of both.
///
/// # Errors
/// The listener is gone.
pub fn transfer(
    listener: &dyn Accept,
    open: &OpenFn<'_>,
    load: &LoadPlan,
) -> std::io::Result<(LoadReport, Vec<StreamReport>)> {
    let stop = AtomicBool::new(false);
    let served = Mutex::new(Vec::new());
    let report = std::thread::scope(|scope| {
        let server = std::thread::Builder::new().spawn_scoped(scope, || {
            let plan = ServePlan::for_trusted(load.flows.len(), &stop);
            serve(listener, plan, &|report| {
                served.lock().unwrap_or_else(PoisonError::into_inner).push(report);
            })
        })?;
        let report = run(load, open, &AtomicBool::new(false), &mut |_| {});
        stop.store(true, Ordering::Relaxed);
        server.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok::<_, std::io::Error>(report)
    })?;
    Ok((report, served.into_inner().unwrap_or_else(PoisonError::into_inner)))
}
