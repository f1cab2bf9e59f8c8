//! Expansion of files to runs: precedence, overrides, sweeps, and emitted runs.

use lowtide_host::{
    AggregationSpec, BucketSpec, ClockSpec, NicSpec, NoiseSpec, STACK_DEVIATION, Setup,
};
use lowtide_net::{BufferSpec, MarkSpec, NodeId, PortSpec, QueueLength};
use lowtide_scenario::{PlanPart, RunPlan, RunSpec, Scenario};
use lowtide_tcp::EcnNegotiation;
use lowtide_traffic::WritePattern;
use lowtide_units::{Bytes, Duration, Fraction, Rate};

const BASE: &str = r#"
schema = 1
title = "A test"
[run]
duration = "3 s"
[topology]
kind = "star"
link-rate = "1 Gbit/s"
link-delay = "10 us"
[switch]
buffer = "6 MB"
[switch.mark]
kind = "step"
k = "20 pkt"
[transport]
profile = "linux"
[transport.sender]
nagle = false
[hosts.senders]
count = 3
[hosts.receivers]
count = 1
[traffic.long]
from = ["senders.1", "senders.2"]
to = "receivers"
count = 2
size = "40 MB"
[traffic.short]
from = "senders"
to = "receivers"
count = 10
start = "500 ms"
size = "10 kB"
"#;

pub(crate) fn plan(text: &str) -> RunPlan {
    let plan = Scenario::parse(text, "t.toml").and_then(|s| s.expand());
    plan.unwrap_or_else(|e| panic!("{e}"))
}

fn only(text: &str) -> Setup {
    let plan = plan(text);
    assert_eq!(plan.runs.len(), 1);
    plan.runs[0].setup().unwrap_or_else(|e| panic!("{e}"))
}

pub(crate) fn with(extra: &str) -> String {
    format!("{BASE}{extra}")
}

#[test]
fn a_file_becomes_a_setup() {
    let setup = only(BASE);
    assert_eq!(setup.end.at, Duration::from_secs(3));
    assert!(setup.end.when_done);
    assert_eq!(setup.host_groups, ["senders", "receivers"]);
    assert_eq!(setup.network.hosts, ["senders.0", "senders.1", "senders.2", "receivers.0"]);
    assert_eq!(setup.hosts[3].group, 1);
    let long: Vec<_> = setup.flows[..2].iter().map(|f| (f.src, f.dst, f.size)).collect();
    let size = Some(Bytes::new(40_000_000));
    assert_eq!(long, [(1, 3, size), (2, 3, size)]);
    assert_eq!(setup.flows.len(), 12);
    assert!(setup.flows[2..].iter().all(|f| f.start.since_start() == Duration::from_ms(500)));
    let port = &setup.network.links[3].from_b.port;
    assert_eq!(port.buffer, BufferSpec::Static(QueueLength::Bytes(Bytes::new(6_000_000))));
    assert_eq!(port.mark, MarkSpec::step(QueueLength::Packets(20)));
    assert_eq!(setup.network.links[3].from_a.port.buffer, BufferSpec::Unlimited);
    assert!(setup.hosts.iter().all(|h| !h.config.nagle && h.config.cc == "cubic"));
    assert_eq!(setup.probes.groups, [0, 1]);
    assert_eq!(setup.disturbance.start_jitter, Duration::from_us(10));
}

#[test]
fn a_group_has_its_own_clock_and_nic_and_others_have_ideal_ones() {
    let text = BASE.replace(
        "[hosts.receivers]",
        "[hosts.senders.nic]\nbucket-rate = \"1 Gbit/s\"\nbucket-burst = \"9 kB\"\n\
         bucket-poll = \"50 us\"\nmoderation = \"20 us\"\naggregate = \"10 us\"\n\
         [hosts.senders.clock]\noffset = \"5 s\"\ndrift = \"-40 ppm\"\nstamps = \"kernel\"\n\
         [hosts.receivers]",
    );
    let setup = only(&text);
    let clock = setup.hosts[2].clock;
    assert_eq!((clock.offset, clock.drift), (Duration::from_secs(5), Fraction::from_ppm(-40)));
    assert_eq!(clock.noise, NoiseSpec::Stack(STACK_DEVIATION), "the noise of a kernel");
    assert_eq!(setup.hosts[3].clock, ClockSpec::IDEAL);
    let (rate, burst, poll) = (Rate::from_gbps(1), Bytes::new(9_000), Duration::from_us(50));
    let nic = NicSpec {
        bucket: Some(BucketSpec { rate, burst, poll }),
        moderation: Duration::from_us(20),
        aggregation: Some(AggregationSpec {
            interval: Duration::from_us(10),
            max_bytes: Bytes::new(64_000),
        }),
        ..NicSpec::default()
    };
    assert_eq!(setup.hosts[2].nic, nic);
    assert_eq!(setup.hosts[3].nic, NicSpec::default());
    let again = only(&plan(&text).runs[0].resolved_toml());
    assert_eq!(again, setup, "written out and read back");
    let scenario = Scenario::parse(&text, "t.toml").unwrap();
    let scenario = scenario.with_override("hosts.senders.clock.noise", "none").unwrap();
    let setup = scenario.expand().unwrap().runs[0].setup().unwrap();
    assert_eq!(setup.hosts[0].clock.noise, NoiseSpec::None);
}

/// The setup of the thesis's fig. 4.1: two pipes of 2 Mbit/s and 20 ms, 20 packets, K = 6.
#[test]
fn pipes_change_only_the_lines_that_they_name() {
    let text = BASE
        .replace("kind = \"star\"", "kind = \"dumbbell\"")
        .replace("[hosts.senders]", "[hosts.senders]\nside = \"left\"")
        .replace("[hosts.receivers]", "[hosts.receivers]\nside = \"right\"")
        + "[pipe.forth]\non = \"bottleneck\"\ndirection = \"right\"\nrate = \"2 Mbit/s\"\n\
           delay = \"20 ms\"\nbuffer = \"20 pkt\"\n[pipe.forth.mark]\nkind = \"step\"\nk = \"6 pkt\"\n\
           [pipe.access]\non = [\"senders\", \"receivers\"]\ndirection = \"up\"\nloss = \"0.1 %\"\n\
           [pipe.access.mark]\nkind = \"phantom\"\nk = \"3 kB\"\n";
    let setup = only(&text);
    let plain = PortSpec {
        buffer: BufferSpec::Static(QueueLength::Bytes(Bytes::new(6_000_000))),
        ..piped()
    };
    let middle = setup.network.links.last().unwrap();
    let two = Rate::from_bps(2_000_000).unwrap();
    assert_eq!((middle.from_a.rate, middle.from_a.delay), (two, Duration::from_ms(20)));
    assert_eq!(middle.from_a.port, piped());
    assert_eq!(
        (middle.from_b.rate, middle.from_b.delay),
        (Rate::from_gbps(1), Duration::from_us(10))
    );
    assert_eq!((middle.from_b.port.buffer, middle.from_b.loss), (plain.buffer, Fraction::ZERO));
    for link in &setup.network.links[..4] {
        assert_eq!(
            (link.from_a.loss, link.from_b.loss),
            (Fraction::from_ppm(1_000), Fraction::ZERO)
        );
        assert_eq!(link.from_a.port.buffer, BufferSpec::Unlimited, "the port of a host");
        let phantom = MarkSpec::new("phantom", &[("k", "3 kB"), ("gamma", "95 %")]);
        assert_eq!(Ok(&link.from_a.port.mark), phantom.as_ref());
    }
    assert_eq!(only(&plan(&text).runs[0].resolved_toml()), setup, "written out and read back");
    let scenario = Scenario::parse(&text, "t.toml").unwrap();
    let scenario = scenario.with_override("pipe.forth.mark.k", "8 pkt").unwrap();
    let setup = scenario.expand().unwrap().runs[0].setup().unwrap();
    let mark = &setup.network.links[4].from_a.port.mark;
    assert_eq!(mark, &MarkSpec::step(QueueLength::Packets(8)));
}

/// The port of the thesis's pipe.
fn piped() -> PortSpec {
    PortSpec {
        buffer: BufferSpec::Static(QueueLength::Packets(20)),
        mark: MarkSpec::step(QueueLength::Packets(6)),
        count_in_service: false,
        classes: None,
    }
}

#[test]
fn each_workload_has_its_keys_and_its_write_pattern() {
    let text = BASE.replace(
        "[traffic.short]",
        "[traffic.pauses]\nkind = \"on-off\"\nfrom = \"senders\"\nto = \"receivers\"\n\
         size = \"unlimited\"\nburst = \"200 kB\"\npause = \"1 s\"\n\
         [traffic.steady]\nkind = \"rate-limited\"\nfrom = \"senders\"\nto = \"receivers\"\n\
         size = \"1 MB\"\nrate = \"4 Gbit/s\"\narrivals = \"poisson\"\n\
         [traffic.short]",
    );
    let setup = only(&text);
    let (burst, pause) = (Bytes::new(200_000), Duration::from_secs(1));
    assert_eq!(setup.flows[2].write_pattern, WritePattern::OnOff { burst, pause });
    let (rate, write) = (Rate::from_gbps(4), Bytes::new(1_448));
    assert_eq!(setup.flows[3].write_pattern, WritePattern::Rate { rate, write, poisson: true });
    assert_eq!(only(&plan(&text).runs[0].resolved_toml()), setup, "written out and read back");
}

#[test]
fn the_left_of_a_dumbbell_is_numbered_first() {
    let text = BASE
        .replace("kind = \"star\"", "kind = \"dumbbell\"\nbottleneck-rate = \"10 Gbit/s\"")
        .replace("[hosts.senders]\ncount = 3", "[hosts.senders]\ncount = 3\nside = \"right\"")
        .replace("[hosts.receivers]\ncount = 1", "[hosts.receivers]\ncount = 1\nside = \"left\"");
    let setup = only(&text);
    assert_eq!(setup.network.hosts[0], "receivers.0");
    assert_eq!(setup.hosts[0].group, 1);
    assert_eq!((setup.flows[0].src, setup.flows[0].dst), (2, 0));
    let middle = setup.network.links.last().unwrap();
    assert_eq!((middle.a, middle.b), (NodeId::Switch(0), NodeId::Switch(1)));
    assert_eq!(middle.from_a.rate.as_bps(), 10_000_000_000);
    assert_eq!(middle.from_b.delay, Duration::from_us(10));
}

#[test]
fn runs_are_schemes_times_points_times_seeds() {
    let text = with(
        "[compare]\nschemes = [\"sack\", \"ecn\"]\n\
         [sweep]\n\"traffic.short.size\" = [\"10kB\", \"20 kB\"]\n\
         \"switch.mark.k\" = { from = \"10 pkt\", to = \"30 pkt\", step = \"10 pkt\" }\n",
    );
    let plan = Scenario::parse(&text, "t.toml").unwrap().seeds(2).unwrap().expand().unwrap();
    assert_eq!(plan.schemes, ["sack", "ecn"]);
    assert_eq!(plan.points.len(), 6);
    assert_eq!(plan.runs.len(), 24);
    let run = &plan.runs[3];
    assert_eq!((run.scheme.as_str(), run.seed), ("sack", 2));
    let point: Vec<_> = run.point.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(point, [("traffic.short.size", "10 kB"), ("switch.mark.k", "20 pkt")]);
    let setup = run.setup().unwrap();
    assert_eq!(setup.seed, 2);
    assert_eq!(setup.flows[2].size, Some(Bytes::new(10_000)));
    let hashes: std::collections::BTreeSet<_> = plan.runs.iter().map(|r| &r.hash).collect();
    assert_eq!(hashes.len(), 24, "every run has its own hash");
    assert!(plan.runs.iter().all(|r| r.hash.len() == 16));
}

#[test]
fn a_group_keeps_its_own_scheme_and_an_override_takes_precedence() {
    let text = with("[compare]\nschemes = [\"sack\", \"ecn\"]\n").replace(
        "[hosts.receivers]",
        "[hosts.old]\ncount = 1\nscheme = \"sack\"\n[hosts.receivers]",
    );
    let plan_of = |s: Scenario| s.expand().unwrap_or_else(|e| panic!("{e}"));
    let plan = plan_of(Scenario::parse(&text, "t.toml").unwrap());
    let ecn = plan.runs[1].setup().unwrap();
    assert_eq!(plan.runs[1].scheme, "ecn");
    assert_eq!(ecn.hosts[0].config.ecn, EcnNegotiation::Rfc3168);
    assert_eq!(ecn.hosts[3].config.ecn, EcnNegotiation::Off, "its own scheme");
    assert_eq!(ecn.hosts[0].config.ack, "rfc3168");

    let scenario = Scenario::parse(&text, "t.toml")
        .unwrap()
        .with_override("transport.connection.ecn", "off")
        .unwrap();
    let plan = plan_of(scenario);
    assert!(
        plan.runs[1].setup().unwrap().hosts.iter().all(|h| h.config.ecn == EcnNegotiation::Off)
    );
}

#[test]
fn the_file_itself_is_below_the_compared_scheme_and_above_the_profile() {
    let text =
        with("[transport.connection]\necn = \"off\"\nmtu = 4000\n[compare]\nschemes = [\"ecn\"]\n");
    let setup = only(&text);
    assert!(
        setup.hosts.iter().all(|h| h.config.ecn == EcnNegotiation::Rfc3168 && h.config.mtu == 4000)
    );
    let text = text.replace(
        "[hosts.receivers]",
        "[hosts.senders.connection]\necn = \"passive\"\n[hosts.receivers]",
    );
    let setup = only(&text);
    assert_eq!(setup.hosts[0].config.ecn, EcnNegotiation::Passive);
    assert_eq!(setup.hosts[3].config.ecn, EcnNegotiation::Rfc3168);
}

#[test]
fn bundles_are_schemes_of_the_file() {
    let text = with(
        "[compare]\nschemes = [\"ecn\", \"patient\"]\n\
         [compare.bundles.patient]\nbase = \"ecn\"\nreceiver = { delack-segments = 4 }\n",
    );
    let plan = plan(&text);
    let (ecn, patient) = (plan.runs[0].setup().unwrap(), plan.runs[1].setup().unwrap());
    assert_eq!(ecn.hosts[0].config.delack_segments, 2);
    assert_eq!(patient.hosts[0].config.delack_segments, 4);
    assert_eq!(patient.hosts[0].config.ecn, EcnNegotiation::Rfc3168);
}

#[test]
fn a_bundle_sets_the_profile_of_hosts_that_name_none() {
    let text = with(
        "[compare]\nschemes = [\"ecn\", \"old\"]\n\
         [compare.bundles.old]\nprofile = \"rfc\"\nbase = \"ecn\"\n",
    )
    .replace("[hosts.receivers]", "[hosts.receivers]\nprofile = \"linux\"");
    let plan = plan(&text);
    let (ecn, old) = (plan.runs[0].setup().unwrap(), plan.runs[1].setup().unwrap());
    let receiver = ecn.hosts.len() - 1;
    assert_ne!(ecn.hosts[0].config.recovery, old.hosts[0].config.recovery);
    assert_eq!(ecn.hosts[receiver].config, old.hosts[receiver].config);
}

#[test]
fn an_override_ends_the_sweep_of_its_key_and_a_new_sweep_takes_its_place() {
    let text = with(
        "[sweep]\ntraffic.short.size = [\"10 kB\", \"20 kB\"]\n\"run.duration\" = [\"3 s\", \"4 s\"]\n",
    );
    let fixed = Scenario::parse(&text, "t.toml")
        .unwrap()
        .with_override("traffic.short.size", "800 kB")
        .unwrap()
        .expand()
        .unwrap();
    assert_eq!(
        fixed.points,
        [[("run.duration".into(), "3 s".into())], [("run.duration".into(), "4 s".into())]]
    );
    assert_eq!(fixed.runs[0].setup().unwrap().flows[2].size, Some(Bytes::new(800_000)));
    let values = ["1 MB".to_owned(), "2 MB".to_owned()];
    let other = Scenario::parse(&text, "t.toml")
        .unwrap()
        .with_sweep("traffic.short.size", &values)
        .unwrap()
        .expand()
        .unwrap();
    assert_eq!(
        other.points[0],
        [("traffic.short.size".into(), "1 MB".into()), ("run.duration".into(), "3 s".into())]
    );
    assert_eq!(other.points.len(), 4);
}

#[test]
fn a_star_sets_all_matching_tables_except_those_overridden_later() {
    let of = |run: RunSpec| {
        let flows = run.setup().unwrap().flows;
        (run.point, vec![flows[0].size, flows[2].size])
    };
    let sizes = |scenario: Scenario| -> Vec<_> {
        scenario.expand().unwrap().runs.into_iter().map(of).collect()
    };
    let kb = |n: u64| Some(Bytes::new(n * 1000));
    let scenario = || Scenario::parse(BASE, "t.toml").unwrap();
    let scenario = || scenario().with_override("traffic.*.size", "30 kB").unwrap();
    assert_eq!(sizes(scenario()), [(Vec::new(), vec![kb(30), kb(30)])]);
    let values = ["1 kB".to_owned(), "2 kB".to_owned()];
    let swept = || scenario().with_sweep("traffic.*.size", &values).unwrap();
    let point = |value: &str| vec![("traffic.*.size".to_owned(), value.to_owned())];
    assert_eq!(
        sizes(swept()),
        [(point("1 kB"), vec![kb(1), kb(1)]), (point("2 kB"), vec![kb(2), kb(2)])]
    );
    let named = swept().with_override("traffic.short.size", "9 kB").unwrap();
    assert_eq!(
        sizes(named),
        [(point("1 kB"), vec![kb(1), kb(9)]), (point("2 kB"), vec![kb(2), kb(9)])]
    );
    let again = swept().with_override("traffic.*.size", "9 kB").unwrap();
    assert_eq!(sizes(again), [(Vec::new(), vec![kb(9), kb(9)])]);
    let one = ["5 kB".to_owned(), "6 kB".to_owned()];
    let replaced = scenario().with_sweep("traffic.short.size", &one).unwrap();
    let replaced = replaced.with_sweep("traffic.*.size", &values).unwrap();
    assert_eq!(sizes(replaced), sizes(swept()));
}

#[test]
fn a_resolved_run_reads_back_as_the_same_run() {
    let text = with(
        "[probes]\ninterval = \"off\"\ngroups = [\"short\"]\n\
         [compare]\nschemes = [\"sack\", \"patient\"]\n\
         [compare.bundles.patient]\nbase = \"ecn\"\nreceiver = { delack-segments = 4 }\n\
         [sweep]\n\"traffic.short.size\" = [\"10 kB\", \"20 kB\"]\n",
    )
    .replace(
        "[hosts.receivers]",
        "[hosts.old]\ncount = 2\nscheme = \"patient\"\nprofile = \"rfc\"\n[hosts.receivers]",
    );
    for run in plan(&text).runs {
        let resolved = run.resolved_toml();
        let again = plan(&resolved);
        assert_eq!(again.runs.len(), 1, "{resolved}");
        assert_eq!(again.runs[0].setup().unwrap(), run.setup().unwrap());
        assert_eq!(again.runs[0].scheme, run.scheme);
        assert_eq!(again.runs[0].resolved_toml(), resolved, "emitting it twice gives one text");
        assert_eq!(again.runs[0].hash, run.hash);
    }
}

#[test]
fn lists_of_an_override_are_separated_by_commas() {
    let scenario = Scenario::parse(&with("[compare]\nschemes = [\"ecn\"]\n"), "t.toml").unwrap();
    let plan =
        scenario.clone().with_override("compare.schemes", "sack, ecn").unwrap().expand().unwrap();
    assert_eq!(plan.schemes, ["sack", "ecn"]);
    let plan = scenario.with_override("compare.schemes", "sack").unwrap().expand().unwrap();
    assert_eq!(plan.schemes, ["sack"]);
}

#[test]
fn hosts_may_send_among_themselves() {
    let text = BASE.replace("to = \"receivers\"\ncount = 10", "to = \"senders\"\ncount = 10");
    let setup = only(&text);
    assert!(setup.flows.iter().all(|f| f.src != f.dst));
    assert_eq!(setup.flows.len(), 12);
}

#[test]
fn texts_survive_being_written_out() {
    let title = r#"Queues "deep" \ shallow, 20 µs \u001b"#;
    let text = BASE.replace("\"A test\"", &format!("{:?}", title.replace('\\', "/")));
    let run = &plan(&text).runs[0];
    assert_eq!(plan(&run.resolved_toml()).title, plan(&text).title);
}

#[test]
fn the_example_of_the_manual_is_right() {
    let page = include_str!("../../../../docs/reference/scenario.md");
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (example, rest) = rest.split_once("```").unwrap();
    let setup = only(example);
    assert_eq!(setup.flows.len(), 2);
    let (_, rest) = rest.split_once("```toml\n[sweep]\n").unwrap();
    let (sweep, _) = rest.split_once("```").unwrap();
    assert_eq!(plan(&with(&format!("[sweep]\n{sweep}"))).points.len(), 8);
}

#[test]
fn the_hash_covers_only_what_affects_a_run() {
    let base = plan(BASE);
    let same = [
        BASE.replace("A test", "Another title"),
        BASE.replace("[run]", "# a comment\n[run]\nwarmup = \"0 ms\""),
        BASE.replace("\"40 MB\"", "\"40000 kB\""),
    ];
    for text in same {
        assert_eq!(plan(&text).hash, base.hash);
        assert_eq!(plan(&text).runs[0].hash, base.runs[0].hash);
    }
    let other = [
        BASE.replace("\"40 MB\"", "\"41 MB\""),
        BASE.replace("nagle = false", "nagle = true"),
        with("[disturbance]\nties = false\n"),
    ];
    for text in other {
        assert_ne!(plan(&text).hash, base.hash, "{text}");
        assert_ne!(plan(&text).runs[0].hash, base.runs[0].hash);
    }
    let more = Scenario::parse(BASE, "t.toml").unwrap().seeds(3).unwrap().expand().unwrap();
    assert_eq!(more.hash, base.hash, "more seeds do not change the experiment");
    assert_eq!(more.runs[0].hash, base.runs[0].hash, "the hash of a run is kept");
    assert_ne!(more.runs[1].hash, base.runs[0].hash);
}

#[test]
fn a_removed_table_leaves_no_trace() {
    let scenario = || Scenario::parse(BASE, "t.toml").unwrap();
    let (with, without) = (plan(BASE), scenario().without("traffic.short").expand().unwrap());
    let groups = |plan: &RunPlan| plan.runs[0].setup().unwrap().traffic_groups;
    assert_eq!(
        (groups(&with), groups(&without)),
        (vec!["long".into(), "short".into()], vec!["long".into()])
    );
    assert_eq!(scenario().without("traffic.none").expand().unwrap().hash, with.hash);
    let error = scenario().without("hosts.receivers").expand().unwrap_err().to_string();
    assert!(error.contains("receivers"), "{error}");
}

#[test]
fn plans_are_concatenated_under_new_names() {
    let part = |scheme: &str, value: &str, text: &str| PlanPart {
        scheme: scheme.to_owned(),
        point: vec![("neighbour".to_owned(), value.to_owned())],
        plan: Scenario::parse(text, "t.toml").unwrap().seeds(2).unwrap().expand().unwrap(),
    };
    let other = BASE.replace("\"40 MB\"", "\"41 MB\"");
    let parts = || vec![part("a", "x", BASE), part("a", "y", &other), part("b", "x", BASE)];
    let whole = RunPlan::concat("matrix", "All of it", parts());
    assert_eq!((whole.name.as_str(), whole.runs.len()), ("matrix", 6));
    assert_eq!((whole.schemes.len(), whole.points.len()), (2, 2));
    let keys: Vec<(&str, &str, u64)> =
        whole.runs.iter().map(|r| (r.scheme.as_str(), r.point[0].1.as_str(), r.seed)).collect();
    let expected =
        [("a", "x", 1), ("a", "x", 2), ("a", "y", 1), ("a", "y", 2), ("b", "x", 1), ("b", "x", 2)];
    assert_eq!(keys, expected);
    assert_eq!(whole.runs[0].hash, plan(BASE).runs[0].hash, "the same run");
    assert_eq!(RunPlan::concat("matrix", "Another title", parts()).hash, whole.hash);
    let renamed = RunPlan::concat("matrix", "", vec![part("c", "x", BASE)]);
    assert_ne!(renamed.hash, RunPlan::concat("matrix", "", vec![part("a", "x", BASE)]).hash);
}

#[test]
fn ranges_of_flow_sizes_affect_only_the_report() {
    let of = |text: &str| plan(text).runs[0].clone();
    let plain = of(BASE);
    assert_eq!(plain.size_classes(), [10_000, 100_000, 1_000_000, 10_000_000]);
    let text = format!("{BASE}[probes]\nsize-classes = [\"30 kB\", \"1 MB\"]\n");
    let own = of(&text);
    assert_eq!(own.size_classes(), [30_000, 1_000_000]);
    assert_eq!(own.setup().unwrap(), plain.setup().unwrap(), "the run is the same");
    assert_ne!(own.hash, plain.hash, "its summary is not");
    assert_eq!(of(&own.resolved_toml()).hash, own.hash);
    assert!(of(&format!("{BASE}[probes]\nsize-classes = []\n")).size_classes().is_empty());
    let typed = Scenario::parse(BASE, "t.toml").unwrap();
    let typed = typed.with_override("probes.size-classes", "30 kB,1 MB").unwrap();
    assert_eq!(typed.expand().unwrap().runs[0].hash, own.hash);
}
