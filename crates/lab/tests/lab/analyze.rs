//! `analyze` on runs with known facts: the simulator writes the capture, and its tables state the
//! events.

use std::path::Path;

use lowtide_analysis::{Analysis, AnalysisOptions, Page};
use lowtide_lab::flow::{FlowSelector, FlowTrace, Vantage, capture};
use lowtide_rows::TraceSegmentRow;
use lowtide_scenario::Scenario;
use serde_json::Value;

use crate::common;

/// Reason of `expect`: the simulator counts everything.
const KNOWN: &str = "the simulator counts it";

/// Runs `scenario` with `settings` on top.
fn run(dir: &Path, scenario: &str, settings: &[(&str, &str)]) {
    let scenario = Scenario::load(scenario).expect("a scenario");
    let scenario =
        settings.iter().fold(scenario, |s, (k, v)| s.with_override(k, v).expect("a key"));
    common::run(&scenario.expand().expect("a right scenario"), dir);
}

/// Returns the flow `name` of each scheme.
fn all(dir: &Path, name: &str) -> Vec<FlowTrace> {
    common::trace_flows(dir, &FlowSelector { flow: name.to_owned(), ..FlowSelector::default() })
        .expect("the flow")
}

fn analyze(bytes: &[u8]) -> Value {
    let analysis = Analysis::of("test", bytes, &AnalysisOptions::default()).expect("a capture");
    serde_json::to_value(&analysis).expect("as JSON")
}

/// Returns the only connection, and the direction of the traced flow's data.
fn analyzed_flow(traced: &FlowTrace, vantage: Vantage) -> (Value, Value) {
    let analysis = analyze(&capture(traced, vantage).expect("packets"));
    let [flow] = analysis["flows"].as_array().expect("flows").as_slice() else {
        panic!("one connection, not {}", analysis["flows"])
    };
    let port = format!(":{}", traced.flow.sport);
    let directions = flow["directions"].as_array().expect("directions");
    let of = |d: &&Value| d["from"].as_str().is_some_and(|f| f.ends_with(&port));
    (flow.clone(), directions.iter().find(of).expect("its data").clone())
}

/// Two long flows and ten short ones at 1 Gbit/s, small; `settings` on top.
fn small<'a>(settings: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let base = [
        ("traffic.long.size", "2 MB"),
        ("traffic.short.size", "100 kB"),
        ("traffic.short.start", "2 ms"),
        ("run.seeds", "1"),
        ("run.warmup", "0 s"),
    ];
    base.iter().chain(settings).copied().collect()
}

fn paper(row: &str) -> String {
    format!("{}/../../papers/od/{row}.toml", env!("CARGO_MANIFEST_DIR"))
}

/// Returns the name of the feedback that a receiver with the flow's policy gives.
fn expected_feedback(traced: &FlowTrace) -> &str {
    match &*traced.flow.ack_used {
        // Its echo is that of DCTCP; only its timer differs.
        "tdctcp" => "dctcp",
        _ if traced.flow.ecn_mode == "off" => "none",
        other => other,
    }
}

/// Checks the invariants of every capture, and returns connection and direction.
fn counts(traced: &FlowTrace, vantage: Vantage) -> (Value, Value) {
    let (c, d) = analyzed_flow(traced, vantage);
    let f = &traced.flow;
    let place = format!("{}, {vantage:?}: {d:#}", traced.key);
    assert_eq!(c["ecn"], *f.ecn_mode, "{place}");
    let m = &d["marks"];
    match vantage {
        Vantage::Sender => {
            assert_eq!(d["segments"], f.tcp.data_segs_out.expect(KNOWN), "{place}");
            assert_eq!(d["retransmitted_bytes"], f.tcp.bytes_retrans.expect(KNOWN), "{place}");
            assert_eq!(
                d["retransmitted_segments"].as_u64().map(|n| n > 0),
                f.tcp.bytes_retrans.map(|n| n > 0)
            );
            assert_eq!(d["timeouts"]["count"], f.tcp.rto_count.expect(KNOWN), "{place}");
            assert_eq!(m["cwr"], f.ecn_counters.expect(KNOWN).cwr_segs_out_after_warmup, "{place}");
            assert_eq!(m["ce"], 0, "{place}");
            assert_eq!(
                m["ect0"],
                f.ecn_counters.expect(KNOWN).ect_segs_out_after_warmup,
                "{place}"
            );
        }
        _ => assert_eq!(m["ce"], f.ecn_counters.expect(KNOWN).ce_segs_in_after_warmup, "{place}"),
    }
    // An ACK in flight at the end of the run is seen at one end only.
    let (place_of, event) = match vantage {
        Vantage::Sender => ("sender", "received"),
        _ => ("receiver", "sent"),
    };
    let echo = |r: &&TraceSegmentRow| {
        let here = r.place == place_of && r.event == event;
        here && r.flags.contains('E') && !r.flags.contains('S') && f.ecn_mode != "accecn"
    };
    let echoes = traced.tables.segments.iter().filter(echo).count();
    assert_eq!(m["ece_acks"], echoes, "{place}");
    (c, d)
}

#[test]
fn mode_feedback_and_counts_are_those_of_the_run() {
    let temp = tempfile::tempdir().unwrap();
    let schemes = "sack, dctcp, ecn, odctcp, odctcp-receiver, accecn, dctcp-accecn, tdctcp";
    // Linux's other reasons for an ACK at once hide the policy in short transfers, and its bursts
    // end few windows of data in them.
    let settings = small(&[
        ("transport.sender.tso-defer", "0"),
        ("transport.receiver.window-growth-acks", "false"),
        ("transport.receiver.push-acks", "false"),
        ("compare.schemes", schemes),
    ]);
    run(temp.path(), "queue-buildup", &settings);
    for traced in all(temp.path(), "0") {
        let last = traced.tables.senders.iter().rev().find_map(|s| s.dctcp_alpha_q20);
        for (vantage, at) in [(Vantage::Sender, "client"), (Vantage::Receiver, "server")] {
            let (c, d) = counts(&traced, vantage);
            let place = format!("{}, {vantage:?}: {d:#}", traced.key);
            // If the sender rarely sent CWR, the two receivers look the same.
            let of = |key: &str| d["evidence"][key].as_u64().unwrap_or(0);
            let cwr = of("cwr_alone") + of("cwr_and_later") + of("cwr_and_earlier");
            let spoken = match expected_feedback(&traced) {
                "dctcp" | "odctcp" if cwr < 3 => "dctcp-or-odctcp",
                // With `new-echo` the ACK of a segment with CWR may cover one that waits, as
                // ODCTCP's does.
                "dctcp" if &*traced.flow.ack_used == "tdctcp" && of("cwr_and_earlier") > 0 => {
                    "dctcp-or-odctcp"
                }
                other => other,
            };
            assert_eq!(d["feedback"]["kind"], spoken, "{place}");
            assert_eq!(d["feedback"]["certain"], true, "{place}");
            assert_eq!(c["capture_location"], at, "{place}");
            // The run ends with the last byte, perhaps before the sender receives its ACK.
            let ended = c["ended"].as_str().unwrap_or_default();
            assert!(c["opened"] == "handshake" && ended.ends_with("closed"), "{place}");
            assert_eq!(c["sack"], true);
            if vantage == Vantage::Receiver {
                assert_eq!(d["acked_bytes"], 2_000_000, "{place}");
            }
            if traced.flow.ecn_mode == "accecn" {
                assert_eq!(
                    d["marks"]["ce_by_ace"],
                    traced.flow.ecn_counters.unwrap().ce_segs_in_after_warmup,
                    "{place}"
                );
                if vantage == Vantage::Receiver {
                    let marks = &d["marks"];
                    assert_eq!(marks["ce_bytes_by_option"], marks["ce_bytes"], "{place}");
                }
            }
            let delayed = d["delayed_acks_ns"]["count"].as_u64().unwrap_or(0);
            assert_eq!(delayed, traced.flow.tcp.delack_timeouts.unwrap(), "{place}");
            // Integer arithmetic and a different first window change the sender's alpha slightly.
            if let (Some(alpha), Vantage::Sender) = (last, vantage) {
                let estimate = d["alpha"]["last"].as_f64().expect("an alpha");
                let true_one = alpha as f64 / f64::from(1 << 20);
                assert!((estimate - true_one).abs() < 0.02, "{true_one} {place}");
            }
        }
    }
}

#[test]
fn losses_and_timeouts_are_counted_exactly_at_the_sender() {
    let temp = tempfile::tempdir().unwrap();
    let settings = small(&[
        ("switch.buffer", "30 kB"),
        ("switch.mark.k", "10 pkt"),
        ("transport.sender.tail-loss-probe", "off"),
        ("transport.sender.rto-min", "10 ms"),
        ("compare.schemes", "sack, dctcp, ecn, odctcp, accecn"),
    ]);
    run(temp.path(), "queue-buildup", &settings);
    let mut timeouts = 0;
    for traced in all(temp.path(), "0").into_iter().chain(all(temp.path(), "1")) {
        let (_, d) = counts(&traced, Vantage::Sender);
        timeouts += traced.flow.tcp.rto_count.unwrap();
        let kind = d["feedback"]["kind"].as_str().expect("a kind");
        let open = ["undecided", "dctcp-or-odctcp"];
        assert!(
            kind == expected_feedback(&traced) || open.contains(&kind),
            "{}: {d:#}",
            traced.key
        );
        let (_, there) = counts(&traced, Vantage::Receiver);
        let lost = there["lost_before_capture_segments"].as_u64();
        assert!(lost <= d["retransmitted_segments"].as_u64(), "{}: {there:#}", traced.key);
        assert_eq!(there["reordered"], 0, "nothing overtakes here");
    }
    assert!(timeouts > 3, "the test needs some");
}

#[test]
fn timeouts_of_incast_are_all_found() {
    let temp = tempfile::tempdir().unwrap();
    let settings = [
        ("run.seeds", "1"),
        ("run.warmup", "0 s"),
        ("traffic.queries.queries", "10"),
        ("traffic.queries.to", "servers[0..20]"),
        ("compare.schemes", "sack"),
    ];
    run(temp.path(), "incast", &settings);
    let mut timeouts = 0;
    for server in ["0", "7", "13"] {
        for traced in all(temp.path(), server) {
            let (c, d) = counts(&traced, Vantage::Sender);
            timeouts += traced.flow.tcp.rto_count.unwrap();
            assert_eq!(c["capture_location"], "server", "the answers are the data");
            let listed = d["timeouts"]["listed"].as_array().expect("a list");
            let long = |l: &Value| {
                l[1].as_u64().zip(l[0].as_u64()).is_some_and(|(b, a)| b - a > 9_000_000)
            };
            assert!(listed.iter().all(long), "the least RTO is 10 ms: {listed:?}");
        }
    }
    assert!(timeouts > 5, "the test needs some");
}

#[test]
fn a_window_collapse_without_cwr_is_found() {
    let temp = tempfile::tempdir().unwrap();
    run(temp.path(), &paper("fig5.1"), &[("run.seeds", "1")]);
    for traced in all(temp.path(), "0") {
        for vantage in [Vantage::Sender, Vantage::Receiver] {
            let (c, d) = counts(&traced, vantage);
            let kinds: Vec<&str> = c["findings"]
                .as_array()
                .expect("findings")
                .iter()
                .filter_map(|f| f["kind"].as_str())
                .collect();
            assert_eq!(d["feedback"]["kind"], "rfc3168", "{vantage:?}");
            if traced.key.scheme == "odctcp-sender" {
                assert!(
                    !kinds.contains(&"window-collapse") && !kinds.contains(&"stuck-ece"),
                    "{kinds:?}"
                );
                continue;
            }
            assert_eq!(kinds[..2], ["window-collapse", "stuck-ece"], "{vantage:?}");
            let from = c["findings"][0]["from_ns"].as_f64().expect("a time") / 1e9;
            // "two segments from about 1.7 s on": fig. 5.1.
            assert!((1.4..1.9).contains(&from), "{from}");
            // Certain if CE is visible, which it is at the receiver only.
            assert_eq!(d["feedback"]["certain"], vantage == Vantage::Receiver);
        }
    }
}

#[test]
fn receivers_of_a_standard_sender_are_distinguished() {
    let temp = tempfile::tempdir().unwrap();
    run(temp.path(), &paper("fig5.5"), &[("run.seeds", "1")]);
    for traced in all(temp.path(), "0") {
        for vantage in [Vantage::Sender, Vantage::Receiver] {
            let (_, d) = counts(&traced, vantage);
            assert_eq!(
                d["feedback"]["kind"],
                expected_feedback(&traced),
                "{}, {vantage:?}: {d:#}",
                traced.key
            );
        }
    }
}

#[test]
fn delayed_acks_are_counted_with_their_delay() {
    let temp = tempfile::tempdir().unwrap();
    let settings = small(&[
        // The ACK waits for more segments than each round has, so that each round needs the timer.
        ("traffic.long.size", "20 kB"),
        ("transport.sender.initial-window", "2"),
        ("transport.receiver.delack-segments", "8"),
        ("transport.receiver.initial-quick-acks", "0 B"),
        ("transport.receiver.initial-quick-ack-count", "0"),
        ("transport.receiver.window-growth-acks", "false"),
        ("transport.receiver.push-acks", "false"),
        ("compare.schemes", "sack"),
    ]);
    run(temp.path(), "queue-buildup", &settings);
    for traced in all(temp.path(), "0") {
        assert!(traced.flow.tcp.delack_timeouts.unwrap() > 0, "the test needs some");
        for vantage in [Vantage::Sender, Vantage::Receiver] {
            let (_, d) = counts(&traced, vantage);
            let waits = &d["delayed_acks_ns"];
            assert_eq!(waits["count"], traced.flow.tcp.delack_timeouts.unwrap(), "{d:#}");
            let each = traced.flow.tcp.delack_time_ps.unwrap() as f64
                / 1e3
                / traced.flow.tcp.delack_timeouts.unwrap() as f64;
            let longest = waits["max"].as_f64().expect("a time");
            assert!((longest - each).abs() < each * 0.1, "{each} ns: {waits}");
        }
    }
}

#[test]
fn a_page_is_self_contained_and_shows_the_findings() {
    let temp = tempfile::tempdir().unwrap();
    run(temp.path(), &paper("fig5.1"), &[("run.seeds", "1"), ("run.duration", "4 s")]);
    let traced = all(temp.path(), "0").remove(0);
    let bytes = capture(&traced, Vantage::Receiver).unwrap();
    let analysis = Analysis::of("x & y.pcapng", &bytes[..], &AnalysisOptions::default()).unwrap();
    let page = Page::of(&analysis, &bytes[..]).unwrap();
    for part in [
        "x &amp; y.pcapng",
        "window collapse",
        "stuck ECE",
        "<svg",
        "Offset (kB)",
        "Fraction of bytes",
    ] {
        assert!(page.html.contains(part), "{part}");
    }
    let outside = page.html.replace("http://www.w3.org/2000/svg", "");
    assert!(!outside.contains("http") && !outside.contains(" src="), "nothing from elsewhere");
    let names: Vec<&str> = page.figures.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["flow-0.svg", "flow-0.csv"]);
    let csv = &page.figures[1].1;
    for curve in ["ACK", "data", "CE", "ECE", "alpha", "acknowledged"] {
        assert!(csv.contains(&format!(",{curve},")), "{curve}");
    }
    let text = analysis.text(false);
    let first = text.lines().find(|l| l.contains("severe")).expect("a finding");
    assert!(first.contains("window collapse"), "the worst first: {text}");
}
