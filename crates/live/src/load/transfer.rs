//! Client and server of one process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::run::OpenFn;
use super::serve::ServePlan;
use super::{Accept, LoadPlan, LoadReport, StreamReport, run, serve};

/// The client's work and its server's, which ends when the client is done: what the one and the other saw.
///
/// # Errors
/// The listener is gone.
pub fn transfer(
    listener: &dyn Accept,
    open: &OpenFn<'_>,
    load: &LoadPlan,
) -> std::io::Result<(LoadReport, Vec<StreamReport>)> {
    let over = AtomicBool::new(false);
    let served = Mutex::new(Vec::new());
    let report = std::thread::scope(|scope| {
        let server = std::thread::Builder::new().spawn_scoped(scope, || {
            let plan = ServePlan::for_trusted(load.flows.len(), &over);
            serve(listener, plan, &|report| {
                served.lock().unwrap_or_else(PoisonError::into_inner).push(report);
            })
        })?;
        let report = run(load, open, &AtomicBool::new(false), &mut |_| {});
        over.store(true, Ordering::Relaxed);
        server.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok::<_, std::io::Error>(report)
    })?;
    Ok((report, served.into_inner().unwrap_or_else(PoisonError::into_inner)))
}
