//! Output of results: a line for each case, a table, and that table for the documentation.

use lowtide_output::streams;
use std::fmt::Write;

use crate::cases::CONDITIONS;
use crate::peers::PEERS;
use crate::run::{CaseOutcome, CaseResult};

/// Prints one line for a case on standard error.
pub fn print_result(result: &CaseResult) {
    let CaseResult { peer, case, outcome, took_ms, .. } = result;
    let seconds = *took_ms as f64 / 1000.0;
    match outcome {
        CaseOutcome::Pass => streams::note(format_args!("pass {peer} {case} {seconds:.1} s")),
        CaseOutcome::Fail(why) => {
            streams::note(format_args!("FAIL {peer} {case} {seconds:.1} s: {why}"));
        }
        CaseOutcome::Known(why) => {
            streams::note(format_args!("known {peer} {case} {seconds:.1} s: {why}"));
        }
        CaseOutcome::Skip(why) => streams::note(format_args!("skip {peer} {case}: {why}")),
    }
}

/// Number of cases by outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CaseCounts {
    /// Passed.
    pub passed: usize,
    /// Failed.
    pub failed: usize,
    /// Failed by a known defect of the peer.
    pub known: usize,
    /// Skipped.
    pub skipped: usize,
}

/// Counts `results`.
pub fn count<'a>(results: impl IntoIterator<Item = &'a CaseResult>) -> CaseCounts {
    let mut counts = CaseCounts::default();
    for result in results {
        match result.outcome {
            CaseOutcome::Pass => counts.passed += 1,
            CaseOutcome::Fail(_) => counts.failed += 1,
            CaseOutcome::Known(_) => counts.known += 1,
            CaseOutcome::Skip(_) => counts.skipped += 1,
        }
    }
    counts
}

fn cell(results: &[CaseResult], peer: &str, condition: &str) -> String {
    let counts = count(results.iter().filter(|r| r.peer == peer && r.condition == condition));
    let CaseCounts { passed, failed, known, skipped } = counts;
    match (passed + failed + known, skipped) {
        (0, 0) => String::new(),
        (0, _) => "skipped".to_owned(),
        (tried, _) if known > 0 => format!("{passed}/{tried}, {known} known"),
        (tried, _) => format!("{passed}/{tried}"),
    }
}

/// Markdown table: a row for each condition, a column for each peer, passed and tried cases.
pub fn markdown(results: &[CaseResult]) -> String {
    let peers: Vec<String> = PEERS.iter().map(ToString::to_string).collect();
    let peers: Vec<&String> =
        peers.iter().filter(|p| results.iter().any(|r| r.peer == **p)).collect();
    let mut out = String::from("| condition | |");
    for peer in &peers {
        let _ = write!(out, " {peer} |");
    }
    out.push_str("\n|---|---|");
    out.push_str(&"---|".repeat(peers.len()));
    for condition in CONDITIONS {
        if !results.iter().any(|r| r.condition == condition.name) {
            continue;
        }
        let _ = write!(out, "\n| {} | {} |", condition.name, condition.about);
        for peer in &peers {
            let _ = write!(out, " {} |", cell(results, peer, condition.name));
        }
    }
    out.push('\n');
    out
}

/// Cases that did not pass: failures one by one, known defects and skips by peer and reason.
pub fn remarks(results: &[CaseResult]) -> String {
    let mut out = String::new();
    let mut others: Vec<(&str, &str, &str)> = Vec::new();
    for result in results {
        match &result.outcome {
            CaseOutcome::Pass => {}
            CaseOutcome::Fail(why) => {
                let _ = writeln!(out, "FAIL {} {}: {why}", result.peer, result.case);
            }
            CaseOutcome::Known(why) | CaseOutcome::Skip(why) => {
                let skipped = matches!(result.outcome, CaseOutcome::Skip(_));
                let label = if skipped { "skipped" } else { "known defect of" };
                let other = (label, result.peer.as_str(), why.as_str());
                if !others.contains(&other) {
                    others.push(other);
                }
            }
        }
    }
    for (label, peer, why) in others {
        let _ = writeln!(out, "{label} {peer}: {why}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::all;
    use crate::peers::Peer;

    #[test]
    fn table_counts_tried_cases_and_names_skipped_ones() {
        let cases = all();
        let result = |peer, n: usize, outcome| CaseResult::of(peer, &cases[n], outcome, 1);
        let results = [
            result(Peer::Linux, 0, CaseOutcome::Pass),
            result(Peer::Linux, 1, CaseOutcome::Fail("it hangs".to_owned())),
            result(Peer::Gvisor, 0, CaseOutcome::Known("it stalls".to_owned())),
            result(Peer::Lwip, 0, CaseOutcome::Skip("no headers".to_owned())),
            result(Peer::Lwip, 1, CaseOutcome::Skip("no headers".to_owned())),
        ];
        let table = markdown(&results);
        assert!(
            table.starts_with("| condition | | linux | gvisor | lwip |\n|---|---|---|---|---|\n"),
            "{table}"
        );
        assert!(
            table.ends_with("| plain | IPv4, no faults | 1/2 | 0/1, 1 known | skipped |\n"),
            "{table}"
        );
        let remarks = remarks(&results);
        assert_eq!(
            remarks,
            "FAIL linux plain-up-passive: it hangs\nknown defect of gvisor: it stalls\nskipped lwip: no headers\n"
        );
        assert_eq!(count(&results), CaseCounts { passed: 1, failed: 1, known: 1, skipped: 2 });
    }
}
