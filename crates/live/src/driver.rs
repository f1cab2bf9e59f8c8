//! The driver: the thread that moves packets.
//!
//! Each iteration handles arrived packets, due timers and application calls, then sends all
//! resulting packets, in this order. The stack is locked while it processes, not while packets are
//! read and written. Between iterations the thread sleeps until a packet, a timer or an application
//! wakes it.

use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use lowtide_units::Instant;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::{TimeSpec, TimeValLike};

use crate::clock::{Clock, std_duration};
use crate::device::{Device, RxBatch};
use crate::error::LiveError;
use crate::privileges;
use crate::stack::{Stack, TxBatch};

/// A sleep shorter than this is skipped, nanoseconds.
const SHORTEST_SLEEP_NS: i64 = 1_000;

/// State shared by the driver and its applications.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) clock: Clock,
    wake: EventFd,
}

/// State behind the lock.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) stack: Stack,
    /// Whether the thread sleeps, or is about to, and has not been woken.
    asleep: bool,
    /// Whether the thread is to end.
    stopping: bool,
    /// CPU time that the thread has used, nanoseconds.
    pub(crate) cpu_ns: u64,
}

impl State {
    /// Whether the driver must be woken; it counts as awake from now on.
    pub(crate) fn must_wake(&mut self) -> bool {
        self.stack.wants_flush() && std::mem::take(&mut self.asleep)
    }
}

impl Shared {
    pub(crate) fn new(stack: Stack, clock: Clock) -> Result<Arc<Self>, LiveError> {
        let wake = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)
            .map_err(|e| LiveError::system("create an event descriptor", e.into()))?;
        let state = State { stack, asleep: false, stopping: false, cpu_ns: 0 };
        Ok(Arc::new(Self { state: Mutex::new(state), clock, wake }))
    }

    /// Locks the stack for an application call; to be followed by [`Self::unlock`].
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a call: wakes the driver if it has work.
    pub(crate) fn unlock(&self, mut state: MutexGuard<'_, State>) {
        if state.must_wake() {
            drop(state);
            self.wake();
        }
    }

    pub(crate) fn wake(&self) {
        // If the counter is full, the driver is awake already.
        let _ = self.wake.write(1);
    }

    /// Makes the driver end after this iteration.
    pub(crate) fn stop(&self) {
        self.lock().stopping = true;
        self.wake();
    }
}

/// Starts the thread. It ends after [`Shared::stop`], or when the device fails.
pub(crate) fn start(
    shared: &Arc<Shared>,
    device: Device,
    unprivileged: bool,
) -> Result<JoinHandle<()>, LiveError> {
    let shared = Arc::clone(shared);
    std::thread::Builder::new()
        .name("lowtide-live".to_owned())
        .spawn(move || run(&shared, &device, unprivileged))
        .map_err(|e| LiveError::system("start a thread", e))
}

fn run(shared: &Shared, device: &Device, unprivileged: bool) {
    let mut driver =
        Driver { shared, device, batch: TxBatch::default(), inbox: RxBatch::default() };
    // No application may wait for a driver that has ended, not even after a panic.
    let _end = DriverExitGuard(shared);
    if unprivileged && let Err(error) = privileges::drop_all() {
        return shared.lock().stack.fail(&error.to_string());
    }
    while driver.run_iteration() {}
}

/// Notifies applications when the driver ends.
struct DriverExitGuard<'a>(&'a Shared);

impl Drop for DriverExitGuard<'_> {
    fn drop(&mut self) {
        self.0.lock().stack.fail("the driver has ended");
    }
}

struct Driver<'a> {
    shared: &'a Shared,
    device: &'a Device,
    batch: TxBatch,
    inbox: RxBatch,
}

impl Driver<'_> {
    /// Returns false if this was the last iteration.
    fn run_iteration(&mut self) -> bool {
        let clock = self.shared.clock;
        let read = self.device.recv_many(&mut self.inbox, || clock.stamp());
        let mut state = self.shared.lock();
        state.asleep = false;
        for packet in self.inbox.rx_packets() {
            state.stack.handle_packet(clock.now(), &packet, &mut self.batch);
        }
        state.stack.set_checksum_partial(self.device.checksum_partial());
        if let Err(error) = read {
            state.stack.fail(&format!("the device is gone: {error}"));
            return false;
        }
        let now = clock.now();
        state.stack.handle_timeouts(now, &mut self.batch);
        state.stack.flush(now, &mut self.batch);
        state.cpu_ns = thread_cpu_ns();
        let next = state.stack.next_timer();
        let stopping = state.stopping && !state.stack.wants_flush();
        let idle = self.inbox.is_empty() && self.batch.is_empty() && !state.stack.wants_flush();
        state.asleep = idle;
        let progressed = state.stack.take_progressed();
        drop(state);

        self.device.on_forward_progress(&progressed);
        let sent = self.device.send_many(self.batch.packets()).and_then(|unsent| {
            self.device.handle_timeout()?;
            Ok(unsent)
        });
        self.batch.clear();
        match sent {
            Ok(0) => {}
            Ok(unsent) => self.shared.lock().stack.count_unsent(unsent),
            Err(error) => {
                self.shared.lock().stack.fail(&format!("the device is gone: {error}"));
                return false;
            }
        }
        if stopping {
            return false;
        }
        if idle {
            self.sleep(next);
        }
        true
    }

    /// Sleeps until a packet arrives, an application calls, or time `next`.
    fn sleep(&self, next: Option<Instant>) {
        let timeout = next.map(|at| {
            let ns = std_duration(at.saturating_since(self.shared.clock.now())).as_nanos();
            i64::try_from(ns).unwrap_or(i64::MAX)
        });
        let device_timeout =
            self.device.next_timeout().map(|d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX));
        let timeout = timeout.into_iter().chain(device_timeout).min();
        if timeout.is_some_and(|ns| ns < SHORTEST_SLEEP_NS) {
            return;
        }
        let mut fds = [
            PollFd::new(self.device.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.shared.wake.as_fd(), PollFlags::POLLIN),
        ];
        // Errors of the device show when it is read; a signal has no effect.
        let _ = ppoll(&mut fds, timeout.map(TimeSpec::nanoseconds), None);
        if fds[1].any().unwrap_or(false) {
            let _ = self.shared.wake.read();
        }
    }
}

/// CPU time of this thread, nanoseconds.
fn thread_cpu_ns() -> u64 {
    let clock = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
    nix::time::clock_gettime(clock).map_or(0, |t| u64::try_from(t.num_nanoseconds()).unwrap_or(0))
}
