//! The barrier between the threads of a run.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

/// Spins before a thread sleeps: about 20 us.
const SPIN_LIMIT: u32 = 1 << 10;

/// A barrier for all threads. A window takes about as long as waking a thread, so threads spin
/// first. On shared cores the wait is longer: the thread then sleeps, so that the others can run.
#[derive(Debug)]
pub(super) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    /// Number of completed waits.
    generation: AtomicUsize,
    /// A thread panicked and will never arrive.
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

    /// Waits for all threads. Returns false if one panicked; the caller must then stop.
    pub(super) fn wait(&self) -> bool {
        let turn = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            // A sleeper increments `sleepers` before it reads the generation, so no wake-up is
            // lost.
            self.generation.store(turn.wrapping_add(1), Ordering::SeqCst);
            if self.sleepers.load(Ordering::SeqCst) > 0 {
                self.wake();
            }
        } else {
            let waits = || {
                self.generation.load(Ordering::SeqCst) == turn
                    && !self.poisoned.load(Ordering::SeqCst)
            };
            let mut spins = 0;
            while spins < SPIN_LIMIT && waits() {
                spins += 1;
                std::hint::spin_loop();
            }
            if waits() {
                self.sleepers.fetch_add(1, Ordering::SeqCst);
                let mut guard = self.sleep_lock.lock().unwrap_or_else(PoisonError::into_inner);
                while waits() {
                    guard = self.condvar.wait(guard).unwrap_or_else(PoisonError::into_inner);
                }
                drop(guard);
                self.sleepers.fetch_sub(1, Ordering::SeqCst);
            }
        }
        !self.poisoned.load(Ordering::SeqCst)
    }

    #[cold]
    fn wake(&self) {
        let _guard = self.sleep_lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.condvar.notify_all();
    }
}

/// Held by each thread; if it panics, the others stop waiting.
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
