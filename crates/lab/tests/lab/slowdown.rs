//! Slowdown and size classes of simulated runs.

use std::fmt::Write as _;

use lowtide_lab::{GroupFacts, simulate};
use lowtide_scenario::Scenario;
use proptest::prelude::*;

/// The short flows of one run of `queue-buildup` with DCTCP, without the long ones.
fn short(changes: &[(&str, &str)]) -> GroupFacts {
    let alone =
        Scenario::load("queue-buildup").expect("an embedded scenario").without("traffic.long");
    let fixed = [
        ("run.seeds", "1"),
        ("disturbance.start-jitter", "0 s"),
        ("disturbance.host-jitter", "0 s"),
        ("compare.schemes", "dctcp"),
        ("traffic.short.start", "1 ms"),
        ("probes.groups", "short"),
    ];
    let scenario = fixed
        .iter()
        .chain(changes)
        .fold(alone, |s, (key, value)| s.with_override(key, value).expect("a key"));
    let results = simulate(&scenario.expand().expect("a right scenario"), 1).expect("it runs");
    results.runs[0].group("short").expect("the group").clone()
}

#[test]
fn a_single_flow_without_window_limit_takes_its_ideal_time() {
    for size in ["1 B", "1448 B", "10 kB", "200 kB"] {
        let facts = short(&[("traffic.short.count", "1"), ("traffic.short.size", size)]);
        let slow = facts.slowdown.max.expect("it completed");
        assert!((1.0..1.001).contains(&slow), "{size}: {slow}");
    }
}

#[test]
fn windows_and_queues_slow_flows_down() {
    // 2 ms: the first window is a sixteenth of the path's BDP.
    let far = |count: &str| {
        short(&[
            ("topology.link-delay", "500 us"),
            ("traffic.short.count", count),
            ("traffic.short.size", "200 kB"),
        ])
    };
    let alone = far("1");
    let slow = alone.slowdown.max.expect("it completed");
    assert!(slow > 1.2 && slow < 3.0, "slow start waits for ACKs: {slow}");
    let many = far("24");
    assert!(many.slowdown.mean.expect("all completed") > 2.0 * slow, "{:?}", many.slowdown);
    assert!(many.classes.is_empty(), "one size");
}

#[test]
fn a_flow_between_hosts_of_two_mtus_is_not_faster_than_its_ideal() {
    for (sender, receiver) in [("9000", "1500"), ("1500", "9000"), ("9000", "576")] {
        for size in ["1 B", "10 kB", "200 kB"] {
            let facts = short(&[
                ("traffic.short.count", "1"),
                ("traffic.short.size", size),
                ("hosts.senders.connection.mtu", sender),
                ("hosts.receivers.connection.mtu", receiver),
                ("transport.sender.tso-defer", "0"),
            ]);
            let slow = facts.slowdown.max.expect("it completed");
            assert!(slow >= 1.0, "{sender} to {receiver}, {size}: {slow}");
            assert!(slow < 1.2, "{sender} to {receiver}, {size}: {slow}");
        }
    }
}

/// One host: MTU, and the enabled options.
#[derive(Clone, Copy, Debug)]
struct End {
    mtu: u32,
    options: [bool; 4],
}

/// One link of the path: rates in Mbit/s, delays in ns.
type Link = ((u64, u64), u64);

fn end() -> impl Strategy<Value = End> {
    let mtu = prop_oneof![Just(576_u32), Just(1500), Just(9000), 200..9000_u32];
    (mtu, any::<[bool; 4]>()).prop_map(|(mtu, options)| End { mtu, options })
}

fn link() -> impl Strategy<Value = Link> {
    let rate = || prop_oneof![10..100_u64, 100..2_000_u64, Just(10_000), Just(40_000)];
    ((rate(), rate()), 0..500_000_u64)
}

/// One flow from `ends[0]` to `ends[1]` over `middle`: parallel paths of two links each, or one
/// switch.
fn alone(
    ends: [End; 2],
    outer: [Link; 2],
    middle: &[[Link; 2]],
    (routing, framing, size): (&str, &str, u64),
) -> String {
    let switches: Vec<String> = (0..if middle.is_empty() { 1 } else { 2 + middle.len() })
        .map(|i| format!("\"s{i}\""))
        .collect();
    let mut text = format!(
        "schema = 1\ntitle = \"one flow\"\n[run]\nduration = \"60 s\"\nallow-mismatch = true\n\
         [topology]\nkind = \"graph\"\nlink-rate = \"1 Gbit/s\"\nlink-delay = \"0 s\"\n\
         framing = \"{framing}\"\nswitches = [{}]\n",
        switches.join(", ")
    );
    let far = u8::from(!middle.is_empty());
    let mut joined = vec![
        ("a".to_owned(), "s0".to_owned(), outer[0]),
        (format!("s{far}"), "b".to_owned(), outer[1]),
    ];
    for (i, [up, down]) in middle.iter().enumerate() {
        joined.push(("s0".to_owned(), format!("s{}", i + 2), *up));
        joined.push((format!("s{}", i + 2), "s1".to_owned(), *down));
    }
    let pipes = joined.iter().enumerate().map(|(i, (a, b, ((rate, back), delay)))| {
        let links = format!(
            "[[topology.links]]\nends = [\"{a}\", \"{b}\"]\nrate = \"{rate} Mbit/s\"\ndelay = \"{delay} ns\"\n"
        );
        let name = |end: &str| if end.len() == 1 { format!("{end}.0") } else { end.to_owned() };
        let on = format!("{}-{}", name(a), name(b));
        let pipe = format!(
            "[pipe.p{i}]\non = \"{on}\"\ndirection = \"left\"\nrate = \"{back} Mbit/s\"\n"
        );
        (links, pipe)
    });
    let (links, pipes): (Vec<String>, Vec<String>) = pipes.unzip();
    text += &links.concat();
    let _ = write!(text, "[routing]\nkind = \"{routing}\"\n[switch]\nbuffer = \"100000 pkt\"\n");
    text += "[transport]\nprofile = \"linux\"\n[transport.sender]\nnagle = false\n";
    for (name, End { mtu, options: [timestamps, sack, scaling, delay] }) in
        ["a", "b"].iter().zip(ends)
    {
        let _ = write!(
            text,
            "[hosts.{name}]\ncount = 1\n[hosts.{name}.connection]\nmtu = {mtu}\n\
             timestamps = {timestamps}\nsack = {sack}\nwindow-scaling = {scaling}\n\
             delay-option = {delay}\n"
        );
    }
    text += &pipes.concat();
    let _ =
        write!(text, "[traffic.short]\nfrom = \"a\"\nto = \"b\"\ncount = 1\nsize = \"{size} B\"\n");
    text
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn on_an_empty_network_no_flow_is_faster_than_its_ideal(
        ends in [end(), end()],
        outer in [link(), link()],
        middle in prop::collection::vec([link(), link()], 0..4),
        routing in prop::sample::select(vec!["single", "ecmp", "spray"]),
        framing in prop::sample::select(vec!["ip", "ethernet"]),
        size in prop_oneof![1..3_000_u64, 3_000..200_000_u64],
        seed in 1..1_000_u64,
    ) {
        let text = alone(ends, outer, &middle, (routing, framing, size));
        let scenario = Scenario::parse(&text, "t.toml").unwrap_or_else(|e| panic!("{e}"));
        let scenario = scenario.with_override("run.first-seed", &seed.to_string()).unwrap();
        let plan = scenario.expand().unwrap_or_else(|e| panic!("{e}"));
        let results = simulate(&plan, 1).expect("it runs");
        let facts = results.runs[0].group("short").expect("the group");
        let slow = facts.slowdown.max.expect("it completed");
        prop_assert!(slow >= 1.0, "{slow}\n{text}");
    }
}
