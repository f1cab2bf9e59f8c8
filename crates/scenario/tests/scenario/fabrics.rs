//! Fabrics, switches, failures, queries and flow lists: files are expanded to setups and emitted
//! again.

use crate::common::BASE;
use lowtide_host::{Setup, run};
use lowtide_net::{BufferSpec, ClassSet, MarkSpec, NodeId, Ratio, Routing, Service};
use lowtide_rows::EndReason;
use lowtide_scenario::{Estimate, Scenario};
use lowtide_units::{Bytes, Duration, Fraction, Instant, Rate};

/// Returns the only run of `text`, and asserts that its emitted text gives an equal run.
#[track_caller]
fn only(text: &str) -> Setup {
    let plan = Scenario::parse(text, "t.toml").and_then(|s| s.expand());
    let plan = plan.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plan.runs.len(), 1);
    let resolved = plan.runs[0].resolved_toml();
    let again = Scenario::parse(&resolved, "resolved.toml").and_then(|s| s.expand());
    let again = again.unwrap_or_else(|e| panic!("{e}\n{resolved}"));
    assert_eq!(again.runs[0].hash, plan.runs[0].hash, "{resolved}");
    let setup = plan.runs[0].setup().expect("it was checked");
    assert_eq!(again.runs[0].setup().expect("it was checked"), setup, "{resolved}");
    setup
}

/// Returns the base with another topology and other switches; 16 senders.
fn fabric(topology: &str, switch: &str) -> String {
    let text = BASE.replace("kind = \"star\"\n", &format!("{topology}\n"));
    let text = text.replace("[hosts.receivers]\ncount = 1\n", "");
    let text = text.replace("count = 3", "count = \"rest\"");
    let old = "buffer = \"100 pkt\"\n[switch.mark]\nkind = \"step\"\nk = \"20 pkt\"\n";
    text.replace(old, &format!("{switch}\n")).replace("to = \"receivers\"", "to = \"senders\"")
}

const LEAVES: &str = "kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts-per-leaf = 4\n\
    fabric-rate = \"10 Gbit/s\"\nfabric-delay = \"1 us\"";

#[test]
fn every_fabric_takes_the_hosts_of_the_file() {
    let fabrics = [
        (LEAVES, 16, 6),
        ("kind = \"fat-tree\"\nk = 4", 16, 20),
        ("kind = \"three-tier\"", 192, 56),
    ];
    for (topology, hosts, switches) in fabrics {
        let setup = only(&fabric(topology, "buffer = \"100 pkt\""));
        assert_eq!((setup.hosts.len(), setup.network.switches.len()), (hosts, switches));
        assert_eq!(setup.network.hosts[hosts - 1], format!("senders.{}", hosts - 1));
        assert_eq!(setup.network.routing, Routing::Ecmp { polarised: false });
    }
    let setup = only(&fabric(LEAVES, "buffer = \"100 pkt\""));
    let up = setup.network.links.last().unwrap();
    assert_eq!((up.from_a.rate, up.from_b.delay), (Rate::from_gbps(10), Duration::from_us(1)));
    assert_eq!(only(BASE).network.routing, Routing::Single);
}

#[test]
fn the_sides_of_multi_hop_are_its_groups() {
    let group = |name: &str, side: &str, n: u32| {
        format!("[hosts.{name}]\ncount = {n}\nside = \"{side}\"\n")
    };
    let groups = group("late", "r1", 1) + &group("one", "s1", 2) + &group("two", "s3", 2);
    let text = BASE.replace("kind = \"star\"", "kind = \"multi-hop\"\ntrunk-rate = \"10 Gbit/s\"");
    let a = text.find("[hosts.senders]").unwrap();
    let b = text.find("[traffic.long]").unwrap();
    let text = format!("{}{groups}{}", &text[..a], &text[b..]);
    let text = text.replace("\"senders\"", "\"one\"").replace("\"receivers\"", "\"late\"");
    let at = "[switch.at.scorpion]\nprofile = \"scorpion\"\n[switch.at.triumph]\nprofile = \"triumph\"\n";
    let setup = only(&format!("{text}{at}"));
    assert_eq!(setup.network.hosts, ["one.0", "one.1", "two.0", "two.1", "late.0"]);
    assert_eq!((setup.flows[0].src, setup.flows[0].dst), (0, 4));
    let memory: Vec<_> = setup.network.switches.iter().map(|s| s.memory).collect();
    assert_eq!(memory, [Some(Bytes::new(4 << 20)); 3]);
    assert!(setup.network.links.iter().all(|l| l.from_b.port.mark.name() == "step"));
}

#[test]
fn switches_differ_by_name_and_by_kind() {
    let text = fabric(
        LEAVES,
        "profile = \"triumph\"\n[switch.mark]\nkind = \"red\"\nmin = \"20 pkt\"\nmax = \"60 pkt\"\nsignal = \"drop\"\n\
         [switch.at.spine]\nbuffer = \"1 MB\"\n[switch.at.spine.mark]\nkind = \"step-dequeue\"\nk = \"65 pkt\"\n\
         [switch.at.spine1]\nalpha = 0.5\nreserved = \"3 kB\"\ncount-in-service = true",
    );
    let setup = only(&text);
    let port = |name: &str| {
        let switches = &setup.network.switches;
        let at = switches.iter().position(|s| s.name == name).unwrap();
        let node = NodeId::Switch(at as u32);
        let link = setup.network.links.iter().find(|l| l.a == node || l.b == node).unwrap();
        (link.line(link.a != node).port.clone(), switches[at].memory)
    };
    let (leaf, memory) = port("leaf0");
    let alpha = Ratio::new(1, 5).unwrap();
    assert_eq!(leaf.buffer, BufferSpec::Dynamic { alpha, reserved: Bytes::new(0) });
    assert_eq!(memory, Some(Bytes::new(4 << 20)));
    let values = leaf.mark.values();
    assert_eq!((leaf.mark.name(), leaf.mark.sets_ce()), ("red", None));
    assert_eq!((values.name("signal"), values.count("weight")), ("drop", 9));
    let (spine, memory) = port("spine0");
    assert!(matches!(spine.buffer, BufferSpec::Static(_)));
    assert_eq!(spine.mark.name(), "step-dequeue");
    assert_eq!(memory, None);
    let (one, _) = port("spine1");
    let alpha = Ratio::new(1, 2).unwrap();
    assert_eq!(one.buffer, BufferSpec::Dynamic { alpha, reserved: Bytes::new(3_000) });
    assert!(one.count_in_service && one.mark == leaf.mark);
}

#[test]
fn classes_take_their_defaults_from_the_switch() {
    let text = fabric(
        LEAVES,
        "buffer = \"100 pkt\"\n[switch.mark]\nkind = \"step\"\nk = \"20 pkt\"\n\
         [switch.class.urgent]\nservice = \"strict\"\nbuffer = \"10 pkt\"\n[switch.class.urgent.mark]\n\
         kind = \"droptail\"\n[switch.class.bulk]\nquantum = \"9 kB\"",
    );
    let text = text.replace(
        "count = \"rest\"",
        "count = \"rest\"\n[hosts.fast]\ncount = 1\nclass = \"urgent\"",
    );
    let setup = only(&text);
    let set = &setup.network.class_sets[0];
    assert_eq!((set[0].service, &set[0].mark), (Service::Strict, &MarkSpec::NONE));
    assert_eq!(set[1].service, Service::Dwrr { quantum: Bytes::new(9_000) });
    assert_eq!(set[1].mark.name(), "step");
    assert_eq!(setup.network.links[0].from_b.port.classes, Some(ClassSet(0)));
    assert_eq!(setup.network.links[0].from_a.port.classes, None, "the port of a host");
    assert_eq!(
        (setup.hosts[14].class, setup.hosts[15].class),
        (1, 0),
        "the last class takes all other packets"
    );
}

#[test]
fn failures_and_pipes_find_links_by_their_ends() {
    let text = fabric(LEAVES, "buffer = \"100 pkt\"")
        + "[failure.cut]\nlink = \"spine1-leaf2\"\ndown = \"10 ms\"\nup = \"20 ms\"\ndetect = \"1 ms\"\n\
           [failure.host]\nlink = \"senders.3-leaf0\"\ndown = \"1 s\"\n\
           rate = \"100 Mbit/s\"\ndirection = \"left\"\n\
           [pipe.slow]\non = \"spine0-leaf1\"\ndirection = \"right\"\nrate = \"1 Gbit/s\"\n";
    let net = only(&text).network;
    let [cut, host] = net.failures.as_slice() else { panic!("{:?}", net.failures) };
    assert_eq!(
        (net.name(net.links[cut.link].a), net.name(net.links[cut.link].b)),
        ("leaf2", "spine1")
    );
    let at = |ms| Instant::ZERO + Duration::from_ms(ms);
    assert_eq!((cut.down_at, cut.up_at), (at(10), Some(at(20))));
    assert_eq!((host.link, host.up_at), (3, None));
    assert_eq!((host.only_back, host.rate), (Some(true), Rate::from_bps(100_000_000)));
    assert_eq!(cut.only_back, None);
    let right = only(&text.replace("\"10 ms\"", "\"10 ms\"\ndirection = \"right\"")).network;
    assert_eq!(right.failures[0].only_back, Some(true), "from spine1, which is the second end");
    let slow: Vec<_> = net.links.iter().filter(|l| l.from_b.rate != l.from_a.rate).collect();
    assert_eq!(slow.len(), 1);
    assert_eq!(slow[0].from_b.rate, Rate::from_gbps(1), "towards the leaf, which is the first end");
    // Kinds of switches: all links between them, and no host's.
    let kinds = text.replace("spine0-leaf1", "spine-leaf");
    let net = only(&kinds).network;
    let slow: Vec<_> = net.links.iter().filter(|l| l.from_b.rate != l.from_a.rate).collect();
    assert!(slow.len() > 1 && slow.iter().all(|l| net.name(l.a).starts_with("leaf")));
    assert!(slow.iter().all(|l| l.from_b.rate == Rate::from_gbps(1)));
}

#[test]
fn written_keys_override_the_host_profile() {
    let text =
        BASE.replace("[transport.sender]", "host-profile = \"papers-2010\"\n[transport.sender]");
    let text = text.replace("[hosts.receivers]", "[hosts.senders.nic]\nsend-delay = \"5 us\"\nsend-jitter = \"2 us\"\n[hosts.receivers]\nhost-profile = \"linux\"");
    let setup = only(&text);
    assert_eq!(setup.hosts[0].config.tso_segments, 40);
    assert_eq!(setup.hosts[0].nic.moderation, Duration::from_us(80));
    assert_eq!(setup.hosts[0].nic.stack.send.constant, Duration::from_us(5));
    assert_eq!(setup.hosts[3].nic.moderation, Duration::from_us(8));
    assert!(setup.hosts[3].nic.aggregation.is_some());
    let own = text.replace("nagle = false", "nagle = false\ntso-segments = 4");
    assert_eq!(only(&own).hosts[0].config.tso_segments, 4);
}

#[test]
fn random_traffic_depends_only_on_the_seed() {
    let text = BASE.replace("[hosts.receivers]\ncount = 1", "[hosts.receivers]\ncount = 2");
    let text = text.replace("[topology]", "end = \"done\"\n[topology]")
        + "[traffic.random]\nkind = \"poisson\"\nfrom = \"senders\"\nto = \"receivers\"\n\
        sizes = \"web-search-654kb\"\nload = \"20 %\"\nflows = 50\n";
    let one = only(&text);
    let two = only(&text.replace("[topology]", "first-seed = 2\n[topology]"));
    assert_eq!((one.flows.len(), two.flows.len()), (52, 52));
    assert_ne!(one.flows, two.flows);
    let asked = text
        + "[traffic.ask]\nkind = \"requests\"\nfrom = \"receivers\"\nto = \"senders\"\nanswer = \"20 kB\"\nqueries = 3\n\
        [probes]\ntrace = [\"ask.1\", \"random.0\"]\n";
    let more = only(&asked);
    assert_eq!(more.flows, one.flows);
    assert_eq!(more.query_clients.len(), 2);
    assert_eq!(more.probes.trace, [53, 2], "connections of query clients come after all flows");
}

/// Returns an embedded scenario with these overrides.
fn small(name: &str, set: &[(&str, &str)]) -> Scenario {
    set.iter().fold(Scenario::load(name).expect("it is embedded"), |scenario, (key, value)| {
        scenario.with_override(key, value).unwrap_or_else(|e| panic!("{e}"))
    })
}

#[test]
fn the_new_scenarios_run_to_their_end() {
    let cases: [(&str, &[(&str, &str)]); 4] = [
        ("incast", &[("traffic.queries.to", "servers[0..10]"), ("traffic.queries.queries", "3")]),
        ("leaf-spine", &[("traffic.background.flows", "20"), ("traffic.queries.queries", "2")]),
        ("own-flows", &[]),
        ("fat-tree-websearch", &[("traffic.web.flows", "50")]),
    ];
    for (name, set) in cases {
        for spec in small(name, set).expand().unwrap_or_else(|e| panic!("{name}: {e}")).runs {
            let setup = spec.setup().unwrap();
            let outcome = run(&setup, &mut |_| false).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(outcome.reason, EndReason::Done, "{name} {}", spec.scheme);
            let (hops, guess) = (outcome.counts.hops, Estimate::of(&setup).hops);
            assert!(
                guess / 3 < hops && hops < guess * 3,
                "{name}: estimated {guess} for {hops} hops"
            );
            let resolved = Scenario::parse(&spec.resolved_toml(), "resolved.toml").unwrap();
            assert_eq!(resolved.expand().unwrap().runs[0].hash, spec.hash, "{name}");
        }
    }
}

#[test]
fn the_class_of_a_host_sets_its_priority() {
    let last_of_urgent = |service: &str| {
        let text = BASE
            .replace(
                "[hosts.receivers]",
                "[hosts.urgent]\ncount = 1\nclass = \"fast\"\n[hosts.receivers]",
            )
            .replace("size = \"40 MB\"", "size = \"4 MB\"");
        let text = format!(
            "{text}[switch.class.fast]\nservice = \"{service}\"\n[switch.class.rest]\n\
             [traffic.mine]\nfrom = \"urgent\"\nto = \"receivers\"\nsize = \"4 MB\"\n"
        );
        let outcome = run(&only(&text), &mut |_| false).unwrap();
        assert_eq!(outcome.reason, EndReason::Done);
        Duration::from_ps(outcome.flows[2].delivered_ps.unwrap())
    };
    let (strict, shared) = (last_of_urgent("strict"), last_of_urgent("dwrr"));
    // 4 MB alone take 34 ms at 1 Gbit/s; at half of the line they take twice as long.
    assert!(strict < Duration::from_ms(40), "{strict}");
    assert!((Duration::from_ms(55)..Duration::from_ms(85)).contains(&shared), "{shared}");
}

/// Returns the bytes delivered to two groups of flows between one pair of host groups, the second
/// of class `fast`.
fn shares_of_two_groups(classes: &str) -> [u64; 2] {
    let text = BASE
        .replace("duration = \"3 s\"", "duration = \"200 ms\"\nend = \"duration\"")
        .replace("count = 2\nsize = \"40 MB\"", "count = 4\nsize = \"unlimited\"");
    let mine = "[traffic.mine]\nfrom = \"senders\"\nto = \"receivers\"\nsize = \"unlimited\"\n\
                class = \"fast\"\n";
    let setup = only(&format!("{text}{classes}{mine}"));
    assert_eq!(setup.traffic_classes, [None, Some(0)]);
    let outcome = run(&setup, &mut |_| false).expect("it can start");
    let delivered = |group: usize| {
        let flows = outcome.flows.iter().filter(|f| *f.group == *setup.traffic_groups[group]);
        flows.map(|f| f.delivered_bytes).sum::<u64>()
    };
    let port = outcome.queues.iter().find(|q| q.name == "switch0->receivers.0");
    let port = port.expect("the port to the receiver");
    let sent = port.classes[0].served.bytes;
    // The class carries only this group: payload is 1448 of 1500 B.
    let payload = sent / 1_500 * 1_448;
    assert!(payload.abs_diff(delivered(1)) < 100_000, "{payload}, {}", delivered(1));
    [delivered(0), delivered(1)]
}

#[test]
fn the_class_of_a_traffic_group_separates_it_from_others_of_the_same_hosts() {
    let line = 1_000_000_000 / 8 / 5;
    // The others get only the time until slow start has filled the line.
    let [others, mine] =
        shares_of_two_groups("[switch.class.fast]\nservice = \"strict\"\n[switch.class.rest]\n");
    assert!(mine > line * 85 / 100 && others < line / 10, "{mine} and {others}");
    // Three to one, regardless of the number of flows.
    let [others, mine] = shares_of_two_groups(
        "[switch.class.fast]\nquantum = \"4500 B\"\n[switch.class.rest]\nquantum = \"1500 B\"\n",
    );
    let share = mine * 100 / (mine + others);
    assert!((70..80).contains(&share), "{share} %");
}

#[test]
fn pie_has_the_defaults_of_its_rfc_and_controls_the_delay_to_its_target() {
    let with = |lines: &str| {
        let old = "kind = \"step\"\nk = \"20 pkt\"";
        let text = BASE.replace("count = 2\nsize = \"40 MB\"", "count = 24\nsize = \"4 MB\"");
        only(&text.replace(old, &format!("kind = \"pie\"\n{lines}")))
    };
    // The largest delay here, 1.2 ms, is far below the RFC's target of 15 ms.
    let text = BASE.replace("\"100 pkt\"", "\"1000 pkt\"").replace("k = \"20 pkt\"\n", "");
    let of_rfc = only(&text.replace("\"step\"", "\"pie\""));
    let pie = of_rfc.network.links[0].from_b.port.mark.values();
    let times = ["target", "period", "burst"].map(|name| pie.duration(name));
    assert_eq!(times, [15, 15, 150].map(Duration::from_ms));
    let gains = (Some(pie.ratio("alpha")), Some(pie.ratio("beta")));
    assert_eq!(gains, (Ratio::new(1, 8), Ratio::new(5, 4)));
    assert_eq!(pie.fraction("mark-limit"), Fraction::from_percent(10));
    assert_eq!((pie.name("signal"), pie.name("not-ect")), ("mark", "ignore"));
    // These flows would fill 100 packets, 1.2 ms. 300 us are 24 packets. A fiftieth of the RFC's
    // target requires fifty times its gains.
    let setup = with(
        "target = \"300 us\"\nperiod = \"300 us\"\nalpha = 6.25\nbeta = 62.5\nburst = \"3 ms\"\n\
         not-ect = \"drop\"",
    );
    let outcome = run(&setup, &mut |_| false).unwrap();
    let port = outcome.queues.iter().find(|q| q.name == "switch0->receivers.0").unwrap();
    let time: u64 = port.levels.iter().map(|l| l.time_ps).sum();
    let area: u128 =
        port.levels.iter().map(|l| u128::from(l.packets) * u128::from(l.time_ps)).sum();
    let mean = area / u128::from(time);
    assert!((12..36).contains(&mean), "{mean} packets");
    assert!(port.served.aqm_drops > 0 && outcome.flows.iter().all(|f| f.delivered_ps.is_some()));
}
