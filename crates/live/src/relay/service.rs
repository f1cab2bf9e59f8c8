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

use super::end::{End, Watchers};
use super::pair::{Next, Pair, Way};
use super::plan::{Entry, RelayPlan};
use super::stats::RelayStats;
use crate::clock::{Clock, std_duration};
use crate::error::LiveError;
use crate::socket::{Listener, Live, Poller};

/// How often limits of time are looked at, and whether to end.
const TICK: Duration = Duration::from_millis(50);
/// Bytes that one direction moves before others take their turn.
const BUDGET: usize = 256 << 10;
/// News of the kernel's sockets that are taken at a time.
const NEWS: usize = 256;
/// Tokens: that of lowtide's poller, those of listeners from there on, those of connections below.
const POLLER: u64 = u64::MAX;
const LISTENERS: u64 = 1 << 62;

#[derive(Debug)]
enum Door {
    Kernel(TcpListener),
    Lowtide(Listener),
}

impl Door {
    /// The next connection, if one waits.
    fn accept(&self) -> io::Result<Option<End>> {
        let end = match self {
            Self::Kernel(listener) => listener.accept().and_then(|(s, _)| End::kernel(s)),
            Self::Lowtide(listener) => listener.accept().and_then(|(s, _)| End::lowtide(s)),
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
    watchers: Watchers,
    /// Of each route, and whether somebody may wait at it.
    doors: Vec<(Door, bool)>,
    pairs: Vec<Option<Pair>>,
    free: Vec<usize>,
    /// Connections that go on without news.
    again: BTreeSet<usize>,
    stats: RelayStats,
    seen: Arc<Mutex<RelayStats>>,
    clock: Clock,
    place: Vec<u8>,
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
        let watchers = Watchers { epoll, poller };
        let mut doors = Vec::new();
        for (token, route) in (LISTENERS..).zip(&plan.routes) {
            let door = match route.entry {
                Entry::Kernel(address) => {
                    let what = |e| LiveError::system(format!("listen on {address}"), e);
                    let listener = TcpListener::bind(address).map_err(what)?;
                    listener.set_nonblocking(true).map_err(what)?;
                    watchers.add(&listener, token).map_err(what)?;
                    Door::Kernel(listener)
                }
                Entry::Lowtide(port) => {
                    let what = |e| LiveError::system(format!("listen on port {port} of ours"), e);
                    let listener = live.listen(port, &plan.config).map_err(what)?;
                    listener.set_nonblocking(true);
                    watchers.poller.watch_listener(&listener, token);
                    Door::Lowtide(listener)
                }
            };
            doors.push((door, true));
        }
        Ok(Self {
            live,
            watchers,
            doors,
            pairs: Vec::new(),
            free: Vec::new(),
            again: BTreeSet::new(),
            stats: RelayStats::default(),
            seen: Arc::default(),
            clock: Clock::start(),
            place: vec![0; plan.buffer.max(1)],
            plan,
        })
    }

    /// Where the kernel listens, of each route that it does (with the port that it chose for port 0).
    pub fn kernel_addresses(&self) -> Vec<SocketAddr> {
        let address = |(door, _): &(Door, bool)| match door {
            Door::Kernel(listener) => listener.local_addr().ok(),
            Door::Lowtide(_) => None,
        };
        self.doors.iter().filter_map(address).collect()
    }

    /// What it has done so far, for another thread to look at: some times a second up to date.
    pub fn watch(&self) -> Arc<Mutex<RelayStats>> {
        Arc::clone(&self.seen)
    }

    /// Relays until `stop` is set. Then nothing more is accepted, and what is open has the time of the plan to end.
    ///
    /// # Errors
    /// The device is gone; news of sockets are not to be had.
    pub fn run(mut self, stop: &AtomicBool) -> io::Result<RelayStats> {
        let result = self.turns(stop);
        for index in 0..self.pairs.len() {
            self.end(index, Way::Ended);
        }
        self.show();
        result.map(|()| self.stats)
    }

    fn turns(&mut self, stop: &AtomicBool) -> io::Result<()> {
        let mut events = vec![EpollEvent::empty(); NEWS];
        let (mut looked, mut until) = (Duration::ZERO, None);
        loop {
            self.live.check()?;
            let now = self.now();
            if stop.load(Ordering::Relaxed) && until.is_none() {
                // What waits at a door is reset with it.
                self.doors.clear();
                until = Some(now + self.plan.drain);
            }
            if until.is_some_and(|until| self.stats.open == 0 || now >= until) {
                return Ok(());
            }
            if now.saturating_sub(looked) >= TICK {
                looked = now;
                self.check(now);
                self.show();
            }
            self.accept();
            let mut changed = std::mem::take(&mut self.again);
            self.wait(&mut events, changed.is_empty(), &mut changed)?;
            for index in changed {
                self.serve(index);
            }
        }
    }

    fn now(&self) -> Duration {
        std_duration(self.clock.now().since_start())
    }

    fn show(&mut self) {
        self.stats.waiting = self.pairs.iter().flatten().map(Pair::waiting).sum();
        self.stats.most_waiting = self.stats.most_waiting.max(self.stats.waiting);
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = self.stats;
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
                self.note(event.data(), changed);
                continue;
            }
            for ready in self.watchers.poller.wait(Some(Duration::ZERO)) {
                self.note(ready.0, changed);
            }
        }
        Ok(())
    }

    /// What has that token has news. One that is gone, or another one in its place by now, has none, which shows.
    fn note(&mut self, token: u64, changed: &mut BTreeSet<usize>) {
        if token < LISTENERS {
            changed.insert((token >> 1) as usize);
        } else if let Some(door) = self.doors.get_mut((token - LISTENERS) as usize) {
            door.1 = true;
        }
    }

    /// Takes in who waits, while there is room.
    fn accept(&mut self) {
        for index in 0..self.doors.len() {
            while let Some((door, true)) = self.doors.get(index) {
                if self.stats.open >= self.plan.most {
                    // Whoever waits is looked for again when one has ended.
                    return;
                }
                match door.accept() {
                    Ok(Some(source)) => self.begin(index, source),
                    Ok(None) => self.doors[index].1 = false,
                    Err(_) => {
                        // Gone again, or no descriptors: others may wait, and are taken with the next turn.
                        self.stats.not_accepted += 1;
                        break;
                    }
                }
            }
        }
    }

    /// A connection came in by a route: the other side of it is opened.
    fn begin(&mut self, route: usize, source: End) {
        self.stats.accepted += 1;
        let Some(route) = self.plan.routes.get(route) else { return source.abort() };
        let target = match route.entry {
            Entry::Kernel(_) => End::to_lowtide(self.live, route.target, &self.plan.config),
            Entry::Lowtide(_) => End::to_kernel(route.target),
        };
        let Ok(target) = target else {
            self.stats.unreachable += 1;
            return source.abort();
        };
        let index = self.free.pop().unwrap_or(self.pairs.len());
        let token = (index as u64) << 1;
        let watched = source.watch(&self.watchers, token);
        if watched.and_then(|()| target.watch(&self.watchers, token | 1)).is_err() {
            self.free.push(index);
            self.stats.unreachable += 1;
            source.abort();
            return target.abort();
        }
        let pair = Pair::new(source, target, self.now());
        if index == self.pairs.len() {
            self.pairs.push(Some(pair));
        } else {
            self.pairs[index] = Some(pair);
        }
        self.stats.open += 1;
        self.stats.most_open = self.stats.most_open.max(self.stats.open);
        if self.stats.open == self.plan.most {
            self.stats.at_limit += 1;
        }
    }

    fn serve(&mut self, index: usize) {
        let Some(Some(pair)) = self.pairs.get_mut(index) else { return };
        let before = pair.waiting();
        let next = pair.run(&mut self.place, BUDGET, &mut self.stats);
        let stats = &mut self.stats;
        stats.waiting = stats.waiting + pair.waiting() - before;
        stats.most_waiting = stats.most_waiting.max(stats.waiting);
        match next {
            Next::Wait => {}
            Next::Again => {
                self.again.insert(index);
            }
            Next::End(way) => self.end(index, way),
        }
    }

    fn end(&mut self, index: usize, way: Way) {
        let Some(pair) = self.pairs.get_mut(index).and_then(Option::take) else { return };
        self.free.push(index);
        self.stats.open -= 1;
        self.stats.waiting -= pair.waiting();
        way.count(&mut self.stats);
        pair.end(way);
    }

    /// Ends what has had its time.
    fn check(&mut self, now: Duration) {
        for index in 0..self.pairs.len() {
            let Some(Some(pair)) = self.pairs.get_mut(index) else { continue };
            if let Some(way) = pair.check(now, self.plan.connect, self.plan.idle) {
                self.end(index, way);
            }
        }
    }
}
