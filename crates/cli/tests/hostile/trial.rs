//! One attack: server, honest client and attacker in a namespace, and the bounds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lowtide_live::netns;

use crate::attacker::{Attacker, BATCH};
use crate::honest::{ClientStats, client};
use crate::server::Server;

/// Number of packets without `LOWTIDE_HOSTILE_PACKETS`.
const DEFAULT_PACKETS: u64 = 2_000;
/// Time bounds apply from this packet count.
const MIN_TIMED_PACKETS: u64 = 200_000;
/// Largest resident memory of the server, bytes.
const MAX_RSS: u64 = 128 << 20;
/// CPU time of the server per hostile packet, 99th percentile over batches.
const MAX_CPU_PER_PACKET: Duration = Duration::from_micros(20);
/// Connect time of the honest client, 99th percentile.
const MAX_CONNECT_TIME: Duration = Duration::from_millis(50);

/// Time from SIGTERM to the end of the process.
const MAX_SHUTDOWN_TIME: Duration = Duration::from_secs(1);

/// Runs `attack` against `lowtide live server` with `args`.
pub(crate) fn attack(name: &str, args: &[&str], attack: impl Fn(&mut Attacker<'_>) + Sync) {
    let wanted = std::env::var("LOWTIDE_HOSTILE_PACKETS").ok().and_then(|n| n.parse().ok());
    let packets = wanted.unwrap_or(DEFAULT_PACKETS);
    let namespace = std::thread::scope(|scope| {
        let run = || {
            netns::enter_new().unwrap();
            run(name, args, packets, &attack);
        };
        scope.spawn(run).join()
    });
    if let Err(panic) = namespace {
        std::panic::resume_unwind(panic);
    }
}

fn run(name: &str, args: &[&str], packets: u64, attack: &(impl Fn(&mut Attacker<'_>) + Sync)) {
    let mut server = Server::start(args);
    let before = server.peak_memory();
    let stop = AtomicBool::new(false);
    let (served, mut batches) = std::thread::scope(|scope| {
        let honest = scope.spawn(|| client(&stop));
        let mut attacker = Attacker::new(&server, packets);
        attack(&mut attacker);
        stop.store(true, Ordering::Relaxed);
        (honest.join().unwrap(), attacker.batches)
    });
    let memory = server.peak_memory();
    let ClientStats { mut connects, failures } = served;
    let connect = quantile(&mut connects, 0.99);
    let work = [0.5, 0.99].map(|q| quantile(&mut batches, q) / BATCH as u32);
    println!(
        "{name}: {packets} packets; memory {:.1} to {:.1} MiB; CPU per packet {:.1} us (p50), {:.1} us (p99 of \
         batches); honest client: {} transfers, {} failed, connect {:.1} ms (p99)",
        before as f64 / f64::from(1 << 20),
        memory as f64 / f64::from(1 << 20),
        work[0].as_secs_f64() * 1e6,
        work[1].as_secs_f64() * 1e6,
        connects.len(),
        failures.len(),
        connect.as_secs_f64() * 1e3
    );
    let end = server.end();
    assert!(failures.is_empty(), "{name}: the honest client failed: {failures:?}");
    assert!(memory <= MAX_RSS, "{name}: {memory} bytes resident");
    if packets >= MIN_TIMED_PACKETS {
        assert!(work[1] <= MAX_CPU_PER_PACKET, "{name}: {:?} of CPU time per packet", work[1]);
        assert!(connect <= MAX_CONNECT_TIME, "{name}: {connect:?} to connect");
        assert!(end <= MAX_SHUTDOWN_TIME, "{name}: SIGTERM took {end:?}");
    }
}

/// Value at the quantile `q` of the sorted samples; zero without any.
fn quantile(samples: &mut [Duration], q: f64) -> Duration {
    samples.sort_unstable();
    let last = samples.len().saturating_sub(1);
    let rank = (q * samples.len() as f64).ceil() as usize;
    samples.get(rank.saturating_sub(1).min(last)).copied().unwrap_or_default()
}
