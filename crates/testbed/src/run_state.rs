//! State shared by the hosts of one run.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lowtide_host::{Exchange, response_size};
use lowtide_live::Clock;
use lowtide_traffic::QueryClientSpec;
use lowtide_units::Instant;

use crate::socket_info::SocketInfo;
use crate::socket_observer::SocketObserver;

/// The traffic of a run, as far as both ends of its connections need it.
#[derive(Debug, Default)]
pub(crate) struct SharedTraffic {
    /// Size of each flow, by number.
    pub(crate) sizes: Vec<Option<u64>>,
    /// Flows and query clients that the end of the run waits for.
    pub(crate) awaited: usize,
    pub(crate) query_clients: Vec<QueryClientSpec>,
    /// By connection of the query clients; the first one follows the last flow.
    pub(crate) exchanges: Vec<Mutex<Exchange>>,
}

/// State shared by the hosts of one run.
pub(crate) struct RunState {
    /// Clock of the run.
    clock: Clock,
    stop: AtomicBool,
    /// Awaited flows and query clients that are delivered, complete or failed.
    finished: AtomicUsize,
    traffic: SharedTraffic,
    /// Connection number by client address.
    numbers: Mutex<BTreeMap<SocketAddrV4, u32>>,
    /// Servers of connections, by number.
    servers: Mutex<BTreeMap<u32, SocketObserver>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RunState {
    /// Starts the clock of the run.
    pub(crate) fn begin(traffic: SharedTraffic) -> Self {
        Self {
            clock: Clock::start(),
            stop: AtomicBool::new(false),
            finished: AtomicUsize::new(0),
            traffic,
            numbers: Mutex::default(),
            servers: Mutex::default(),
        }
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Counts a sized flow or a query client as finished.
    pub(crate) fn on_finished(&self) {
        self.finished.fetch_add(1, Ordering::AcqRel);
    }

    /// True if every sized flow and every query client is finished.
    pub(crate) fn is_done(&self) -> bool {
        let awaited = self.traffic.awaited;
        self.finished.load(Ordering::Acquire) >= awaited && awaited > 0
    }

    /// Records that the client at `from` opens connection `number`.
    pub(crate) fn on_opened(&self, from: SocketAddrV4, number: u32) {
        lock(&self.numbers).insert(from, number);
    }

    /// Connection of the client at `from`.
    pub(crate) fn number_of(&self, from: SocketAddrV4) -> Option<u32> {
        lock(&self.numbers).get(&from).copied()
    }

    /// Size of the flow of connection `number`; `None` for a query client's.
    pub(crate) fn flow_size(&self, number: u32) -> Option<u64> {
        self.traffic.sizes.get(number as usize).copied().flatten()
    }

    /// Records the server of connection `number`.
    pub(crate) fn on_accepted(&self, number: u32, server: SocketObserver) {
        lock(&self.servers).insert(number, server);
    }

    /// Snapshot of the server of connection `number`; `None` if there is none.
    pub(crate) fn server_info(&self, number: u32) -> io::Result<Option<SocketInfo>> {
        let servers = lock(&self.servers);
        Ok(servers.get(&number).map(SocketObserver::info).transpose()?.flatten())
    }

    /// Releases the server of a closed connection.
    pub(crate) fn forget_server(&self, number: u32) {
        lock(&self.servers).remove(&number);
    }

    /// A query client. Every number comes from the same setup.
    pub(crate) fn query_client(&self, number: u32) -> &QueryClientSpec {
        &self.traffic.query_clients[number as usize]
    }

    /// Applies `change` to the exchange of a query client's connection.
    pub(crate) fn exchange<T>(&self, number: u32, change: impl FnOnce(&mut Exchange) -> T) -> T {
        let index = number as usize - self.traffic.sizes.len();
        change(&mut lock(&self.traffic.exchanges[index]))
    }

    /// Bytes of the answers that a server owes once it has read `received` bytes in all, beyond
    /// those returned before; and whether it closes after them.
    pub(crate) fn answers(&self, number: u32, received: u64) -> (u64, bool) {
        if (number as usize) < self.traffic.sizes.len() {
            return (0, false);
        }
        self.exchange(number, |exchange| {
            let spec = self.query_client(exchange.query_client);
            let requests = received / spec.request.as_u64();
            let (mut bytes, mut any) = (0, false);
            while let Some(query) = exchange.take_received(requests) {
                bytes += response_size(spec, query).as_u64();
                any = true;
            }
            (bytes, any && !spec.persistent)
        })
    }
}
