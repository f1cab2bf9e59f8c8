//! The relay's thread.
//!
//! One turn: wait for news of either TCP, accept while there is room, move bytes where something changed. Every
//! connection moves a bounded number of bytes in a turn. Time limits are looked at some times a second.

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::connection::{NextStep, RelayEndReason, RelayedConnection};
use super::plan::{ListenAddr, RelayPlan};
use super::relay_socket::{EventSources, RelaySocket};
use super::stats::RelayStats;
use crate::clock::{Clock, std_duration};
use crate::error::LiveError;
use crate::socket::{Listener, Live, Poller};

/// How often limits of time are looked at, and whether to end.
const TICK: Duration = Duration::from_millis(50);
/// Bytes that one direction moves before others take their turn.
const BUDGET: usize = 256 << 10;
/// News of the kernel's sockets that are taken at a time.
const MAX_EVENTS: usize = 256;
/// Tokens: that of lowtide's poller, those of listeners from there on, those of connections below.
const POLLER: u64 = u64::MAX;
const LISTENERS: u64 = 1 << 62;

#[derive(Debug)]
enum RelayListener {
    Kernel(TcpListener),
    Lowtide(Listener),
}

impl RelayListener {
    /// The next connection, if one waits.
    fn accept(&self) -> io::Result<Option<RelaySocket>> {
        let end = match self {
            Self::Kernel(listener) => listener.accept().and_then(|(s, _)| RelaySocket::kernel(s)),
            Self::Lowtide(listener) => listener.accept().and_then(|(s, _)| RelaySocket::lowtide(s)),
        };
        match end {
            Ok(end) => Ok(Some(end)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// A relay with its ports open.
#[derive(Debug)]
pub struct Relay<'a> {
    live: &'a Live,
    plan: RelayPlan,
    watchers: EventSources,
    /// Of each route, and whether somebody may wait at it.
    listeners: Vec<(RelayListener, bool)>,
    connections: Vec<Option<RelayedConnection>>,
    free: Vec<usize>,
    /// Connections that go on without news.
    rescheduled: BTreeSet<usize>,
    stats: RelayStats,
    published_stats: Arc<Mutex<RelayStats>>,
    clock: Clock,
    buffer: Vec<u8>,
}

impl<'a> Relay<'a> {
    /// Opens the ports of every route; connections wait there until [`Self::run`].
    ///
    /// # Errors
    /// A port that is taken or an address that is not here, no descriptors.
    pub fn open(live: &'a Live, plan: RelayPlan) -> Result<Self, LiveError> {
        let failed = |e: Errno| LiveError::system("make an event descriptor", e.into());
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed)?;
        let poller = Poller::with_descriptor()
            .map_err(|e| LiveError::system("make an event descriptor", e))?;
        if let Some(fd) = poller.descriptor() {
            epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, POLLER)).map_err(failed)?;
        }
        let watchers = EventSources { epoll, poller };
        let mut doors = Vec::new();
        for (token, route) in (LISTENERS..).zip(&plan.routes) {
            let door = match route.listen {
                ListenAddr::Kernel(address) => {
                    let what = |e| LiveError::system(format!("listen on {address}"), e);
                    let listener = TcpListener::bind(address).map_err(what)?;
                    listener.set_nonblocking(true).map_err(what)?;
                    watchers.add(&listener, token).map_err(what)?;
                    RelayListener::Kernel(listener)
                }
                ListenAddr::Lowtide(port) => {
                    let what = |e| LiveError::system(format!("listen on port {port} of ours"), e);
                    let listener = live.listen(port, &plan.config).map_err(what)?;
                    listener.set_nonblocking(true);
                    watchers.poller.watch_listener(&listener, token);
                    RelayListener::Lowtide(listener)
                }
            };
            doors.push((door, true));
        }
        Ok(Self {
            live,
            watchers,
            listeners: doors,
            connections: Vec::new(),
            free: Vec::new(),
            rescheduled: BTreeSet::new(),
            stats: RelayStats::default(),
            published_stats: Arc::default(),
            clock: Clock::start(),
            buffer: vec![0; plan.buffer_size.max(1)],
            plan,
        })
    }

    /// Where the kernel listens, of each route that it does (with the port that it chose for port 0).
    pub fn kernel_addresses(&self) -> Vec<SocketAddr> {
        let address = |(door, _): &(RelayListener, bool)| match door {
            RelayListener::Kernel(listener) => listener.local_addr().ok(),
            RelayListener::Lowtide(_) => None,
        };
        self.listeners.iter().filter_map(address).collect()
    }

    /// What it has done so far, for another thread to look at: some times a second up to date.
    pub fn shared_stats(&self) -> Arc<Mutex<RelayStats>> {
        Arc::clone(&self.published_stats)
    }

    /// Relays until `stop` is set. Then nothing more is accepted, and what is open has the time of the plan to end.
    ///
    /// # Errors
    /// The device is gone; news of sockets are not to be had.
    pub fn run(mut self, stop: &AtomicBool) -> io::Result<RelayStats> {
        let result = self.event_loop(stop);
        for index in 0..self.connections.len() {
            self.close(index, RelayEndReason::ShutDown);
        }
        self.publish_stats();
        result.map(|()| self.stats)
    }

    fn event_loop(&mut self, stop: &AtomicBool) -> io::Result<()> {
        let mut events = vec![EpollEvent::empty(); MAX_EVENTS];
        let (mut looked, mut until) = (Duration::ZERO, None);
        loop {
            self.live.check()?;
            let now = self.now();
            if stop.load(Ordering::Relaxed) && until.is_none() {
                // What waits at a door is reset with it.
                self.listeners.clear();
                until = Some(now + self.plan.drain_timeout);
            }
            if until.is_some_and(|until| self.stats.open == 0 || now >= until) {
                return Ok(());
            }
            if now.saturating_sub(looked) >= TICK {
                looked = now;
                self.check_timeouts(now);
                self.publish_stats();
            }
            self.accept();
            let mut changed = std::mem::take(&mut self.rescheduled);
            self.wait(&mut events, changed.is_empty(), &mut changed)?;
            for index in changed {
                self.serve(index);
            }
        }
    }

    fn now(&self) -> Duration {
        std_duration(self.clock.now().since_start())
    }

    fn publish_stats(&mut self) {
        self.stats.buffered_bytes =
            self.connections.iter().flatten().map(RelayedConnection::buffered_bytes).sum();
        self.stats.max_buffered_bytes =
            self.stats.max_buffered_bytes.max(self.stats.buffered_bytes);
        *self.published_stats.lock().unwrap_or_else(PoisonError::into_inner) = self.stats;
    }

    /// Adds the connections that have news to `changed`; waits for some, at most a tick, if it may.
    fn wait(
        &mut self,
        events: &mut [EpollEvent],
        may_wait: bool,
        changed: &mut BTreeSet<usize>,
    ) -> io::Result<()> {
        let tick = u16::try_from(TICK.as_millis()).unwrap_or(u16::MAX);
        let timeout = if may_wait { EpollTimeout::from(tick) } else { EpollTimeout::ZERO };
        let n = match self.watchers.epoll.wait(events, timeout) {
            Err(Errno::EINTR) => 0,
            n => n?,
        };
        for event in events.iter().take(n) {
            if event.data() != POLLER {
                self.mark_ready(event.data(), changed);
                continue;
            }
            for ready in self.watchers.poller.wait(Some(Duration::ZERO)) {
                self.mark_ready(ready.0, changed);
            }
        }
        Ok(())
    }

    /// What has that token has news. One that is gone, or another one in its place by now, has none, which shows.
    fn mark_ready(&mut self, token: u64, changed: &mut BTreeSet<usize>) {
        if token < LISTENERS {
            changed.insert((token >> 1) as usize);
        } else if let Some(door) = self.listeners.get_mut((token - LISTENERS) as usize) {
            door.1 = true;
        }
    }

    /// Takes in who waits, while there is room.
    fn accept(&mut self) {
        for index in 0..self.listeners.len() {
            while let Some((door, true)) = self.listeners.get(index) {
                if self.stats.open >= self.plan.max_connections {
                    // Whoever waits is looked for again when one has ended.
                    return;
                }
                match door.accept() {
                    Ok(Some(source)) => self.open_target(index, source),
                    Ok(None) => self.listeners[index].1 = false,
                    Err(_) => {
                        // Gone again, or no descriptors: others may wait, and are taken with the next turn.
                        self.stats.accept_errors += 1;
                        break;
                    }
                }
            }
        }
    }

    /// A connection came in by a route: the other side of it is opened.
    fn open_target(&mut self, route: usize, source: RelaySocket) {
        self.stats.accepted += 1;
        let Some(route) = self.plan.routes.get(route) else { return source.abort() };
        let target = match route.listen {
            ListenAddr::Kernel(_) => {
                RelaySocket::to_lowtide(self.live, route.target, &self.plan.config)
            }
            ListenAddr::Lowtide(_) => RelaySocket::to_kernel(route.target),
        };
        let Ok(target) = target else {
            self.stats.unreachable += 1;
            return source.abort();
        };
        let index = self.free.pop().unwrap_or(self.connections.len());
        let token = (index as u64) << 1;
        let watched = source.register(&self.watchers, token);
        if watched.and_then(|()| target.register(&self.watchers, token | 1)).is_err() {
            self.free.push(index);
            self.stats.unreachable += 1;
            source.abort();
            return target.abort();
        }
        let pair = RelayedConnection::new(source, target, self.now());
        if index == self.connections.len() {
            self.connections.push(Some(pair));
        } else {
            self.connections[index] = Some(pair);
        }
        self.stats.open += 1;
        self.stats.max_open = self.stats.max_open.max(self.stats.open);
        if self.stats.open == self.plan.max_connections {
            self.stats.at_limit += 1;
        }
    }

    fn serve(&mut self, index: usize) {
        let Some(Some(pair)) = self.connections.get_mut(index) else { return };
        let before = pair.buffered_bytes();
        let next = pair.forward(&mut self.buffer, BUDGET, &mut self.stats);
        let stats = &mut self.stats;
        stats.buffered_bytes = stats.buffered_bytes + pair.buffered_bytes() - before;
        stats.max_buffered_bytes = stats.max_buffered_bytes.max(stats.buffered_bytes);
        match next {
            NextStep::Wait => {}
            NextStep::Reschedule => {
                self.rescheduled.insert(index);
            }
            NextStep::End(way) => self.close(index, way),
        }
    }

    fn close(&mut self, index: usize, way: RelayEndReason) {
        let Some(pair) = self.connections.get_mut(index).and_then(Option::take) else { return };
        self.free.push(index);
        self.stats.open -= 1;
        self.stats.buffered_bytes -= pair.buffered_bytes();
        way.count(&mut self.stats);
        pair.close(way);
    }

    /// Ends what has had its time.
    fn check_timeouts(&mut self, now: Duration) {
        for index in 0..self.connections.len() {
            let Some(Some(pair)) = self.connections.get_mut(index) else { continue };
            if let Some(way) =
                pair.check_timeouts(now, self.plan.connect_timeout, self.plan.idle_timeout)
            {
                self.close(index, way);
            }
        }
    }
}
