//! One flow of a run directory: replayed or recorded, explained, drawn, captured.

use std::fs;
use std::path::Path;

use lowtide_analysis::{State, shares_text};
use lowtide_lab::flow::{
    Explanation, FlowEventKind, FlowSelector, PlotWindow, Vantage, capture, explain, plot,
    select_flows,
};
use lowtide_lab::{LabError, RunProgress};
use lowtide_record::{RecordError, RunDir, TRACE_TABLES};
use lowtide_scenario::Scenario;
use lowtide_units::Duration;
use lowtide_wire::{Ecn, Flags, packet};

use crate::common::{self, trace_flows};

/// Runs two long flows and ten short ones with `settings` on top; returns the digest.
fn run(dir: &Path, settings: &[(&str, &str)], sweep: Option<(&str, [&str; 2])>) -> String {
    let scenario = Scenario::load("queue-buildup").expect("an embedded scenario");
    let small = [
        ("traffic.long.size", "400 kB"),
        ("traffic.short.size", "20 kB"),
        ("traffic.short.start", "2 ms"),
        ("run.seeds", "2"),
        ("compare.schemes", "sack, dctcp"),
    ];
    let all = small.iter().chain(settings);
    let mut scenario = all.fold(scenario, |s, (k, v)| s.with_override(k, v).expect("a key"));
    if let Some((key, values)) = sweep {
        scenario = scenario.with_sweep(key, &values.map(str::to_owned)).expect("a key");
    }
    common::run(&scenario.expand().expect("a right scenario"), dir).results.digest
}

fn flow(name: &str, scheme: &str) -> FlowSelector {
    FlowSelector {
        flow: name.to_owned(),
        scheme: Some(scheme.to_owned()),
        ..FlowSelector::default()
    }
}

const SMALL_BUFFER: &[(&str, &str)] = &[("switch.buffer", "30 kB")];

/// DCTCP is marked before the buffer is full.
const EARLY_MARKS: &[(&str, &str)] = &[("switch.buffer", "60 kB"), ("switch.mark.k", "15 pkt")];

#[test]
fn the_shares_add_up_to_the_total() {
    let temp = tempfile::tempdir().unwrap();
    for (name, settings) in [("deep", &[][..]), ("small", SMALL_BUFFER)] {
        let dir = temp.path().join(name);
        run(&dir, settings, None);
        for number in 0..12 {
            for traced in
                trace_flows(&dir, &FlowSelector { scheme: None, ..flow(&number.to_string(), "") })
                    .unwrap()
            {
                let explanation = Explanation::of(&traced);
                let place = format!("{name}, flow {number}, {}", explanation.key);
                assert_eq!(Some(explanation.total_ps), traced.flow.fct_ps, "{place}");
                let sum: u64 = explanation.shares.iter().map(|s| s.time_ps).sum();
                assert_eq!(sum, explanation.total_ps, "{place}");
                let of = |cause: &str| -> u64 {
                    explanation.shares.iter().filter(|s| s.cause == cause).map(|s| s.time_ps).sum()
                };
                let handshake: u64 = explanation
                    .shares
                    .iter()
                    .filter(|s| s.phase == "handshake")
                    .map(|s| s.time_ps)
                    .sum();
                let took = traced.flow.established_ps.unwrap() - traced.flow.start_ps;
                assert_eq!(handshake, took, "{place}");
                let budget: u64 = explanation.budget.iter().map(|s| s.ns).sum();
                assert!((budget * 1_000).abs_diff(explanation.total_ps) < 1_000, "{place}");
                let opening = limited(&explanation, State::Handshake) * 1_000;
                assert!(opening.abs_diff(took) < 1_000, "{place}");
                // A timer may fire off the critical path, but the path waits only for timers that
                // fired.
                assert!(traced.flow.tcp.rto_count.unwrap() > 0 || of("rto") == 0, "{place}");
                assert_eq!(explanation.key.seed, 1);
            }
        }
    }
}

/// Nanoseconds of the sender in a state.
fn limited(explanation: &Explanation, state: State) -> u64 {
    explanation.budget.iter().filter(|s| s.state == state).map(|s| s.ns).sum()
}

#[test]
fn the_limits_of_the_sender_are_reported() {
    let temp = tempfile::tempdir().unwrap();
    let own = [State::ReceiveWindow, State::SendBuffer];
    for (by, settings) in [
        // In a deep buffer half of the flow is in flight when the application has no more data.
        (State::SenderWindow, SMALL_BUFFER),
        (State::ReceiveWindow, &[("transport.receiver.receive-buffer", "8 kB")]),
        (State::SendBuffer, &[("transport.sender.send-buffer", "8 kB")]),
    ] {
        let dir = temp.path().join(format!("{by:?}"));
        run(&dir, settings, None);
        let explanation = explain(&dir, &flow("long.0", "sack")).unwrap().remove(0);
        let budget = &explanation.budget;
        // After a loss, recovery is a separate state.
        let most = limited(&explanation, by) + limited(&explanation, State::Recovery);
        assert!(most * 2_000 > explanation.total_ps, "{by:?}: {budget:?}");
        for other in own.into_iter().filter(|other| *other != by) {
            assert_eq!(limited(&explanation, other), 0, "{by:?}: {budget:?}");
        }
        let text = explanation.text(0);
        assert!(text.contains(&shares_text(budget)) && text.contains(by.name()), "{text}");
    }
}

#[test]
fn segment_events_agree_with_the_counters() {
    let temp = tempfile::tempdir().unwrap();
    run(temp.path(), SMALL_BUFFER, None);
    let one = |root: &Path, name: &str, scheme: &str| {
        let traced = trace_flows(root, &flow(name, scheme)).unwrap().remove(0);
        (Explanation::of(&traced), traced.flow)
    };
    let (explanation, row) = one(temp.path(), "long.1", "sack");
    let lost =
        explanation.events.iter().filter(|e| matches!(e.kind, FlowEventKind::Loss { .. })).count();
    assert!(lost > 0 && row.tcp.bytes_retrans.unwrap() > 0);
    for event in &explanation.events {
        if let FlowEventKind::Loss { by, queue, retransmission, .. } = &event.kind {
            assert_eq!((*by, queue.as_str()), ("buffer", "switch0->receivers.0"));
            assert!(retransmission.as_ref().unwrap().time_ps > event.time_ps);
        }
    }
    let temp = tempfile::tempdir().unwrap();
    run(temp.path(), EARLY_MARKS, None);
    let (explanation, row) = one(temp.path(), "0", "dctcp");
    let mut marked = 0;
    let mut cuts = 0;
    for event in &explanation.events {
        match &event.kind {
            FlowEventKind::Mark { segment, queue_packets, echo, cut, .. } => {
                assert!(*queue_packets > 15, "K is 15 pkt there");
                let echo = echo.as_ref().filter(|_| segment.to_string().starts_with("seq"));
                if let Some(echo) = echo {
                    marked += 1448;
                    assert!(echo.sent_ps > event.time_ps && echo.received_ps > Some(echo.sent_ps));
                }
                cuts += u64::from(cut.is_some());
            }
            FlowEventKind::Sender { action, .. } => cuts += u64::from(action.contains("cut")),
            FlowEventKind::Loss { .. } => {}
        }
    }
    assert_eq!(cuts, row.tcp.ecn_reductions.unwrap());
    assert!(
        row.tcp.ecn_reductions.unwrap() > 0
            && marked / 1448 >= row.received_ce_bytes.unwrap() / 1448
    );
    assert!(
        explanation.text(3).contains(&format!("and {} more (--all)", explanation.events.len() - 3))
    );
    let text = explanation.text(usize::MAX);
    let line = text.lines().find(|l| l.contains(" marked CE at ")).unwrap();
    assert!(line.contains("switch0->receivers.0 (queue ") && line.contains(" > K "), "{line}");
    assert!(text.contains("; echoed by ACK ") && text.contains("; cut cwnd "));
}

#[test]
fn recorded_and_rerun_flows_are_equal() {
    let temp = tempfile::tempdir().unwrap();
    let (plain, with) = (temp.path().join("plain"), temp.path().join("with"));
    let digest = run(&plain, &[], None);
    assert_eq!(
        digest,
        run(&with, &[("probes.trace", "0, short.3")], None),
        "tracing changes nothing"
    );
    assert!(TRACE_TABLES.iter().all(|t| !plain.join(format!("{t}.parquet")).exists()));
    let refused = RunDir::open(&plain).unwrap().0.table(TRACE_TABLES[0]).unwrap_err();
    assert!(refused.to_string().contains("--trace"), "{refused}");
    // Without the files that a replay needs, only recorded flows remain.
    fs::remove_dir_all(with.join("resolved")).unwrap();
    for name in ["0", "5", "short.3"] {
        let choice = flow(name, "dctcp");
        let (a, b) = (trace_flows(&plain, &choice).unwrap(), trace_flows(&with, &choice).unwrap());
        let (a, b) = (&a[0], &b[0]);
        assert_eq!(a.flow, b.flow);
        assert_eq!(a.tables.senders.len(), b.tables.senders.len());
        assert_eq!(a.tables.hops.len(), b.tables.hops.len());
        assert_eq!(Explanation::of(a), Explanation::of(b));
        let both = [a, b].map(|t| plot(t, PlotWindow::default()).unwrap());
        assert_eq!(both[0].svg, both[1].svg);
    }
    let error = trace_flows(&with, &flow("1", "dctcp")).unwrap_err();
    assert!(error.to_string().contains("cannot be repeated"), "{error}");
    let report = fs::read_to_string(with.join("report.html")).unwrap();
    assert!(report.contains("id=\"flow-0-dctcp\"") && report.contains("id=\"flow-5-sack\""));
    assert!(!fs::read_to_string(plain.join("report.html")).unwrap().contains("id=\"flow-"));
}

#[test]
fn any_point_can_be_rerun() {
    let temp = tempfile::tempdir().unwrap();
    // The profile sets values that the resolved scenario of another point fixes.
    run(temp.path(), &[], Some(("transport.profile", ["rfc", "linux"])));
    for profile in ["rfc", "linux"] {
        let point = vec![("transport.profile".to_owned(), profile.to_owned())];
        let choice = FlowSelector { point, seed: Some(2), ..flow("short.0", "sack") };
        let explanation = explain(temp.path(), &choice).unwrap().remove(0);
        assert_eq!(explanation.key.point.get("transport.profile"), Some(profile));
        assert_eq!((explanation.key.seed, explanation.flow), (2, 2));
    }
}

#[test]
fn missing_flows_and_runs_are_named() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("out");
    run(&dir, &[], None);
    let wrong = |choice: FlowSelector| match trace_flows(&dir, &choice).unwrap_err() {
        LabError::NotFound { message, help } => format!("{message}; {}", help.unwrap_or_default()),
        other => panic!("{other}"),
    };
    assert_eq!(wrong(flow("12", "sack")), "there is no flow 12; there are 12, 0 to 11");
    assert!(wrong(flow("short", "sack")).starts_with("`short` has 10 flows"));
    assert_eq!(wrong(flow("0", "dx")), "no scheme `dx` was run; there are sack, dctcp");
    let seed = FlowSelector { seed: Some(9), ..flow("0", "sack") };
    assert_eq!(wrong(seed), "no run has the seed 9; there are 1, 2");
    let point = vec![("a".to_owned(), "b".to_owned())];
    assert!(wrong(FlowSelector { point, ..flow("0", "sack") }).starts_with("no run is at a = b"));
    let late = PlotWindow { from: Some(Duration::from_secs(9)), to: None };
    let one = trace_flows(&dir, &flow("0", "sack")).unwrap().remove(0);
    assert!(plot(&one, late).unwrap_err().to_string().contains("nothing in that window"));
    // A scenario whose meaning has changed is not presented as the run.
    let path = dir.join("resolved/sack.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("k = \"20 pkt\"", "k = \"19 pkt\"")).unwrap();
    let error = trace_flows(&dir, &flow("0", "sack")).unwrap_err();
    assert!(matches!(error, LabError::Record(RecordError::Damaged { .. })), "{error}");
    // A manifest that does not list the scenario is rejected too.
    let (open, manifest) = RunDir::open(&dir).unwrap();
    let listed = manifest.files.iter().map(|f| f.path.clone());
    let kept = |name: &String| !name.ends_with(".parquet") && name != "resolved/sack.toml";
    let listed: Vec<String> = listed.filter(kept).collect();
    open.finish(manifest, &listed).unwrap();
    let error = trace_flows(&dir, &flow("0", "sack")).unwrap_err();
    assert!(matches!(error, LabError::NotReproducible { .. }), "{error}");
    let error = trace_flows(temp.path(), &flow("0", "sack")).unwrap_err();
    assert!(error.to_string().contains("manifest.json"), "{error}");
}

/// Packets of a capture: timestamp in nanoseconds, bytes, original length.
fn packets(file: &[u8]) -> Vec<(u64, Vec<u8>, u32)> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four"));
    let mut out = Vec::new();
    let mut at = 0;
    while at < file.len() {
        let (kind, len) = (word(at), word(at + 4) as usize);
        if kind == 6 {
            let stamp = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
            let kept = word(at + 20) as usize;
            out.push((stamp, file[at + 28..at + 28 + kept].to_vec(), word(at + 24)));
        }
        at += len;
    }
    assert_eq!(at, file.len(), "whole blocks");
    out
}

#[test]
fn captures_have_the_original_headers() {
    let temp = tempfile::tempdir().unwrap();
    run(temp.path(), &[], None);
    let one = trace_flows(temp.path(), &flow("0", "dctcp")).unwrap().remove(0);
    let read = |vantage| -> Vec<_> {
        let mut before = 0;
        packets(&capture(&one, vantage).unwrap())
            .into_iter()
            .map(|(stamp, mut bytes, whole)| {
                assert!(before <= stamp, "in order");
                before = stamp;
                let kept = bytes.len();
                bytes.resize(whole as usize, 0);
                let (_, segment, payload) =
                    packet::parse(&bytes).expect("right down to the checksums");
                assert_eq!(payload.start, kept, "whole headers, truncated payload");
                segment
            })
            .collect()
    };
    let ends = |vantage| read(vantage).into_iter().filter(|s| s.ecn == Ecn::Ce).count();
    let [sender, receiver, between] =
        [Vantage::Sender, Vantage::Receiver, Vantage::Bottleneck].map(ends);
    assert_eq!(sender, 0, "nothing is marked when it is sent");
    assert!(receiver > 0 && between >= receiver);
    let at_sender = read(Vantage::Sender);
    let syn = &at_sender[0];
    assert!(syn.flags.contains(Flags::SYN | Flags::ECE | Flags::CWR));
    assert!(syn.options.mss.is_some() && syn.options.sack_permitted);
    let bytes: u64 = at_sender.iter().map(|s| u64::from(s.payload_len)).sum();
    assert_eq!(bytes, 400_000);
    assert!(at_sender.iter().any(|s| s.payload_len == 0 && s.flags.contains(Flags::ECE)));
    assert!(at_sender.iter().any(|s| s.payload_len > 0 && s.flags.contains(Flags::CWR)));
}

/// A run of more events than one part of its trace has.
const LONG: &[(&str, &str)] = &[("traffic.long.size", "50 MB"), ("switch.buffer", "60 kB")];

#[test]
fn a_trace_read_in_parts_shows_the_same_as_the_whole() {
    let temp = tempfile::tempdir().unwrap();
    run(temp.path(), LONG, None);
    let choice = FlowSelector { scheme: None, ..flow("long.1", "") };
    for source in select_flows(temp.path(), &choice).unwrap() {
        let (mut parts, mut last) = (0, None);
        let explanation = source
            .explain(&mut |progress| {
                if let RunProgress::Running { now, .. } = progress {
                    assert!(last <= Some(now), "in order");
                    (parts, last) = (parts + 1, Some(now));
                }
            })
            .unwrap();
        assert!(parts > 2, "several parts: {parts}");
        let whole = source.trace().unwrap();
        assert_eq!(explanation, Explanation::of(&whole));
        assert!(!explanation.events.is_empty());
        for vantage in [Vantage::Sender, Vantage::Receiver, Vantage::Bottleneck] {
            let mut bytes = Vec::new();
            source.capture(vantage, &mut bytes, &mut |_| {}).unwrap();
            assert!(bytes == capture(&whole, vantage).unwrap(), "{vantage:?}");
        }
        let (from, to) = (Some(Duration::from_ms(1)), Some(Duration::from_ms(20)));
        let early = PlotWindow { from: None, to };
        for (window, complete) in
            [(PlotWindow::default(), true), (early, false), (PlotWindow { from, to }, false)]
        {
            let drawn = source.plot(window, &mut |_| {}).unwrap();
            let of_whole = plot(&whole, window).unwrap();
            assert!(drawn.svg == of_whole.svg && drawn.csv == of_whole.csv, "{window:?}");
            assert_eq!(drawn.complete, complete, "{window:?}");
        }
        let before = PlotWindow { from, to: Some(Duration::from_ms(1)) };
        let error = source.plot(before, &mut |_| panic!("nothing is replayed")).unwrap_err();
        assert!(error.to_string().contains("nothing in that window"), "{error}");
    }
}
