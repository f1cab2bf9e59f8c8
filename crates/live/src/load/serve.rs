//! The server: many connections.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use lowtide_units::Instant;

use super::exchange::{Progress, serve_connection};
use super::run::StreamReport;
use super::{Accept, ByteStream};
use crate::admission::{AdmissionLimits, AdmissionQueue, Admitted, CloseCause};
use crate::clock::Clock;

/// Limits of what clients may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServeLimits {
    /// Connections at a time, and when they are closed.
    pub admission: AdmissionLimits,
    /// Time for the whole request.
    pub request_timeout: Duration,
    /// Time for connections to end when the server stops; then they are reset.
    pub grace: Duration,
}

impl ServeLimits {
    /// For trusted clients: no limits but the time to end, in which a lost FIN is retransmitted.
    pub const TRUSTED: Self = Self {
        admission: AdmissionLimits::UNLIMITED,
        request_timeout: Duration::from_hours(24),
        grace: Duration::from_secs(10),
    };
}

impl Default for ServeLimits {
    /// 512 connections, 60 s idle, the default least rate, 10 s for the request, 100 ms to end.
    fn default() -> Self {
        Self {
            admission: AdmissionLimits::new(512, lowtide_units::Duration::from_secs(60)),
            request_timeout: Duration::from_secs(10),
            grace: Duration::from_millis(100),
        }
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

/// Interval at which a waiting server checks whether to end, and closes idle connections.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The interval while connections wait for a place.
const SHORT_POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Number and interval of retries to create a thread; meanwhile the evicted connection's thread
/// exits.
const RETRIES: u32 = 10;
const RETRY_DELAY: Duration = Duration::from_millis(5);
/// Stack of a connection's thread, bytes: its buffers are on the heap.
const STACK_SIZE: usize = 256 << 10;

/// Serves every connection in its own thread and passes its report to `done`. Connections without
/// a place or a thread are reset ([`crate::admission`]). Once stopped, the server ends within the
/// grace period, whatever its clients do. Returns the number of connections that admission reset,
/// or that had no thread.
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
    let ServeLimits { admission, request_timeout, grace } = plan.limits;
    let clock = Clock::start();
    let open = OpenConnections::new(admission);
    std::thread::scope(|scope| {
        let mut accepted = 0;
        let start = |number: usize, stream: &Arc<dyn ByteStream>, client: &Arc<Client>| {
            let (served, client, open) = (Arc::clone(stream), Arc::clone(client), &open);
            let work = move || {
                let report = serve_and_report(&served, number, clock, &client, request_timeout);
                if report.error.is_some() {
                    served.abort();
                }
                drop(served);
                open.remove(number);
                done(report);
            };
            std::thread::Builder::new().stack_size(stack).spawn_scoped(scope, work).is_ok()
        };
        let mut sweep_at = clock.now();
        let result = loop {
            if plan.stop.load(Ordering::Relaxed) || plan.connections.is_some_and(|n| accepted >= n)
            {
                break Ok(());
            }
            let wait = if open.any_waits() { SHORT_POLL_INTERVAL } else { POLL_INTERVAL };
            match listener.accept_next(wait) {
                Ok(Some(stream)) => open.arrive(clock.now(), stream),
                Ok(None) => {}
                Err(e) => break Err(e),
            }
            if clock.now() >= sweep_at {
                open.sweep(clock.now());
                sweep_at = clock.now() + lowtide_units::Duration::from_ms(50);
            }
            while let Some((number, stream, client)) = open.admit(clock.now()) {
                let mut started = start(number, &stream, &client);
                if !started && open.reset_laggard(clock.now(), number) {
                    started = (0..RETRIES).any(|_| {
                        std::thread::sleep(RETRY_DELAY);
                        start(number, &stream, &client)
                    });
                }
                if !started {
                    open.remove(number);
                    open.reset(&*stream, None, CloseCause::Refused);
                    continue;
                }
                accepted += 1;
                (plan.on_accept)(&stream);
                if plan.connections.is_some_and(|n| accepted >= n) {
                    break;
                }
            }
            open.refuse();
        };
        open.drain(plan.stop, result.is_err(), grace, clock);
        result.map(|()| open.shed.load(Ordering::Relaxed))
    })
}

/// State of a connection that its thread and the server share.
#[derive(Debug, Default)]
struct Client {
    progress: Progress,
    /// Why admission closed it.
    closed: OnceLock<CloseCause>,
}

/// A connection that is being served.
struct ServedConnection {
    stream: Arc<dyn ByteStream>,
    client: Arc<Client>,
}

impl ServedConnection {
    fn moved(&self) -> u64 {
        self.client.progress.moved(self.stream.acknowledged())
    }
}

/// Connections by their numbers.
type ConnectionMap = BTreeMap<usize, ServedConnection>;

/// A connection that was given a place.
type NextConnection = (usize, Arc<dyn ByteStream>, Arc<Client>);

/// The connections that are being served, and those that wait.
struct OpenConnections {
    state: Mutex<ServerState>,
    removed: Condvar,
    /// Connections that admission reset, or that had no thread.
    shed: AtomicU64,
}

/// State behind the lock.
struct ServerState {
    connections: ConnectionMap,
    queue: AdmissionQueue<Arc<dyn ByteStream>>,
}

impl OpenConnections {
    fn new(limits: AdmissionLimits) -> Self {
        let queue = AdmissionQueue::new(limits);
        let state = Mutex::new(ServerState { connections: ConnectionMap::new(), queue });
        Self { state, removed: Condvar::new(), shed: AtomicU64::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resets a connection. To be called without the lock: a stream takes other locks.
    fn reset(&self, stream: &dyn ByteStream, client: Option<&Client>, cause: CloseCause) {
        if let Some(client) = client {
            let _ = client.closed.set(cause);
        }
        self.shed.fetch_add(1, Ordering::Relaxed);
        stream.abort();
    }

    fn any_waits(&self) -> bool {
        self.lock().queue.waiting() > 0
    }

    fn arrive(&self, now: Instant, stream: Arc<dyn ByteStream>) {
        // A stream without a peer has ended; it is served as one of an unknown source.
        let address = stream.peer().map_or(Ipv4Addr::UNSPECIFIED.into(), |peer| peer.ip());
        self.lock().queue.arrive(now, address, stream);
    }

    /// Resets connections that are too many to wait.
    fn refuse(&self) {
        while let Some(refused) = self.take_overflow() {
            self.reset(&*refused, None, CloseCause::Refused);
        }
    }

    fn take_overflow(&self) -> Option<Arc<dyn ByteStream>> {
        self.lock().queue.take_overflow()
    }

    /// Gives the next connection its place.
    fn admit(&self, now: Instant) -> Option<NextConnection> {
        let mut state = self.lock();
        let ServerState { connections, queue } = &mut *state;
        let moved = |number: usize| connections.get(&number).map_or(0, ServedConnection::moved);
        let Admitted { number, stream, replaces } = queue.admit(now, &moved)?;
        let client = Arc::<Client>::default();
        let served = ServedConnection { stream: Arc::clone(&stream), client: Arc::clone(&client) };
        let replaced = replaces.and_then(|victim| connections.remove(&victim));
        connections.insert(number, served);
        drop(state);
        if let Some(ServedConnection { stream, client }) = replaced {
            self.reset(&*stream, Some(&client), CloseCause::Replaced);
        }
        Some((number, stream, client))
    }

    /// Resets a lagging connection for the thread of connection `except`. Returns whether there was
    /// one.
    fn reset_laggard(&self, now: Instant, except: usize) -> bool {
        let mut state = self.lock();
        let ServerState { connections, queue } = &mut *state;
        let moved = |number: usize| connections.get(&number).map_or(0, ServedConnection::moved);
        let laggard = queue.remove_laggard(now, except, &moved);
        let removed = laggard.and_then(|number| connections.remove(&number));
        drop(state);
        let Some(ServedConnection { stream, client }) = removed else { return false };
        self.reset(&*stream, Some(&client), CloseCause::Replaced);
        true
    }

    /// Resets connections that are idle or too slow.
    fn sweep(&self, now: Instant) {
        let mut state = self.lock();
        let ServerState { connections, queue } = &mut *state;
        let moved = |number: usize| connections.get(&number).map_or(0, ServedConnection::moved);
        let overdue = queue.sweep(now, &moved);
        let overdue: Vec<_> = overdue
            .into_iter()
            .filter_map(|(number, cause)| Some((connections.remove(&number)?, cause)))
            .collect();
        let waiting: Vec<_> = std::iter::from_fn(|| queue.expire_waiting(now)).collect();
        drop(state);
        for (ServedConnection { stream, client }, cause) in overdue {
            self.reset(&*stream, Some(&client), cause);
        }
        for stream in waiting {
            self.reset(&*stream, None, CloseCause::Refused);
        }
    }

    fn remove(&self, number: usize) {
        let mut state = self.lock();
        state.queue.remove(number);
        let connection = state.connections.remove(&number);
        drop(state);
        // Dropping the last reference to its stream takes other locks: do it unlocked.
        drop(connection);
        self.removed.notify_all();
    }

    /// Waits until every connection has ended. After a stop, connections are asked to end, and
    /// reset after `grace`.
    fn drain(&self, stop: &AtomicBool, stopped: bool, grace: Duration, clock: Clock) {
        let waiting: Vec<_> = self.lock().queue.drain_waiting().collect();
        for stream in waiting {
            stream.abort();
        }
        let wait = |timeout: Duration| {
            let state = self.lock();
            let any_open = |state: &mut ServerState| !state.connections.is_empty();
            let waited = self.removed.wait_timeout_while(state, timeout, any_open);
            waited.unwrap_or_else(PoisonError::into_inner).0.connections.is_empty()
        };
        while !stopped && !stop.load(Ordering::Relaxed) {
            if wait(POLL_INTERVAL) {
                return;
            }
            self.sweep(clock.now());
        }
        for served in self.lock().connections.values() {
            served.client.progress.stop.store(true, Ordering::Relaxed);
        }
        if wait(grace) {
            return;
        }
        let left: Vec<Arc<dyn ByteStream>> =
            self.lock().connections.values().map(|served| Arc::clone(&served.stream)).collect();
        for stream in left {
            stream.abort();
        }
    }
}

fn serve_and_report(
    stream: &Arc<dyn ByteStream>,
    number: usize,
    clock: Clock,
    client: &Client,
    request_timeout: Duration,
) -> StreamReport {
    let start = clock.now();
    let peer = stream.peer().ok();
    let result = serve_connection(&**stream, &client.progress, request_timeout);
    let mut report = StreamReport {
        number,
        local: stream.local().ok(),
        peer,
        direction: None,
        start: start.since_start(),
        bytes: client.progress.bytes.load(Ordering::Relaxed),
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
        Err(error) => {
            let cause = client.closed.get().map(ToString::to_string);
            report.error = Some(cause.unwrap_or_else(|| error.to_string()));
        }
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
        fn acknowledged(&self) -> Option<u64> {
            None
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
        let admission = AdmissionLimits { max_connections: most, ..AdmissionLimits::UNLIMITED };
        serve_clients_with(admission, grace, clients, stack)
    }

    fn serve_clients_with(
        admission: AdmissionLimits,
        grace: Duration,
        clients: &[Arc<FakeClient>],
        stack: usize,
    ) -> (Vec<StreamReport>, u64) {
        let (sender, receiver) = channel();
        let clients: VecDeque<_> = clients.iter().map(Arc::clone).collect();
        let work = move || {
            let stop = AtomicBool::new(false);
            let accepted = Mutex::default();
            let listener = FakeListener { clients: Mutex::new(clients), accepted, stop: &stop };
            let limits = ServeLimits { admission, grace, ..ServeLimits::default() };
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
        assert!(first <= ServeLimits::default().request_timeout, "{first:?}");
    }

    #[test]
    fn connections_within_the_limit_are_served() {
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
        let clients = vec![good(), good()];
        let (reports, shed) = served_within(Duration::from_mins(1), &clients, 2, STACK_SIZE);
        assert_eq!((reports.len(), shed), (2, 0));
        assert!(reports.iter().all(|r| r.error.is_none() && r.bytes == 1), "{reports:?}");
        assert!(!clients.iter().any(|c| c.is_reset()));
    }

    /// The rules of admission are tested with it; here its answers are carried out.
    #[test]
    fn lagging_connections_are_replaced_and_their_reports_say_so() {
        let clients: Vec<_> = (0..6).map(|_| silent()).collect();
        let zero = lowtide_units::Duration::ZERO;
        let admission =
            AdmissionLimits { max_connections: 2, yield_after: zero, ..AdmissionLimits::UNLIMITED };
        let grace = Duration::from_millis(10);
        let (reports, shed) = serve_clients_with(admission, grace, &clients, STACK_SIZE);
        assert_eq!((reports.len(), shed), (6, 4), "the last two are reset at the end");
        assert!(clients.iter().all(|c| c.is_reset()));
        let cause = |cause: CloseCause| {
            let text = cause.to_string();
            reports.iter().filter(|r| r.error.as_ref() == Some(&text)).count()
        };
        assert_eq!(cause(CloseCause::Replaced), 4);
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
