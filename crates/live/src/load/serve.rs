//! The server: many connections.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lowtide_units::Instant;

use super::exchange::{Progress, ServerTimeouts, serve_connection};
use super::run::StreamReport;
use super::{Accept, ByteStream};
use crate::clock::{Clock, std_duration};

/// Limits of what clients may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServeLimits {
    /// Most connections at a time. For a further one, the oldest connection without a request is
    /// reset. Otherwise the one idle longest, if for at least [`Self::evict_after_idle`]; otherwise
    /// the new one.
    pub max_connections: usize,
    /// Idle time after which a connection with a request may be reset for another one.
    pub evict_after_idle: Duration,
    /// Timeouts of clients.
    pub timeouts: ServerTimeouts,
    /// Time for connections to end when the server stops; then they are reset.
    pub grace: Duration,
}

impl ServeLimits {
    /// For trusted clients: no limits but the time to end, in which a lost FIN is retransmitted.
    pub const TRUSTED: Self = Self {
        max_connections: usize::MAX,
        evict_after_idle: Duration::from_millis(250),
        timeouts: ServerTimeouts {
            request: Duration::from_hours(24),
            idle: Duration::from_hours(24),
        },
        grace: Duration::from_secs(10),
    };
}

impl Default for ServeLimits {
    /// 512 connections, 10 s for the request, 60 s idle (250 ms if others wait), 100 ms to end.
    fn default() -> Self {
        let timeouts =
            ServerTimeouts { request: Duration::from_secs(10), idle: Duration::from_mins(1) };
        Self { max_connections: 512, timeouts, grace: Duration::from_millis(100), ..Self::TRUSTED }
    }
}

/// End of a server, and its limits.
#[derive(Clone, Copy)]
pub struct ServePlan<'a> {
    /// Ends after this many connections; `None` for no limit.
    pub connections: Option<usize>,
    /// Ends when this is set.
    pub stop: &'a AtomicBool,
    /// Called for each accepted connection.
    pub on_accept: &'a (dyn Fn(&Arc<dyn ByteStream>) + Sync),
    /// Limits of what clients may use.
    pub limits: ServeLimits,
}

impl<'a> ServePlan<'a> {
    /// For this many connections of our own client.
    pub fn for_trusted(connections: usize, stop: &'a AtomicBool) -> Self {
        let limits = ServeLimits::TRUSTED;
        Self { connections: Some(connections), stop, on_accept: &|_| {}, limits }
    }
}

/// Interval at which a waiting server checks whether to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Number and interval of retries to create a thread; meanwhile the evicted connection's thread
/// exits.
const RETRIES: u32 = 10;
const RETRY_DELAY: Duration = Duration::from_millis(5);
/// Stack of a connection's thread, bytes: its buffers are on the heap.
const STACK_SIZE: usize = 256 << 10;

/// Serves every connection in its own thread and passes its report to `done`. Connections beyond
/// the limit, or without a thread, are reset. Once stopped, the server ends within the grace
/// period, whatever its clients do. Returns the number of connections reset for lack of capacity or
/// a thread.
///
/// # Errors
/// The listener is gone.
pub fn serve(
    listener: &dyn Accept,
    plan: ServePlan<'_>,
    done: &(dyn Fn(StreamReport) + Sync),
) -> io::Result<u64> {
    serve_on(listener, plan, done, STACK_SIZE)
}

fn serve_on(
    listener: &dyn Accept,
    plan: ServePlan<'_>,
    done: &(dyn Fn(StreamReport) + Sync),
    stack: usize,
) -> io::Result<u64> {
    let clock = Clock::start();
    let open = OpenConnections::default();
    let ServeLimits { max_connections, evict_after_idle, timeouts, grace } = plan.limits;
    std::thread::scope(|scope| {
        let (mut accepted, mut shed) = (0, 0);
        let result = loop {
            if plan.stop.load(Ordering::Relaxed) || plan.connections.is_some_and(|n| accepted >= n)
            {
                break Ok(());
            }
            let stream = match listener.accept_next(POLL_INTERVAL) {
                Ok(Some(stream)) => stream,
                Ok(None) => continue,
                Err(e) => break Err(e),
            };
            if open.lock().len() >= max_connections {
                shed += 1;
                let Some(evicted) = open.evict_idle(clock.now(), evict_after_idle, None) else {
                    stream.abort();
                    continue;
                };
                evicted.abort();
            }
            let number = accepted + 1;
            let progress = open.insert(clock.now(), number, &stream);
            let start = || {
                let (served, progress, open) = (Arc::clone(&stream), Arc::clone(&progress), &open);
                let work = move || {
                    let report = serve_and_report(&served, number, clock, &progress, timeouts);
                    if report.error.is_some() {
                        served.abort();
                    }
                    drop(served);
                    open.remove(number);
                    done(report);
                };
                std::thread::Builder::new().stack_size(stack).spawn_scoped(scope, work).is_ok()
            };
            let mut started = start();
            if !started
                && let Some(evicted) = open.evict_idle(clock.now(), evict_after_idle, Some(number))
            {
                evicted.abort();
                shed += 1;
                started = (0..RETRIES).any(|_| {
                    std::thread::sleep(RETRY_DELAY);
                    start()
                });
            }
            if !started {
                open.remove(number);
                stream.abort();
                shed += 1;
                continue;
            }
            accepted = number;
            (plan.on_accept)(&stream);
        };
        open.drain(plan.stop, result.is_err(), grace);
        result.map(|()| shed)
    })
}

/// A connection that is being served.
struct ServedConnection {
    stream: Arc<dyn ByteStream>,
    progress: Arc<Progress>,
    /// Bytes of its data at the last check, and the time since when they are unchanged.
    bytes: u64,
    since: Instant,
}

/// Connections by their numbers.
type ConnectionMap = BTreeMap<usize, ServedConnection>;

/// The connections that are being served.
#[derive(Default)]
struct OpenConnections {
    connections: Mutex<ConnectionMap>,
    removed: Condvar,
}

impl OpenConnections {
    fn lock(&self) -> MutexGuard<'_, ConnectionMap> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn insert(&self, now: Instant, number: usize, stream: &Arc<dyn ByteStream>) -> Arc<Progress> {
        let progress = Arc::new(Progress::default());
        let stream = Arc::clone(stream);
        let served =
            ServedConnection { stream, progress: Arc::clone(&progress), bytes: 0, since: now };
        self.lock().insert(number, served);
        progress
    }

    /// Removes the oldest connection without a request, or else the one idle longest, if for at
    /// least `least`. Never removes `except`.
    fn evict_idle(
        &self,
        now: Instant,
        least: Duration,
        except: Option<usize>,
    ) -> Option<Arc<dyn ByteStream>> {
        let mut connections = self.lock();
        for served in connections.values_mut() {
            let bytes = served.progress.bytes.load(Ordering::Relaxed);
            if served.bytes != bytes {
                (served.bytes, served.since) = (bytes, now);
            }
        }
        let others = connections.iter().filter(|(number, _)| Some(**number) != except);
        let (&number, served) = others.min_by_key(|(_, served)| {
            (served.progress.requested.load(Ordering::Relaxed), served.since)
        })?;
        let idle = std_duration(now.saturating_since(served.since));
        let evictable = !served.progress.requested.load(Ordering::Relaxed) || idle >= least;
        let evicted = if evictable { connections.remove(&number) } else { None };
        drop(connections);
        evicted.map(|served| served.stream)
    }

    fn remove(&self, number: usize) {
        let connection = self.lock().remove(&number);
        // Dropping the last reference to its stream takes other locks: do it unlocked.
        drop(connection);
        self.removed.notify_all();
    }

    /// Waits until every connection has ended. After a stop, connections are asked to end, and
    /// reset after `grace`.
    fn drain(&self, stop: &AtomicBool, stopped: bool, grace: Duration) {
        let wait = |timeout: Duration| {
            let connections = self.lock();
            let any_open = |connections: &mut ConnectionMap| !connections.is_empty();
            let waited = self.removed.wait_timeout_while(connections, timeout, any_open);
            waited.unwrap_or_else(PoisonError::into_inner).0.is_empty()
        };
        while !stopped && !stop.load(Ordering::Relaxed) {
            if wait(POLL_INTERVAL) {
                return;
            }
        }
        for served in self.lock().values() {
            served.progress.stop.store(true, Ordering::Relaxed);
        }
        if wait(grace) {
            return;
        }
        let left: Vec<Arc<dyn ByteStream>> =
            self.lock().values().map(|served| Arc::clone(&served.stream)).collect();
        for stream in left {
            stream.abort();
        }
    }
}

fn serve_and_report(
    stream: &Arc<dyn ByteStream>,
    number: usize,
    clock: Clock,
    progress: &Progress,
    timeouts: ServerTimeouts,
) -> StreamReport {
    let start = clock.now();
    let peer = stream.peer().ok();
    let result = serve_connection(&**stream, progress, timeouts);
    let mut report = StreamReport {
        number,
        peer,
        direction: None,
        start: start.since_start(),
        bytes: progress.bytes.load(Ordering::Relaxed),
        took: clock.now().saturating_since(start),
        outcome: None,
        error: None,
        info: stream.info(),
    };
    match result {
        Ok((request, outcome)) => {
            report.direction = Some(request.direction);
            report.outcome = Some(outcome);
        }
        Err(error) => report.error = Some(error.to_string()),
    }
    report
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::net::SocketAddr;
    use std::sync::mpsc::channel;

    use lowtide_sockets::ConnInfo;

    use super::*;
    use crate::load::{Amount, TransferDirection, TransferRequest};

    /// A fake client: sends its input, then nothing until it is reset.
    #[derive(Default)]
    struct FakeClient {
        unread_input: Mutex<VecDeque<u8>>,
        /// Whether it closes its half after its input.
        closes: bool,
        reset: Mutex<bool>,
        changed: Condvar,
        timeouts: Mutex<Vec<Option<Duration>>>,
    }

    impl FakeClient {
        fn is_reset(&self) -> bool {
            *self.reset.lock().unwrap()
        }
    }

    impl ByteStream for FakeClient {
        fn read(&self, out: &mut [u8]) -> io::Result<usize> {
            let mut input = self.unread_input.lock().unwrap();
            if let Some(first) = input.pop_front() {
                out[0] = first;
                return Ok(1);
            }
            if self.closes {
                return Ok(0);
            }
            drop(input);
            let reset = self.reset.lock().unwrap();
            let _reset = self.changed.wait_while(reset, |reset| !*reset).unwrap();
            Err(io::ErrorKind::ConnectionAborted.into())
        }
        fn write_all(&self, _: &[u8]) -> io::Result<()> {
            Ok(())
        }
        fn shutdown_write(&self) -> io::Result<()> {
            Ok(())
        }
        fn abort(&self) {
            *self.reset.lock().unwrap() = true;
            self.changed.notify_all();
        }
        fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
            self.timeouts.lock().unwrap().push(timeout);
            Ok(())
        }
        fn info(&self) -> Option<ConnInfo> {
            None
        }
        fn local(&self) -> io::Result<SocketAddr> {
            Err(io::ErrorKind::NotConnected.into())
        }
        fn peer(&self) -> io::Result<SocketAddr> {
            self.local()
        }
    }

    /// Accepts the clients in order, then stops the server.
    struct FakeListener<'a> {
        clients: Mutex<VecDeque<Arc<FakeClient>>>,
        /// Clients that were accepted.
        accepted: Mutex<Vec<Arc<FakeClient>>>,
        stop: &'a AtomicBool,
    }

    impl Accept for FakeListener<'_> {
        fn accept_next(&self, _: Duration) -> io::Result<Option<Arc<dyn ByteStream>>> {
            // The next client arrives once the server has read the input of the earlier ones.
            let was_read =
                |c: &Arc<FakeClient>| c.is_reset() || c.unread_input.lock().unwrap().is_empty();
            while !self.accepted.lock().unwrap().iter().all(was_read) {
                std::thread::yield_now();
            }
            let next = self.clients.lock().unwrap().pop_front();
            self.accepted.lock().unwrap().extend(next.clone());
            if next.is_none() {
                self.stop.store(true, Ordering::Relaxed);
            }
            Ok(next.map(|c| c as Arc<dyn ByteStream>))
        }
    }

    /// Serves `clients`. Returns the reports and the number of shed connections. Must end.
    fn served(clients: &[Arc<FakeClient>], most: usize, stack: usize) -> (Vec<StreamReport>, u64) {
        served_within(Duration::from_millis(10), clients, most, stack)
    }

    fn served_within(
        grace: Duration,
        clients: &[Arc<FakeClient>],
        most: usize,
        stack: usize,
    ) -> (Vec<StreamReport>, u64) {
        serve_clients_with(false, grace, clients, most, stack)
    }

    fn serve_clients_with(
        evict: bool,
        grace: Duration,
        clients: &[Arc<FakeClient>],
        most: usize,
        stack: usize,
    ) -> (Vec<StreamReport>, u64) {
        let (sender, receiver) = channel();
        let clients: VecDeque<_> = clients.iter().map(Arc::clone).collect();
        let work = move || {
            let stop = AtomicBool::new(false);
            let accepted = Mutex::default();
            let listener = FakeListener { clients: Mutex::new(clients), accepted, stop: &stop };
            let evict_after_idle = if evict { Duration::ZERO } else { Duration::from_hours(1) };
            let limits = ServeLimits {
                max_connections: most,
                evict_after_idle,
                grace,
                ..ServeLimits::default()
            };
            let plan = ServePlan { connections: None, stop: &stop, on_accept: &|_| {}, limits };
            let reports = Mutex::new(Vec::new());
            let shed =
                serve_on(&listener, plan, &|r| reports.lock().unwrap().push(r), stack).unwrap();
            sender.send((reports.into_inner().unwrap(), shed)).unwrap();
        };
        let thread = std::thread::Builder::new().spawn(work).unwrap();
        let result =
            receiver.recv_timeout(Duration::from_mins(1)).expect("the server does not end");
        thread.join().unwrap();
        result
    }

    fn silent() -> Arc<FakeClient> {
        Arc::default()
    }

    #[test]
    fn silent_clients_do_not_keep_a_server_from_ending() {
        let clients: Vec<_> = (0..5).map(|_| silent()).collect();
        let (reports, shed) = served(&clients, 5, STACK_SIZE);
        assert_eq!((reports.len(), shed), (5, 0));
        assert!(clients.iter().all(|c| c.is_reset()));
        assert!(reports.iter().all(|r| r.error.is_some()));
        let first = clients[0].timeouts.lock().unwrap()[0].unwrap();
        assert!(first <= ServeLimits::default().timeouts.request, "{first:?}");
    }

    #[test]
    fn connections_beyond_the_limit_are_reset_and_the_others_served() {
        const REQUEST: TransferRequest = TransferRequest {
            direction: TransferDirection::Up,
            amount: Amount::Bytes(1),
            seed: 0,
            write_size: 1,
        };
        let request = REQUEST.to_bytes();
        let good = || {
            let input = Mutex::new([&request[..], b"x"].concat().into());
            Arc::new(FakeClient { unread_input: input, closes: true, ..FakeClient::default() })
        };
        // Two clients in the middle of their data are not evicted.
        let half = TransferRequest { amount: Amount::Bytes(1000), ..REQUEST }.to_bytes();
        let busy = || {
            let input = Mutex::new([&half[..], b"x"].concat().into());
            Arc::new(FakeClient { unread_input: input, ..FakeClient::default() })
        };
        let clients: Vec<_> = (0..12).map(|_| busy()).collect();
        let (reports, shed) = served(&clients, 2, STACK_SIZE);
        assert_eq!((reports.len(), shed), (2, 10));
        assert!(clients.iter().all(|c| c.is_reset()));

        // Clients without a request are evicted for later ones.
        let clients: Vec<_> = (0..12).map(|_| silent()).collect();
        let (reports, shed) = served(&clients, 2, STACK_SIZE);
        assert_eq!((reports.len(), shed), (12, 10));
        assert!(clients.iter().all(|c| c.is_reset()));

        let clients = vec![good(), good()];
        let (reports, shed) = served_within(Duration::from_mins(1), &clients, 2, STACK_SIZE);
        assert_eq!((reports.len(), shed), (2, 0));
        assert!(reports.iter().all(|r| r.error.is_none() && r.bytes == 1), "{reports:?}");
        assert!(!clients.iter().any(|c| c.is_reset()));
    }

    #[test]
    fn the_connection_idle_longest_is_evicted() {
        let clients: Vec<_> = (0..6).map(|_| silent()).collect();
        let (mut reports, shed) =
            serve_clients_with(true, Duration::from_millis(10), &clients, 2, STACK_SIZE);
        reports.sort_by_key(|r| r.number);
        // Each is served and reset; all but the last two are evicted.
        assert_eq!((reports.len(), shed), (6, 4));
        assert!(clients.iter().all(|c| c.is_reset()));
    }

    #[test]
    fn a_connection_without_a_thread_is_reset_and_the_server_continues() {
        let clients: Vec<_> = (0..3).map(|_| silent()).collect();
        // No system has a stack of that size.
        let (reports, shed) = served(&clients, 5, usize::MAX / 4);
        assert_eq!((reports.len(), shed), (0, 3));
        assert!(clients.iter().all(|c| c.is_reset()));
    }

    #[test]
    fn a_client_that_sends_more_than_announced_is_reset() {
        let request = TransferRequest {
            direction: TransferDirection::Down,
            amount: Amount::Bytes(1),
            seed: 0,
            write_size: 1,
        }
        .to_bytes();
        let input = Mutex::new([&request[..], b"and so on"].concat().into());
        let client = Arc::new(FakeClient { unread_input: input, ..FakeClient::default() });
        let clients = [Arc::clone(&client)];
        let (reports, _) = served_within(Duration::from_mins(1), &clients, 5, STACK_SIZE);
        assert!(client.is_reset());
        let error = reports[0].error.as_ref().unwrap();
        assert!(error.contains("more than it had announced"), "{error}");
    }
}
