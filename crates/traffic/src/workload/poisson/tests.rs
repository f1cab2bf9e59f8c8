use std::sync::Arc;

use lowtide_units::Bytes;

use super::*;
use crate::testing::{made, refused, site};
use crate::workload::ParamValue;

fn named(name: &str) -> ParamValue {
    ParamValue::Distribution(Arc::new(Cdf::named(name).unwrap()))
}

fn args(more: &[(&'static str, ParamValue)]) -> Args {
    let mut values = more.to_vec();
    values.push(("sizes", named("web-search-654kb")));
    let hosts: Vec<u32> = (0..192).collect();
    Args {
        name: "web".into(),
        sources: hosts.clone(),
        destinations: hosts,
        values,
        ..Args::default()
    }
}

fn load(percent: i64) -> (&'static str, ParamValue) {
    ("load", ParamValue::Parts(Parts::from_percent(percent)))
}

/// 192 hosts in a run of so many milliseconds.
fn short(ms: u64, seed: u64) -> Site {
    Site { end: Instant::ZERO + Duration::from_ms(ms), ..site(192, seed) }
}

#[test]
fn a_hundred_thousand_flows_offer_the_load() {
    let args = args(&[load(15), ("flows", ParamValue::Count(100_000))]);
    // In each of ten seeds, 100000 flows of 654 kB are 1.82 s of 15 % of 192 x 10 Gbit/s.
    let (mut bytes, mut time) = (0_u64, 0_u64);
    for seed in 1..=10 {
        let flows = ENTRY.make(&args, &site(192, seed)).unwrap().flows;
        assert_eq!(flows.len(), 100_000);
        bytes += flows.iter().map(|f| f.size.unwrap().as_u64()).sum::<u64>();
        time += flows[99_999].start.as_ps();
    }
    // A deviation is 0.28 % of the load: of a size it is 2.6 means, of a time between arrivals one.
    let offered = u128::from(bytes) * 8 * 1_000_000_000_000 / u128::from(time) / 28_800_000;
    assert!((9_860..=10_140).contains(&offered), "{offered} of 10000 of the load");
    let flows = made(&ENTRY, &args).flows;
    assert!(flows.is_sorted_by_key(|f| f.start));
    assert!(flows.iter().all(|f| f.src != f.dst && f.src < 192 && f.dst < 192));
    let mut sent = [0_u32; 192];
    for flow in &flows {
        sent[flow.src as usize] += 1;
    }
    // 521 each, five deviations of 22.8.
    assert!(sent.iter().all(|n| (407..=635).contains(n)), "{sent:?}");
}

#[test]
fn arrivals_are_a_poisson_process() {
    let args = args(&[("flow-rate", ParamValue::Count(1_000_000))]);
    let flows = ENTRY.make(&args, &short(200, 3)).unwrap().flows;
    // 200000 and five deviations of 447.
    assert!((197_764..=202_236).contains(&flows.len()), "{}", flows.len());
    // Counts in windows of 100 us have their mean as variance: 100, five standard errors of 3.2.
    let mut counts = [0_u64; 2_000];
    for flow in &flows {
        counts[(flow.start.as_ps() / 100_000_000) as usize] += 1;
    }
    let mean = flows.len() as u64 / 2_000;
    let variance = counts.iter().map(|c| c.abs_diff(mean).pow(2)).sum::<u64>() / 2_000;
    assert!((84..=116).contains(&variance), "{variance}");
}

#[test]
fn a_seed_and_a_name_fix_the_flows_and_a_distribution_does_not_move_the_times() {
    let flows = |args: &Args, seed| ENTRY.make(args, &short(5, seed)).unwrap().flows;
    let one = args(&[("flow-rate", ParamValue::Count(1_000_000))]);
    assert_eq!(flows(&one, 1), flows(&one, 1));
    assert_ne!(flows(&one, 1), flows(&one, 2));
    // The place in the file does not matter, the name does.
    let later = flows(&Args { group: 4, ..one.clone() }, 1);
    let timed = |f: &Flow| (f.start, f.src, f.dst, f.size);
    assert!(later.iter().map(timed).eq(flows(&one, 1).iter().map(timed)));
    assert_ne!(flows(&Args { name: "other".into(), ..one.clone() }, 1), flows(&one, 1));
    let mut other = one.clone();
    other.values[1].1 = ParamValue::Distribution(Arc::new(Cdf::fixed(Bytes::new(7))));
    let ends = |f: &Flow| (f.start, f.src, f.dst);
    assert!(flows(&other, 1).iter().map(ends).eq(flows(&one, 1).iter().map(ends)));
    assert!(flows(&other, 1).iter().all(|f| f.size == Some(Bytes::new(7))));
}

#[test]
fn racks_get_their_share() {
    let share = ("intra-rack", ParamValue::Parts(Parts::from_percent(30)));
    let site = short(20, 1);
    let args = args(&[("flow-rate", ParamValue::Count(1_000_000)), share]);
    let flows = ENTRY.make(&args, &site).unwrap().flows;
    let near = flows.iter().filter(|f| site.rack(f.src) == site.rack(f.dst)).count();
    // Of 20000: 6000, five deviations of 65 and of the count itself.
    assert!((5_500..=6_500).contains(&near), "{near}");
    assert!(flows.iter().all(|f| f.src != f.dst));
    let one_rack = Args { sources: vec![0, 1], destinations: vec![0, 1], ..args.clone() };
    assert!(refused(&ENTRY, &one_rack).message.contains("outside its rack"));
    let apart = Args { sources: vec![0], destinations: vec![100], ..args };
    assert!(refused(&ENTRY, &apart).message.contains("`h.0` has no destination in its rack"));
}

#[test]
fn sources_with_faster_lines_send_more() {
    let mut site = short(10, 1);
    let mut hosts = site.hosts.to_vec();
    hosts[0].rate = lowtide_units::Rate::from_gbps(40);
    site.hosts = hosts.into();
    let mut args = args(&[("flow-rate", ParamValue::Count(1_000_000))]);
    args.sources = vec![0, 1];
    let flows = ENTRY.make(&args, &site).unwrap().flows;
    let fast = flows.iter().filter(|f| f.src == 0).count() * 1_000 / flows.len();
    assert!((780..=820).contains(&fast), "{fast} of 1000");
}

#[test]
fn what_cannot_be_is_refused() {
    assert!(refused(&ENTRY, &args(&[])).message.contains("no rate"));
    let both = args(&[load(1), ("flow-rate", ParamValue::Count(1))]);
    assert!(refused(&ENTRY, &both).message.contains("two rates"));
    let late = args(&[load(10), ("start", ParamValue::Time(Duration::from_secs(10)))]);
    assert_eq!(refused(&ENTRY, &late).key, Some("start"));
    let mut tiny = args(&[load(100)]);
    tiny.values[1].1 = ParamValue::Distribution(Arc::new(Cdf::fixed(Bytes::new(1))));
    assert!(refused(&ENTRY, &tiny).message.contains("nanosecond"));
    tiny.values[1].1 = ParamValue::Distribution(Arc::new(Cdf::fixed(Bytes::new(1_000))));
    assert!(refused(&ENTRY, &tiny).message.contains("more than 4000000 connections"));
    let alone = Args { sources: vec![0], destinations: vec![0], ..args(&[load(10)]) };
    assert_eq!(refused(&ENTRY, &alone).key, Some("to"));
}
