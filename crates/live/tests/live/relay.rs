//! Tests of the relay: the kernel's clients and servers at both ends, lowtide's TCP on one side of
//! it.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lowtide_live::relay::{Relay, RelayPlan, RelayStats};
use socket2::SockRef;

use crate::world::{World, in_namespace, ip, settings, total_ended};

/// The kernel's server, which lowtide reaches at 10.77.0.1.
const SERVER: &str = "0.0.0.0:7000";
/// Routes to a closed port.
const CLOSED_PORT: [&str; 2] =
    ["kernel:127.0.0.1:8002=10.77.0.1:7009", "lowtide:8002=127.0.0.1:7009"];
const SILENT_TARGET: [&str; 2] = ["kernel:127.0.0.1:8003=10.77.0.9:1", "lowtide:8003=10.77.0.9:1"];
/// Routes to one service over both paths: kernel, relay, lowtide, kernel; and kernel, lowtide,
/// relay, kernel.
const SERVICE: [&str; 2] = ["kernel:127.0.0.1:8001=10.77.0.1:7000", "lowtide:8001=127.0.0.1:7000"];
/// Timeout of expected events.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Addresses of a route's port for clients.
fn fronts(port: u16) -> [SocketAddr; 2] {
    [SocketAddr::from(([127, 0, 0, 1], port)), SocketAddr::from(([10, 77, 0, 2], port))]
}

struct RelayFixture<'a> {
    world: &'a World,
    server: &'a TcpListener,
    stats: Arc<Mutex<RelayStats>>,
    stop: &'a AtomicBool,
}

fn connect(to: SocketAddr) -> TcpStream {
    with_timeouts(TcpStream::connect(to).unwrap())
}

fn with_timeouts(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(MAX_WAIT)).unwrap();
    stream.set_write_timeout(Some(MAX_WAIT)).unwrap();
    stream
}

impl RelayFixture<'_> {
    fn accept(&self) -> TcpStream {
        with_timeouts(self.server.accept().unwrap().0)
    }

    /// Connects through `front`. Returns the client's and the server's socket.
    fn both(&self, front: SocketAddr) -> (TcpStream, TcpStream) {
        let client = connect(front);
        (client, self.accept())
    }

    /// Waits until the relay's counters satisfy `holds`.
    fn until(&self, what: &str, holds: impl Fn(&RelayStats) -> bool) -> RelayStats {
        for _ in 0..1500 {
            let stats = *self.stats.lock().unwrap();
            if holds(&stats) {
                return stats;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{what}: {:?}", self.stats.lock().unwrap());
    }
}

/// Runs `test` beside a relay with `routes`, and passes the relay's result to `end`.
fn relayed(
    routes: &[&str],
    change: impl FnOnce(&mut RelayPlan) + Send + 'static,
    test: impl FnOnce(&RelayFixture<'_>) + Send + 'static,
    end: impl FnOnce(std::io::Result<RelayStats>) + Send + 'static,
) {
    let routes: Vec<_> = routes.iter().map(|r| r.parse().unwrap()).collect();
    in_namespace(move || {
        ip(&["link", "set", "lo", "up"]);
        let world = World::new();
        let server = TcpListener::bind(SERVER).unwrap();
        let mut plan = RelayPlan::new(routes, settings(&[]));
        change(&mut plan);
        let relay = Relay::open(&world.live, plan).unwrap();
        let stop = AtomicBool::new(false);
        let fixture = RelayFixture {
            world: &world,
            server: &server,
            stats: relay.shared_stats(),
            stop: &stop,
        };
        let result = std::thread::scope(|scope| {
            let running = scope.spawn(|| relay.run(&stop));
            // A failed test must not wait for the relay.
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&fixture)));
            stop.store(true, Ordering::Relaxed);
            let result = running.join().unwrap();
            if let Err(panic) = outcome {
                std::panic::resume_unwind(panic);
            }
            result
        });
        end(result);
    });
}

fn text(seed: u8, n: usize) -> Vec<u8> {
    (0..n).map(|i| (i as u64 * 31 + i as u64 / 251 + u64::from(seed)) as u8).collect()
}

fn read_all(mut from: &TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Reads until an error, which must occur.
fn error(mut from: &TcpStream) -> ErrorKind {
    let mut buffer = [0; 16_384];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => panic!("the end, and no error"),
            Ok(_) => {}
            Err(e) => return e.kind(),
        }
    }
}

/// Resets the connection.
fn reset(stream: TcpStream) {
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
}

/// FIN of either direction is forwarded, and the other direction continues.
pub(crate) fn bytes_and_half_closes_are_forwarded() {
    relayed(
        &SERVICE,
        |_| {},
        |fixture| {
            for front in fronts(8001) {
                for client_first in [true, false] {
                    let (client, server) = fixture.both(front);
                    let (first, second) =
                        if client_first { (client, server) } else { (server, client) };
                    let (request, reply) = (text(1, 1_500_000), text(2, 700_000));
                    std::thread::scope(|scope| {
                        scope.spawn(|| {
                            (&first).write_all(&request).unwrap();
                            first.shutdown(Shutdown::Write).unwrap();
                        });
                        assert!(read_all(&second) == request, "{front}");
                    });
                    std::thread::scope(|scope| {
                        scope.spawn(|| {
                            (&second).write_all(&reply).unwrap();
                            second.shutdown(Shutdown::Write).unwrap();
                        });
                        assert!(read_all(&first) == reply, "{front}");
                    });
                }
            }
            fixture.until("all are closed", |s| s.closed == 4);
        },
        |stats| {
            let stats = stats.unwrap();
            assert_eq!((stats.accepted, stats.connected, total_ended(&stats)), (4, 4, 4));
            assert_eq!((stats.bytes_to_targets, stats.bytes_from_targets), (4_400_000, 4_400_000));
            assert_eq!((stats.open, stats.buffered_bytes), (0, 0));
        },
    );
}

pub(crate) fn a_refusing_or_silent_target_resets_the_client() {
    relayed(
        &[CLOSED_PORT, SILENT_TARGET].concat(),
        |plan| plan.connect_timeout = Duration::from_millis(200),
        |fixture| {
            for front in [fronts(8002), fronts(8003)].concat() {
                // The reset may arrive before connect(2) returns.
                let error_kind =
                    TcpStream::connect(front).map(|stream| error(&with_timeouts(stream)));
                let error_kind = error_kind.unwrap_or_else(|e| e.kind());
                assert_eq!(error_kind, ErrorKind::ConnectionReset, "{front}");
            }
            fixture.until("all over", |s| total_ended(s) == 4);
        },
        |stats| {
            let stats = stats.unwrap();
            assert_eq!((stats.unreachable, stats.timed_out, stats.connected), (2, 2, 0));
        },
    );
}

/// Also while a direction is blocked, so that nothing is read from the side that resets.
pub(crate) fn a_reset_of_one_side_resets_the_other() {
    relayed(
        &SERVICE,
        |_| {},
        |fixture| {
            let mut done = 0;
            for front in fronts(8001) {
                for client_resets in [true, false] {
                    for blocked in [false, true] {
                        let (client, server) = fixture.both(front);
                        let (resets, receives) =
                            if client_resets { (client, server) } else { (server, client) };
                        if blocked {
                            fill(&resets);
                        }
                        reset(resets);
                        assert_eq!(
                            error(&receives),
                            ErrorKind::ConnectionReset,
                            "{front} {blocked}"
                        );
                        done += 1;
                        fixture.until("it is over", |s| s.reset == done && s.open == 0);
                    }
                }
            }
        },
        |stats| assert_eq!(total_ended(&stats.unwrap()), 8),
    );
}

/// Writes until nothing more is accepted. Returns the number of bytes.
fn fill(mut to: &TcpStream) -> usize {
    to.set_nonblocking(true).unwrap();
    let piece = text(3, 65_536);
    let (mut total, mut refused) = (0, 0);
    while refused < 25 {
        match to.write(&piece[total % 65_536..]) {
            Ok(n) => (total, refused) = (total + n, 0),
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                refused += 1;
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(e) => panic!("{e}"),
        }
    }
    to.set_nonblocking(false).unwrap();
    total
}

/// A slow reader slows down the sender, and buffered data is limited.
pub(crate) fn memory_is_bounded_with_a_slow_reader() {
    const BUFFER: usize = 16 << 10;
    relayed(
        &SERVICE,
        |plan| {
            plan.buffer_size = BUFFER;
            plan.config = settings(&[("send-buffer", "256 KiB"), ("receive-buffer", "256 KiB")]);
        },
        |fixture| {
            for front in fronts(8001) {
                for client_sends in [true, false] {
                    let (client, server) = fixture.both(front);
                    let (from, to) = if client_sends { (client, server) } else { (server, client) };
                    let n = fill(&from);
                    let stats = fixture.until("it waits", |s| s.buffered_bytes > 0);
                    assert!(stats.buffered_bytes <= BUFFER, "{stats:?}");
                    // The endpoint holds its buffers, whose memory grows by doubling.
                    let ours = fixture.world.live.stats().packets.buffer_memory;
                    assert!(ours <= 1 << 20, "{ours}");
                    from.shutdown(Shutdown::Write).unwrap();
                    let got = read_all(&to);
                    assert_eq!(got.len(), n);
                    let piece = text(3, 65_536);
                    assert!(got.chunks(65_536).all(|c| *c == piece[..c.len()]), "{front}");
                }
            }
        },
        |stats| assert!(stats.unwrap().max_buffered_bytes <= 2 * BUFFER),
    );
}

pub(crate) fn connections_beyond_the_limit_wait_to_be_accepted() {
    relayed(
        &SERVICE,
        |plan| {
            plan.admission.max_connections = 2;
            // Silent connections do not yield here.
            plan.admission.yield_after = lowtide_units::Duration::from_secs(3600);
        },
        |fixture| {
            for front in fronts(8001) {
                let (first, at_first) = fixture.both(front);
                let (second, at_second) = fixture.both(front);
                // The kernel has accepted the third connection, but the relay does not serve it
                // yet.
                let mut third = connect(front);
                third.write_all(b"me").unwrap();
                fixture.server.set_nonblocking(true).unwrap();
                std::thread::sleep(Duration::from_millis(200));
                assert_eq!(fixture.server.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
                fixture.server.set_nonblocking(false).unwrap();
                drop((first, at_first));
                let at_third = fixture.accept();
                third.shutdown(Shutdown::Write).unwrap();
                assert_eq!(read_all(&at_third), b"me");
                drop((second, at_second, third, at_third));
                fixture.until("all over", |s| s.open == 0);
            }
        },
        |stats| {
            let stats = stats.unwrap();
            assert_eq!((stats.accepted, stats.closed, stats.max_open), (6, 6, 2));
            assert!(stats.at_limit >= 2, "{stats:?}");
        },
    );
}

pub(crate) fn many_at_a_time() {
    const EACH: usize = 150;
    relayed(
        &SERVICE,
        |_| {},
        |fixture| {
            let data = text(4, 30_000);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    // All connections are open before the first is served.
                    let open: Vec<_> = (0..2 * EACH).map(|_| fixture.accept()).collect();
                    for stream in &open {
                        let bytes = read_all(stream);
                        let mut stream = stream;
                        stream.write_all(&bytes).unwrap();
                    }
                });
                for front in fronts(8001) {
                    for _ in 0..EACH {
                        let data = &data;
                        scope.spawn(move || {
                            let mut stream = connect(front);
                            stream.write_all(data).unwrap();
                            stream.shutdown(Shutdown::Write).unwrap();
                            assert!(read_all(&stream) == *data);
                        });
                    }
                }
            });
            fixture.until("all over", |s| s.open == 0);
        },
        |stats| {
            let stats = stats.unwrap();
            assert_eq!((stats.closed, stats.max_open), (2 * EACH as u64, 2 * EACH));
        },
    );
}

pub(crate) fn idle_connections_are_reset_and_busy_ones_are_not() {
    relayed(
        &SERVICE,
        |plan| plan.admission.idle = lowtide_units::Duration::from_secs(1),
        |fixture| {
            for front in fronts(8001) {
                let (idle, at_idle) = fixture.both(front);
                let (mut busy, mut at_busy) = fixture.both(front);
                for _ in 0..40 {
                    busy.write_all(&[1]).unwrap();
                    at_busy.read_exact(&mut [0]).unwrap();
                    std::thread::sleep(Duration::from_millis(50));
                }
                assert_eq!(error(&idle), ErrorKind::ConnectionReset);
                assert_eq!(error(&at_idle), ErrorKind::ConnectionReset);
            }
        },
        |stats| assert_eq!(stats.unwrap().idle, 2),
    );
}

/// Connections that are open when the relay stops may drain for a while, then they are reset.
pub(crate) fn shutdown_drains_connections_then_resets() {
    relayed(
        &SERVICE,
        |plan| plan.drain_timeout = Duration::from_secs(1),
        |fixture| {
            let (mut client, mut server) = fixture.both(fronts(8001)[0]);
            let (stays, _server) = fixture.both(fronts(8001)[1]);
            fixture.stop.store(true, Ordering::Relaxed);
            let mut refused = false;
            for _ in 0..200 {
                std::thread::sleep(Duration::from_millis(20));
                refused = TcpStream::connect(fronts(8001)[0]).is_err();
                if refused {
                    break;
                }
            }
            assert!(refused, "connections are refused");
            client.write_all(b"last words").unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            server.write_all(&read_all(&server)).unwrap();
            drop(server);
            assert_eq!(read_all(&client), b"last words");
            assert_eq!(error(&stays), ErrorKind::ConnectionReset);
        },
        |stats| {
            let stats = stats.unwrap();
            assert_eq!((stats.closed, stats.reset_at_shutdown, stats.open), (1, 1, 0));
        },
    );
}

pub(crate) fn a_lost_device_ends_the_relay_with_an_error() {
    relayed(
        &SERVICE,
        |_| {},
        |fixture| {
            let (client, _server) = fixture.both(fronts(8001)[0]);
            ip(&["link", "delete", "lt0"]);
            // The connection is reset, or the relay ends with it.
            assert_eq!(error(&client), ErrorKind::ConnectionReset);
        },
        |stats| assert_eq!(stats.unwrap_err().kind(), ErrorKind::NetworkDown),
    );
}
