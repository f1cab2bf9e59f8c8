//! The state of a sender that its row needs, also after the release of its connection.

use lowtide_tcp::cc::DelackDetection;
use lowtide_tcp::{Counters, DelayMode, EcnMode, Info, LimitedBy};
use lowtide_units::{Duration, Instant};

/// The state of a sender at its release, or at the end of the run. A run keeps one for each
/// finished flow, so it is smaller than an [`Info`].
#[derive(Clone, Debug)]
pub(crate) struct SenderSummary {
    counters: SenderCounters,
    pub(crate) srtt: Option<Duration>,
    pub(crate) srtt_quantised: Option<Duration>,
    pub(crate) last_progress: Instant,
    pub(crate) cc: &'static str,
    pub(crate) mss: u32,
    pub(crate) ecn: EcnMode,
    pub(crate) delay: DelayMode,
    pub(crate) limited_by: LimitedBy,
    pub(crate) after_rto: bool,
    pub(crate) has_data_in_flight: bool,
    pub(crate) zero_window: bool,
}

const _: () = assert!(size_of::<SenderSummary>() <= 104);

impl From<&Info> for SenderSummary {
    fn from(info: &Info) -> Self {
        Self {
            counters: SenderCounters::new(&info.counters, info.delack_detection),
            srtt: info.srtt,
            srtt_quantised: info.srtt_quantised,
            last_progress: info.last_progress,
            cc: info.cc,
            mss: info.mss,
            ecn: info.ecn,
            delay: info.delay,
            limited_by: info.limited_by,
            after_rto: info.after_rto,
            has_data_in_flight: info.in_flight > 0,
            zero_window: info.snd_wnd == 0,
        }
    }
}

impl SenderSummary {
    /// Returns the counters of the connection, and how well its control detected delayed ACKs.
    pub(crate) fn counters(&self) -> (Counters, DelackDetection) {
        self.counters.expand()
    }
}

/// The counters of a sender. Most senders of short flows have counted only segments, marks and
/// reductions.
#[derive(Clone, Debug)]
enum SenderCounters {
    Common { data_segs_out: u64, delivered_ce_bytes: u64, marks: u32, reductions: u32 },
    All(Box<(Counters, DelackDetection)>),
}

impl SenderCounters {
    fn new(counters: &Counters, detection: DelackDetection) -> Self {
        // A counter that does not fit makes the comparison below choose `All`.
        let common = Self::Common {
            data_segs_out: counters.data_segs_out,
            delivered_ce_bytes: counters.delivered_ce_bytes,
            marks: counters.delivered_ce_segs as u32,
            reductions: counters.ecn_reductions as u32,
        };
        let all = (*counters, detection);
        if common.expand() == all { common } else { Self::All(Box::new(all)) }
    }

    fn expand(&self) -> (Counters, DelackDetection) {
        match self {
            Self::Common { data_segs_out, delivered_ce_bytes, marks, reductions } => {
                let mut counters = Counters::default();
                counters.data_segs_out = *data_segs_out;
                counters.delivered_ce_bytes = *delivered_ce_bytes;
                counters.delivered_ce_segs = u64::from(*marks);
                counters.ecn_reductions = u64::from(*reductions);
                (counters, DelackDetection::default())
            }
            Self::All(all) => **all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_counter_is_lost() {
        let mut counters = Counters::default();
        counters.data_segs_out = 1 << 40;
        counters.ecn_reductions = 3;
        counters.delivered_ce_segs = 5;
        counters.delivered_ce_bytes = 7_240;
        let none = DelackDetection::default();
        let kept = |counters: Counters, detection| {
            let kept = SenderCounters::new(&counters, detection);
            assert_eq!(kept.expand(), (counters, detection));
            matches!(kept, SenderCounters::Common { .. })
        };
        assert!(kept(counters, none));
        assert!(!kept(counters, DelackDetection { false_positives: 1, ..none }));
        counters.delivered_ce_segs = 1 << 40;
        assert!(!kept(counters, none), "more than 32 bits");
        counters.delivered_ce_segs = 5;
        counters.bytes_retrans = 1_448;
        assert!(!kept(counters, none));
    }
}
