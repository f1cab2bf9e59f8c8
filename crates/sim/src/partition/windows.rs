//! The sequence of windows and its threads.

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use lowtide_units::{Duration, Instant};

use super::barrier::{Barrier, PanicGuard};
use super::merge::merge;
use super::{GlobalWorld, LogicalProcess, PartitionedRun, RunBounds, ShardWorld};
use crate::Scheduler;
use crate::world::{POLL_EVERY, Stop, window};

/// The resolution of time.
const TICK: Duration = Duration::from_ps(1);

/// Status that a shard publishes before all decide on the next window.
#[derive(Debug)]
#[repr(align(128))]
struct ShardStatus {
    /// Time of its next event or exported message.
    next: AtomicU64,
    over: AtomicUsize,
    cannot_finish: AtomicBool,
    stop: AtomicBool,
}

impl Default for ShardStatus {
    fn default() -> Self {
        Self {
            next: AtomicU64::new(u64::MAX),
            over: AtomicUsize::new(0),
            cannot_finish: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        }
    }
}

/// The messages from one shard, by destination.
type Mailboxes<M> = Vec<Mutex<Vec<M>>>;

/// State shared by all threads. Statuses and mail are double-buffered by turn: a thread that is one
/// turn ahead does not overwrite data that another still reads.
struct Common<'a, R: ShardWorld> {
    bounds: RunBounds,
    processes: Vec<Mutex<&'a mut LogicalProcess<R>>>,
    statuses: [Vec<ShardStatus>; 2],
    /// By turn, then by source.
    mail: [Vec<Mailboxes<R::Message>>; 2],
    barrier: Barrier,
    /// Time of the next global event. Written while all other threads are at the barrier.
    next_global: AtomicU64,
    /// All awaited items are complete.
    done: AtomicBool,
}

/// The next step. All threads come to the same decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    End(Stop),
    /// No event happens before this time.
    Skip(Instant),
    Window(Instant),
    /// One thread executes it for all shards.
    Merge(Instant),
}

/// Counts of one thread.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    windows: u64,
    merged: u64,
    stop: Option<Stop>,
}

/// Runs all shards to the end of `bounds`, one thread each; this thread runs the first one and the
/// global events. The result is that of [`crate::run`] with one world, for any partition.
///
/// `should_stop` is called occasionally, on this thread. A panic in any thread becomes a panic of
/// this one.
pub fn run_partitioned<R: ShardWorld, C: GlobalWorld<R>>(
    processes: &mut [LogicalProcess<R>],
    (global, global_sched): (&mut C, &mut Scheduler),
    bounds: RunBounds,
    should_stop: &mut dyn FnMut(Instant) -> bool,
) -> PartitionedRun {
    let count = processes.len();
    let boxes = || (0..count).map(|_| Mutex::new(Vec::new())).collect();
    let mailboxes = || (0..count).map(|_| boxes()).collect();
    let statuses = || (0..count).map(|_| ShardStatus::default()).collect();
    let common = Common {
        bounds,
        processes: processes.iter_mut().map(Mutex::new).collect(),
        statuses: [statuses(), statuses()],
        mail: [mailboxes(), mailboxes()],
        barrier: Barrier::new(count),
        next_global: AtomicU64::new(global_sched.peek_time().map_or(u64::MAX, Instant::as_ps)),
        done: AtomicBool::new(false),
    };
    let mut polled = 0;
    let mut ask = |events: u64, now: Instant| {
        // The other threads have handled about as many events.
        let due = events - polled >= POLL_EVERY / count.max(1) as u64;
        if due {
            polled = events;
        }
        due && should_stop(now)
    };
    let tally = thread::scope(|scope| {
        for own in 1..count {
            let common = &common;
            scope.spawn(move || common.work::<C>(own, None));
        }
        common
            .work(0, Some(Leader { global, global_sched: &mut *global_sched, poll_stop: &mut ask }))
    });
    let scheds = || processes.iter().map(|s| &s.sched).chain([&*global_sched]);
    let stop = tally.stop.unwrap_or(Stop::Interrupted);
    let last = scheds().map(Scheduler::now).max().unwrap_or(Instant::ZERO);
    PartitionedRun {
        stop,
        at: if stop == Stop::Time { bounds.until } else { last },
        events: scheds().map(Scheduler::events).sum(),
        windows: tally.windows,
        merged: tally.merged,
    }
}

/// State of the first thread only.
struct Leader<'a, C> {
    global: &'a mut C,
    global_sched: &'a mut Scheduler,
    /// Returns true to stop, given the events so far and the time.
    poll_stop: &'a mut dyn FnMut(u64, Instant) -> bool,
}

impl<R: ShardWorld> Common<'_, R> {
    /// Runs thread `own` from start to end.
    fn work<C: GlobalWorld<R>>(&self, own: usize, mut lead: Option<Leader<'_, C>>) -> Tally {
        let _member = PanicGuard(&self.barrier);
        let mut tally = Tally::default();
        let mut outbox: Vec<Vec<R::Message>> = self.processes.iter().map(|_| Vec::new()).collect();
        let mut done = Instant::ZERO;
        for turn in [0, 1].into_iter().cycle() {
            let next_global = Instant::from_ps(self.next_global.load(Ordering::Acquire));
            // Messages that arrive later may still change at a global event.
            let reach = (done + self.bounds.lookahead).min(next_global + TICK);
            {
                let mut process = lock(&self.processes[own]);
                if let Some(lead) = &mut lead {
                    let stop = (lead.poll_stop)(process.sched.events(), process.sched.now());
                    self.statuses[turn][own].stop.store(stop, Ordering::Release);
                }
                self.publish_status(turn, own, (&mut process, &mut outbox), reach);
            }
            if !self.barrier.wait() {
                break;
            }
            match self.decide(turn, reach, next_global) {
                Next::End(stop) => {
                    tally.stop = Some(stop);
                    break;
                }
                Next::Skip(to) => {
                    self.fetch(turn, own, &mut lock(&self.processes[own]));
                    done = to;
                }
                Next::Window(end) => {
                    let mut process = lock(&self.processes[own]);
                    self.fetch(turn, own, &mut process);
                    let LogicalProcess { shard, sched } = &mut **process;
                    window(shard, sched, end);
                    tally.windows += 1;
                    done = end;
                }
                Next::Merge(end) => {
                    if let Some(lead) = &mut lead {
                        self.merge_window(turn, lead, end);
                    }
                    if !self.barrier.wait() {
                        break;
                    }
                    tally.merged += 1;
                    if self.done.load(Ordering::Acquire) {
                        tally.stop = Some(Stop::Finished);
                        break;
                    }
                    done = end;
                }
            }
        }
        tally
    }

    /// Exports messages that arrive before `reach`, and publishes this shard's status.
    fn publish_status(
        &self,
        turn: usize,
        own: usize,
        (process, outbox): (&mut LogicalProcess<R>, &mut [Vec<R::Message>]),
        reach: Instant,
    ) {
        let leaves = process.shard.export_messages(reach, &mut |to, mail| outbox[to].push(mail));
        for (to, mail) in outbox.iter_mut().enumerate().filter(|(_, mail)| !mail.is_empty()) {
            mem::swap(&mut *lock(&self.mail[turn][own][to]), mail);
        }
        let next = leaves.into_iter().chain(process.sched.peek_time()).min();
        let status = &self.statuses[turn][own];
        status.next.store(next.map_or(u64::MAX, Instant::as_ps), Ordering::Release);
        if self.bounds.completions.is_some() {
            status.over.store(process.shard.completed(), Ordering::Release);
            status
                .cannot_finish
                .store(process.shard.cannot_finish_before(reach), Ordering::Release);
        }
    }

    /// Decides the next step. All events more than a lookahead before `reach` are done, and
    /// messages are exported up to `reach`.
    fn decide(&self, turn: usize, reach: Instant, next_global: Instant) -> Next {
        let RunBounds { until, completions: awaited, .. } = self.bounds;
        let statuses = &self.statuses[turn];
        let next = statuses.iter().map(|n| n.next.load(Ordering::Acquire)).min();
        let next = Instant::from_ps(next.unwrap_or(u64::MAX));
        let first = next.min(next_global);
        if statuses.iter().any(|n| n.stop.load(Ordering::Acquire)) {
            Next::End(Stop::Interrupted)
        } else if first == Instant::FAR_FUTURE {
            Next::End(Stop::Idle)
        } else if first >= until {
            Next::End(Stop::Time)
        } else if first >= reach {
            Next::Skip(first)
        } else if next_global <= next {
            Next::Merge(next_global + TICK)
        } else {
            let end = reach.min(next_global).min(until);
            let cannot_finish = || statuses.iter().any(|n| n.cannot_finish.load(Ordering::Acquire));
            if awaited.is_none() || cannot_finish() { Next::Window(end) } else { Next::Merge(end) }
        }
    }

    /// Imports the messages to a shard.
    fn fetch(&self, turn: usize, own: usize, process: &mut LogicalProcess<R>) {
        for from in &self.mail[turn] {
            let mut mailboxes = lock(&from[own]);
            for mail in mailboxes.drain(..) {
                process.shard.import_message(mail, &mut process.sched);
            }
        }
    }

    /// Executes one window for all shards.
    fn merge_window<C: GlobalWorld<R>>(&self, turn: usize, lead: &mut Leader<'_, C>, end: Instant) {
        let mut all: Vec<_> = self.processes.iter().map(lock).collect();
        for (own, process) in all.iter_mut().enumerate() {
            self.fetch(turn, own, process);
        }
        let mut processes: Vec<&mut LogicalProcess<R>> =
            all.iter_mut().map(|process| &mut ***process).collect();
        let global = (&mut *lead.global, &mut *lead.global_sched);
        let over = merge(&mut processes, global, end, self.bounds.completions);
        self.done.store(over, Ordering::Release);
        let next = lead.global_sched.peek_time().map_or(u64::MAX, Instant::as_ps);
        self.next_global.store(next, Ordering::Release);
    }
}

/// Ignores poisoning: a panicked thread has broken the barrier, so no one reads its data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
