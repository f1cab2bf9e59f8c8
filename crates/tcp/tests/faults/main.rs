//! Random faults: thousands of connections with real bytes through real headers, over links that
//! lose, repeat, reorder, damage and delay. Every byte arrives once and in order, or the connection
//! ends with a clear error; nothing panics, nothing leaks.
//!
//! One seed is one case: two endpoints and one to eight connections between them. A failing seed is
//! printed with the command that runs it again. `LOWTIDE_FAULT_SEEDS=a..b` chooses the seeds,
//! `LOWTIDE_FAULT_TRACE=1` prints every segment.

mod arrive;
mod buffers;
mod case;
mod draw;
mod end;
mod forge;
mod link;
mod pattern;
mod pump;
mod tally;
mod verdict;
mod watch;
mod world;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use case::Case;
use tally::Tally;
use world::World;

/// Seeds that run when none are chosen, so many that the test takes seconds.
const SEEDS: Range<u64> = 0..2_000;
/// The test harness runs the parts side by side.
const PARTS: u64 = 4;

fn run(seed: u64) -> Tally {
    let trace = std::env::var_os("LOWTIDE_FAULT_TRACE").is_some();
    let mut world = World::new(Case::draw(seed), trace);
    if trace {
        println!("{:#?}", world.case);
    }
    let result = catch_unwind(AssertUnwindSafe(|| {
        world.run();
        world.verdict();
    }));
    if let Err(why) = result {
        println!("seed {seed} failed at {:?}", world.now);
        std::panic::resume_unwind(why);
    }
    world.tally
}

/// The seeds to run, and whether somebody chose them.
fn seeds() -> (Range<u64>, bool) {
    let Ok(text) = std::env::var("LOWTIDE_FAULT_SEEDS") else { return (SEEDS, false) };
    let range = text
        .split_once("..")
        .and_then(|(a, b)| Some(a.trim().parse::<u64>().ok()?..b.trim().parse::<u64>().ok()?));
    (range.unwrap_or_else(|| panic!("LOWTIDE_FAULT_SEEDS={text}: write it as 0..1000")), true)
}

fn campaign(part: u64) {
    let (range, chosen) = seeds();
    let mut tally = Tally::default();
    let mut failed = Vec::new();
    for seed in range.filter(|s| s % PARTS == part) {
        match catch_unwind(|| run(seed)) {
            Ok(one) => tally.add(&one),
            Err(_) => failed.push(seed),
        }
    }
    tally.print();
    for seed in failed.iter().take(20) {
        println!(
            "seed {seed} fails; to see it: LOWTIDE_FAULT_SEEDS={seed}..{} LOWTIDE_FAULT_TRACE=1 \
             cargo test -p lowtide-tcp --test faults",
            seed + 1
        );
    }
    assert!(failed.is_empty(), "{} of {} seeds failed", failed.len(), tally.cases);
    if !chosen {
        let missing = tally.missing();
        assert!(missing.is_empty(), "the campaign never met: {missing:?}");
    }
}

#[test]
fn part_0() {
    campaign(0);
}

#[test]
fn part_1() {
    campaign(1);
}

#[test]
fn part_2() {
    campaign(2);
}

#[test]
fn part_3() {
    campaign(3);
}
