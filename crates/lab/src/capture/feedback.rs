//! Which feedback a receiver speaks, decided from the counts of [`super::echo`].
//!
//! Contract: a verdict names its evidence. Where several receivers could have sent what was seen, it is
//! `undecided`, or `dctcp-or-odctcp` where only these two are left. How each is decided: `docs/analyze.md`.

use serde::Serialize;

use super::echo::{Echo, Evidence};
use super::opening::Mode;

/// ACKs for which receivers differ that are enough to decide.
const ENOUGH_TELLING: u64 = 5;
/// Runs of ECE that are enough.
const ENOUGH_RUNS: u64 = 3;
/// One contradiction in so many may be a lost ACK.
const TOLERANCE: u64 = 20;
/// ACKs under an echo that never ends before it can be called stuck.
pub(super) const STUCK_ACKS: u64 = 20;

/// What the receiver speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Rfc3168,
    Dctcp,
    Odctcp,
    /// The echo of DCTCP, and no ACK by which the two could be told apart.
    DctcpOrOdctcp,
    Accecn,
    /// No echo.
    None,
    Undecided,
}

impl Kind {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Rfc3168 => "RFC 3168 (ECE until CWR)",
            Self::Dctcp => "DCTCP (ECE is the mark of the last segment)",
            Self::Odctcp => "ODCTCP (DCTCP's echo, CWR is not hurried)",
            Self::DctcpOrOdctcp => "DCTCP or ODCTCP (exact echo)",
            Self::Accecn => "AccECN (counter of CE packets)",
            Self::None => "none",
            Self::Undecided => "undecided",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct Feedback {
    pub(super) kind: Kind,
    /// Nothing else explains what was seen; else it is the likeliest.
    pub(super) certain: bool,
    pub(super) why: Vec<String>,
}

impl Feedback {
    fn new(kind: Kind, certain: bool, why: String) -> Self {
        Self { kind, certain, why: vec![why] }
    }

    fn and(mut self, why: String) -> Self {
        self.why.push(why);
        self
    }
}

/// Nearly all of `all`.
const fn nearly(part: u64, all: u64) -> bool {
    all > 0 && part + all / TOLERANCE >= all
}

/// The verdict where ACKs are in the capture and the data that they acknowledge is not.
pub(super) fn without_data(mode: Mode) -> Feedback {
    match mode {
        Mode::Off => Feedback::new(Kind::None, true, "ECN was not agreed".to_owned()),
        Mode::Accecn => Feedback::new(Kind::Accecn, true, "agreed in the handshake".to_owned()),
        Mode::Rfc3168 | Mode::Unknown => {
            let why = "the data, with its CE and CWR, is not in the capture".to_owned();
            Feedback::new(Kind::Undecided, false, why)
        }
    }
}

/// The verdict; `collapsed`: the window was stuck at two segments under ECE.
pub(super) fn decide(mode: Mode, echo: &Echo, collapsed: bool) -> Feedback {
    match mode {
        Mode::Off => return Feedback::new(Kind::None, true, "ECN was not agreed".to_owned()),
        Mode::Accecn if echo.acks == 0 => {
            let why = "agreed in the handshake; no ACK is in the capture".to_owned();
            return Feedback::new(Kind::Accecn, true, why);
        }
        Mode::Accecn => {
            let why = format!(
                "agreed in the handshake; the ACE field counted {} packets with CE in {} ACKs",
                echo.ace_marks, echo.acks
            );
            return Feedback::new(Kind::Accecn, true, why);
        }
        Mode::Rfc3168 | Mode::Unknown => {}
    }
    if echo.acks == 0 {
        let why = "no ACK is in the capture".to_owned();
        return Feedback::new(Kind::Undecided, false, why);
    }
    if echo.ece_acks == 0 {
        return silent(mode, echo);
    }
    let of = &echo.evidence;
    if of.telling_acks >= ENOUGH_TELLING {
        let counts = format!(
            "of {} ACKs for which the CE of the data asks different things, {} are as RFC 3168 has it and \
             {} as DCTCP",
            of.telling_acks, of.as_rfc3168, of.as_dctcp
        );
        if nearly(of.as_rfc3168, of.telling_acks) {
            return Feedback::new(Kind::Rfc3168, true, counts);
        }
        if nearly(of.as_dctcp, of.telling_acks) {
            return which(of, true, counts);
        }
        return Feedback::new(Kind::Undecided, false, counts);
    }
    by_runs(echo, collapsed)
}

fn silent(mode: Mode, echo: &Echo) -> Feedback {
    let agreed = if mode == Mode::Unknown { "" } else { "ECN was agreed, but " };
    if echo.ce >= 10 {
        let why = format!("{agreed}{} segments with CE went by and no ACK said ECE", echo.ce);
        return Feedback::new(Kind::None, true, why);
    }
    let why = format!("{agreed}no ACK of {} said ECE: nothing to judge by", echo.acks);
    Feedback::new(Kind::Undecided, false, why)
}

/// By where runs of ECE end, which a capture at the sender shows.
fn by_runs(echo: &Echo, collapsed: bool) -> Feedback {
    let of = &echo.evidence;
    let ended = of.ended_at_cwr + of.ended_elsewhere;
    let counts = format!(
        "of {ended} runs of ECE, {} ended with the ACK that first covers a CWR and {} without any",
        of.ended_at_cwr, of.ended_elsewhere
    );
    let elsewhere = of.ended_elsewhere;
    if elsewhere > 0 && elsewhere * TOLERANCE >= ended {
        return which(of, elsewhere >= 2, counts);
    }
    let onsets = of.onset_of_one + of.onset_of_more;
    let first = format!(
        "of {onsets} first ACKs with ECE, {} cover one segment (DCTCP acknowledges a flip at once)",
        of.onset_of_one
    );
    if ended >= ENOUGH_RUNS {
        if onsets >= 8 && nearly(of.onset_of_one, onsets) {
            return which(of, false, counts).and(first);
        }
        if of.onset_of_more * 4 >= onsets {
            return Feedback::new(Kind::Rfc3168, of.onset_of_more >= ENOUGH_RUNS, counts)
                .and(first);
        }
        return Feedback::new(Kind::Undecided, false, counts).and(first);
    }
    match echo.run.filter(|run| run.acks >= STUCK_ACKS && run.cwr == 0) {
        Some(run) if collapsed => {
            let why = format!(
                "ECE stayed on for the last {} ACKs, no CWR was sent, and it did not end with two \
                 segments in flight, which fill no queue",
                run.acks
            );
            Feedback::new(Kind::Rfc3168, false, why)
        }
        Some(run) => {
            let why = format!(
                "ECE stayed on for the last {} ACKs and no CWR was sent: an echo that waits for CWR and \
                 a queue that is always too long look the same",
                run.acks
            );
            Feedback::new(Kind::Undecided, false, why)
        }
        None => Feedback::new(Kind::Undecided, false, format!("{counts}: too few")),
    }
}

/// DCTCP or ODCTCP, by the ACK for a segment with CWR with which an echo ended.
fn which(of: &Evidence, certain: bool, counts: String) -> Feedback {
    let waited = of.cwr_and_later + of.cwr_and_earlier;
    let all = of.cwr_alone + waited;
    let why = format!(
        "where an echo ended at CWR, {} of {all} ACKs are for that segment alone (DCTCP hurries them, \
         ODCTCP does not)",
        of.cwr_alone
    );
    let kind = if all < ENOUGH_RUNS {
        Kind::DctcpOrOdctcp
    } else if of.cwr_alone * 10 >= all * 9 {
        Kind::Dctcp
    } else if of.cwr_alone * 10 <= all && of.cwr_and_later > 0 {
        Kind::Odctcp
    } else {
        Kind::DctcpOrOdctcp
    };
    Feedback::new(kind, certain, counts).and(why)
}
