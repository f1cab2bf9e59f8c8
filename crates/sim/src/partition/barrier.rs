//! Where the threads of a run wait for one another.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// So often it looks before it lets others have the processor: some ten microseconds.
const LOOKS: u32 = 1 << 8;

/// All threads must come before any goes on. Windows are shorter than it takes to wake a thread, so whoever
/// waits keeps looking, and lets others run where there are more threads than processors.
#[derive(Debug)]
pub(super) struct Barrier {
    threads: usize,
    come: AtomicUsize,
    /// How often all have come.
    turn: AtomicUsize,
    /// One of them will never come.
    broken: AtomicBool,
}

impl Barrier {
    pub(super) const fn new(threads: usize) -> Self {
        let (come, turn) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { threads, come, turn, broken: AtomicBool::new(false) }
    }

    /// Waits for all. False when one of them will not come: then nothing is to be done any more.
    pub(super) fn wait(&self) -> bool {
        let turn = self.turn.load(Ordering::Acquire);
        if self.come.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.come.store(0, Ordering::Relaxed);
            self.turn.store(turn.wrapping_add(1), Ordering::Release);
        }
        let mut looks = 0;
        while self.turn.load(Ordering::Acquire) == turn {
            if self.broken.load(Ordering::Relaxed) {
                return false;
            }
            if looks < LOOKS {
                looks += 1;
                std::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        !self.broken.load(Ordering::Relaxed)
    }
}

/// Held by each thread: if it panics, the others do not wait for it.
pub(super) struct Member<'a>(pub(super) &'a Barrier);

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_goes_on_before_all_have_come() {
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
    fn who_panics_is_not_waited_for() {
        let barrier = Barrier::new(2);
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                let _member = Member(&barrier);
                panic!("on purpose");
            });
            assert!(!barrier.wait());
            assert!(other.join().is_err());
        });
    }
}
