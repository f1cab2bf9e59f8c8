//! Connections with a place, and those that wait for one. Each has a number, by arrival from 1 on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

use lowtide_units::Instant;

use super::table::{PlaceTable, Placement};
use super::{AdmissionLimits, CloseCause, Source};

/// Least number of connections that may wait.
const MIN_WAITING: usize = 16;

/// A connection that waits for a place.
#[derive(Debug)]
struct Waiting<S> {
    number: usize,
    source: Source,
    since: Instant,
    stream: S,
}

/// Admission of streams `S`.
#[derive(Debug)]
pub struct AdmissionQueue<S> {
    limits: AdmissionLimits,
    table: PlaceTable,
    waiting: VecDeque<Waiting<S>>,
    /// Connections that have arrived.
    arrived: usize,
}

/// A connection that was given a place.
#[derive(Debug)]
pub struct Admitted<S> {
    /// Its number.
    pub number: usize,
    /// Its stream.
    pub stream: S,
    /// The connection to close for it.
    pub replaces: Option<usize>,
}

impl<S> AdmissionQueue<S> {
    /// Without connections.
    pub fn new(limits: AdmissionLimits) -> Self {
        Self { limits, table: PlaceTable::new(limits), waiting: VecDeque::new(), arrived: 0 }
    }

    /// Connections with a place.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether no connection has a place.
    pub fn is_empty(&self) -> bool {
        self.table.len() == 0
    }

    /// Connections that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Adds a new connection; [`Self::admit`] returns it once it has a place.
    pub fn arrive(&mut self, now: Instant, address: IpAddr, stream: S) {
        let source = Source::from(address);
        self.arrived += 1;
        self.waiting.push_back(Waiting { number: self.arrived, source, since: now, stream });
    }

    /// Removes and returns a connection to refuse, while too many wait. To be called after
    /// [`Self::admit`].
    pub fn take_overflow(&mut self) -> Option<S> {
        if self.waiting.len() <= self.limits.max_connections.max(MIN_WAITING) {
            return None;
        }
        let mut counts = BTreeMap::<Source, usize>::new();
        for waiting in &self.waiting {
            *counts.entry(waiting.source).or_default() += 1;
        }
        let largest = counts.values().copied().max().unwrap_or(0);
        let oldest = self.waiting.iter().position(|w| counts.get(&w.source) == Some(&largest));
        oldest.and_then(|at| self.waiting.remove(at)).map(|waiting| waiting.stream)
    }

    /// Gives a place to the next connection that may have one. `moved` returns the bytes that a
    /// connection has moved.
    pub fn admit(&mut self, now: Instant, moved: &dyn Fn(usize) -> u64) -> Option<Admitted<S>> {
        let mut tried = BTreeSet::new();
        for at in 0..self.waiting.len() {
            let source = self.waiting.get(at)?.source;
            if !tried.insert(source) {
                continue;
            }
            let replaces = match self.table.placement(now, source, moved) {
                Placement::Wait => continue,
                Placement::Free => None,
                Placement::Replaces(victim) => Some(victim),
            };
            let Waiting { number, stream, .. } = self.waiting.remove(at)?;
            if let Some(victim) = replaces {
                self.table.remove(victim);
            }
            self.table.insert(now, number, source);
            return Some(Admitted { number, stream, replaces });
        }
        None
    }

    /// Removes a connection that has ended.
    pub fn remove(&mut self, number: usize) {
        self.table.remove(number);
    }

    /// Removes and returns a lagging connection other than `except`, to free a resource.
    pub fn remove_laggard(
        &mut self,
        now: Instant,
        except: usize,
        moved: &dyn Fn(usize) -> u64,
    ) -> Option<usize> {
        let laggard = self.table.laggard(now, except, moved)?;
        self.table.remove(laggard);
        Some(laggard)
    }

    /// Removes and returns the connections that are idle or too slow. To be called several times
    /// within [`AdmissionLimits::yield_after`].
    pub fn sweep(
        &mut self,
        now: Instant,
        moved: &dyn Fn(usize) -> u64,
    ) -> Vec<(usize, CloseCause)> {
        let overdue = self.table.overdue(now, moved);
        for (number, _) in &overdue {
            self.table.remove(*number);
        }
        overdue
    }

    /// Removes and returns the next connection that has waited for the idle limit.
    pub fn expire_waiting(&mut self, now: Instant) -> Option<S> {
        let expired = |w: &Waiting<S>| now.saturating_since(w.since) >= self.limits.idle;
        if !self.waiting.front().is_some_and(expired) {
            return None;
        }
        self.waiting.pop_front().map(|waiting| waiting.stream)
    }

    /// Removes and returns all connections that wait.
    pub fn drain_waiting(&mut self) -> impl Iterator<Item = S> + use<S> {
        std::mem::take(&mut self.waiting).into_iter().map(|waiting| waiting.stream)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use lowtide_units::Duration;
    use proptest::prelude::*;

    use super::*;

    const PLACES: usize = 100;
    const HONEST: u32 = 9_999;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    /// A server in virtual time. Streams are the numbers of their connections.
    struct Server {
        queue: AdmissionQueue<usize>,
        moved: BTreeMap<usize, u64>,
        served: BTreeSet<usize>,
        closed: BTreeMap<usize, CloseCause>,
    }

    impl Server {
        fn new() -> Self {
            let limits = AdmissionLimits::new(PLACES, Duration::from_secs(60));
            Self {
                queue: AdmissionQueue::new(limits),
                moved: BTreeMap::new(),
                served: BTreeSet::new(),
                closed: BTreeMap::new(),
            }
        }

        /// A connection from that host. Returns its number.
        fn arrive(&mut self, ms: u64, host: u32) -> usize {
            let number = self.queue.arrived + 1;
            let address = Ipv4Addr::from_bits(0x0a00_0000 + host);
            self.queue.arrive(at(ms), address.into(), number);
            self.admit(ms);
            let refused = self.queue.take_overflow();
            self.closed.extend(refused.map(|number| (number, CloseCause::Refused)));
            number
        }

        fn admit(&mut self, ms: u64) {
            let Self { queue, moved, served, closed } = self;
            let moved = |number: usize| moved.get(&number).copied().unwrap_or(0);
            while let Some(admitted) = queue.admit(at(ms), &moved) {
                assert_eq!(admitted.number, admitted.stream);
                served.insert(admitted.number);
                if let Some(victim) = admitted.replaces {
                    assert!(served.remove(&victim) && victim != admitted.number);
                    closed.insert(victim, CloseCause::Replaced);
                }
            }
            assert!(queue.len() <= PLACES && queue.len() == served.len());
        }

        fn sweep(&mut self, ms: u64) {
            let Self { queue, moved, served, closed } = self;
            let moved = |number: usize| moved.get(&number).copied().unwrap_or(0);
            for (number, cause) in queue.sweep(at(ms), &moved) {
                assert!(served.remove(&number));
                closed.insert(number, cause);
            }
            self.admit(ms);
        }

        fn send(&mut self, number: usize, bytes: u64) {
            *self.moved.entry(number).or_default() += bytes;
        }

        fn end(&mut self, ms: u64, number: usize) {
            if self.served.remove(&number) {
                self.queue.remove(number);
                self.admit(ms);
            }
        }

        /// Whether a client that arrives now gets a place within `limit` ms and keeps it for
        /// 100 ms, in which it moves 20 kB.
        fn serves(&mut self, ms: u64, host: u32, limit: u64) -> bool {
            let client = self.arrive(ms, host);
            let placed = (0..=limit).step_by(10).find(|waited| {
                self.sweep(ms + waited);
                self.served.contains(&client) || self.closed.contains_key(&client)
            });
            let Some(waited) = placed.filter(|_| self.served.contains(&client)) else {
                return false;
            };
            for step in 0..10 {
                self.send(client, 2_000);
                self.sweep(ms + waited + 10 * step);
            }
            let kept = self.served.contains(&client);
            self.end(ms + waited + 100, client);
            kept
        }
    }

    /// Hosts of a crowd: one address, the honest client's own address, many addresses.
    fn crowd_hosts(number: usize) -> [u32; 3] {
        [1, HONEST, 10_000 + number as u32]
    }

    #[test]
    fn an_honest_client_is_served_beside_silent_and_trickling_crowds() {
        for kind in 0..3 {
            for trickle in [0, 1, 50] {
                let mut server = Server::new();
                // 400 clients that send `trickle` bytes each 100 ms.
                let crowd: Vec<usize> =
                    (0..400).map(|n| server.arrive(n as u64, crowd_hosts(n)[kind])).collect();
                for tenth in 5..200 {
                    for client in &crowd {
                        server.send(*client, trickle);
                    }
                    server.sweep(100 * tenth);
                    // Without a separate share a client competes with the burst of arrivals,
                    // which takes and yields all places in the first seconds.
                    if kind != 0 && tenth < 25 {
                        continue;
                    }
                    let served = server.serves(100 * tenth, HONEST, 250);
                    assert!(served, "crowd {kind}, {trickle} bytes, at {tenth}00 ms");
                }
            }
        }
    }

    /// Clients that open, move 2 kB within 20 ms, close and open again.
    #[test]
    fn an_honest_client_is_served_beside_a_chatty_crowd() {
        for kind in 0..3 {
            let mut server = Server::new();
            let (mut open, mut tries, mut served) = (VecDeque::new(), 0, 0);
            for ms in 0..600_u64 {
                for n in 0..20 {
                    let number = ms as usize * 20 + n;
                    open.push_back((ms, server.arrive(ms, crowd_hosts(number)[kind])));
                }
                while let Some((_, client)) = open.front().copied().filter(|(at, _)| at + 20 <= ms)
                {
                    open.pop_front();
                    server.send(client, 2_000);
                    server.end(ms, client);
                }
                if ms % 100 == 99 {
                    let client = server.arrive(ms, HONEST);
                    tries += 1;
                    served += usize::from(server.served.contains(&client));
                    server.send(client, 20_000);
                    server.end(ms, client);
                }
            }
            // A client of another source is served at once. Of one source, or of hundreds of
            // sources with one connection each, all clients compete.
            let least = if kind == 0 { tries } else { 0 };
            assert!(served >= least, "crowd {kind}: {served} of {tries}");
        }
    }

    /// A client that takes a request's reply at first, and then reads nothing.
    #[test]
    fn slow_readers_yield_to_others_after_a_second() {
        let mut server = Server::new();
        let crowd: Vec<usize> = (0..PLACES).map(|_| server.arrive(0, HONEST)).collect();
        for client in &crowd {
            server.send(*client, 64 << 10);
        }
        server.sweep(50);
        assert!(!server.serves(300, HONEST, 600), "they have just moved 64 KiB");
        assert!(server.serves(1_100, HONEST, 50), "they lag by a second");
        assert!(server.closed.values().all(|cause| *cause != CloseCause::TooSlow));
    }

    #[test]
    fn idle_connections_are_closed_and_others_are_not() {
        let mut server = Server::new();
        let (silent, speaks) = (server.arrive(0, 1), server.arrive(0, 2));
        for second in 1..=70 {
            server.send(speaks, 1);
            server.sweep(1000 * second);
            assert_eq!(server.served.contains(&silent), second < 60);
        }
        assert_eq!(server.closed, BTreeMap::from([(silent, CloseCause::Idle)]));
    }

    /// Connections that have moved enough are not closed without need, however slow they are.
    #[test]
    fn an_idle_connection_that_was_busy_keeps_its_place_while_places_are_free() {
        let mut server = Server::new();
        let users: Vec<usize> = (0..80).map(|n| server.arrive(0, n)).collect();
        for user in &users {
            server.send(*user, 6_000);
        }
        let silent: Vec<usize> = (0..19).map(|n| server.arrive(10, 1_000 + n)).collect();
        (1..40).for_each(|second| server.sweep(1000 * second));
        assert!(users.iter().all(|user| server.served.contains(user)));
        assert!(silent.iter().all(|n| server.closed[n] == CloseCause::TooSlow));
    }

    #[test]
    fn sources_share_the_places() {
        let mut server = Server::new();
        for _ in 0..PLACES {
            let greedy = server.arrive(0, 1);
            server.send(greedy, 1 << 20);
        }
        assert_eq!((server.served.len(), server.closed.len()), (PLACES, 0), "one may have all");
        for n in 0..70 {
            let other = server.arrive(1, 2);
            server.send(other, 1 << 20);
            assert_eq!(server.served.contains(&other), n < 50, "the share of two sources");
        }
        for _ in 0..100 {
            server.arrive(1, 1);
        }
        let refused = server.closed.values().filter(|c| **c == CloseCause::Refused).count();
        assert_eq!((server.queue.waiting(), refused), (PLACES, 20), "120 have no place");
        let third = server.arrive(2, 3);
        assert!(server.served.contains(&third), "it does not wait behind them");
        let ended = *server.served.first().unwrap();
        server.end(3, ended);
        assert_eq!((server.served.len(), server.queue.waiting()), (PLACES, PLACES - 1));
    }

    #[test]
    fn waiting_connections_expire_and_a_lack_of_resources_takes_a_laggard() {
        let mut server = Server::new();
        let busy: Vec<usize> = (0..PLACES).map(|_| server.arrive(0, 1)).collect();
        for client in &busy {
            server.send(*client, 1 << 20);
        }
        let waits = server.arrive(1, 1);
        assert_eq!(server.queue.expire_waiting(at(60_000)), None);
        assert_eq!(server.queue.expire_waiting(at(60_001)), Some(waits));
        assert_eq!(server.queue.expire_waiting(at(60_001)), None);

        let moved = |_| 2 << 20;
        assert_eq!(server.queue.remove_laggard(at(60_001), 0, &moved), None, "all have moved");
        assert_eq!(server.queue.remove_laggard(at(80_000), busy[1], &moved), Some(busy[0]));
    }

    proptest! {
        /// A client that keeps to the least rate, whose source is within its share, is never
        /// closed, whatever others do.
        #[test]
        fn a_client_that_pays_its_way_keeps_its_place(
            events in proptest::collection::vec((0..4_u8, 0..40_u32, 0..400_u64), 1..150),
        ) {
            let mut server = Server::new();
            let honest = server.arrive(0, HONEST);
            prop_assert!(server.served.contains(&honest));
            let (mut now, mut paid) = (0, 0);
            let mut others = Vec::new();
            for (kind, host, n) in events {
                match kind {
                    0 => {
                        for _ in 0..n / 20 {
                            others.push(server.arrive(now, host));
                        }
                    }
                    1 => {
                        for other in &others {
                            server.send(*other, n * 100);
                        }
                    }
                    2 => {
                        let gone: Vec<usize> = others.drain(..others.len() / 2).collect();
                        for other in gone {
                            server.end(now, other);
                        }
                    }
                    _ => {
                        // Not longer than a connection on probation may lag.
                        now += n.min(200);
                        let due = now * 1024 / 1000 + 1;
                        server.send(honest, due - paid);
                        paid = due;
                    }
                }
                server.sweep(now);
                prop_assert_eq!(server.closed.get(&honest), None);
            }
        }
    }
}
