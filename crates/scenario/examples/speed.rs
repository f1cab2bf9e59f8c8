//! Throwaway: times a scenario file.
use std::time::Instant as Clock;
fn main() {
    let file = std::env::args().nth(1).unwrap();
    let n: usize = std::env::args().nth(2).map_or(1, |a| a.parse().unwrap());
    let mut scenario = lowtide_scenario::Scenario::load(&file).unwrap();
    for kv in std::env::args().skip(3) {
        let (k, v) = kv.split_once('=').unwrap();
        scenario = scenario.with_override(k, v).unwrap();
    }
    let plan = scenario.expand().unwrap();
    let setup = plan.runs[0].setup().unwrap();
    let mut setup = setup;
    setup.probes = lowtide_host::ProbePlan::default();
    for _ in 0..n {
        let before = cpu();
        let wall = Clock::now();
        let o = lowtide_host::run(&setup, &mut |_| false).unwrap();
        let t = cpu() - before;
        println!(
            "{:016x} hops {} events {} segs {} cpu {:.3} wall {:.3}  {:.2} Mhops/s {:.1} ns/hop {:.0} ns/seg  ev/hop {:.3}",
            o.digest, o.counts.hops, o.counts.events, o.counts.segments, t, wall.elapsed().as_secs_f64(),
            o.counts.hops as f64 / t / 1e6, t * 1e9 / o.counts.hops as f64, t * 1e9 / o.counts.segments as f64,
            o.counts.events as f64 / o.counts.hops as f64
        );
    }
}
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    s.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e9
}
