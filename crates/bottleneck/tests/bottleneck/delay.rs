//! DX, whose hosts measure the time in queues by stamps of their drivers, on real packets: what it measures is held
//! against what packets really waited in the network's queues.

use lowtide_bottleneck::BottleneckSettings;
use lowtide_live::config;
use lowtide_live::load::{Amount, LoadPlan, TransferDirection};
use lowtide_units::Duration;

use crate::world::{HostStack, World, bytes, network, short_sleep, with_timeout};

/// Slow start is over by then.
const SETTLED: Duration = Duration::from_ms(500);
const LASTS: u64 = 2_000;

pub(crate) fn dx_measures_the_queue_that_is_there() {
    with_timeout(|| {
        let whose = [HostStack::Lowtide, HostStack::Lowtide];
        let world =
            World::new(whose, &network("10 Mbit/s", 200, 500, 500), &BottleneckSettings::default());
        let dx = config("linux", Some("dx"), &[("send-buffer", "60 kB")]).unwrap();
        let mut load =
            LoadPlan { interval: Duration::from_ms(10), ..bytes(TransferDirection::Up, 2, 0) };
        load.flows.iter_mut().for_each(|flow| flow.amount = Amount::Millis(LASTS));
        let began = world.bottleneck.now();
        let (report, before) = std::thread::scope(|scope| {
            let traffic = scope.spawn(|| world.transfer("dx", (0, false), &dx, &load).0);
            while world.bottleneck.now() < began + SETTLED {
                short_sleep();
            }
            let before = world.bottleneck.report().host("b").unwrap().queueing_delay.clone();
            (traffic.join().unwrap(), before)
        });
        let samples =
            report.intervals.iter().filter(|i| i.from >= SETTLED).flat_map(|i| &i.samples);
        let measured: Vec<u64> =
            samples.filter_map(|s| s.info?.tcp.queueing_delay).map(Duration::as_ns).collect();
        let info = report.streams[0].info.unwrap().tcp;
        let (report, _) = world.end();
        let port = report.port("switch0->b").unwrap();
        let after = &report.host("b").unwrap().queueing_delay;
        let waited = (after.sum() - before.sum()) / u128::from(after.count() - before.count());
        let (waited, looks) = (waited as u64, measured.len() as u64);
        let measured = measured.iter().sum::<u64>() / looks.max(1);
        eprintln!(
            "DX measured {} us in the mean of {looks} looks, packets waited {} us; late {} us",
            measured / 1_000,
            waited / 1_000,
            report.fidelity.lateness.mean() / 1_000,
        );
        assert!(looks > 50 && info.counters.delay_reductions > 0, "{info:?}");
        assert_eq!(port.stats.drops, 0);
        // Two windows of two segments are a queue of a packet or two. What a busy machine adds to the way of a packet is
        // added to the delay as well, so this is no exact figure: docs/live.md has one.
        assert!(measured > waited / 2 && measured < 2 * waited + 5_000_000);
    });
}
