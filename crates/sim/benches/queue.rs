//! The cost of one pop and one push with n events pending (the hold model), with the increments of
//! a data-centre network: 45 % serialisation and queueing, 53 % links of 1 us, 2 % long timers.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lowtide_sim::{Entity, Rng, Scheduler, Seed};
use lowtide_units::Duration;

fn increment(rng: &mut Rng) -> Duration {
    match rng.below(100) {
        0..45 => Duration::from_ps(1_200_000 + rng.below(12_000_000)),
        45..98 => Duration::from_ps(1_000_000 + rng.below(1_300)),
        _ => Duration::from_us(1_000 + rng.below(10_000)),
    }
}

fn hold(c: &mut Criterion) {
    let mut group = c.benchmark_group("queue");
    group.throughput(Throughput::Elements(1));
    for pending in [50_u32, 1_000, 10_000, 100_000] {
        let mut rng = Seed(1).rng();
        let draws: Vec<Duration> = (0..1 << 16).map(|_| increment(&mut rng)).collect();
        let mut sched = Scheduler::new(Seed(2));
        for i in 0..pending {
            sched.at(sched.now() + increment(&mut rng), Entity::new(0, i));
        }
        let mut i = 0;
        // Reach the steady state first.
        let mut step = move || {
            if let Some((now, entity)) = sched.pop() {
                i = (i + 1) & 0xffff;
                sched.at(now + draws[i], entity);
                black_box(now);
            }
        };
        (0..pending * 10).for_each(|_| step());
        group.bench_function(BenchmarkId::new("hold", pending), |b| b.iter(&mut step));
    }
    group.finish();
}

criterion_group!(benches, hold);
criterion_main!(benches);
