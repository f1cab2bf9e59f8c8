//! One-sided DCTCP for a host whose kernel cannot be changed: the kernel's client, the relay, the
//! network, the kernel's server with standard ECN.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lowtide_bottleneck::BottleneckSettings;
use lowtide_live::relay::{ListenAddr, Relay, RelayPlan, RelayRoute, RelayStats};
use lowtide_live::{config, netns};
use lowtide_rows::Queue;

use crate::world::{HostStack, PORT, World, address, network, with_timeout};

const BYTES: usize = 3_000_000;
/// Buffer in packets. The link has 20 Mbit/s, so that any machine can saturate it.
const BUFFER: u64 = 60;
const K: u64 = 10;

/// Transfers data over a relay whose connections use `scheme`. Returns the bottleneck port and the
/// relay's counters.
fn queue_of(scheme: &str, more: &[(&str, &str)]) -> (Queue, RelayStats) {
    let world = World::new(
        [HostStack::Lowtide, HostStack::Kernel],
        &network("20 Mbit/s", 200, BUFFER, K),
        &BottleneckSettings::default(),
    );
    world.hosts[1].set("tcp_ecn", "1");
    let server = world.hosts[1].server();
    let front: SocketAddr = "127.0.0.1:8001".parse().unwrap();
    let route = RelayRoute {
        listen: ListenAddr::Kernel(front),
        target: SocketAddr::new(address(1, false), PORT),
    };
    let plan = RelayPlan::new(vec![route], config("linux", Some(scheme), more).unwrap());
    let relay = Relay::open(world.hosts[0].live(), plan).unwrap();
    let stop = AtomicBool::new(false);
    let data: Vec<u8> = (0..BYTES).map(|i| (i * 7 + i / 255) as u8).collect();
    let stats = std::thread::scope(|scope| {
        let relay_thread = scope.spawn(|| relay.run(&stop));
        let client_thread = scope.spawn(|| {
            let mut client = TcpStream::connect(front).unwrap();
            client.write_all(&data).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            client.read_to_end(&mut Vec::new()).unwrap();
        });
        let (mut stream, _) = server.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        assert!(got == data, "{scheme}: {} bytes", got.len());
        drop(stream);
        client_thread.join().unwrap();
        stop.store(true, Ordering::Relaxed);
        relay_thread.join().unwrap().unwrap()
    });
    let (report, _) = world.end();
    (report.port("switch0->b").unwrap().clone(), stats)
}

pub(crate) fn a_relay_provides_one_sided_dctcp() {
    with_timeout(|| {
        netns::enter_new().unwrap();
        assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
        // A kernel without DCTCP does not negotiate ECN with a SYN that has ECT.
        let (short, stats) = queue_of("odctcp-sender", &[("ect", "data")]);
        assert_eq!((stats.closed, stats.bytes_to_targets), (1, BYTES as u64));
        let (long, _) = queue_of("sack", &[]);
        assert!(short.served.marks > 0 && long.served.marks == 0, "{short:?}");
        assert_eq!(short.served.overflow_drops, 0, "{short:?}");
        assert!(long.served.overflow_drops > 0, "{long:?}");
        let mean = [&short, &long].map(|queue| queue.length().mean_packets.unwrap());
        assert!(mean[0] < mean[1], "{mean:?}");
        eprintln!("queue {:.1} packets on average, {:.1} without it", mean[0], mean[1]);
    });
}
