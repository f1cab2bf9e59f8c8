//! Wake-up of waiting applications.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::sys::eventfd::{EfdFlags, EventFd};

/// Threads that wait for a connection or listener, and its registration with a poller.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitQueue {
    state: Arc<WaitState>,
    pub(crate) registration: Option<(Arc<ReadySet>, u64)>,
}

/// Waking takes a system call even without waiters, and every segment changes the state. So waiters
/// are woken only once.
#[derive(Debug, Default)]
struct WaitState {
    changed: Condvar,
    /// Whether a thread may wait that has not been woken.
    has_waiters: AtomicBool,
}

impl WaitQueue {
    /// Waits for a change of the state behind `guard`, at most `timeout`. Returns false on timeout.
    pub(crate) fn wait<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Option<Duration>,
    ) -> (MutexGuard<'a, T>, bool) {
        // The waking thread holds the same lock, so no wake-up is lost between the store and the
        // wait.
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

    /// Wakes waiting threads and marks the registration ready.
    pub(crate) fn wake(&self) {
        if self.state.has_waiters.swap(false, Ordering::Relaxed) {
            self.state.changed.notify_all();
        }
        if let Some((ready_set, token)) = &self.registration {
            ready_set.mark_ready(*token);
        }
    }
}

/// Tokens of streams and listeners that changed since the last call.
#[derive(Debug, Default)]
pub(crate) struct ReadySet {
    changed: Mutex<BTreeSet<u64>>,
    nonempty: Condvar,
    /// Readable while a token is pending, for applications that wait on descriptors as well.
    descriptor: Option<EventFd>,
}

impl ReadySet {
    /// With a descriptor that is readable while a token is pending.
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
        // Waiters were woken by the first token.
        if changed.is_empty() {
            self.nonempty.notify_all();
            // Under the lock, so that the descriptor is readable exactly while a token is pending.
            if let Some(descriptor) = &self.descriptor {
                let _ = descriptor.write(1);
            }
        }
        changed.insert(token);
    }

    /// Returns the tokens that changed, in order. Waits until there is one, at most `timeout`.
    pub(crate) fn wait_ready(&self, timeout: Option<Duration>) -> BTreeSet<u64> {
        let empty = |set: &mut BTreeSet<u64>| set.is_empty();
        let guard = self.lock();
        let mut guard = match timeout {
            None => self.nonempty.wait_while(guard, empty).unwrap_or_else(PoisonError::into_inner),
            Some(t) => {
                let waited = self.nonempty.wait_timeout_while(guard, t, empty);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        if let Some(descriptor) = self.descriptor.as_ref().filter(|_| !guard.is_empty()) {
            let _ = descriptor.read();
        }
        std::mem::take(&mut *guard)
    }
}
