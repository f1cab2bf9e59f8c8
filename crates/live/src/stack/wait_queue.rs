//! How an application that waits is woken.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::sys::eventfd::{EfdFlags, EventFd};

/// Where threads wait for a connection or a listener, and who else wants to know.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitQueue {
    state: Arc<WaitState>,
    pub(crate) registration: Option<(Arc<ReadySet>, u64)>,
}

/// Waking takes a system call even when nobody waits, and there is news with every segment: it is said once to those
/// who wait.
#[derive(Debug, Default)]
struct WaitState {
    changed: Condvar,
    /// Somebody may wait who has not been woken.
    has_waiters: AtomicBool,
}

impl WaitQueue {
    /// Waits for news on what `guard` locks, for at most `timeout`; false when there were none in that time.
    pub(crate) fn wait<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Option<Duration>,
    ) -> (MutexGuard<'a, T>, bool) {
        // Whoever wakes holds the same lock, so that nothing comes between this and the wait.
        self.state.has_waiters.store(true, Ordering::Relaxed);
        let changed = &self.state.changed;
        match timeout {
            None => (changed.wait(guard).unwrap_or_else(PoisonError::into_inner), true),
            Some(timeout) => {
                let waited = changed.wait_timeout(guard, timeout);
                let (guard, result) = waited.unwrap_or_else(PoisonError::into_inner);
                (guard, !result.timed_out())
            }
        }
    }

    /// Something changed.
    pub(crate) fn wake(&self) {
        if self.state.has_waiters.swap(false, Ordering::Relaxed) {
            self.state.changed.notify_all();
        }
        if let Some((watch, token)) = &self.registration {
            watch.mark_ready(*token);
        }
    }
}

/// Tokens of streams and listeners that changed and were not asked for yet.
#[derive(Debug, Default)]
pub(crate) struct ReadySet {
    changed: Mutex<BTreeSet<u64>>,
    nonempty: Condvar,
    /// Readable while a token waits, for whoever waits for descriptors as well.
    descriptor: Option<EventFd>,
}

impl ReadySet {
    /// With a descriptor that is readable while a token waits.
    pub(crate) fn with_descriptor() -> std::io::Result<Self> {
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        Ok(Self { descriptor: Some(EventFd::from_flags(flags)?), ..Self::default() })
    }

    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.descriptor.as_ref().map(AsFd::as_fd)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn mark_ready(&self, token: u64) {
        let mut changed = self.lock();
        // Who waits was woken by the first.
        if changed.is_empty() {
            self.nonempty.notify_all();
            // Under the lock: what is taken and what is readable never differ.
            if let Some(descriptor) = &self.descriptor {
                let _ = descriptor.write(1);
            }
        }
        changed.insert(token);
    }

    /// The tokens that changed, in order; waits until there is one, at most `timeout`.
    pub(crate) fn wait_ready(&self, timeout: Option<Duration>) -> BTreeSet<u64> {
        let none = |set: &mut BTreeSet<u64>| set.is_empty();
        let guard = self.lock();
        let mut guard = match timeout {
            None => self.nonempty.wait_while(guard, none).unwrap_or_else(PoisonError::into_inner),
            Some(t) => {
                let waited = self.nonempty.wait_timeout_while(guard, t, none);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        if let Some(descriptor) = self.descriptor.as_ref().filter(|_| !guard.is_empty()) {
            let _ = descriptor.read();
        }
        std::mem::take(&mut *guard)
    }
}
