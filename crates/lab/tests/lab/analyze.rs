//! `analyze` against runs of which everything is known: the simulator writes the capture, its tables say what
//! happened.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lowtide_lab::capture::{Analysis, Question};
use lowtide_lab::flow::{Choice, Traced, Vantage, capture, traced};
use lowtide_lab::{Options, execute};
use lowtide_scenario::Scenario;
use serde_json::Value;

/// A run of `scenario` with `settings` on top.
fn run(dir: &Path, scenario: &str, settings: &[(&str, &str)]) {
    let scenario = Scenario::load(scenario).expect("a scenario");
    let scenario =
        settings.iter().fold(scenario, |s, (k, v)| s.with_override(k, v).expect("a key"));
    let options = Options {
        dir: dir.to_path_buf(),
        jobs: 2,
        afresh: false,
        source: "schema = 1\n",
        command: "lowtide run",
        clock: &|| Duration::ZERO,
        stop: &AtomicBool::new(false),
        progress: &|_| {},
    };
    execute(&scenario.expand().expect("a right scenario"), &options).expect("it runs");
}

/// The flow `name` of each scheme.
fn all(dir: &Path, name: &str) -> Vec<Traced> {
    traced(dir, &Choice { flow: name.to_owned(), ..Choice::default() }).expect("the flow")
}

fn analyze(bytes: &[u8]) -> Value {
    let analysis = Analysis::of("test", bytes, &Question::default()).expect("a capture");
    serde_json::to_value(&analysis).expect("as JSON")
}

/// The only connection, and the direction of the traced flow's data.
fn seen(traced: &Traced, vantage: Vantage) -> (Value, Value) {
    let analysis = analyze(&capture(traced, vantage).expect("packets"));
    let [flow] = analysis["flows"].as_array().expect("flows").as_slice() else {
        panic!("one connection, not {}", analysis["flows"])
    };
    let port = format!(":{}", traced.flow.sport);
    let directions = flow["directions"].as_array().expect("directions");
    let of = |d: &&Value| d["from"].as_str().is_some_and(|f| f.ends_with(&port));
    (flow.clone(), directions.iter().find(of).expect("its data").clone())
}

#[test]
fn explore() {
    let temp = tempfile::tempdir().unwrap();
    for (i, (scenario, flow, settings)) in [
        (
            "queue-buildup",
            "0",
            &[
                ("traffic.long.size", "2 MB"),
                ("traffic.short.start", "2 ms"),
                ("run.seeds", "1"),
                ("run.warmup", "0 s"),
                (
                    "compare.schemes",
                    "sack, dctcp, ecn, odctcp, odctcp-receiver, accecn, dctcp-accecn, tdctcp",
                ),
            ][..],
        ),
        (
            "queue-buildup",
            "0",
            &[
                ("traffic.long.size", "2 MB"),
                ("traffic.short.start", "2 ms"),
                ("run.seeds", "1"),
                ("run.warmup", "0 s"),
                ("switch.buffer", "30 kB"),
                ("transport.sender.tail-loss-probe", "off"),
                ("transport.sender.rto-min", "10 ms"),
                ("switch.mark.k", "10 pkt"),
                (
                    "compare.schemes",
                    "sack, dctcp, ecn, odctcp, odctcp-receiver, accecn, dctcp-accecn, tdctcp",
                ),
            ][..],
        ),
        (
            "incast",
            "0",
            &[
                ("run.seeds", "1"),
                ("run.warmup", "0 s"),
                ("traffic.queries.queries", "20"),
                ("traffic.queries.to", "servers[0..20]"),
            ][..],
        ),
        (
            "incast",
            "3",
            &[
                ("run.seeds", "1"),
                ("run.warmup", "0 s"),
                ("traffic.queries.queries", "20"),
                ("traffic.queries.to", "servers[0..20]"),
            ][..],
        ),
    ]
    .iter()
    .enumerate()
    {
        let dir = temp.path().join(i.to_string());
        let mut scenario_ = Scenario::load(scenario).unwrap();
        let _ = &mut scenario_;
        run(&dir, scenario, settings);
        for t in all(&dir, flow) {
            let f = &t.flow;
            println!(
                "== {} {} truth: mode {} ack {} out {} retr {} rto {} fr {} delack {} cwr {} ece {} ce {} alpha {:?}",
                i,
                t.key,
                f.ecn_mode,
                f.ack_used,
                f.data_segs_out,
                f.bytes_retrans,
                f.rto_count,
                f.fast_retransmits,
                f.delack_timeouts,
                f.warm_cwr_segs_out,
                f.warm_ece_acks_in,
                f.warm_ce_segs_in,
                t.tables
                    .senders
                    .iter()
                    .rev()
                    .find_map(|s| s.dctcp_alpha_q20)
                    .map(|a| a as f64 / 1048576.0)
            );
            for v in [Vantage::Sender, Vantage::Receiver] {
                let (c, d) = seen(&t, v);
                println!(
                    "   {v:?} mode {} at {} ack {} {} out {} retr {} rto {} delack {} cwr {} ece {} ce {} ace {} alpha {} late {} lostbefore {} unseen {} again {}",
                    c["ecn"],
                    c["taken_at"],
                    d["feedback"]["kind"],
                    d["feedback"]["certain"],
                    d["segments"],
                    d["retransmitted_bytes"],
                    d["timeouts"]["count"],
                    d["delayed_acks_ns"]["count"],
                    d["marks"]["cwr"],
                    d["marks"]["ece_acks"],
                    d["marks"]["ce"],
                    d["marks"]["ace_marks"],
                    d["alpha"]["last"],
                    d["reordered"],
                    d["lost_before_capture_segments"],
                    d["unseen_bytes"],
                    d["retransmitted_segments"]
                );
                println!("      {}", d["evidence"]);
            }
        }
    }
}
