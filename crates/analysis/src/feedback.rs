//! Classification of a receiver's ECN feedback from the counts of [`super::ecn_echo`].
//!
//! Contract: a verdict names its evidence. If several receivers could have sent the ACKs, it is
//! `undecided`, or `dctcp-or-odctcp` if only these two remain. Rules: `docs/howto/analyze.md`.

use serde::Serialize;

use super::ecn_echo::{EchoEvidence, EcnTracker};
use super::handshake::NegotiatedEcn;

/// Distinguishing ACKs needed for a decision.
const MIN_DISTINGUISHING_ACKS: u64 = 5;
/// Runs of ECE needed for a decision.
const MIN_RUNS: u64 = 3;
/// One contradiction among this many may be a lost ACK.
const TOLERANCE: u64 = 20;
/// ACKs with ECE after which an echo that never ends is stuck.
pub(super) const STUCK_ACKS: u64 = 20;

/// Kind of ECN feedback.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FeedbackKind {
    Rfc3168,
    Dctcp,
    Odctcp,
    /// Echo of DCTCP, and no ACK that distinguishes the two.
    DctcpOrOdctcp,
    Accecn,
    /// No echo.
    None,
    Undecided,
}

impl FeedbackKind {
    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::Rfc3168 => "RFC 3168 (ECE until CWR)",
            Self::Dctcp => "DCTCP (ECE is the mark of the last segment)",
            Self::Odctcp => "ODCTCP (DCTCP's echo, no immediate ACK for CWR)",
            Self::DctcpOrOdctcp => "DCTCP or ODCTCP (exact echo)",
            Self::Accecn => "AccECN (counter of CE packets)",
            Self::None => "none",
            Self::Undecided => "undecided",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct FeedbackVerdict {
    pub(super) kind: FeedbackKind,
    /// No other kind explains the ACKs; otherwise the kind is the likeliest.
    pub(super) certain: bool,
    pub(super) why: Vec<String>,
}

impl FeedbackVerdict {
    fn new(kind: FeedbackKind, certain: bool, why: String) -> Self {
        Self { kind, certain, why: vec![why] }
    }

    fn with_reason(mut self, why: String) -> Self {
        self.why.push(why);
        self
    }
}

/// Returns whether `part` is all of `all` but for the tolerance.
const fn nearly(part: u64, all: u64) -> bool {
    all > 0 && part + all / TOLERANCE >= all
}

/// Returns the verdict for ACKs whose data is not in the capture.
pub(super) fn without_data(mode: NegotiatedEcn) -> FeedbackVerdict {
    match mode {
        NegotiatedEcn::Off => {
            FeedbackVerdict::new(FeedbackKind::None, true, "ECN was not agreed".to_owned())
        }
        NegotiatedEcn::Accecn => {
            FeedbackVerdict::new(FeedbackKind::Accecn, true, "agreed in the handshake".to_owned())
        }
        NegotiatedEcn::Rfc3168 | NegotiatedEcn::Unknown => {
            let why = "the data, with its CE and CWR, is not in the capture".to_owned();
            FeedbackVerdict::new(FeedbackKind::Undecided, false, why)
        }
    }
}

/// Returns the verdict; `collapsed` if the window was stuck at two segments under ECE.
pub(super) fn decide(mode: NegotiatedEcn, echo: &EcnTracker, collapsed: bool) -> FeedbackVerdict {
    match mode {
        NegotiatedEcn::Off => {
            return FeedbackVerdict::new(FeedbackKind::None, true, "ECN was not agreed".to_owned());
        }
        NegotiatedEcn::Accecn if echo.acks == 0 => {
            let why = "agreed in the handshake; no ACK is in the capture".to_owned();
            return FeedbackVerdict::new(FeedbackKind::Accecn, true, why);
        }
        NegotiatedEcn::Accecn => {
            let why = format!(
                "agreed in the handshake; the ACE field counted {} packets with CE in {} ACKs",
                echo.ce_by_ace, echo.acks
            );
            return FeedbackVerdict::new(FeedbackKind::Accecn, true, why);
        }
        NegotiatedEcn::Rfc3168 | NegotiatedEcn::Unknown => {}
    }
    if echo.acks == 0 {
        let why = "no ACK is in the capture".to_owned();
        return FeedbackVerdict::new(FeedbackKind::Undecided, false, why);
    }
    if echo.ece_acks == 0 {
        return without_ece(mode, echo);
    }
    let of = &echo.evidence;
    if of.distinguishing_acks >= MIN_DISTINGUISHING_ACKS {
        let counts = format!(
            "of {} ACKs for which the two echoes differ, {} fit RFC 3168 and \
             {} fit DCTCP",
            of.distinguishing_acks, of.as_rfc3168, of.as_dctcp
        );
        if nearly(of.as_rfc3168, of.distinguishing_acks) {
            return FeedbackVerdict::new(FeedbackKind::Rfc3168, true, counts);
        }
        if nearly(of.as_dctcp, of.distinguishing_acks) {
            return dctcp_or_odctcp(of, true, counts);
        }
        return FeedbackVerdict::new(FeedbackKind::Undecided, false, counts);
    }
    by_runs(echo, collapsed)
}

fn without_ece(mode: NegotiatedEcn, echo: &EcnTracker) -> FeedbackVerdict {
    let agreed = if mode == NegotiatedEcn::Unknown { "" } else { "ECN was agreed, but " };
    if echo.ce >= 10 {
        let why = format!("{agreed}{} segments with CE passed and no ACK had ECE", echo.ce);
        return FeedbackVerdict::new(FeedbackKind::None, true, why);
    }
    let why = format!("{agreed}none of {} ACKs had ECE: no evidence", echo.acks);
    FeedbackVerdict::new(FeedbackKind::Undecided, false, why)
}

/// Decides by the ends of ECE runs, which a capture at the sender shows.
fn by_runs(echo: &EcnTracker, collapsed: bool) -> FeedbackVerdict {
    let of = &echo.evidence;
    let ended = of.ended_at_cwr + of.ended_elsewhere;
    let counts = format!(
        "of {ended} runs of ECE, {} ended with the ACK that first covers a CWR and {} without any",
        of.ended_at_cwr, of.ended_elsewhere
    );
    let elsewhere = of.ended_elsewhere;
    if elsewhere > 0 && elsewhere * TOLERANCE >= ended {
        return dctcp_or_odctcp(of, elsewhere >= 2, counts);
    }
    let onsets = of.onset_of_one + of.onset_of_more;
    let first = format!(
        "of {onsets} first ACKs with ECE, {} cover one segment (DCTCP acknowledges a flip at once)",
        of.onset_of_one
    );
    if ended >= MIN_RUNS {
        if onsets >= 8 && nearly(of.onset_of_one, onsets) {
            return dctcp_or_odctcp(of, false, counts).with_reason(first);
        }
        // Without quick ACKs about half of the first ACKs cover more than one segment, with those
        // of Linux about a fifth (`tcp_enter_quickack_mode` at CE).
        if of.onset_of_more * 8 >= onsets {
            let certain = of.onset_of_more >= MIN_RUNS && of.onset_of_more * 4 >= onsets;
            return FeedbackVerdict::new(FeedbackKind::Rfc3168, certain, counts).with_reason(first);
        }
        return FeedbackVerdict::new(FeedbackKind::Undecided, false, counts).with_reason(first);
    }
    match echo.open_run.filter(|run| run.acks >= STUCK_ACKS && run.cwr == 0) {
        Some(run) if collapsed => {
            let why = format!(
                "ECE stayed on for the last {} ACKs, no CWR was sent, and it did not end with two \
                 segments in flight, which fill no queue",
                run.acks
            );
            FeedbackVerdict::new(FeedbackKind::Rfc3168, false, why)
        }
        Some(run) => {
            let why = format!(
                "ECE stayed on for the last {} ACKs and no CWR was sent: an echo that waits for CWR and \
                 a queue that is always too long look the same",
                run.acks
            );
            FeedbackVerdict::new(FeedbackKind::Undecided, false, why)
        }
        None => FeedbackVerdict::new(FeedbackKind::Undecided, false, format!("{counts}: too few")),
    }
}

/// Decides between DCTCP and ODCTCP by the ACKs with which echoes ended at CWR.
fn dctcp_or_odctcp(of: &EchoEvidence, certain: bool, counts: String) -> FeedbackVerdict {
    let waited = of.cwr_and_later + of.cwr_and_earlier;
    let all = of.cwr_alone + waited;
    let why = format!(
        "where an echo ended at CWR, {} of {all} ACKs are for that segment alone (DCTCP sends them at once, \
         ODCTCP does not)",
        of.cwr_alone
    );
    let kind = if all < MIN_RUNS {
        FeedbackKind::DctcpOrOdctcp
    } else if of.cwr_alone * 10 >= all * 9 {
        FeedbackKind::Dctcp
    } else if of.cwr_alone * 10 <= all && of.cwr_and_later > 0 {
        FeedbackKind::Odctcp
    } else {
        FeedbackKind::DctcpOrOdctcp
    };
    FeedbackVerdict::new(kind, certain, counts).with_reason(why)
}
