//! The windows, one after the other, and the threads that do them.

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

/// The least time after which something can be.
const TICK: Duration = Duration::from_ps(1);

/// What a region tells the others before they decide on the next window.
#[derive(Debug)]
#[repr(align(128))]
struct ShardStatus {
    /// When anything happens next in it, or comes from it.
    next: AtomicU64,
    over: AtomicUsize,
    outlasts: AtomicBool,
    stop: AtomicBool,
}

impl Default for ShardStatus {
    fn default() -> Self {
        Self {
            next: AtomicU64::new(u64::MAX),
            over: AtomicUsize::new(0),
            outlasts: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        }
    }
}

/// What comes from one region, by whom it is for.
type Letters<M> = Vec<Mutex<Vec<M>>>;

/// What all threads see. Notices and mail are there twice, for turns in alternation: who is ahead by a
/// turn does not write what another still reads.
struct Common<'a, R: ShardWorld> {
    bounds: RunBounds,
    shares: Vec<Mutex<&'a mut LogicalProcess<R>>>,
    notices: [Vec<ShardStatus>; 2],
    /// By turn, then from whom.
    mail: [Vec<Letters<R::Message>>; 2],
    barrier: Barrier,
    /// When the conductor's next event is. Written while all others wait for it to be.
    agenda: AtomicU64,
    /// All is over that was awaited.
    done: AtomicBool,
}

/// What the threads do next. All come to the same conclusion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    End(Stop),
    /// Nothing happens before this time.
    Skip(Instant),
    Window(Instant),
    /// One thread does it for all.
    Merge(Instant),
}

/// What one thread did.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    windows: u64,
    merged: u64,
    stop: Option<Stop>,
}

/// Runs all regions to the end of `bounds`, a thread for each; this thread does the first one, and the
/// conductor. As [`crate::run`] with one world, whatever the regions.
///
/// `should_stop` is asked now and then, on this thread. A panic in any thread becomes one of this thread.
pub fn run_partitioned<R: ShardWorld, C: GlobalWorld<R>>(
    shares: &mut [LogicalProcess<R>],
    (conductor, agenda): (&mut C, &mut Scheduler),
    bounds: RunBounds,
    should_stop: &mut dyn FnMut(Instant) -> bool,
) -> PartitionedRun {
    let count = shares.len();
    let boxes = || (0..count).map(|_| Mutex::new(Vec::new())).collect();
    let letters = || (0..count).map(|_| boxes()).collect();
    let notices = || (0..count).map(|_| ShardStatus::default()).collect();
    let common = Common {
        bounds,
        shares: shares.iter_mut().map(Mutex::new).collect(),
        notices: [notices(), notices()],
        mail: [letters(), letters()],
        barrier: Barrier::new(count),
        agenda: AtomicU64::new(agenda.peek_time().map_or(u64::MAX, Instant::as_ps)),
        done: AtomicBool::new(false),
    };
    let mut polled = 0;
    let mut ask = |events: u64, now: Instant| {
        // The others have done about as much.
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
        common.work(0, Some(Leader { conductor, agenda: &mut *agenda, poll_stop: &mut ask }))
    });
    let scheds = || shares.iter().map(|s| &s.sched).chain([&*agenda]);
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

/// What only the first thread has.
struct Leader<'a, C> {
    conductor: &'a mut C,
    agenda: &'a mut Scheduler,
    /// Whether to stop, given the events so far and the time.
    poll_stop: &'a mut dyn FnMut(u64, Instant) -> bool,
}

impl<R: ShardWorld> Common<'_, R> {
    /// What thread `own` does from begin to end.
    fn work<C: GlobalWorld<R>>(&self, own: usize, mut lead: Option<Leader<'_, C>>) -> Tally {
        let _member = PanicGuard(&self.barrier);
        let mut tally = Tally::default();
        let mut outbox: Vec<Vec<R::Message>> = self.shares.iter().map(|_| Vec::new()).collect();
        let mut done = Instant::ZERO;
        for turn in [0, 1].into_iter().cycle() {
            let agenda = Instant::from_ps(self.agenda.load(Ordering::Acquire));
            // The conductor may take back what has not come to another region by then.
            let reach = (done + self.bounds.lookahead).min(agenda + TICK);
            {
                let mut share = lock(&self.shares[own]);
                if let Some(lead) = &mut lead {
                    let stop = (lead.poll_stop)(share.sched.events(), share.sched.now());
                    self.notices[turn][own].stop.store(stop, Ordering::Release);
                }
                self.publish_status(turn, own, (&mut share, &mut outbox), reach);
            }
            if !self.barrier.wait() {
                break;
            }
            match self.decide(turn, reach, agenda) {
                Next::End(stop) => {
                    tally.stop = Some(stop);
                    break;
                }
                Next::Skip(to) => {
                    self.fetch(turn, own, &mut lock(&self.shares[own]));
                    done = to;
                }
                Next::Window(end) => {
                    let mut share = lock(&self.shares[own]);
                    self.fetch(turn, own, &mut share);
                    let LogicalProcess { shard: region, sched } = &mut **share;
                    window(region, sched, end);
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

    /// Sends what comes to others before `reach`, and tells what they must know to decide.
    fn publish_status(
        &self,
        turn: usize,
        own: usize,
        (share, outbox): (&mut LogicalProcess<R>, &mut [Vec<R::Message>]),
        reach: Instant,
    ) {
        let leaves = share.shard.export_messages(reach, &mut |to, mail| outbox[to].push(mail));
        for (to, mail) in outbox.iter_mut().enumerate().filter(|(_, mail)| !mail.is_empty()) {
            mem::swap(&mut *lock(&self.mail[turn][own][to]), mail);
        }
        let next = leaves.into_iter().chain(share.sched.peek_time()).min();
        let notice = &self.notices[turn][own];
        notice.next.store(next.map_or(u64::MAX, Instant::as_ps), Ordering::Release);
        if self.bounds.completions.is_some() {
            notice.over.store(share.shard.completed(), Ordering::Release);
            notice.outlasts.store(share.shard.cannot_finish_before(reach), Ordering::Release);
        }
    }

    /// All is done that is more than a lookahead before `reach`, and mail is there up to `reach`.
    fn decide(&self, turn: usize, reach: Instant, agenda: Instant) -> Next {
        let RunBounds { until, completions: awaited, .. } = self.bounds;
        let notices = &self.notices[turn];
        let next = notices.iter().map(|n| n.next.load(Ordering::Acquire)).min();
        let next = Instant::from_ps(next.unwrap_or(u64::MAX));
        let first = next.min(agenda);
        if notices.iter().any(|n| n.stop.load(Ordering::Acquire)) {
            Next::End(Stop::Interrupted)
        } else if first == Instant::FAR_FUTURE {
            Next::End(Stop::Idle)
        } else if first >= until {
            Next::End(Stop::Time)
        } else if first >= reach {
            Next::Skip(first)
        } else if agenda <= next {
            Next::Merge(agenda + TICK)
        } else {
            let end = reach.min(agenda).min(until);
            let outlasts = || notices.iter().any(|n| n.outlasts.load(Ordering::Acquire));
            if awaited.is_none() || outlasts() { Next::Window(end) } else { Next::Merge(end) }
        }
    }

    /// Takes in the mail of a share.
    fn fetch(&self, turn: usize, own: usize, share: &mut LogicalProcess<R>) {
        for from in &self.mail[turn] {
            let mut letters = lock(&from[own]);
            for mail in letters.drain(..) {
                share.shard.import_message(mail, &mut share.sched);
            }
        }
    }

    /// One window for all.
    fn merge_window<C: GlobalWorld<R>>(&self, turn: usize, lead: &mut Leader<'_, C>, end: Instant) {
        let mut all: Vec<_> = self.shares.iter().map(lock).collect();
        for (own, share) in all.iter_mut().enumerate() {
            self.fetch(turn, own, share);
        }
        let mut shares: Vec<&mut LogicalProcess<R>> =
            all.iter_mut().map(|share| &mut ***share).collect();
        let conductor = (&mut *lead.conductor, &mut *lead.agenda);
        let over = merge(&mut shares, conductor, end, self.bounds.completions);
        self.done.store(over, Ordering::Release);
        let next = lead.agenda.peek_time().map_or(u64::MAX, Instant::as_ps);
        self.agenda.store(next, Ordering::Release);
    }
}

/// A thread that panicked has broken the barrier: nobody looks at what it left.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
