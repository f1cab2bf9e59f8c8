//! Collectives: step times against formulas of the links, and their order.

use lowtide_host::{Outcome, Setup};
use lowtide_net::Failure;
use lowtide_rows::CollectiveRow;
use lowtide_units::{Duration, Instant};

use crate::common::{add_collective, config, outcome, port, star_setup};

/// Returns ranks on a star at 1 Gbit/s, 20 us per link, with packets of `mtu` bytes.
fn ranks(n: u32, mtu: u32, given: &[(&str, &str)]) -> Setup {
    let mut config = config("dctcp");
    config.mtu = mtu;
    // The window of a warm connection stays open while its rank waits for others.
    config.idle_restart = false;
    // Data waits in the host's own queue for longer than 10 ms.
    config.rto_min = Duration::from_secs(1);
    let mut setup = star_setup(n - 1, &config, port(10_000, 5_000));
    add_collective(&mut setup, n, given);
    setup
}

/// Returns the longest step of a rank in an iteration, in microseconds.
fn step_us(outcome: &Outcome, iteration: u32) -> f64 {
    let rows = outcome.collectives.iter().filter(|row| row.iteration == iteration);
    let steps = rows.map(|row| row.step_ps.expect("it is complete"));
    steps.max().expect("it has begun") as f64 / 1e6
}

/// Microseconds of a byte of payload on a line of 1 Gbit/s: TCP/IP headers with timestamps take 52
/// bytes of the MTU, Ethernet adds 38.
fn us_per_byte(mtu: u32) -> f64 {
    0.008 * f64::from(mtu + 38) / f64::from(mtu - 52)
}

/// Returns the microseconds that a message of this many bytes takes besides its bytes over the
/// goodput: two links of 20 us, and one packet stored by the switch.
fn latency_us(mtu: u32, bytes: f64) -> f64 {
    40.0 + 0.008 * (bytes.min(f64::from(mtu - 52)) + 90.0)
}

/// The last of twelve iterations, whose connections are warm.
const WARM: u32 = 11;

/// Checks iterations of a run: each number with its microseconds.
fn check(n: u32, mtu: u32, given: &[(&str, &str)], expected_us: &[(u32, f64)]) {
    let outcome = outcome(&ranks(n, mtu, &[given, &[("iterations", "12")]].concat()));
    for (iteration, expected) in expected_us {
        let step = step_us(&outcome, *iteration);
        let what = format!("{n} ranks, MTU {mtu}, {given:?}, iteration {iteration}");
        println!("{what}: {step:.1} us, {:.4} of the formula", step / expected);
        assert!((step / expected - 1.0).abs() < 0.02, "{what}: {step} for {expected} us");
    }
}

#[test]
fn a_ring_takes_its_steps_of_a_chunk_each() {
    for (n, size, bytes) in [
        (2, "1 MB", 1e6),
        (3, "600 kB", 6e5),
        (4, "4 MB", 4e6),
        (8, "1 MB", 1e6),
        (8, "8 MB", 8e6),
        (16, "160 kB", 1.6e5),
    ] {
        let (steps, chunk) = (f64::from(n - 1), bytes / f64::from(n));
        let one = latency_us(9000, chunk) + chunk * us_per_byte(9000);
        check(n, 9000, &[("data", size)], &[(WARM, 2.0 * steps * one)]);
        let gather = [("data", size), ("operation", "ring-all-gather")];
        check(n, 9000, &gather, &[(WARM, steps * one)]);
        let combining = [("data", size), ("combine-rate", "4 Gbit/s")];
        check(n, 9000, &combining, &[(WARM, steps * (2.0 * one + chunk * 0.002))]);
        // ACKs of the predecessor's data share the line, 90 bytes for two packets of 1538: all of
        // them if chunks are long, and few if they are short and most fall into the latency.
        let one = latency_us(1500, chunk) + chunk * us_per_byte(1500) * (1.0 + 22.5 / 1538.0);
        check(n, 1500, &[("data", size)], &[(WARM, 2.0 * steps * one)]);
    }
}

#[test]
fn each_level_of_a_tree_carries_the_data_of_two_children() {
    let one = |bytes: f64| latency_us(9000, bytes) + bytes * us_per_byte(9000);
    let two = one(2e6) + 2e6 * us_per_byte(9000);
    let given = [("operation", "tree-all-reduce"), ("data", "2 MB")];
    // Later iterations overlap: the first child sends while the second one receives.
    check(3, 9000, &given, &[(0, 2.0 * two), (WARM, two + one(2e6))]);
    check(7, 9000, &given, &[(0, 4.0 * two)]);
    check(15, 9000, &given, &[(0, 6.0 * two)]);
    // With two ranks a slice comes back while the next ones are on their way.
    let given = [("operation", "tree-all-reduce"), ("data", "2 MB"), ("slices", "40")];
    check(2, 9000, &given, &[(WARM, one(5e4) + one(2e6))]);
}

#[test]
fn all_to_all_fills_every_line_and_ends_with_a_barrier() {
    for (n, rounds) in [(2, 1.0), (4, 2.0), (8, 3.0)] {
        let bytes = f64::from(n - 1) / f64::from(n) * 4e6;
        let notified = latency_us(9000, 64.0) + 64.0 * us_per_byte(9000);
        let expected = latency_us(9000, bytes) + bytes * us_per_byte(9000) + rounds * notified;
        check(n, 9000, &[("operation", "all-to-all"), ("data", "4 MB")], &[(WARM, expected)]);
    }
}

#[test]
fn no_rank_begins_an_iteration_before_all_have_begun_the_last_one() {
    for operation in ["ring-all-reduce", "ring-all-gather", "tree-all-reduce", "all-to-all"] {
        let given = [
            ("operation", operation),
            ("data", "30 kB"),
            ("iterations", "9"),
            ("compute", "1 ms"),
            ("compute-jitter", "5 ms"),
        ];
        let rows = outcome(&ranks(5, 1500, &given)).collectives;
        assert_eq!(rows.len(), 45, "{operation}");
        let of = |iteration: u32| rows.iter().filter(move |row| row.iteration == iteration);
        let mut waits = 0;
        for i in 0..9 {
            let latest = of(i).map(|row| row.start_ps).max().unwrap_or_default();
            assert!(of(i).all(|row| row.end_ps >= Some(latest)), "{operation}, {i}");
            waits += of(i).filter(|row| row.step_ps > Some(2_000_000_000)).count();
        }
        // Most ranks wait for the slowest one.
        assert!(waits > 15, "{operation}: {waits} waits");
    }
}

#[test]
fn a_failed_link_leaves_the_ranks_in_their_iteration() {
    let mut setup = ranks(3, 1500, &[("data", "3 MB"), ("iterations", "50")]);
    let down_at = Instant::ZERO + Duration::from_ms(500);
    setup.network.failures.push(Failure {
        link: 1,
        down_at,
        up_at: None,
        detect: Duration::ZERO,
        ..Failure::default()
    });
    let rows = outcome(&setup).collectives;
    let open: Vec<&CollectiveRow> = rows.iter().filter(|row| row.end_ps.is_none()).collect();
    assert_eq!(open.len(), 3, "{open:?}");
    assert!(open.iter().all(|row| row.iteration > 2 && row.step_ps.is_none()), "{open:?}");
}
