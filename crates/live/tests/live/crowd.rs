//! Many connections of one host at a time. `LOWTIDE_CROWD=10000 cargo test --release -p
//! lowtide-live --test live crowd -- --nocapture` prints the memory and CPU time per connection.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use lowtide_live::{Clock, LiveSettings, Poller, Stream};
use lowtide_test_needs::Need;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::world::{PORT, World, in_namespace, kernel_at, ours_at, settings};

/// Connections with traffic at a time.
const BATCH: usize = 200;
/// Bytes echoed on each connection.
const EACH: usize = 20_000;

fn connection_count() -> usize {
    std::env::var("LOWTIDE_CROWD").ok().and_then(|n| n.parse().ok()).unwrap_or(500)
}

/// Memory of this process, bytes.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap();
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kib << 10
}

/// Descriptors for each connection and for the test itself.
pub(crate) const DESCRIPTORS: Need = Need {
    name: "file descriptors for LOWTIDE_CROWD connections",
    probe: || {
        let needed = connection_count() as u64 + 200;
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(|e| e.to_string())?;
        let allowed = hard >= needed;
        allowed.then_some(()).ok_or_else(|| format!("{needed} are needed, {hard} are allowed"))
    },
    enforceable: true,
};

pub(crate) fn many_connections_open_echo_and_close() {
    let n = connection_count();
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).unwrap();
    in_namespace(move || {
        // The memory limit must not block writes.
        let world = World::with(LiveSettings { memory: 256 << 20, ..LiveSettings::default() });
        let clock = Clock::start();
        let before = memory();
        let say = |what: &str| {
            let each = memory().saturating_sub(before) as f64 / n as f64;
            let cpu = world.live.stats().cpu.as_secs_f64();
            let at = clock.now().since_start().as_secs_f64();
            println!("{at:>7.2} s: {what}: {n}, {each:.0} bytes of memory each, driver {cpu:.2} s");
        };
        // The kernel opens half of them, we open the other half.
        let config = settings(&[]);
        let listener = world.live.listen(PORT, &config).unwrap();
        let kernel_listener = TcpListener::bind((kernel_at(false), PORT)).unwrap();
        let (to_us, to_kernel) = (ours_at(false), kernel_at(false));
        let mut pairs: Vec<(Stream, TcpStream)> = Vec::new();
        for number in 0..n {
            pairs.push(if number % 2 == 0 {
                let theirs = TcpStream::connect(SocketAddr::new(to_us, PORT)).unwrap();
                (listener.accept_within(Duration::from_secs(20)).unwrap().0, theirs)
            } else {
                let ours = world.live.connect(SocketAddr::new(to_kernel, PORT), &config).unwrap();
                (ours, kernel_listener.accept().unwrap().0)
            });
        }
        say("open");
        assert_eq!(world.live.stats().packets.connections, n as u64);

        let (ours, theirs): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let poller = Poller::new();
        for (number, stream) in ours.iter().enumerate() {
            stream.set_nonblocking(true);
            poller.watch_stream(stream, number as u64);
        }
        // The kernel's side writes to a batch and then reads from it, so that the kernel's TCP
        // memory suffices. Our side echoes.
        let kernel_side = std::thread::spawn(move || {
            let bytes: Vec<u8> = (0..EACH).map(|n| (n % 251) as u8).collect();
            let mut got = vec![0; EACH];
            for batch in theirs.chunks(BATCH) {
                for mut stream in batch {
                    stream.write_all(&bytes).unwrap();
                }
                for mut stream in batch {
                    stream.read_exact(&mut got).unwrap();
                    assert!(got == bytes);
                }
            }
            theirs
        });
        let mut echoed = BTreeMap::new();
        while echoed.len() < n || echoed.values().any(|sent| *sent < EACH) {
            let ready = poller.wait(Some(Duration::from_secs(20)));
            assert!(!ready.is_empty(), "no events");
            for token in ready {
                let sent = echoed.entry(token.0).or_insert(0);
                *sent += echo(&ours[token.0 as usize]);
            }
        }
        let theirs = kernel_side.join().unwrap();
        say("after traffic");
        let packets = world.live.stats().packets;
        assert_eq!((packets.connections, packets.stray), (n as u64, 0));

        drop(theirs);
        let mut byte = [0];
        for mut stream in &ours {
            stream.set_nonblocking(false);
            assert_eq!(stream.read(&mut byte).unwrap(), 0);
        }
        drop(ours);
        world.assert_empty();
        assert_eq!(world.live.stats().packets.buffer_memory, 0);
        say("gone");
    });
}

/// Echoes available data; it fits into the send buffer.
fn echo(mut stream: &Stream) -> usize {
    let mut buffer = [0; 4096];
    let mut sent = 0;
    loop {
        match stream.read(&mut buffer) {
            Ok(n) => {
                stream.write_all(&buffer[..n]).unwrap();
                sent += n;
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => return sent,
            Err(e) => panic!("{e}"),
        }
    }
}
