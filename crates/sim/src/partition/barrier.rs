//! Where the threads of a run wait for one another.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

/// So often a thread looks before it goes to sleep: some twenty microseconds.
const SPIN_LIMIT: u32 = 1 << 10;

/// All threads must come before any goes on. Windows are about as long as it takes to wake a thread, so whoever
/// waits keeps looking for a while. Where others have the processor that takes longer: then it sleeps, so that
/// the thread that it waits for may run.
#[derive(Debug)]
pub(super) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    /// How often all have come.
    generation: AtomicUsize,
    /// One of them will never come.
    poisoned: AtomicBool,
    sleepers: AtomicUsize,
    sleep_lock: Mutex<()>,
    condvar: Condvar,
}

impl Barrier {
    pub(super) const fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            poisoned: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            sleep_lock: Mutex::new(()),
            condvar: Condvar::new(),
        }
    }

    /// Waits for all. False when one of them will not come: then nothing is to be done any more.
    pub(super) fn wait(&self) -> bool {
        let turn = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            // Whoever goes to sleep says so and then looks at the turn, so one of the two sees the other.
            self.generation.store(turn.wrapping_add(1), Ordering::SeqCst);
            if self.sleepers.load(Ordering::SeqCst) > 0 {
                self.wake();
            }
        } else {
            let waits = || {
                self.generation.load(Ordering::SeqCst) == turn
                    && !self.poisoned.load(Ordering::SeqCst)
            };
            let mut looks = 0;
            while looks < SPIN_LIMIT && waits() {
                looks += 1;
                std::hint::spin_loop();
            }
            if waits() {
                self.sleepers.fetch_add(1, Ordering::SeqCst);
                let mut bed = self.sleep_lock.lock().unwrap_or_else(PoisonError::into_inner);
                while waits() {
                    bed = self.condvar.wait(bed).unwrap_or_else(PoisonError::into_inner);
                }
                drop(bed);
                self.sleepers.fetch_sub(1, Ordering::SeqCst);
            }
        }
        !self.poisoned.load(Ordering::SeqCst)
    }

    #[cold]
    fn wake(&self) {
        let _bed = self.sleep_lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.condvar.notify_all();
    }
}

/// Held by each thread: if it panics, the others do not wait for it.
pub(super) struct PanicGuard<'a>(pub(super) &'a Barrier);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.poisoned.store(true, Ordering::SeqCst);
            self.0.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_passes_before_all_have_arrived() {
        let (barrier, steps) = (Barrier::new(4), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for turn in 1..=200 {
                        steps.fetch_add(1, Ordering::Relaxed);
                        assert!(barrier.wait());
                        assert_eq!(steps.load(Ordering::Relaxed), 4 * turn);
                        assert!(barrier.wait());
                    }
                });
            }
        });
    }

    #[test]
    fn a_panicking_thread_releases_the_others() {
        let barrier = Barrier::new(2);
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                let _member = PanicGuard(&barrier);
                panic!("on purpose");
            });
            assert!(!barrier.wait());
            assert!(other.join().is_err());
        });
    }
}
