//! The thread that moves packets.
//!
//! One turn: what has arrived goes in, timers that are due fire, what applications have asked for is done, and
//! all that follows is put on the wire, in that order. The stack is locked while it thinks, not while packets
//! are read and written. Between turns the thread sleeps until a packet, a timer or an application wakes it.

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

/// A sleep that would be shorter than this is none, nanoseconds.
const SHORTEST_SLEEP_NS: i64 = 1_000;

/// What the driver and its applications share.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) clock: Clock,
    wake: EventFd,
}

/// What is locked.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) stack: Stack,
    /// The thread sleeps, or is about to, and nobody has woken it.
    asleep: bool,
    /// It is to end.
    stopping: bool,
    /// Processor time that the thread has used, nanoseconds.
    pub(crate) cpu_ns: u64,
}

impl State {
    /// The driver is to be woken; it counts as awake from now on.
    pub(crate) fn must_wake(&mut self) -> bool {
        self.stack.wants_flush() && std::mem::take(&mut self.asleep)
    }
}

impl Shared {
    pub(crate) fn new(stack: Stack, clock: Clock) -> Result<Arc<Self>, LiveError> {
        let wake = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)
            .map_err(|e| LiveError::system("make an event descriptor", e.into()))?;
        let state = State { stack, asleep: false, stopping: false, cpu_ns: 0 };
        Ok(Arc::new(Self { state: Mutex::new(state), clock, wake }))
    }

    /// The stack, for a look or a call of an application; [`Self::unlock`] afterwards.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// After a call: wakes the driver when there is something for it to do.
    pub(crate) fn unlock(&self, mut state: MutexGuard<'_, State>) {
        if state.must_wake() {
            drop(state);
            self.wake();
        }
    }

    pub(crate) fn wake(&self) {
        // Full means that it is awake already.
        let _ = self.wake.write(1);
    }

    /// The driver ends after this turn.
    pub(crate) fn stop(&self) {
        self.lock().stopping = true;
        self.wake();
    }
}

/// Starts the thread. It ends when it is told to, or when the device is gone.
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
    // Nobody shall wait for a driver that is no more, not even after a panic.
    let _end = DriverExitGuard(shared);
    if unprivileged && let Err(error) = privileges::drop_all() {
        return shared.lock().stack.fail(&error.to_string());
    }
    while driver.run_iteration() {}
}

/// Says so when the driver ends.
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
    /// False when there shall be no other.
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
        drop(state);

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

    /// Until a packet comes, somebody calls, or it is `next`.
    fn sleep(&self, next: Option<Instant>) {
        let timeout = next.map(|at| {
            let ns = std_duration(at.saturating_since(self.shared.clock.now())).as_nanos();
            i64::try_from(ns).unwrap_or(i64::MAX)
        });
        let devices =
            self.device.next_timeout().map(|d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX));
        let timeout = timeout.into_iter().chain(devices).min();
        if timeout.is_some_and(|ns| ns < SHORTEST_SLEEP_NS) {
            return;
        }
        let mut fds = [
            PollFd::new(self.device.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.shared.wake.as_fd(), PollFlags::POLLIN),
        ];
        // What went wrong with the device shows when it is read; a signal is no reason to end.
        let _ = ppoll(&mut fds, timeout.map(TimeSpec::nanoseconds), None);
        if fds[1].any().unwrap_or(false) {
            let _ = self.shared.wake.read();
        }
    }
}

/// Processor time of this thread, nanoseconds.
fn thread_cpu_ns() -> u64 {
    let clock = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
    nix::time::clock_gettime(clock).map_or(0, |t| u64::try_from(t.num_nanoseconds()).unwrap_or(0))
}
