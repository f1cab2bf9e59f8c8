//! Random faults: thousands of connections with real bytes and real headers, over links that lose,
//! duplicate, reorder, damage and delay. Every byte arrives once and in order, or the connection
//! ends with a clear error; nothing panics, nothing leaks.
//!
//! One seed is one case: two endpoints and one to eight connections between them. A failing seed is
//! printed with the command that reruns it. `LOWTIDE_FAULT_SEEDS=a..b` selects the seeds,
//! `LOWTIDE_FAULT_TRACE=1` prints every segment. The parts called `short` use short connections of
//! about 20 segments, a million of which run in minutes (`cargo xtask suite adversary`).
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tests print what they measured")]

mod arrive;
#[path = "../../../trial/src/segments/board.rs"]
mod board;
mod buffers;
mod case;
mod config;
mod draw;
mod end;
mod final_checks;
mod forge;
mod invariants;
mod link;
mod middlebox;
mod pattern;
mod pump;
mod reductions;
mod tally;
mod world;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use case::{Case, Size};
use tally::Tally;
use world::World;

/// Default seeds, so many that the test takes seconds.
const SEEDS: Range<u64> = 0..3_000;
const SHORT_SEEDS: Range<u64> = 0..6_000;
/// The test harness runs the parts in parallel.
const PARTS: u64 = 4;

fn run(size: Size, seed: u64) -> Tally {
    let trace = std::env::var_os("LOWTIDE_FAULT_TRACE").is_some();
    let mut world = World::new(Case::draw(size, seed), trace);
    if trace {
        println!("{:#?}", world.case);
    }
    let result = catch_unwind(AssertUnwindSafe(|| {
        world.run();
        world.check_final_state();
    }));
    world.tally.measure();
    if let Err(why) = result {
        println!("seed {seed} failed at {:?}", world.now);
        std::panic::resume_unwind(why);
    }
    world.tally
}

/// The seeds to run, and whether they were selected explicitly.
fn seeds(size: Size) -> (Range<u64>, bool) {
    let Ok(text) = std::env::var("LOWTIDE_FAULT_SEEDS") else {
        return (if size == Size::Short { SHORT_SEEDS } else { SEEDS }, false);
    };
    let range = text
        .split_once("..")
        .and_then(|(a, b)| Some(a.trim().parse::<u64>().ok()?..b.trim().parse::<u64>().ok()?));
    (range.unwrap_or_else(|| panic!("LOWTIDE_FAULT_SEEDS={text}: write it as 0..1000")), true)
}

fn campaign(size: Size, part: u64) {
    let (range, chosen) = seeds(size);
    let mut tally = Tally::default();
    let mut failed = Vec::new();
    for seed in range.filter(|s| s % PARTS == part) {
        match catch_unwind(|| run(size, seed)) {
            Ok(one) => tally.add(&one),
            Err(_) => failed.push(seed),
        }
    }
    tally.print();
    for seed in failed.iter().take(20) {
        println!(
            "seed {seed} fails; to see it: LOWTIDE_FAULT_SEEDS={seed}..{} LOWTIDE_FAULT_TRACE=1 \
             cargo test -p lowtide-tcp --test faults -- {}",
            seed + 1,
            if size == Size::Short { "short" } else { "part" }
        );
    }
    assert!(failed.is_empty(), "{} of {} seeds failed", failed.len(), tally.cases);
    if !chosen && size == Size::Long {
        let missing = tally.missing();
        assert!(missing.is_empty(), "the campaign never exercised: {missing:?}");
    }
}

#[test]
fn part_0() {
    campaign(Size::Long, 0);
}

#[test]
fn part_1() {
    campaign(Size::Long, 1);
}

#[test]
fn part_2() {
    campaign(Size::Long, 2);
}

#[test]
fn part_3() {
    campaign(Size::Long, 3);
}

#[test]
fn short_0() {
    campaign(Size::Short, 0);
}

#[test]
fn short_1() {
    campaign(Size::Short, 1);
}

#[test]
fn short_2() {
    campaign(Size::Short, 2);
}

#[test]
fn short_3() {
    campaign(Size::Short, 3);
}
