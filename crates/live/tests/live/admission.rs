//! Honest clients beside crowds: `load::serve` and the relay serve them while others hold or
//! exhaust the places. `cargo test -p lowtide-live --test live admission -- --nocapture` prints the
//! share that is served, and the median and the 99th percentile of connect times (the longest of
//! fewer than 100), of our TCP and of the kernel's with a server that has no limits. Times are not
//! asserted, only that clients are served. `LOWTIDE_ADMISSION_TRANSFERS` is their number.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lowtide_live::Clock;
use lowtide_live::admission::AdmissionLimits;
use lowtide_live::load::{
    Amount, Progress, ServeLimits, ServePlan, TransferDirection, TransferRequest, run_client, serve,
};
use lowtide_live::relay::{Relay, RelayPlan};
use socket2::{Domain, Socket, Type};

use crate::world::{PORT, World, in_namespace, ip, kernel_at, ours_at, settings, total_ended};

/// Places of the server or relay.
const PLACES: usize = 32;
/// Connections of a crowd.
const CROWD: usize = 3 * PLACES;
/// Transfers of the honest client.
fn transfers() -> usize {
    let wanted = std::env::var("LOWTIDE_ADMISSION_TRANSFERS");
    wanted.map_or(15, |number| number.parse().expect("a number"))
}

/// Share of the transfers that must succeed beside crowds that leave the client no share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Least {
    All,
    Half,
}

/// Port of the relay whose target is silent.
const SILENT_PORT: u16 = 8003;
/// Timeout of every call of a client.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Behaviour of a crowd.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Crowd {
    /// Connects and sends nothing.
    Silent,
    /// Begins a request and sends a byte each 100 ms.
    Trickling,
    /// Requests a download and reads nothing.
    NeverReading,
    /// Connects, makes a small request, closes, and does it again.
    Chatty,
}

/// Addresses of a crowd.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    /// The honest client's.
    Same,
    /// One other.
    Other,
    /// One for each connection.
    Many,
}

impl Origin {
    /// Address of a connection; all are the kernel's.
    fn address(self, number: usize) -> Ipv4Addr {
        match self {
            Self::Same => Ipv4Addr::new(10, 77, 0, 1),
            Self::Other => Ipv4Addr::new(10, 79, 0, 1),
            Self::Many => Ipv4Addr::new(10, 79, 1, number as u8),
        }
    }
}

fn connect(from: Ipv4Addr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((from, 0)).into())?;
    socket.connect_timeout(&to.into(), MAX_WAIT)?;
    socket.set_read_timeout(Some(MAX_WAIT))?;
    socket.set_write_timeout(Some(MAX_WAIT))?;
    Ok(socket.into())
}

fn request(direction: TransferDirection, bytes: u64) -> TransferRequest {
    TransferRequest { direction, amount: Amount::Bytes(bytes), seed: 3, write_size: 8192 }
}

/// A service and how its clients use it.
trait Service: Sync {
    /// A small, complete exchange, whose result is checked.
    fn use_it(&self, stream: TcpStream) -> io::Result<()>;
    /// The first bytes of a client that then trickles, or never reads.
    fn begin(&self, crowd: Crowd) -> Vec<u8>;
}

struct Transfers;

impl Service for Transfers {
    fn use_it(&self, stream: TcpStream) -> io::Result<()> {
        let request = request(TransferDirection::Up, 20_000);
        let outcome = run_client(&stream, &request, &Progress::default())?;
        outcome.checksums_match().then_some(()).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn begin(&self, crowd: Crowd) -> Vec<u8> {
        match crowd {
            Crowd::Trickling => request(TransferDirection::Up, 1 << 40).to_bytes().to_vec(),
            Crowd::NeverReading => request(TransferDirection::Down, 1 << 40).to_bytes().to_vec(),
            _ => Vec::new(),
        }
    }
}

struct Echo;

impl Service for Echo {
    fn use_it(&self, mut stream: TcpStream) -> io::Result<()> {
        let (bytes, mut echoed) = ([7; 10_000], [0; 10_000]);
        stream.write_all(&bytes)?;
        stream.read_exact(&mut echoed)?;
        (bytes == echoed).then_some(()).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn begin(&self, crowd: Crowd) -> Vec<u8> {
        match crowd {
            Crowd::Trickling => vec![1],
            Crowd::NeverReading => vec![1; 100_000],
            _ => Vec::new(),
        }
    }
}

/// Runs the crowd until `stop` is set. A connection that is reset is opened again a second later.
fn run_crowd(
    service: &dyn Service,
    to: SocketAddr,
    crowd: Crowd,
    origin: Origin,
    stop: &AtomicBool,
) {
    let open = |number| {
        let mut stream = connect(origin.address(number), to).ok()?;
        if crowd == Crowd::Chatty {
            let _ = service.use_it(stream);
            return None;
        }
        stream.set_nonblocking(true).ok()?;
        let _ = stream.write(&service.begin(crowd));
        Some(stream)
    };
    let mut streams: Vec<Option<TcpStream>> = (0..CROWD).map(open).collect();
    for tenth in 1_u64.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let reopen = crowd == Crowd::Chatty || tenth.is_multiple_of(10);
        for (number, slot) in streams.iter_mut().enumerate() {
            let trickle = |mut stream: &TcpStream| stream.write(&[1]).map(drop);
            match slot {
                None if reopen => *slot = open(number),
                Some(stream) if crowd == Crowd::Trickling && trickle(stream).is_err() => {
                    *slot = None;
                }
                _ => {}
            }
        }
        if crowd != Crowd::Chatty {
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Uses the service at `to` beside a crowd of each origin, which uses `crowd_to`. All transfers
/// must succeed beside a crowd of one other address, `least` of them beside others.
fn serve_beside(
    service: &dyn Service,
    (to, crowd_to): (SocketAddr, SocketAddr),
    crowd: Crowd,
    least: Least,
) {
    let (clock, all) = (Clock::start(), transfers());
    let origins: &[Origin] = match crowd {
        // Without a share a client waits for some seconds, until the crowd lags.
        Crowd::NeverReading => &[Origin::Other],
        _ => &[Origin::Other, Origin::Many, Origin::Same],
    };
    for origin in origins.iter().copied() {
        let stop = AtomicBool::new(false);
        let (failures, mut connects) = std::thread::scope(|scope| {
            scope.spawn(|| run_crowd(service, crowd_to, crowd, origin, &stop));
            // The crowd has taken the places.
            std::thread::sleep(Duration::from_millis(700));
            let (mut failures, mut connects) = (Vec::new(), Vec::new());
            for _ in 0..all {
                let start = clock.now();
                let stream = connect(Origin::Same.address(0), to);
                connects.push(clock.now().saturating_since(start).as_us());
                failures.extend(stream.and_then(|stream| service.use_it(stream)).err());
                std::thread::sleep(Duration::from_millis(30));
            }
            stop.store(true, Ordering::Relaxed);
            (failures, connects)
        });
        let served = all - failures.len();
        connects.sort_unstable();
        let ms = |per_cent: usize| connects[(all - 1) * per_cent / 100] as f64 / 1000.0;
        let (name, high) = if all < 100 { ("longest", 100) } else { ("p99", 99) };
        println!(
            "{to}: {crowd:?}, {origin:?}: {served} of {all}, connect median {:.1} ms, {name} {:.1} ms",
            ms(50),
            ms(high)
        );
        let half = origin != Origin::Other && least == Least::Half;
        let wanted = if half { all / 2 } else { all };
        assert!(served >= wanted, "{crowd:?}, {origin:?}: {served} of {all}: {failures:?}");
    }
}

/// The network of a test: all of 10.79.0.0/16 is the kernel's.
fn world() -> World {
    ip(&["link", "set", "lo", "up"]);
    ip(&["route", "add", "local", "10.79.0.0/16", "dev", "lo"]);
    World::new()
}

fn limits() -> AdmissionLimits {
    AdmissionLimits::new(PLACES, lowtide_units::Duration::from_secs(60))
}

fn server_beside(crowd: Crowd, least: Least) {
    in_namespace(move || {
        let world = world();
        let listener = world.live.listen(PORT, &settings(&[])).unwrap();
        listener.defer_accept(Duration::from_secs(10));
        let stop = AtomicBool::new(false);
        let limits = ServeLimits { admission: limits(), ..ServeLimits::default() };
        let plan = ServePlan { connections: None, stop: &stop, on_accept: &|_| {}, limits };
        std::thread::scope(|scope| {
            scope.spawn(|| serve(&listener, plan, &|_| {}).unwrap());
            let served = std::panic::catch_unwind(|| {
                let to = SocketAddr::new(ours_at(false), PORT);
                serve_beside(&Transfers, (to, to), crowd, least);
            });
            stop.store(true, Ordering::Relaxed);
            served.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
        beside_the_kernel(crowd, least);
    });
}

/// The kernel's TCP with a server that has no limits, for comparison.
fn beside_the_kernel(crowd: Crowd, least: Least) {
    let to = SocketAddr::new(kernel_at(false), PORT);
    let listener = TcpListener::bind(to).unwrap();
    let stop = AtomicBool::new(false);
    let limits = ServeLimits { grace: Duration::from_millis(100), ..ServeLimits::TRUSTED };
    let plan = ServePlan { connections: None, stop: &stop, on_accept: &|_| {}, limits };
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&listener, plan, &|_| {}).unwrap());
        let served = std::panic::catch_unwind(|| {
            serve_beside(&Transfers, (to, to), crowd, least);
        });
        stop.store(true, Ordering::Relaxed);
        served.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn relay_beside(crowd: Crowd, crowd_port: u16, least: Least) {
    in_namespace(move || {
        let world = world();
        let backend = TcpListener::bind("127.0.0.1:7000").unwrap();
        std::thread::spawn(move || {
            for stream in backend.incoming() {
                let mut stream = stream.unwrap();
                std::thread::spawn(move || {
                    let mut reader = stream.try_clone().unwrap();
                    let _ = io::copy(&mut reader, &mut stream);
                });
            }
        });
        let routes = ["lowtide:8001=127.0.0.1:7000", "lowtide:8003=10.77.0.9:1"];
        let routes = routes.map(|route| route.parse().unwrap()).to_vec();
        let plan = RelayPlan { admission: limits(), ..RelayPlan::new(routes, settings(&[])) };
        let plan = RelayPlan { drain_timeout: Duration::ZERO, ..plan };
        let relay = Relay::open(&world.live, plan).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let running = scope.spawn(|| relay.run(&stop));
            let served = std::panic::catch_unwind(|| {
                let to = |port| SocketAddr::new(ours_at(false), port);
                serve_beside(&Echo, (to(8001), to(crowd_port)), crowd, least);
            });
            stop.store(true, Ordering::Relaxed);
            let stats = running.join().unwrap().unwrap();
            served.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            assert!(stats.max_open <= PLACES && stats.open == 0, "{stats:?}");
            assert_eq!(stats.accepted, total_ended(&stats), "{stats:?}");
        });
    });
}

pub(crate) fn a_server_serves_beside_silent_clients() {
    server_beside(Crowd::Silent, Least::All);
}

pub(crate) fn a_server_serves_beside_trickling_clients() {
    server_beside(Crowd::Trickling, Least::Half);
}

pub(crate) fn a_server_serves_beside_clients_that_never_read() {
    server_beside(Crowd::NeverReading, Least::All);
}

pub(crate) fn a_server_serves_beside_chatty_clients() {
    server_beside(Crowd::Chatty, Least::All);
}

pub(crate) fn a_relay_serves_beside_silent_clients() {
    relay_beside(Crowd::Silent, 8001, Least::Half);
}

pub(crate) fn a_relay_serves_beside_trickling_clients() {
    relay_beside(Crowd::Trickling, 8001, Least::Half);
}

pub(crate) fn a_relay_serves_beside_chatty_clients() {
    relay_beside(Crowd::Chatty, 8001, Least::All);
}

pub(crate) fn a_relay_serves_beside_clients_of_a_silent_target() {
    relay_beside(Crowd::Silent, SILENT_PORT, Least::Half);
}
