//! The three pathologies of one-sided deployment (ODCTCP, chapter 5) on real packets: our TCP, the
//! kernel's, the network between them, and the analysis of a capture.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use serde_json::Value;

use crate::live::{lowtide, stderr};

/// Result of a transfer, and the analysis of the capture at our host.
struct AnalyzedRun {
    result: Value,
    /// Analysis of the direction of the data.
    direction: Value,
    findings: Vec<String>,
}

/// Runs a transfer through a line of 20 Mbit/s and 4 ms round trip that marks from 10 packets on.
/// The kernel has RFC 3168 ECN.
fn run(name: &str, args: &[&str]) -> AnalyzedRun {
    let file = format!("lowtide-{name}-{}.pcapng", std::process::id());
    let capture = std::env::temp_dir().join(file);
    let capture = capture.to_str().unwrap();
    let line = ["--through", "--rate", "20Mbit/s", "--delay", "2ms", "--buffer", "100"];
    let mark = ["--mark", "step", "--k", "10", "--capture", capture, "-J", "-i", "0.05"];
    let kernel = ["live", "client", "--peer", "kernel", "--kernel-ecn", "on", "-s", "ect=data"];
    let output = lowtide(&[&kernel, &line[..], &mark, args].concat());
    assert!(output.status.success(), "{name}: {}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["checksums_agree"], true, "{name}");
    let queues = result["network"]["queues"].as_array().unwrap().iter();
    assert!(queues.map(|q| q["marks"].as_u64().unwrap()).sum::<u64>() > 0, "{name}");
    let gone =
        result["network"]["hosts"].as_array().unwrap().iter().any(|h| !h["device_error"].is_null());
    assert!(!gone, "{name}: {}", result["network"]["complaints"]);
    let output = lowtide(&["analyze", capture, "--json"]);
    assert!(output.status.success(), "{name}: {}", stderr(&output));
    std::fs::remove_file(capture).unwrap();
    let analysis: Value = serde_json::from_slice(&output.stdout).unwrap();
    let flow = &analysis["flows"][0];
    assert_eq!(flow["ecn"], "rfc3168", "{name}");
    let bytes = |d: &Value| d["bytes"].as_u64().unwrap();
    let directions = flow["directions"].as_array().unwrap();
    let direction = directions.iter().max_by_key(|d| bytes(d)).unwrap().clone();
    let kinds = flow["findings"].as_array().unwrap().iter();
    let findings = kinds.map(|f| f["kind"].as_str().unwrap().to_owned()).collect();
    AnalyzedRun { result, direction, findings }
}

impl AnalyzedRun {
    fn has_finding(&self, kind: &str) -> bool {
        self.findings.iter().any(|f| f == kind)
    }

    /// cwnd in segments at the end of each interval of the second half, ascending, and the median.
    fn late_windows(&self) -> (Vec<u64>, u64) {
        let intervals = self.result["intervals"].as_array().unwrap().iter();
        let transports = intervals.map(|i| &i["streams"][0]["transport"]);
        let window = |t: &Value| Some(t["snd_cwnd"].as_u64()? / t["mss"].as_u64()?);
        let mut windows: Vec<u64> = transports.filter_map(window).collect();
        windows.drain(..windows.len() / 2);
        windows.sort_unstable();
        let median = windows[windows.len() / 2];
        (windows, median)
    }

    /// True if the feedback of the receiver is one of `kinds`.
    fn has_feedback(&self, kinds: &[&str]) -> bool {
        kinds.iter().any(|kind| self.direction["feedback"]["kind"] == *kind)
    }

    fn evidence(&self, what: &str) -> u64 {
        self.direction["evidence"][what].as_u64().unwrap()
    }
}

/// §5.1: without CWR the receiver never learns of the reduction and echoes ECE without end.
pub(crate) fn a_dctcp_sender_without_cwr_collapses_against_the_kernel() {
    let without = ["--profile", "thesis-original", "-s", "send-buffer=100 kB", "-n", "1M"];
    let seen = run("without-cwr", &without);
    let (windows, usual) = seen.late_windows();
    assert!(usual == 2 && windows.iter().all(|w| *w <= 2), "two segments: {windows:?}");
    assert!(
        seen.has_finding("window-collapse") && seen.has_finding("stuck-ece"),
        "{:?}",
        seen.findings
    );
    assert_eq!(seen.direction["feedback"]["kind"], "rfc3168");
    assert_eq!(seen.direction["marks"]["cwr"], 0);
}

/// One-sided DCTCP sends CWR and keeps its window with that receiver.
pub(crate) fn a_one_sided_sender_keeps_its_window() {
    let seen = run("one-sided", &["--scheme", "odctcp-sender", "-s", "ect=data", "-n", "3M"]);
    let (windows, usual) = seen.late_windows();
    // K and the bandwidth-delay product are about 17 segments.
    assert!(usual > 4, "{windows:?}");
    assert!(
        !seen.has_finding("window-collapse") && !seen.has_finding("stuck-ece"),
        "{:?}",
        seen.findings
    );
    assert_ne!(seen.direction["feedback"]["kind"], "dctcp", "{}", seen.direction);
    assert!(seen.direction["marks"]["cwr"].as_u64().unwrap() > 5, "{}", seen.direction["marks"]);
    assert!(seen.direction["marks"]["ece_acks"].as_u64().unwrap() > 50);
}

/// §5.2: the kernel sends with RFC 3168 ECN. A DCTCP receiver sends an immediate ACK for the
/// segment with CWR; a one-sided one acknowledges it with the next segment. Neither latches ECE.
pub(crate) fn dctcp_receivers_ack_cwr_at_once_and_one_sided_ones_do_not() {
    let receive = |name, scheme| {
        // Linux acknowledges pushed data, and segments while the window grows, at once.
        let policy = ["-s", "window-growth-acks=false", "-s", "push-acks=false"];
        let seen = run(
            name,
            &[&["-R", "--scheme", scheme, "-s", "ect=data", "-n", "5M"][..], &policy].concat(),
        );
        assert!(!seen.has_finding("window-collapse"), "{scheme}: {:?}", seen.findings);
        assert!(seen.direction["marks"]["ce"].as_u64().unwrap() > 20, "{scheme}");
        assert!(seen.direction["marks"]["cwr"].as_u64().unwrap() > 5, "{scheme}");
        seen
    };
    // The two differ in ACKs of segments with CWR. Their number is random; a run without any is
    // repeated.
    let told = |name, scheme, kinds: &[&str]| {
        let mut hurried = (0, 0);
        for _ in 0..4 {
            let seen = receive(name, scheme);
            assert!(seen.has_feedback(kinds), "{}", seen.direction["feedback"]);
            assert!(seen.evidence("as_dctcp") > 20 && seen.evidence("as_rfc3168") == 0);
            hurried.0 += seen.evidence("cwr_alone");
            hurried.1 += seen.evidence("cwr_and_later");
            if hurried != (0, 0) {
                break;
            }
        }
        hurried
    };
    let (alone, later) = told("dctcp-receiver", "dctcp", &["dctcp", "dctcp-or-odctcp"]);
    assert!(alone > 0 && later == 0, "{alone} alone, {later} with the next");
    let (alone, later) = told("odctcp-receiver", "odctcp-receiver", &["odctcp", "dctcp-or-odctcp"]);
    assert!(later > alone, "{alone} alone, {later} with the next");

    let seen = receive("ecn-receiver", "ecn");
    assert_eq!(seen.direction["feedback"]["kind"], "rfc3168");
}
