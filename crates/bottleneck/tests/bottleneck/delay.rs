//! DX, whose hosts measure the time in queues by stamps of their drivers, on real packets: what it measures is held
//! against what packets really waited in the network's queues.

use lowtide_bottleneck::Settings;
use lowtide_live::config;
use lowtide_live::load::{Amount, Load, Way};

use crate::world::{Whose, World, bounded, bytes, network};

#[test]
fn dx_measures_the_queue_that_is_there() {
    bounded(|| {
        let whose = [Whose::Ours, Whose::Ours];
        let world = World::new(whose, &network("10 Mbit/s", 200, 500, 500), &Settings::default());
        let dx = config("linux", Some("dx"), &[]).unwrap();
        let load = Load {
            amount: Amount::Millis(1_500),
            interval: lowtide_units::Duration::from_ms(10),
            ..bytes(Way::Up, 4, 0)
        };
        let (report, _) = world.moves("dx", (0, false), &dx, &load);
        let measured: Vec<u64> = report
            .intervals
            .iter()
            .flat_map(|i| &i.samples)
            .filter_map(|s| s.info?.tcp.queueing_delay)
            .map(|d| d.as_ns())
            .collect();
        let info = report.streams[0].info.unwrap().tcp;
        let (report, _) = world.end();
        let port = report.port("switch0->b").unwrap();
        let waited = &report.host("b").unwrap().waited;
        let mean = measured.iter().sum::<u64>() / measured.len().max(1) as u64;
        eprintln!(
            "DX measured {} us in the mean of {} looks, packets waited {} us; queue {:.1} packets, {} at most; late {} us",
            mean / 1000,
            measured.len(),
            waited.mean() / 1000,
            port.queue_mean(),
            port.queue_max(),
            report.fidelity.late.percentile(50) / 1000,
        );
        assert!(measured.len() > 50 && info.counters.delay_reductions > 0, "{info:?}");
        assert_eq!(port.stats.drops, 0);
    });
}
