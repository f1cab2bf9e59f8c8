//! The end of an open loop: its default, its load, its limit.

use lowtide_host::Setup;
use lowtide_scenario::Estimate;
use lowtide_traffic::{Flow, QuerySchedule};
use lowtide_units::{Duration, Instant};

use crate::refused_network::assert_error as refused;
use crate::runs::plan;

const POISSON: &str = r#"
schema = 1
title = "A test"
[run]
duration = "200 ms"
[topology]
kind = "star"
link-rate = "1 Gbit/s"
link-delay = "10 us"
[switch]
buffer = "6 MB"
[transport]
profile = "linux"
[transport.sender]
nagle = false
[hosts.servers]
count = 8
[traffic.first]
kind = "poisson"
from = "servers"
to = "servers"
sizes = "web-search-654kb"
load = "30 %"
[traffic.second]
kind = "poisson"
from = "servers"
to = "servers"
sizes = "10 kB"
load = "5 %"
flows = 40
"#;

fn setup(text: &str) -> Setup {
    plan(text).runs[0].setup().unwrap_or_else(|e| panic!("{e}"))
}

fn with_end(end: &str) -> String {
    POISSON.replace("duration = \"200 ms\"", &format!("duration = \"200 ms\"\n{end}"))
}

fn of_group(flows: &[Flow], group: u16) -> Vec<&Flow> {
    flows.iter().filter(|f| f.group == group).collect()
}

#[test]
fn the_load_goes_on_after_the_same_counted_arrivals() {
    let (open, closed) = (setup(POISSON), setup(&with_end("end = \"done\"")));
    assert_eq!(closed.counting.open_loop, None);
    let end = open.counting.open_loop.expect("the default of Poisson arrivals");
    assert_eq!(end.counted_until, Duration::from_ms(200));
    assert_eq!((open.end.at, open.end.when_done), (Duration::from_ms(800), true));
    let (counted, load) = open.flows.split_at(end.load_from as usize);
    assert_eq!(counted, closed.flows, "numbers, times, sizes and ends");
    let bound = Instant::ZERO + Duration::from_ms(200);
    // Without a number of flows the load begins with the first arrival after the duration.
    let more = of_group(load, 0);
    assert!(more.iter().all(|f| f.start >= bound));
    // 30 % of 8 Gbit/s in flows of 654 kB are 459 per second: 275 in 600 ms, within five
    // standard deviations.
    assert!((193..=358).contains(&more.len()), "{}", more.len());
    // A number of flows is that of counted ones; the load goes on from the next arrival.
    let (last, next) = (of_group(counted, 1)[39].start, of_group(load, 1)[0].start);
    assert_eq!(of_group(counted, 1).len(), 40);
    assert!(last < next && next < bound, "{last} {next}");
    // Both together are the process without a number.
    let whole = setup(&with_end("end = \"done\"").replace("\nflows = 40", ""));
    let whole = of_group(&whole.flows, 1);
    let parts: Vec<&Flow> = of_group(counted, 1).into_iter().chain(of_group(load, 1)).collect();
    assert_eq!(parts[..whole.len()], whole[..]);
}

#[test]
fn queries_of_an_open_loop_go_on_too() {
    let text = POISSON.replace(
        "[traffic.second]",
        "[traffic.web]\nkind = \"partition-aggregate\"\nfrom = \"servers.0\"\nto = \"servers\"\n\
         answer-each = \"2 kB\"\nqueries = 10\nloop = \"poisson\"\nmean-gap = \"1 ms\"\n\
         [traffic.second]",
    );
    let arrivals = |setup: &Setup| match &setup.query_clients[0].schedule {
        QuerySchedule::OpenLoop(arrivals) => arrivals.clone(),
        QuerySchedule::ClosedLoop { .. } => panic!("a closed loop"),
    };
    let open = arrivals(&setup(&text));
    assert_eq!(open.counted, 10);
    assert!((640..=960).contains(&open.times.len()), "{}", open.times.len());
    let stated = text.replace("[run]", "[run]\nend = \"done\"");
    assert_eq!(arrivals(&setup(&stated)).times, open.times[..10]);
    // Queries alone are an open loop unless they wait for each other.
    let alone = &text[..text.find("[traffic.first]").unwrap()];
    let web = &text[text.find("[traffic.web]").unwrap()..text.find("[traffic.second]").unwrap()];
    assert!(setup(&format!("{alone}{web}")).counting.open_loop.is_some());
    let closed = web.replace("loop = \"poisson\"\nmean-gap = \"1 ms\"\n", "");
    assert!(setup(&format!("{alone}{closed}")).counting.open_loop.is_none());
}

#[test]
fn a_resolved_run_states_its_end_and_is_the_same_run() {
    let run = &plan(&with_end("end-limit = \"1 s\"")).runs[0];
    let text = run.resolved_toml();
    assert!(text.contains("end = \"counted-done\"\nend-limit = \"1 s\"\n"), "{text}");
    let again = &plan(&text).runs[0];
    assert_eq!((&again.hash, again.setup().unwrap()), (&run.hash, run.setup().unwrap()));
    let other = &plan(&with_end("end = \"done\"")).runs[0];
    assert!(!other.resolved_toml().contains("end-limit"));
    assert_ne!(run.hash, other.hash);
}

#[test]
fn a_load_beyond_the_limit_of_a_group_ends_the_run_earlier() {
    // At a million flows per second 20,000 beyond 40 counted ones take 20 ms, 100 times 1,000
    // take 100 ms, and at most 500,000 take 500 ms; five standard deviations are 0.7, 1.6, 3.5 ms.
    for (flows, ms) in [(40, 20.04), (1_000, 101.0), (150_000, 650.0)] {
        let text = POISSON
            .replace("load = \"5 %\"", "flow-rate = 1000000")
            .replace("flows = 40", &format!("flows = {flows}"));
        let at = setup(&text).end.at.as_secs_f64() * 1e3;
        assert!((at - ms).abs() < 4.0, "{flows}: {at}");
    }
}

#[test]
fn the_estimate_does_not_count_load_that_never_begins() {
    let of = |text: &str| Estimate::of(&setup(text));
    let (open, long) = (of(POISSON), of(&with_end("end-limit = \"20 s\"")));
    let closed = of(&with_end("end = \"done\""));
    assert_eq!((open.hops, open.flows), (long.hops, long.flows));
    // 5 % of 8 Gbit/s in flows of 10 kB are 1000 in 200 ms, 40 of them counted.
    let more = open.flows - closed.flows;
    assert!((860..=1_300).contains(&more), "{more}");
    assert!((closed.hops..2 * closed.hops).contains(&open.hops), "{open:?} {closed:?}");
}

#[test]
fn an_end_that_cannot_be_is_refused() {
    refused(
        &with_end("end = \"duration\"\nend-limit = \"1 s\""),
        "\"1 s\"",
        &["`end-limit` does nothing with `end = \"duration\"`"],
    );
    refused(
        &with_end("end-limit = \"200 ms\""),
        "\"200 ms\"",
        &["a limit of 200 ms leaves no time after the last counted arrival at 200 ms"],
    );
    let stated = with_end("end = \"counted-done\"");
    let only = &stated[..stated.find("[traffic.first]").unwrap()];
    let bulk = "[traffic.bulk]\nfrom = \"servers.0\"\nto = \"servers.1\"\nsize = \"1 MB\"\n";
    let text = format!("{only}{bulk}");
    refused(&text, "\"counted-done\"", &["no traffic group is an open loop"]);
}
