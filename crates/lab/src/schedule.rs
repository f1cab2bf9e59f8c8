//! Scheduler of concurrent runs; starts and returns them in the order of the plan.
//!
//! Contract: the number of threads changes only the duration. A run is a pure function of its
//! specification; runs share nothing.

use std::collections::BTreeMap;
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

/// A finished run of the list.
pub(crate) struct FinishedRun<'a> {
    /// Its index in the list.
    pub(crate) index: usize,
    /// Its result.
    pub(crate) completed: &'a CompletedRun,
    /// Wall time of its simulation; zero if the result is that of another run.
    pub(crate) wall: Duration,
    /// The run of the list that was simulated instead, which has an equal outcome.
    pub(crate) shared_from: Option<&'a RunKey>,
}

/// Callback for a finished run.
pub(crate) type Finish<'a, T> = dyn Fn(FinishedRun<'_>) -> Result<T, LabError> + Sync + 'a;

/// Wraps the work of a thread, which it must call once.
pub type OnThread<'a> = dyn Fn(&mut (dyn FnMut() + Send)) + Sync + 'a;

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
    /// Wraps the work of each thread.
    pub(crate) on_thread: &'a OnThread<'a>,
    /// Backend of the runs; `None` for the simulator.
    pub(crate) backend: Option<&'a dyn Backend>,
    /// Resource limits of the runs.
    pub(crate) limits: ResourceLimits<'a>,
    /// Simulates runs of a scheme with equal outcomes once; not on real packets.
    pub(crate) share: bool,
}

impl Schedule<'_> {
    /// Makes `todo` and passes each result to `finish` on the run's thread. Returns the results of
    /// `finish` in the order of `todo`; `None` for runs after the caller's stop. After a failure no
    /// further run starts; the error of the first failed run in `todo` is returned.
    pub(crate) fn run<T: Send>(
        &self,
        todo: &[(&RunKey, &RunSpec)],
        clock: &(dyn Fn() -> Duration + Sync),
        finish: &Finish<'_, T>,
    ) -> Result<Vec<Option<T>>, LabError> {
        let groups = self.groups(todo);
        let jobs = self.jobs.clamp(1, groups.len().max(1));
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
        let keep = |index: usize, result: Result<T, LabError>| {
            if result.is_err() {
                failed.store(true, Ordering::Relaxed);
            }
            // A poisoned lock would mean a panic in the assignment below.
            if let Ok(mut slot) = done[index].lock() {
                *slot = Some(result);
            }
        };
        let work = || {
            while !self.stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
                let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                let began = clock();
                let (simulated, spec) = todo[group[0]];
                let completed = match self.complete(simulated, spec, threads) {
                    Ok(Some(completed)) => completed,
                    Ok(None) => break,
                    Err(error) => {
                        keep(group[0], Err(error));
                        break;
                    }
                };
                let mut wall = clock().saturating_sub(began);
                let mut shared_from = None;
                for &index in group {
                    let completed = &completed;
                    let result = finish(FinishedRun { index, completed, wall, shared_from });
                    let stored = result.is_ok();
                    keep(index, result);
                    if !stored {
                        break;
                    }
                    (self.progress)(RunProgress::Finished(todo[index].0));
                    (wall, shared_from) = (Duration::ZERO, Some(simulated));
                }
            }
        };
        pool.broadcast(|_| (self.on_thread)(&mut { &work }));
        done.into_iter().map(|slot| slot.into_inner().ok().flatten().transpose()).collect()
    }

    /// Returns the indices of runs that are simulated together; the first of each is simulated.
    fn groups(&self, todo: &[(&RunKey, &RunSpec)]) -> Vec<Vec<usize>> {
        if !self.share || self.backend.is_some() {
            return (0..todo.len()).map(|index| vec![index]).collect();
        }
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut places = BTreeMap::new();
        for (index, (_, spec)) in todo.iter().enumerate() {
            let place = *places.entry((&spec.scheme, &spec.outcome)).or_insert(groups.len());
            match groups.get_mut(place) {
                Some(group) => group.push(index),
                None => groups.push(vec![index]),
            }
        }
        groups
    }

    /// Makes a run; `None` if the caller stopped it.
    fn complete(
        &self,
        key: &RunKey,
        spec: &RunSpec,
        threads: Threads,
    ) -> Result<Option<CompletedRun>, LabError> {
        let setup = spec.setup()?;
        (self.progress)(RunProgress::Started(key));
        match self.backend {
            None => self.simulated(key, spec, &setup, threads),
            Some(backend) => self.measured(key, &setup, backend),
        }
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
            let key = Box::new(key.clone());
            return Err(LabError::Memory { key, cause, resident, limit, stored: true });
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
