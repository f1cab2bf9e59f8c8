use std::sync::Arc;

use lowtide_units::{Bytes, Instant};

use super::*;
use crate::testing::{context, generate, generate_err};

fn args(more: &[(&str, &str)]) -> WorkloadArgs {
    let given = [more, &[("sizes", "web-search-654kb")]].concat();
    let hosts: Vec<u32> = (0..192).collect();
    WorkloadArgs {
        name: "web".into(),
        sources: hosts.clone(),
        destinations: hosts,
        ..ENTRY.args(&given).unwrap()
    }
}

/// Returns a run of 192 hosts and `ms` milliseconds.
fn short_run(ms: u64, seed: u64) -> WorkloadContext {
    WorkloadContext { end: Instant::ZERO + Duration::from_ms(ms), ..context(192, seed) }
}

#[test]
fn a_hundred_thousand_flows_offer_the_load() {
    let args = args(&[("load", "15 %"), ("flows", "100000")]);
    // In each of ten seeds, 100000 flows of 654 kB take 1.82 s at 15 % of 192 x 10 Gbit/s.
    let (mut bytes, mut time) = (0_u64, 0_u64);
    for seed in 1..=10 {
        let flows = ENTRY.generate(&args, &context(192, seed)).unwrap().flows;
        assert_eq!(flows.len(), 100_000);
        bytes += flows.iter().map(|f| f.size.unwrap().as_u64()).sum::<u64>();
        time += flows[99_999].start.as_ps();
    }
    // Standard deviation: 0.28 % of the load; 2.6 means for a size, one mean for a gap.
    let offered = u128::from(bytes) * 8 * 1_000_000_000_000 / u128::from(time) / 28_800_000;
    assert!((9_860..=10_140).contains(&offered), "{offered} of 10000 of the load");
    let flows = generate(&ENTRY, &args).flows;
    assert!(flows.is_sorted_by_key(|f| f.start));
    assert!(flows.iter().all(|f| f.src != f.dst && f.src < 192 && f.dst < 192));
    let mut sent = [0_u32; 192];
    for flow in &flows {
        sent[flow.src as usize] += 1;
    }
    // 521 each, within five standard deviations of 22.8.
    assert!(sent.iter().all(|n| (407..=635).contains(n)), "{sent:?}");
}

#[test]
fn arrivals_are_a_poisson_process() {
    let args = args(&[("flow-rate", "1000000")]);
    let flows = ENTRY.generate(&args, &short_run(200, 3)).unwrap().flows;
    // 200000, within five standard deviations of 447.
    assert!((197_764..=202_236).contains(&flows.len()), "{}", flows.len());
    // The variance of counts in 100 us windows equals their mean: 100, five standard errors of 3.2.
    let mut counts = [0_u64; 2_000];
    for flow in &flows {
        counts[(flow.start.as_ps() / 100_000_000) as usize] += 1;
    }
    let mean = flows.len() as u64 / 2_000;
    let variance = counts.iter().map(|c| c.abs_diff(mean).pow(2)).sum::<u64>() / 2_000;
    assert!((84..=116).contains(&variance), "{variance}");
}

#[test]
fn flows_depend_on_seed_and_name_and_times_not_on_the_distribution() {
    let flows =
        |args: &WorkloadArgs, seed| ENTRY.generate(args, &short_run(5, seed)).unwrap().flows;
    let one = args(&[("flow-rate", "1000000")]);
    assert_eq!(flows(&one, 1), flows(&one, 1));
    assert_ne!(flows(&one, 1), flows(&one, 2));
    // The position in the file does not matter, but the name does.
    let later = flows(&WorkloadArgs { group: 4, ..one.clone() }, 1);
    let timed = |f: &Flow| (f.start, f.src, f.dst, f.size);
    assert!(later.iter().map(timed).eq(flows(&one, 1).iter().map(timed)));
    assert_ne!(flows(&WorkloadArgs { name: "other".into(), ..one.clone() }, 1), flows(&one, 1));
    let mut other = one.clone();
    other.distributions.insert("sizes", Arc::new(Cdf::fixed(Bytes::new(7))));
    let ends = |f: &Flow| (f.start, f.src, f.dst);
    assert!(flows(&other, 1).iter().map(ends).eq(flows(&one, 1).iter().map(ends)));
    assert!(flows(&other, 1).iter().all(|f| f.size == Some(Bytes::new(7))));
}

#[test]
fn racks_get_their_share() {
    let share = ("intra-rack", "30 %");
    let ctx = short_run(20, 1);
    let args = args(&[("flow-rate", "1000000"), share]);
    let flows = ENTRY.generate(&args, &ctx).unwrap().flows;
    let near = flows.iter().filter(|f| ctx.rack(f.src) == ctx.rack(f.dst)).count();
    // 6000 of 20000, within five standard deviations of 65, plus the deviation of the count.
    assert!((5_500..=6_500).contains(&near), "{near}");
    assert!(flows.iter().all(|f| f.src != f.dst));
    let one_rack = WorkloadArgs { sources: vec![0, 1], destinations: vec![0, 1], ..args.clone() };
    assert!(generate_err(&ENTRY, &one_rack).message.contains("outside its rack"));
    let apart = WorkloadArgs { sources: vec![0], destinations: vec![100], ..args };
    assert!(generate_err(&ENTRY, &apart).message.contains("`h.0` has no destination in its rack"));
}

#[test]
fn sources_with_faster_lines_send_more() {
    let mut ctx = short_run(10, 1);
    let mut hosts = ctx.hosts.to_vec();
    hosts[0].rate = lowtide_units::Rate::from_gbps(40);
    ctx.hosts = hosts.into();
    let mut args = args(&[("flow-rate", "1000000")]);
    args.sources = vec![0, 1];
    let flows = ENTRY.generate(&args, &ctx).unwrap().flows;
    let fast = flows.iter().filter(|f| f.src == 0).count() * 1_000 / flows.len();
    assert!((780..=820).contains(&fast), "{fast} of 1000");
}

#[test]
fn invalid_parameters_are_rejected() {
    assert!(generate_err(&ENTRY, &args(&[])).message.contains("no rate"));
    let both = args(&[("load", "1 %"), ("flow-rate", "1")]);
    assert!(generate_err(&ENTRY, &both).message.contains("given twice"));
    let late = args(&[("load", "10 %"), ("start", "10 s")]);
    assert_eq!(generate_err(&ENTRY, &late).key, Some("start"));
    let mut tiny = args(&[("load", "100 %")]);
    tiny.distributions.insert("sizes", Arc::new(Cdf::fixed(Bytes::new(1))));
    assert!(generate_err(&ENTRY, &tiny).message.contains("nanosecond"));
    tiny.distributions.insert("sizes", Arc::new(Cdf::fixed(Bytes::new(1_000))));
    assert!(generate_err(&ENTRY, &tiny).message.contains("more than 4000000 connections"));
    let alone =
        WorkloadArgs { sources: vec![0], destinations: vec![0], ..args(&[("load", "10 %")]) };
    assert_eq!(generate_err(&ENTRY, &alone).key, Some("to"));
}
