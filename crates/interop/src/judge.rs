//! What must be true after a case.

use lowtide_tcp::EcnMode;

use crate::cases::{Case, Shape};
use crate::peers::Peer;
use crate::run::{Evidence, scripts};
use crate::script::{Account, Checksum};

impl Peer {
    /// Its TCP negotiates ECN.
    pub const fn has_ecn(self) -> bool {
        matches!(self, Self::Linux | Self::Uml)
    }
}

/// Everything that is wrong with a case, in words; nothing where it went well.
pub fn judge(peer: Peer, case: &Case, evidence: &Evidence) -> Vec<String> {
    let mut wrong = Vec::new();
    ends(case, evidence, &mut wrong);
    packets(case, evidence, &mut wrong);
    if case.condition.ecn {
        marks(peer, case, evidence, &mut wrong);
    }
    wrong
}

fn ends(case: &Case, evidence: &Evidence, wrong: &mut Vec<String>) {
    let (our_script, peer_script) = scripts(case);
    let [ours_want, peer_want] = match case.shape {
        Shape::ResetByOurs => ["aborted", "reset"],
        Shape::ResetByPeer => ["reset", "aborted"],
        Shape::Refused => ["refused", "refused"],
        _ => ["closed", "closed"],
    };
    let mut look = |who: &str, seen: &Account, want: &str| {
        if seen.ended != want {
            let Account { ended, sent, received, .. } = seen;
            let bytes = format!("sent {sent} B, received {received} B");
            wrong.push(format!("{who} ended with `{ended}` instead of `{want}` ({bytes})"));
        }
    };
    look("ours", &evidence.ours, ours_want);
    if let Some(peer) = &evidence.peer {
        look("the peer", peer, peer_want);
    }
    let mut arrived = |who: &str, seen: &Account, seed: u64, sent: u64, reset_at: u64| {
        let want = match case.shape {
            Shape::ResetByOurs | Shape::ResetByPeer if reset_at > 0 => reset_at,
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
    arrived("ours", &evidence.ours, them.seed, them.send, us.reset_at);
    if let Some(peer) = &evidence.peer {
        arrived("the peer", peer, us.seed, us.send, them.reset_at);
    }
    if evidence.left > 0 {
        wrong.push(format!("{} of our connections did not end", evidence.left));
    }
}

fn packets(case: &Case, evidence: &Evidence, wrong: &mut Vec<String>) {
    let report = &evidence.report;
    let all = &evidence.stats.packets;
    let counts = |f: fn(&lowtide_bottleneck::FaultCounts) -> u64| -> u64 {
        report.hosts.iter().map(|h| f(&h.faults)).sum()
    };
    let lost: u64 = report.ports.iter().map(|p| p.stats.lost).sum();
    for fault in case.condition.faults {
        let kind = fault.split('=').next().unwrap_or(fault);
        let happened = match kind {
            "loss" => lost,
            "reorder" => counts(|f| f.reordered),
            "duplicate" => counts(|f| f.duplicated),
            "corrupt" => counts(|f| f.corrupted),
            // Judged with the marks.
            _ => 1,
        };
        if happened == 0 {
            wrong.push(format!("the fault {kind} did not happen once"));
        }
    }
    let damaged = counts(|f| f.corrupted);
    let noticed = all.malformed + all.bad_checksum;
    if noticed > damaged {
        wrong.push(format!("{noticed} packets were malformed where {damaged} were damaged"));
    }
    for host in report.hosts.iter().filter(|h| h.gone.is_some()) {
        wrong.push(format!("the device of `{}` is gone", host.name));
    }
}

/// Marks where both ends have ECN; no ECT where the peer has none.
fn marks(peer: Peer, case: &Case, evidence: &Evidence, wrong: &mut Vec<String>) {
    let Some(info) = &evidence.info else { return };
    // AccECN with a peer that has RFC 3168 only falls back to that (RFC 9768 §3.1.2).
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
    if matches!(case.shape, Shape::Up | Shape::Both) {
        if ours == 0 {
            wrong.push("none of our packets had ECT".to_owned());
        }
        if info.counters.ecn_reductions == 0 {
            wrong.push(format!("no reduction after {ours} marks"));
        }
    }
    if matches!(case.shape, Shape::Down | Shape::Both) && (theirs == 0 || info.marked_bytes == 0) {
        wrong.push(format!("{} B of {theirs} marked packets were seen", info.marked_bytes));
    }
}
