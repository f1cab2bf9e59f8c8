//! How often the window comes down: once per window of data for marks (RFC 3168 §6.1.2, RFC 8257
//! §3.3), once per loss episode (RFC 5681, RFC 6582), and a loss does not add to a mark.

use lowtide_tcp::{Config, CutRule, Info, Reduction};

/// A reduction that is not yet through: SND.NXT when it happened.
#[derive(Clone, Copy, Debug)]
struct Cut {
    point: u64,
    /// cwnd before it.
    before: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Cuts {
    reductions: u64,
    losses: u64,
    timeouts: u64,
    undos: u64,
    cwnd: u64,
    mark: Option<Cut>,
    loss: Option<Cut>,
}

impl Cuts {
    /// The connection was given a segment or the time, and has not sent since. `acked` is its SND.UNA,
    /// `sent` one past the last offset sent.
    pub(crate) fn look(&mut self, info: &Info, config: &Config, acked: u64, sent: u64) {
        // A FIN is in neither: the one byte of slack.
        let open = |cut: &Cut| acked + 1 < cut.point;
        let c = &info.counters;
        let before = std::mem::replace(&mut self.cwnd, info.snd_cwnd);
        let here = Cut { point: sent, before };
        let marks = c.ecn_reductions - std::mem::replace(&mut self.reductions, c.ecn_reductions);
        let losses = c.fast_retransmits - std::mem::replace(&mut self.losses, c.fast_retransmits);
        let timeouts = c.rto_count - std::mem::replace(&mut self.timeouts, c.rto_count);
        if c.undos != std::mem::replace(&mut self.undos, c.undos) {
            // That was no episode.
            self.loss = None;
        }
        assert!(marks + losses <= 1, "{marks} cuts for marks and {losses} for losses at once");
        let per_window = config.cut == CutRule::PerWindow;
        if marks > 0 {
            // Where it comes down in proportion, the cwnd that shows stays near what is in flight.
            let lower = info.snd_cwnd <= before || config.reduction == Reduction::Prr;
            assert!(lower, "a cut from {before} to {}", info.snd_cwnd);
            let last = self.mark.iter().chain(&self.loss).find(|cut| open(cut));
            assert!(!per_window || last.is_none(), "a mark cuts at {acked}, {last:?} is not over");
            self.mark = Some(here);
        }
        if losses > 0 {
            let last = self.loss.filter(open);
            assert!(last.is_none(), "a loss cuts at {acked}, {last:?} is not over");
            if let Some(mark) = self.mark.filter(|cut| per_window && open(cut)) {
                let least = mark.before / 2;
                let left = info.snd_ssthresh.unwrap_or(u64::MAX);
                assert!(left >= least, "mark and loss leave {left} of {} B", mark.before);
            }
            self.loss = Some(here);
        }
        if timeouts > 0 && info.snd_cwnd > 0 {
            let mss = u64::from(info.mss);
            assert!(info.snd_cwnd <= mss, "cwnd {} after a timeout", info.snd_cwnd);
            (self.mark, self.loss) = (None, Some(here));
        }
    }

    /// The connection has sent what it may; an idle restart lowers cwnd then.
    pub(crate) fn sent(&mut self, info: &Info) {
        if info.snd_cwnd < self.cwnd {
            self.mark = None;
        }
        self.cwnd = info.snd_cwnd;
    }
}
