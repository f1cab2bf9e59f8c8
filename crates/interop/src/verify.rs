//! Checks after a case.

use lowtide_bottleneck::BottleneckReport;
use lowtide_live::LiveStats;
use lowtide_tcp::{EcnMode, Info};
use lowtide_units::parse_fraction;

use crate::case_scripts::scripts;
use crate::cases::{Case, ExchangeKind};
use crate::peers::Peer;
use crate::script::{Checksum, EndpointReport};

/// A fault with this expected count is absent in one of 160,000 cases.
const MIN_EXPECTED_FAULTS: u64 = 12;

/// Rate of a fault (`loss=2%`), in 10^-9.
fn fault_rate_ppb(fault: &str) -> u64 {
    let share = fault.split(['=', '/']).nth(1).and_then(|s| parse_fraction(s).ok());
    share.and_then(|s| u64::try_from(s.as_ppb()).ok()).unwrap_or(0)
}

impl Peer {
    /// True if its TCP negotiates ECN.
    pub const fn has_ecn(self) -> bool {
        matches!(self, Self::Linux)
    }
}

/// Observations after a case.
#[derive(Debug)]
pub struct Evidence {
    /// Report of our end.
    pub ours: EndpointReport,
    /// The peer's report; `None` if none is expected.
    pub peer: Option<EndpointReport>,
    /// Info of our connection, if there was one.
    pub info: Option<Info>,
    /// Packet counters of our end.
    pub stats: LiveStats,
    /// Connections of our end that did not close in time.
    pub open_connections: u64,
    /// The peer still owed data or FIN, our end did not, and the peer was silent until the time
    /// limit of closing.
    pub peer_stalled: bool,
    /// Report of the bottleneck.
    pub report: BottleneckReport,
}

/// Lists all errors of a case, in words; empty if it passed.
pub fn verify(peer: Peer, case: &Case, evidence: &Evidence) -> Vec<String> {
    let mut wrong = Vec::new();
    check_reports(case, &evidence.ours, evidence.peer.as_ref(), &mut wrong);
    if evidence.open_connections > 0 {
        wrong.push(format!("{} of our connections did not end", evidence.open_connections));
    }
    check_faults(case, evidence, &mut wrong);
    if case.condition.ecn {
        check_ecn(peer, case, evidence, &mut wrong);
    }
    wrong
}

/// Known defect of a peer that explains a failure.
pub fn known_defect(peer: Peer, case: &Case, evidence: &Evidence) -> Option<&'static str> {
    let loses = case.condition.faults.iter().any(|f| f.starts_with("loss"));
    // After a TLP its RTO timer runs only while its count of outstanding packets is above zero, and
    // that count can reach zero too early.
    (peer == Peer::Gvisor && loses && evidence.peer_stalled)
        .then_some("gVisor stops retransmitting its last segment or FIN")
}

fn check_reports(
    case: &Case,
    ours: &EndpointReport,
    peer: Option<&EndpointReport>,
    wrong: &mut Vec<String>,
) {
    let (our_script, peer_script) = scripts(case);
    let [ours_want, peer_want] = match case.exchange {
        ExchangeKind::ResetByOurs => ["aborted", "reset"],
        ExchangeKind::ResetByPeer => ["reset", "aborted"],
        ExchangeKind::Refused => ["refused", "refused"],
        _ => ["closed", "closed"],
    };
    let mut check_end = |who: &str, seen: &EndpointReport, want: &str| {
        if seen.ended != want {
            let EndpointReport { ended, sent, received, .. } = seen;
            let bytes = format!("sent {sent} B, received {received} B");
            wrong.push(format!("{who} ended with `{ended}` instead of `{want}` ({bytes})"));
        }
    };
    check_end("ours", ours, ours_want);
    if let Some(peer) = peer {
        check_end("the peer", peer, peer_want);
    }
    let mut check_bytes =
        |who: &str, seen: &EndpointReport, seed: u64, sent: u64, reset_at: u64| {
            let want = match case.exchange {
                ExchangeKind::ResetByOurs | ExchangeKind::ResetByPeer if reset_at > 0 => reset_at,
                _ => sent,
            };
            if seen.received != want {
                wrong.push(format!("{who} received {} B instead of {want} B", seen.received));
            }
            if Checksum::of_pattern(seed, seen.received).text() != seen.checksum {
                wrong.push(format!("{who} received other bytes than were sent"));
            }
        };
    let (us, them) = (&our_script, &peer_script);
    check_bytes("ours", ours, them.seed, them.send, us.reset_at);
    if let Some(peer) = peer {
        check_bytes("the peer", peer, us.seed, us.send, them.reset_at);
    }
}

fn check_faults(case: &Case, evidence: &Evidence, wrong: &mut Vec<String>) {
    let report = &evidence.report;
    let all = &evidence.stats.packets;
    let counts = |f: fn(&lowtide_bottleneck::FaultCounts) -> u64| -> u64 {
        report.hosts.iter().map(|h| f(&h.faults)).sum()
    };
    let lost: u64 = report.ports.iter().map(|p| p.losses.random_losses).sum();
    let sent: u64 = report.hosts.iter().map(|h| h.sent).sum();
    for fault in case.condition.faults {
        let (kind, happened) = match fault.split('=').next().unwrap_or(fault) {
            "loss" => ("loss", lost),
            "reorder" => ("reordering", counts(|f| f.reordered)),
            "duplicate" => ("duplication", counts(|f| f.duplicated)),
            "corrupt" => ("corruption", counts(|f| f.corrupted)),
            // `check_ecn` checks CE.
            _ => continue,
        };
        if happened == 0
            && sent.saturating_mul(fault_rate_ppb(fault)) >= MIN_EXPECTED_FAULTS * 1_000_000_000
        {
            wrong.push(format!("no {kind} in {sent} packets"));
        }
    }
    let damaged = counts(|f| f.corrupted);
    let noticed = all.malformed + all.bad_checksum;
    if noticed > damaged {
        wrong.push(format!("{noticed} packets were malformed, but {damaged} were corrupted"));
    }
    for host in report.hosts.iter().filter(|h| h.device_error.is_some()) {
        wrong.push(format!("the device of `{}` is gone", host.name));
    }
}

/// CE marks if both ends have ECN; no ECT if the peer lacks it.
fn check_ecn(peer: Peer, case: &Case, evidence: &Evidence, wrong: &mut Vec<String>) {
    let Some(info) = &evidence.info else { return };
    // AccECN with an RFC 3168 peer falls back to RFC 3168 (RFC 9768 §3.1.2).
    let want = if peer.has_ecn() { EcnMode::Classic } else { EcnMode::Off };
    if info.ecn != want {
        wrong.push(format!("ECN is {:?} instead of {want:?}", info.ecn));
    }
    let [ours, theirs] = [0, 1].map(|n| evidence.report.hosts.get(n).map_or(0, |h| h.faults.ce));
    if !peer.has_ecn() {
        if ours + theirs > 0 {
            wrong.push(format!("{} packets had ECT without ECN", ours + theirs));
        }
        return;
    }
    if matches!(case.exchange, ExchangeKind::Up | ExchangeKind::Both) {
        if ours == 0 {
            wrong.push("none of our packets had ECT".to_owned());
        }
        if info.counters.ecn_reductions == 0 {
            wrong.push(format!("no reduction after {ours} marks"));
        }
    }
    if matches!(case.exchange, ExchangeKind::Down | ExchangeKind::Both)
        && (theirs == 0 || info.received_ce_bytes == 0)
    {
        wrong.push(format!("{} B of {theirs} marked packets were seen", info.received_ce_bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::all;

    fn account(seed: u64, received: u64, ended: &str) -> EndpointReport {
        let checksum = Checksum::of_pattern(seed, received).text();
        EndpointReport { sent: 0, received, checksum, ended: ended.to_owned() }
    }

    fn judged(
        name: &str,
        change: impl FnOnce(&mut EndpointReport, &mut EndpointReport),
    ) -> Vec<String> {
        let case = all().into_iter().find(|c| c.to_string() == name).unwrap();
        let (us, them) = scripts(&case);
        let (our_bytes, our_end, their_end) = match case.exchange {
            ExchangeKind::ResetByOurs => (us.reset_at, "aborted", "reset"),
            _ => (them.send, "closed", "closed"),
        };
        let mut ours = account(them.seed, our_bytes, our_end);
        let mut peer = account(us.seed, us.send, their_end);
        change(&mut ours, &mut peer);
        let mut wrong = Vec::new();
        check_reports(&case, &ours, Some(&peer), &mut wrong);
        wrong
    }

    #[test]
    fn fault_rates_are_parsed() {
        assert_eq!(
            [fault_rate_ppb("loss=2%"), fault_rate_ppb("reorder=5%/3ms")],
            [20_000_000, 50_000_000]
        );
    }

    #[test]
    fn wrong_checksums_lengths_and_close_statuses_are_reported() {
        for name in [
            "plain-both-active",
            "reset-by-ours-passive",
            "half-close-loss-peer-closes-first-active",
        ] {
            assert_eq!(judged(name, |_, _| {}), Vec::<String>::new(), "{name}");
            let damaged = judged(name, |ours, _| ours.checksum.replace_range(..1, "x"));
            assert_eq!(damaged, ["ours received other bytes than were sent"], "{name}");
            let short = judged(name, |ours, _| ours.received -= 1);
            assert_eq!(short.len(), 2, "{name}: {short:?}");
            let cut = judged(name, |_, peer| peer.ended = "timeout".to_owned());
            assert!(cut[0].starts_with("the peer ended with `timeout` instead of"), "{cut:?}");
        }
    }
}
