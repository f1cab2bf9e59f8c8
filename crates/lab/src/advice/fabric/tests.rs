use super::*;

const RACK: &str = r#"
schema = 1
title = "A rack"

[run]
duration = "10 s"
end = "done"

[topology]
kind = "star"
link-rate = "1 Gbit/s"
link-delay = "5 us"

[switch]
buffer = "dynamic"
memory = "1 MB"

[transport]
profile = "linux"
scheme = "dctcp"

[hosts.servers]
count = 4

[traffic.web]
kind = "poisson"
from = "servers"
to = "servers"
sizes = "web-search-654kb"
load = "40 %"
flows = 120
"#;

fn request(hops: u64) -> FabricRequest {
    FabricRequest { scenario: Scenario::parse(RACK, "rack.toml").unwrap(), hops, jobs: 2 }
}

#[test]
fn advice_is_a_candidate_that_fills_the_line_and_equal_requests_give_it_again() {
    let advice = advise(&request(1), &|_| {}).unwrap();
    assert_eq!((advice.hosts, advice.line_bps, advice.group.as_str()), (4, 1_000_000_000, "web"));
    // Two lines of 5 us each way, a packet and an ACK on each: 10 + 10 + 24.6 + 1.4 us.
    assert!((advice.rtt_us - 46.1).abs() < 0.5, "{}", advice.rtt_us);
    let chosen = advice.chosen();
    let best = advice.candidates.iter().filter_map(|c| c.utilisation).fold(0.0, f64::max);
    assert!(chosen.utilisation.unwrap() >= best - 0.01, "{chosen:?}");
    for other in advice.candidates.iter().filter(|c| c.utilisation >= Some(best - 0.01)) {
        assert!(chosen.p99.value.unwrap() <= other.p99.value.unwrap(), "{other:?}");
    }
    assert!(advice.candidates.iter().all(|c| c.seeds == 5), "the least budget is one round");
    assert_eq!(advice, advise(&request(1), &|_| {}).unwrap());
    let applied = advice.apply(&request(1).scenario).unwrap().expand().unwrap();
    let toml = applied.runs[0].resolved_toml();
    assert!(toml.contains(&format!("k = \"{}\"", Bytes::new(chosen.k_bytes))), "{toml}");
}

#[test]
fn a_rack_whose_load_goes_on_gets_advice_too() {
    let open = RACK.replace("end = \"done\"", "warmup = \"1 ms\"");
    let scenario = Scenario::parse(&open, "rack.toml").unwrap();
    assert!(scenario.expand().unwrap().runs[0].resolved_toml().contains("end-limit"));
    let advice = advise(&FabricRequest { scenario, ..request(1) }, &|_| {}).unwrap();
    assert!(advice.chosen().p99.value.is_some(), "{advice:?}");
}

#[test]
fn requests_that_the_rule_cannot_answer_are_refused() {
    let of = |key: &str, value: &str| {
        let scenario = request(1).scenario.with_override(key, value).unwrap();
        advise(&FabricRequest { scenario, ..request(1) }, &|_| {}).unwrap_err().to_string()
    };
    let swept = request(1)
        .scenario
        .with_sweep("topology.link-delay", &["1 us".to_owned(), "2 us".to_owned()]);
    let swept = FabricRequest { scenario: swept.unwrap(), ..request(1) };
    let error = advise(&swept, &|_| {}).unwrap_err().to_string();
    assert!(error.contains("compares or sweeps something itself"), "{error}");
    for (key, value, message) in [
        ("hosts.servers.count", "2", "at least three hosts"),
        ("traffic.web.sizes", "20 kB", "flows of different sizes"),
    ] {
        let error = of(key, value);
        assert!(error.contains(message), "{key}: {error}");
    }
}
