use lowtide_units::{Bytes, Fraction};

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
    FabricRequest {
        scenario: Scenario::parse(RACK, "rack.toml").unwrap(),
        goal: None,
        tenants: Fraction::ZERO,
        hops,
        jobs: 2,
    }
}

/// Three racks of four hosts with one line of 2.5 times the rate of a host up from each.
fn racks() -> Scenario {
    let text = RACK
        .replace(
            "kind = \"star\"",
            "kind = \"leaf-spine\"\nleaves = 3\nspines = 1\nhosts-per-leaf = 4",
        )
        .replace("link-delay", "fabric-rate = \"2500 Mbit/s\"\nlink-delay")
        .replace("count = 4", "count = 12");
    Scenario::parse(&text, "racks.toml").unwrap()
}

#[test]
fn advice_fills_the_line_and_equal_requests_give_it_again() {
    let advice = advise(&request(1), &|_| {}).unwrap();
    let [class] = advice.classes.as_slice() else { panic!("{:?}", advice.classes) };
    assert_eq!((advice.hosts, class.name.as_str(), class.ports), (4, "switch-host", 4));
    // Two lines of 5 us each way, a packet and an ACK on each: 10 + 10 + 24.6 + 1.4 us.
    assert!((class.rtt_us - 46.1).abs() < 0.5, "{}", class.rtt_us);
    // C x RTT / 7: 3.7 packets of 1538 B on the wire.
    assert!((class.analysis_bytes[0] / 1500.0 - 46.1e3 / 8.0 / 1538.0 / 7.0).abs() < 0.01);
    assert!(class.tests.iter().all(|t| t.best - t.utilisation <= 0.01), "{:?}", class.tests);
    assert_eq!(class.tests.iter().map(|t| t.flows).collect::<Vec<_>>(), [2, 3]);
    assert!(advice.candidates.iter().all(|c| c.seeds == 5), "the least budget is one round");
    assert_eq!(advice, advise(&request(1), &|_| {}).unwrap());
    let panel = &knee(&advice).panels[0];
    let mut dots = panel.series.iter().flat_map(|series| &series.points);
    assert!(dots.all(|dot| panel.x.low < dot.x && dot.x < panel.x.high), "{panel:?}");
    let applied = advice.apply(&request(1).scenario).unwrap().expand().unwrap();
    let toml = applied.runs[0].resolved_toml();
    assert!(toml.contains(&format!("k = \"{}\"", Bytes::new(class.k_bytes))), "{toml}");
}

#[test]
fn each_class_of_ports_has_flows_that_fill_it_first() {
    let subject = subject(&racks(), None).unwrap();
    let of = |i: usize| {
        let class = &subject.classes[i];
        let flows: Vec<usize> = class.patterns.iter().map(|p| p.pairs.len()).collect();
        (class.name.as_str(), class.rate.as_bps() / 1_000_000, class.ports.len(), flows)
    };
    // Three hosts of 1 Gbit/s fill 2.5 Gbit/s; a rack has four.
    assert_eq!(of(0), ("leaf-host", 1000, 12, vec![2, 4, 8]));
    assert_eq!(of(1), ("leaf-spine", 2500, 3, vec![3, 4]));
    // Three sources of two racks fill the line down, and no line up.
    assert_eq!(of(2), ("spine-leaf", 2500, 3, vec![3, 4]));
    for pattern in subject.classes.iter().flat_map(|class| &class.patterns) {
        let mut sources: Vec<u32> = pattern.pairs.iter().map(|(src, _)| *src).collect();
        sources.sort_unstable();
        sources.dedup();
        assert_eq!(sources.len(), pattern.pairs.len(), "distinct hosts: {pattern:?}");
    }
}

#[test]
fn every_port_of_a_class_gets_its_k() {
    let subject = subject(&racks(), None).unwrap();
    let ks = [6_000, 15_000, 24_000];
    let run = subject::first_run(&subject.with(&ks).unwrap()).unwrap();
    let plan = run.setup().unwrap().network;
    for (class, k) in subject.classes.iter().zip(ks) {
        for port in &class.ports {
            let line = plan.links[*port as usize / 2].line(port % 2 == 1);
            let mark = format!("{:?}", line.port.mark);
            assert!(mark.contains(&format!("k: {},", Bytes::new(k))), "{}: {mark}", class.name);
        }
    }
}

#[test]
fn the_dynamic_threshold_falls_below_k_with_the_ports_of_the_formula() {
    let subject = subject(&racks(), None).unwrap();
    // alpha (B - n K) < K with B = 1 MB and alpha = 1: n > B / K - 1 = 3 for 250 kB.
    assert_eq!(subject.ports_until_drops(&subject.classes[0], 250_000), Some(4));
    assert_eq!(subject.ports_until_drops(&subject.classes[0], 400_000), Some(2));
    assert_eq!(subject.ports_until_drops(&subject.classes[0], 6_000), None, "a leaf has 5 ports");
}

#[test]
fn a_class_has_the_packets_of_its_hosts_where_mtus_differ() {
    // Two racks of four; the first rack has 9000 B and segmentation offload, and reads from itself.
    let text = RACK
        .replace("kind = \"star\"", "kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts-per-leaf = 4")
        .replace("count = 4", "count = 4\n[hosts.jumbo]\ncount = 4\nhost-profile = \"linux\"\n[hosts.jumbo.connection]\nmtu = 9000")
        .replace("link-rate", "fabric-rate = \"2500 Mbit/s\"\nlink-rate")
        + "[traffic.own]\nkind = \"transfers\"\nfrom = \"jumbo[0..3]\"\nto = \"jumbo.3\"\ncount = 3\nsize = \"9 MB\"\n";
    let scenario = Scenario::parse(&text, "racks.toml").unwrap();
    let subject = subject(&scenario, None).unwrap();
    let bursts: Vec<_> =
        subject.bursts.iter().map(|b| (b.mtu_bytes, b.hosts, b.burst_bytes)).collect();
    assert_eq!(bursts, [(9000, 4, 63_000), (1500, 4, 1500)]);
    let of = |i: usize| {
        (subject.classes[i].name.as_str(), subject.classes[i].mtu, subject.classes[i].burst)
    };
    assert_eq!(of(0), ("leaf-host", 9000, 63_000));
    // The racks exchange nothing in jumbo frames: the smaller MSS of both ends counts.
    assert_eq!(of(1), ("leaf-spine", 1500, 1500));
    let pairs = &subject.classes[0].patterns[0].pairs;
    assert!(pairs.iter().all(|(_, dst)| *dst >= 4), "the largest packets: {pairs:?}");
    assert!(pairs.iter().any(|(src, _)| *src >= 4), "{pairs:?}");
}

#[test]
fn seeds_may_begin_anywhere() {
    let scenario = request(1).scenario.with_override("run.first-seed", "101").unwrap();
    let advice = advise(&FabricRequest { scenario, ..request(1) }, &|_| {}).unwrap();
    assert!(advice.candidates.iter().all(|c| c.seeds == 5), "{:?}", advice.candidates);
}

#[test]
fn a_rack_whose_load_goes_on_gets_advice_too() {
    let open = RACK.replace("end = \"done\"", "warmup = \"1 ms\"");
    let scenario = Scenario::parse(&open, "rack.toml").unwrap();
    assert!(scenario.expand().unwrap().runs[0].resolved_toml().contains("end-limit"));
    let advice = advise(&FabricRequest { scenario, ..request(50_000_000) }, &|_| {}).unwrap();
    assert!(advice.chosen().value.value.is_some(), "{advice:?}");
}

#[test]
fn the_question_of_a_scenario_decides_else_its_queries_else_its_short_flows() {
    let with = |more: &str, goal: Option<Goal>| {
        let scenario = Scenario::parse(&format!("{RACK}{more}"), "rack.toml").unwrap();
        subject(&scenario, goal).map(|s| s.target.map(|t| t.words()))
    };
    let words = |more: &str, goal| with(more, goal).unwrap().unwrap_or_default();
    let reads = "[traffic.reads]\nkind = \"partition-aggregate\"\nfrom = \"servers.0\"\nto = \
                 \"servers[1..4]\"\nfan-out = 3\nanswer-each = \"20 kB\"\nqueries = 30\n";
    let question =
        "[question]\ntraffic = \"web\"\npercentile = \"p95\"\n[question.schemes.dctcp]\n";
    assert_eq!(words("", None), "99th percentile of the slowdown of flows up to 100 kB");
    // 30 queries have a 95th percentile, and no 99th.
    let of_reads = "95th percentile of the completion time of the queries of `reads`";
    assert_eq!(words(reads, None), of_reads);
    assert_eq!(words(reads, Some(Goal::Queries)), of_reads);
    assert!(words(reads, Some(Goal::Tail)).contains("slowdown"));
    assert_eq!(words(reads, Some(Goal::Throughput)), "");
    let asked = words(&format!("{reads}{question}"), None);
    assert_eq!(asked, "95th percentile of the completion time of the flows of `web`");
    assert!(with("", Some(Goal::Queries)).is_err());
}

#[test]
fn tenants_without_ecn_pay_for_drops_and_not_in_a_queue_of_their_own() {
    let text = RACK.replace("count = 4", "count = 8").replace("flows = 120", "flows = 600");
    let subject = subject(&Scenario::parse(&text, "rack.toml").unwrap(), None).unwrap();
    let half = Fraction::from_percent(50);
    let found = tenants::tenants(&subject, &[6_000], half, (u64::MAX, 2)).unwrap().unwrap();
    assert_eq!(
        (found.hosts, found.group.as_str(), found.others.as_str()),
        (4, "web-not-ect", "web")
    );
    let [drop, ignore, apart] = found.runs.as_slice() else { panic!("{found:?}") };
    // Only the first has drops at 6 kB; a buffer of 1 MB that CUBIC fills drops a few.
    assert!(drop.late_handshakes > 5.0 && drop.timeouts > 20.0, "{found:?}");
    for run in [ignore, apart] {
        assert!(run.late_handshakes < 2.0 && run.timeouts < 5.0, "{found:?}");
    }
    assert!(ignore.tail.p99.is_some() && ignore.tail.ratio.is_none(), "{ignore:?}");
    assert!(drop.tail.ratio > Some(10.0), "{drop:?}");
    assert!(apart.tail.ratio < Some(3.0) && apart.tail.ratio.is_some(), "{apart:?}");
    let few = Fraction::from_percent(5);
    let refused = tenants::tenants(&subject, &[6_000], few, (1, 2)).unwrap().unwrap_err();
    assert!(refused.contains("0 hosts without ECN leave no two hosts"), "{refused}");
}

#[test]
fn the_analysis_is_that_of_plan_and_of_the_formula() {
    for (rate, mtu, delay) in [
        ("1 Gbit/s", 1500_u32, "5 us"),
        ("25 Gbit/s", 576, "1 us"),
        ("100 Gbit/s", 9000, "500 ns"),
        ("800 Gbit/s", 1500, "2 us"),
        ("1600 Gbit/s", 9216, "1 us"),
    ] {
        let set = |s: Scenario, key: &str, value: &str| s.with_override(key, value).unwrap();
        let scenario = set(request(1).scenario, "topology.link-rate", rate);
        let scenario = set(scenario, "topology.link-delay", delay);
        let scenario = set(scenario, "topology.mtu", "9216 B");
        let scenario = set(scenario, "transport.connection.mtu", &mtu.to_string());
        let subject = subject(&scenario, None).unwrap();
        let class = &subject.classes[0];
        let shown = analysis(&subject, 0).unwrap()[0];
        let input = SizingInput { rate: class.rate, rtt: class.rtt, mtu, ..SizingInput::ONE_FLOW };
        let plan = recommend(&input).unwrap();
        assert_eq!(shown.to_bits(), (plan.k_above_packets * f64::from(mtu)).to_bits());
        // Two lines each way with their delay, a full packet and an ACK of 52 B, each with 38 B of
        // framing; K in bytes of IP packets.
        let bps = class.rate.as_bps() as f64;
        let delay = lowtide_units::parse_duration(delay).unwrap().as_ps() as f64 / 1e12;
        let rtt = 4.0 * delay + 2.0 * 8.0 * (f64::from(mtu) + 38.0 + 90.0) / bps;
        let k = bps * rtt / 8.0 / 7.0 * f64::from(mtu) / (f64::from(mtu) + 38.0);
        assert!((shown / k - 1.0).abs() < 1e-6, "{rate} {mtu}: {shown} instead of {k}");
    }
}

#[test]
fn the_step_time_decides_for_a_collective() {
    let text = include_str!("../../../../scenarios/training.toml");
    let training = Scenario::parse(text, "training.toml").unwrap().without("sweep");
    let training = training.with_override("compare.schemes", "[\"dctcp\"]").unwrap();
    let training = training.with_override("traffic.train.operation", "ring-all-reduce").unwrap();
    for goal in [None, Some(Goal::Steps)] {
        let subject = subject(&training, goal).unwrap();
        let words = subject.target.as_ref().unwrap().words();
        assert_eq!(words, "95th percentile of the step time of the collective `train`");
        assert!(subject.classes.iter().all(|class| class.loaded && !class.patterns.is_empty()));
    }
    let error = subject(&request(1).scenario, Some(Goal::Steps)).err().unwrap().to_string();
    assert!(error.contains("no collective"), "{error}");
}

#[test]
fn requests_that_the_rule_cannot_answer_are_refused() {
    let refused = |scenario: Scenario| {
        advise(&FabricRequest { scenario, ..request(1) }, &|_| {}).unwrap_err().to_string()
    };
    let plain = || request(1).scenario;
    let swept =
        plain().with_sweep("topology.link-delay", &["1 us".to_owned(), "2 us".to_owned()]).unwrap();
    let two = plain().with_override("hosts.servers.count", "2").unwrap();
    let pipe = "[pipe.slow]\non = \"servers\"\nrate = \"100 Mbit/s\"\n";
    let piped = Scenario::parse(&format!("{RACK}{pipe}"), "rack.toml").unwrap();
    let class = "[switch.class.a]\nservice = \"strict\"\n";
    let classes = Scenario::parse(&format!("{RACK}{class}"), "rack.toml").unwrap();
    for (scenario, message) in [
        (swept, "compares or sweeps something itself"),
        (two, "can be filled by long flows"),
        (piped, "[pipe.slow] cannot be advised on"),
        (classes, "[switch.class.a] cannot be advised on"),
    ] {
        let error = refused(scenario);
        assert!(error.contains(message), "{message}: {error}");
    }
}
