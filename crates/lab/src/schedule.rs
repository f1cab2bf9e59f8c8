//! Scheduler of concurrent runs; starts and returns them in the order of the plan.
//!
//! Contract: the number of threads changes only the duration. A run is a pure function of its
//! specification; runs share nothing.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use lowtide_host::{Setup, Threads, run_on};
use lowtide_record::{RunKey, SweepPoint};
use lowtide_rows::EndReason;
use lowtide_scenario::{Estimate, RunPlan, RunSpec};
use lowtide_units::Instant;

use crate::backend::{Backend, CompletedRun};
use crate::budget::{ResourceLimits, overrun};
use crate::error::LabError;

/// Progress of runs, reported from their threads.
#[derive(Clone, Copy)]
pub enum RunProgress<'a> {
    /// Before the first run.
    Planned {
        /// Runs of the plan.
        runs: usize,
        /// Of these, runs that an earlier session finished.
        kept: usize,
    },
    /// A run starts.
    Started(&'a RunKey),
    /// A run has reached this virtual time.
    Running {
        /// The run.
        key: &'a RunKey,
        /// Virtual time reached.
        now: Instant,
        /// Latest end, in virtual time.
        end: Instant,
    },
    /// Number of threads that a run uses.
    Threads {
        /// The run.
        key: &'a RunKey,
        /// Number of threads.
        threads: usize,
        /// Reason for using fewer threads than allowed.
        why: Option<&'a dyn fmt::Display>,
    },
    /// A run is finished.
    Finished(&'a RunKey),
    /// All runs are finished; tables, figures and the report are written.
    Writing,
}

/// Returns the keys of a plan's runs, in its order.
pub(crate) fn keys(plan: &RunPlan) -> Vec<RunKey> {
    let key = |(run, spec): (usize, &RunSpec)| RunKey {
        run: run as u32,
        scheme: spec.scheme.clone(),
        point: SweepPoint(spec.point.clone()),
        seed: spec.seed,
    };
    plan.runs.iter().enumerate().map(key).collect()
}

/// Callback for a finished run: index in the list, setup, result and wall time.
pub(crate) type Finish<'a, T> =
    dyn Fn(usize, &Setup, CompletedRun, Duration) -> Result<T, LabError> + Sync + 'a;

/// Settings of the scheduler.
pub(crate) struct Schedule<'a> {
    /// Concurrent runs, at least one.
    pub(crate) jobs: usize,
    /// Threads per run; `None` to distribute the remaining jobs.
    pub(crate) threads: Option<usize>,
    /// Set by the caller to stop.
    pub(crate) stop: &'a AtomicBool,
    /// Progress callback.
    pub(crate) progress: &'a (dyn Fn(RunProgress<'_>) + Sync),
    /// Backend of the runs; `None` for the simulator.
    pub(crate) backend: Option<&'a dyn Backend>,
    /// Resource limits of the runs.
    pub(crate) limits: ResourceLimits<'a>,
}

impl Schedule<'_> {
    /// Runs `todo` and passes each result to `finish` on the run's thread. Returns the results of
    /// `finish` in the order of `todo`; `None` for runs after the caller's stop. After a failure no
    /// further run starts; the error of the first failed run in `todo` is returned.
    pub(crate) fn run<T: Send>(
        &self,
        todo: &[(&RunKey, &RunSpec)],
        clock: &(dyn Fn() -> Duration + Sync),
        finish: &Finish<'_, T>,
    ) -> Result<Vec<Option<T>>, LabError> {
        let jobs = self.jobs.clamp(1, todo.len().max(1));
        // Real packets share the machine's CPUs: one run at a time.
        let jobs = if self.backend.is_some() { 1 } else { jobs };
        let threads = Threads::up_to(self.threads.unwrap_or(self.jobs / jobs).max(1));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(jobs)
            .build()
            .map_err(|e| LabError::Threads { jobs, reason: e.to_string() })?;
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let done: Vec<Mutex<Option<Result<T, LabError>>>> =
            todo.iter().map(|_| Mutex::new(None)).collect();
        pool.broadcast(|_| {
            while !self.stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some((key, spec)) = todo.get(i) else { break };
                let began = clock();
                let finish = |setup: &Setup, made: CompletedRun| {
                    finish(i, setup, made, clock().saturating_sub(began))
                };
                let Some(result) = self.one(key, spec, threads, &finish).transpose() else { break };
                if result.is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
                // A poisoned lock would mean a panic in the assignment below.
                if let Ok(mut slot) = done[i].lock() {
                    *slot = Some(result);
                }
            }
        });
        done.into_iter().map(|slot| slot.into_inner().ok().flatten().transpose()).collect()
    }

    fn one<T>(
        &self,
        key: &RunKey,
        spec: &RunSpec,
        threads: Threads,
        finish: &dyn Fn(&Setup, CompletedRun) -> Result<T, LabError>,
    ) -> Result<Option<T>, LabError> {
        let setup = spec.setup()?;
        (self.progress)(RunProgress::Started(key));
        let made = match self.backend {
            None => self.simulated(key, spec, &setup, threads)?,
            Some(backend) => self.measured(key, &setup, backend)?,
        };
        let Some(made) = made else { return Ok(None) };
        let finished = finish(&setup, made)?;
        (self.progress)(RunProgress::Finished(key));
        Ok(Some(finished))
    }

    fn simulated(
        &self,
        key: &RunKey,
        spec: &RunSpec,
        setup: &Setup,
        threads: Threads,
    ) -> Result<Option<CompletedRun>, LabError> {
        let end = Instant::ZERO + setup.end.at;
        let mut over = None;
        let (outcome, used) = run_on(setup, threads, &mut |now| {
            (self.progress)(RunProgress::Running { key, now, end });
            over = overrun(&self.limits);
            over.is_some() || self.stop.load(Ordering::Relaxed)
        })
        .map_err(|error| LabError::Run { key: Box::new(key.clone()), error })?;
        if let Some((resident, limit)) = over {
            let cause = spec.key_for_cost(Estimate::of(setup).memory_cause);
            return Err(LabError::Memory { key: Box::new(key.clone()), cause, resident, limit });
        }
        if outcome.reason == EndReason::Interrupted {
            return Ok(None);
        }
        let why = used.why.as_ref().map(|why| why as &dyn fmt::Display);
        (self.progress)(RunProgress::Threads { key, threads: used.threads, why });
        Ok(Some(CompletedRun::simulated(setup, outcome, used.threads)))
    }

    fn measured(
        &self,
        key: &RunKey,
        setup: &Setup,
        backend: &dyn Backend,
    ) -> Result<Option<CompletedRun>, LabError> {
        let end = Instant::ZERO + setup.end.at;
        let watch = &mut |now| {
            (self.progress)(RunProgress::Running { key, now, end });
            self.stop.load(Ordering::Relaxed)
        };
        backend
            .run(setup, watch)
            .map_err(|reason| LabError::Backend { key: Box::new(key.clone()), reason })
    }
}
