//! DX on real packets: its hosts measure the queueing delay with driver timestamps. The measurement
//! is compared with the actual delay in the network's queues.

use lowtide_bottleneck::BottleneckSettings;
use lowtide_live::config;
use lowtide_live::load::{Amount, LoadPlan, TransferDirection};
use lowtide_units::Duration;

use crate::world::{HostStack, World, bytes, network, short_sleep, with_timeout};

/// Time by which slow start is over.
const SETTLED: Duration = Duration::from_ms(500);
const LASTS_MS: u64 = 2_000;

/// Runs of which one must measure the delay: other work of the machine delays some.
const RUNS: u32 = 3;

pub(crate) fn dx_measures_the_actual_queueing_delay() {
    with_timeout(|| {
        // The window grows until the queue is about as long as the headroom. Delays of a busy
        // machine add to the measurement, so the bounds are loose; docs/howto/live.md has an exact
        // result.
        let fits = |(measured, actual): (u64, u64)| {
            measured > actual * 3 / 4 && measured < actual * 5 / 4 + 5_000_000
        };
        assert!((0..RUNS).map(|_| run()).any(fits));
    });
}

/// Returns the mean delays that the hosts measured and that the packets had, in ns.
fn run() -> (u64, u64) {
    let stacks = [HostStack::Lowtide, HostStack::Lowtide];
    let world =
        World::new(stacks, &network("10 Mbit/s", 200, 500, 500), &BottleneckSettings::default());
    // The first segment meets no queue, which is the base of all measurements. With two flows, or a
    // larger first window, a flow may never see the path without a queue.
    let keys = [("send-buffer", "60 kB"), ("initial-window", "1"), ("dx.headroom", "5 ms")];
    let dx = config("linux", Some("dx"), &keys).unwrap();
    let mut load =
        LoadPlan { interval: Duration::from_ms(10), ..bytes(TransferDirection::Up, 1, 0) };
    load.flows.iter_mut().for_each(|flow| flow.amount = Amount::Millis(LASTS_MS));
    let began = world.bottleneck.now();
    let (report, before) = std::thread::scope(|scope| {
        let traffic = scope.spawn(|| world.transfer("dx", (0, false), &dx, &load).0);
        while world.bottleneck.now() < began + SETTLED {
            short_sleep();
        }
        let before = world.bottleneck.report().host("b").unwrap().queueing_delay.clone();
        (traffic.join().unwrap(), before)
    });
    let samples = report.intervals.iter().filter(|i| i.from >= SETTLED).flat_map(|i| &i.samples);
    let measured: Vec<u64> =
        samples.filter_map(|s| s.info?.tcp.queueing_delay).map(Duration::as_ns).collect();
    let info = report.streams[0].info.unwrap().tcp;
    let (report, _) = world.end();
    let port = report.port("switch0->b").unwrap();
    let after = &report.host("b").unwrap().queueing_delay;
    let actual = (after.sum() - before.sum()) / u128::from(after.count() - before.count());
    let (actual, sample_count) = (actual as u64, measured.len() as u64);
    let measured = measured.iter().sum::<u64>() / sample_count.max(1);
    eprintln!(
        "DX measured {} us on average of {sample_count} samples, the actual delay was {} us, the lateness {} us",
        measured / 1_000,
        actual / 1_000,
        report.fidelity.lateness.mean() / 1_000,
    );
    assert!(sample_count > 50 && info.counters.delay_reductions > 0, "{info:?}");
    assert_eq!(port.served.overflow_drops, 0);
    (measured, actual)
}
