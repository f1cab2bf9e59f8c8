//! The relay's thread.
//!
//! Each iteration waits for events of both TCPs and accepts connections. It gives places to those
//! that may have one ([`crate::admission`]), and forwards data of the connections that changed.
//! Each connection forwards a limited number of bytes per iteration. Timeouts are checked several
//! times a second.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::connection::{NextStep, RelayEndReason, RelayedConnection};
use super::plan::{ListenAddr, RelayPlan};
use super::relay_socket::EventSources;
use super::stats::RelayStats;
use crate::admission::{AdmissionQueue, CloseCause};
use crate::clock::{Clock, std_duration};
use crate::error::LiveError;
use crate::socket::{Listener, Live, NonblockingSocket, Poller};

/// Interval for checking timeouts and the stop flag.
const TICK: Duration = Duration::from_millis(50);
/// Most bytes that one direction forwards before other connections run.
const BUDGET: usize = 256 << 10;
/// Most connections accepted from a listener before others run.
const MAX_ACCEPTS: usize = 256;
/// Descriptors of a process besides those of its connections.
const DESCRIPTORS: u64 = 100;
/// Most epoll events taken per call.
const MAX_EVENTS: usize = 256;
/// Tokens: the poller of lowtide; listeners from `LISTENERS` on; connections below.
const POLLER: u64 = u64::MAX;
const LISTENERS: u64 = 1 << 62;

/// Raises the limit of open descriptors to `needed`, or as far as the system permits. If it is too
/// low, connections wait in the kernel's backlog.
fn raise_descriptor_limit(needed: u64) {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < needed
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, needed.min(hard), hard);
    }
}

#[derive(Debug)]
enum RelayListener {
    Kernel(TcpListener),
    Lowtide(Listener),
}

impl RelayListener {
    /// Accepts the next connection, if one waits. Returns it with its client's address.
    fn accept(&self) -> io::Result<Option<(NonblockingSocket, IpAddr)>> {
        let socket = match self {
            Self::Kernel(listener) => listener
                .accept()
                .and_then(|(s, from)| Ok((NonblockingSocket::kernel(s)?, from.ip()))),
            Self::Lowtide(listener) => listener
                .accept()
                .and_then(|(s, from)| Ok((NonblockingSocket::lowtide(s)?, from.ip()))),
        };
        match socket {
            Ok(socket) => Ok(Some(socket)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// An accepted connection without a target, and the index of its route.
type Accepted = (usize, NonblockingSocket);

/// A relay whose listeners are open.
#[derive(Debug)]
pub struct Relay<'a> {
    live: &'a Live,
    plan: RelayPlan,
    sources: EventSources,
    /// The listener of each route, and whether a connection may wait there.
    listeners: Vec<(RelayListener, bool)>,
    /// Open connections by their numbers.
    connections: BTreeMap<usize, RelayedConnection>,
    queue: AdmissionQueue<Accepted>,
    /// Connections to run again without an event.
    rescheduled: BTreeSet<usize>,
    /// Whether connections wait for a place.
    is_at_limit: bool,
    stats: RelayStats,
    published_stats: Arc<Mutex<RelayStats>>,
    clock: Clock,
    buffer: Vec<u8>,
}

impl<'a> Relay<'a> {
    /// Opens the listeners of all routes; connections wait there until [`Self::run`].
    ///
    /// # Errors
    /// A port is in use, an address is not local, or no descriptors are left.
    pub fn open(live: &'a Live, plan: RelayPlan) -> Result<Self, LiveError> {
        // A route has one descriptor of the kernel for each connection, waiting ones included.
        let connections = (plan.admission.max_connections as u64).saturating_mul(2);
        raise_descriptor_limit(connections.saturating_add(DESCRIPTORS));
        let failed = |e: Errno| LiveError::system("create an event descriptor", e.into());
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed)?;
        let poller = Poller::with_descriptor()
            .map_err(|e| LiveError::system("create an event descriptor", e))?;
        if let Some(fd) = poller.descriptor() {
            epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, POLLER)).map_err(failed)?;
        }
        let sources = EventSources { epoll, poller };
        let mut listeners = Vec::new();
        for (token, route) in (LISTENERS..).zip(&plan.routes) {
            let listener = match route.listen {
                ListenAddr::Kernel(address) => {
                    let what = |e| LiveError::system(format!("listen on {address}"), e);
                    let listener = TcpListener::bind(address).map_err(what)?;
                    listener.set_nonblocking(true).map_err(what)?;
                    sources.add(&listener, token).map_err(what)?;
                    RelayListener::Kernel(listener)
                }
                ListenAddr::Lowtide(port) => {
                    let what = |e| LiveError::system(format!("listen on lowtide's port {port}"), e);
                    let listener = live.listen(port, &plan.config).map_err(what)?;
                    listener.set_nonblocking(true);
                    sources.poller.watch_listener(&listener, token);
                    RelayListener::Lowtide(listener)
                }
            };
            listeners.push((listener, true));
        }
        Ok(Self {
            live,
            sources,
            listeners,
            connections: BTreeMap::new(),
            queue: AdmissionQueue::new(plan.admission),
            rescheduled: BTreeSet::new(),
            is_at_limit: false,
            stats: RelayStats::default(),
            published_stats: Arc::default(),
            clock: Clock::start(),
            buffer: vec![0; plan.buffer_size.max(1)],
            plan,
        })
    }

    /// Counters for another thread, updated several times a second.
    pub fn shared_stats(&self) -> Arc<Mutex<RelayStats>> {
        Arc::clone(&self.published_stats)
    }

    /// Relays until `stop` is set. Then no connection is accepted, and open ones have the plan's
    /// drain timeout to end.
    ///
    /// # Errors
    /// The device is gone, or epoll failed.
    pub fn run(mut self, stop: &AtomicBool) -> io::Result<RelayStats> {
        let result = self.event_loop(stop);
        for number in self.connections.keys().copied().collect::<Vec<_>>() {
            self.close(number, RelayEndReason::ShutDown);
        }
        self.publish_stats();
        result.map(|()| self.stats)
    }

    fn event_loop(&mut self, stop: &AtomicBool) -> io::Result<()> {
        let mut events = vec![EpollEvent::empty(); MAX_EVENTS];
        let (mut last_check, mut deadline) = (Duration::ZERO, None);
        loop {
            self.live.check()?;
            let now = self.now();
            if stop.load(Ordering::Relaxed) && deadline.is_none() {
                // Connections in the backlog are reset with their listener.
                self.listeners.clear();
                for (_, source) in self.queue.drain_waiting() {
                    self.stats.reset_at_shutdown += 1;
                    source.abort();
                }
                deadline = Some(now + self.plan.drain_timeout);
            }
            if deadline.is_some_and(|deadline| self.stats.open == 0 || now >= deadline) {
                return Ok(());
            }
            if now.saturating_sub(last_check) >= TICK {
                last_check = now;
                self.check_timeouts(now);
                self.publish_stats();
            }
            let more_to_accept = self.accept();
            self.admit();
            let mut changed = std::mem::take(&mut self.rescheduled);
            let may_wait = changed.is_empty() && !more_to_accept;
            self.wait(&mut events, may_wait, &mut changed)?;
            for number in changed {
                self.serve(number);
            }
        }
    }

    fn now(&self) -> Duration {
        std_duration(self.clock.now().since_start())
    }

    fn publish_stats(&mut self) {
        self.stats.buffered_bytes =
            self.connections.values().map(RelayedConnection::buffered_bytes).sum();
        self.stats.waiting = self.queue.waiting();
        self.stats.max_buffered_bytes =
            self.stats.max_buffered_bytes.max(self.stats.buffered_bytes);
        *self.published_stats.lock().unwrap_or_else(PoisonError::into_inner) = self.stats;
    }

    /// Adds connections with events to `changed`. Waits for events, at most a tick, if `may_wait`.
    fn wait(
        &mut self,
        events: &mut [EpollEvent],
        may_wait: bool,
        changed: &mut BTreeSet<usize>,
    ) -> io::Result<()> {
        let tick = u16::try_from(TICK.as_millis()).unwrap_or(u16::MAX);
        let timeout = if may_wait { EpollTimeout::from(tick) } else { EpollTimeout::ZERO };
        let n = match self.sources.epoll.wait(events, timeout) {
            Err(Errno::EINTR) => 0,
            n => n?,
        };
        for event in events.iter().take(n) {
            if event.data() != POLLER {
                self.mark_ready(event.data(), changed);
                continue;
            }
            for ready in self.sources.poller.wait(Some(Duration::ZERO)) {
                self.mark_ready(ready.0, changed);
            }
        }
        Ok(())
    }

    /// Marks the owner of `token` as ready. A stale token is harmless: its connection finds nothing
    /// to do.
    fn mark_ready(&mut self, token: u64, changed: &mut BTreeSet<usize>) {
        if token < LISTENERS {
            changed.insert((token >> 1) as usize);
        } else if let Some(listener) = self.listeners.get_mut((token - LISTENERS) as usize) {
            listener.1 = true;
        }
    }

    /// Accepts connections from all backlogs, a limited number of each in an iteration. Returns
    /// whether more may wait there.
    fn accept(&mut self) -> bool {
        let mut more = false;
        for index in 0..self.listeners.len() {
            for number in 1..=MAX_ACCEPTS {
                let Some((listener, true)) = self.listeners.get(index) else { break };
                match listener.accept() {
                    Ok(Some((source, address))) => {
                        self.stats.accepted += 1;
                        let now = self.clock.now();
                        self.queue.arrive(now, address, (index, source));
                        self.admit();
                        more |= number == MAX_ACCEPTS;
                    }
                    Ok(None) => self.listeners[index].1 = false,
                    Err(_) => {
                        // The connection is gone, or no descriptors are left: try again next
                        // iteration.
                        self.stats.accept_errors += 1;
                        break;
                    }
                }
            }
        }
        more
    }

    /// Gives places to connections that may have one, and closes those that they replace.
    fn admit(&mut self) {
        loop {
            let connections = &self.connections;
            let moved = |number| connections.get(&number).map_or(0, RelayedConnection::moved_bytes);
            let Some(admitted) = self.queue.admit(self.clock.now(), &moved) else { break };
            if let Some(victim) = admitted.replaces {
                self.close(victim, RelayEndReason::Admission(CloseCause::Replaced));
            }
            let (route, source) = admitted.stream;
            if !self.open_target(admitted.number, route, source) {
                self.queue.remove(admitted.number);
                self.stats.unreachable += 1;
            }
        }
        while let Some((_, refused)) = self.queue.take_overflow() {
            self.stats.refused += 1;
            refused.abort();
        }
        if self.queue.waiting() > 0 && !self.is_at_limit {
            self.stats.at_limit += 1;
        }
        self.is_at_limit = self.queue.waiting() > 0;
    }

    /// Opens the target side of a connection accepted by a route. Returns false if it cannot be
    /// opened.
    fn open_target(&mut self, number: usize, route: usize, source: NonblockingSocket) -> bool {
        let Some(route) = self.plan.routes.get(route) else {
            source.abort();
            return false;
        };
        let target = match route.listen {
            ListenAddr::Kernel(_) => {
                NonblockingSocket::to_lowtide(self.live, route.target, &self.plan.config)
            }
            ListenAddr::Lowtide(_) => NonblockingSocket::to_kernel(route.target),
        };
        let Ok(target) = target else {
            source.abort();
            return false;
        };
        let token = (number as u64) << 1;
        let registered = source.register(&self.sources, token);
        if registered.and_then(|()| target.register(&self.sources, token | 1)).is_err() {
            source.abort();
            target.abort();
            return false;
        }
        self.connections.insert(number, RelayedConnection::new(source, target, self.now()));
        self.stats.open += 1;
        self.stats.max_open = self.stats.max_open.max(self.stats.open);
        true
    }

    fn serve(&mut self, number: usize) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let before = connection.buffered_bytes();
        let next = connection.forward(&mut self.buffer, BUDGET, &mut self.stats);
        let stats = &mut self.stats;
        stats.buffered_bytes = stats.buffered_bytes + connection.buffered_bytes() - before;
        stats.max_buffered_bytes = stats.max_buffered_bytes.max(stats.buffered_bytes);
        match next {
            NextStep::Wait => {}
            NextStep::Reschedule => {
                self.rescheduled.insert(number);
            }
            NextStep::End(reason) => self.close(number, reason),
        }
    }

    fn close(&mut self, number: usize, reason: RelayEndReason) {
        let Some(connection) = self.connections.remove(&number) else { return };
        self.queue.remove(number);
        self.stats.open -= 1;
        self.stats.buffered_bytes -= connection.buffered_bytes();
        reason.count(&mut self.stats);
        connection.close(reason);
    }

    /// Ends connections that timed out.
    fn check_timeouts(&mut self, now: Duration) {
        let limit = self.plan.connect_timeout;
        let timed_out = self.connections.iter().filter(|(_, c)| c.connect_timed_out(now, limit));
        for number in timed_out.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.close(number, RelayEndReason::TimedOut);
        }
        let connections = &self.connections;
        let moved = |number| connections.get(&number).map_or(0, RelayedConnection::moved_bytes);
        for (number, cause) in self.queue.sweep(self.clock.now(), &moved) {
            self.close(number, RelayEndReason::Admission(cause));
        }
        while let Some((_, source)) = self.queue.expire_waiting(self.clock.now()) {
            self.stats.refused += 1;
            source.abort();
        }
    }
}
