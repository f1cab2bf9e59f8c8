//! Connections with different start times and directions.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lowtide_live::load::{Amount, ByteStream, LoadFlow, LoadPlan, TransferDirection, run};
use lowtide_units::Duration;

use crate::world::{World, assert_good, in_namespace, settings};

fn flow(ms: u64, direction: TransferDirection, n: u64) -> LoadFlow {
    LoadFlow { start: Duration::from_ms(ms), direction, amount: Amount::Bytes(n), write_size: 1000 }
}

pub(crate) fn flows_start_on_schedule_in_their_direction() {
    in_namespace(|| {
        let world = World::new();
        let flows = vec![
            flow(0, TransferDirection::Up, 300_000),
            flow(200, TransferDirection::Down, 200_000),
            flow(100, TransferDirection::Up, 100_000),
        ];
        let load = LoadPlan { flows, interval: Duration::ZERO, seed: 7 };
        let result = world.to_kernel(false, &settings(&[]), &load);
        assert_good("a schedule", &result, 600_000);
        for (stream, flow) in result.0.streams.iter().zip(&load.flows) {
            assert_eq!(stream.direction, Some(flow.direction), "{stream:?}");
            assert!(stream.start >= flow.start, "{stream:?}");
        }
        // The server accepts them in the order of their start times.
        let mut served: Vec<_> = result.1.iter().map(|s| (s.start, s.bytes)).collect();
        served.sort_unstable();
        let bytes: Vec<u64> = served.iter().map(|s| s.1).collect();
        assert_eq!(bytes, [300_000, 100_000, 200_000]);
    });
}

pub(crate) fn flows_not_started_at_stop_are_not_opened() {
    let load = LoadPlan {
        flows: vec![flow(60_000, TransferDirection::Up, 1)],
        interval: Duration::ZERO,
        seed: 1,
    };
    let open = || -> io::Result<Arc<dyn ByteStream>> { panic!("opened after the stop") };
    let report = run(&load, &open, &AtomicBool::new(true), &mut |_| {});
    assert!(!report.all_verified() && report.took < Duration::from_secs(30));
    let why = report.streams[0].error.as_deref().unwrap_or_default();
    assert!(why.contains("before its start"), "{why}");
}
