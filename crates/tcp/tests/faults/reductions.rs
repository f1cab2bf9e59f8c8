//! Frequency of window reductions: once per window of data for marks (RFC 3168 §6.1.2, RFC 8257
//! §3.3), and once per loss episode (RFC 5681, RFC 6582). A loss does not add to a mark.

use lowtide_tcp::{Config, CutRule, Info, Reduction, cc};

/// A reduction in progress: SND.NXT when it happened.
#[derive(Clone, Copy, Debug)]
struct Cut {
    point: u64,
    /// Minimum that a loss in the same window of data must leave, bytes.
    least: u64,
    /// Bytes in flight before it, if a proportional reduction bounds the later ones.
    flight: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct ReductionChecker {
    reductions: u64,
    losses: u64,
    timeouts: u64,
    undos: u64,
    cwnd: u64,
    flight: u64,
    mark: Option<Cut>,
    loss: Option<Cut>,
}

impl ReductionChecker {
    /// The connection processed a segment or a timeout, and has not sent since. `acked` is its
    /// SND.UNA, `sent` one past the last offset sent.
    pub(crate) fn before_send(&mut self, info: &Info, config: &Config, acked: u64, sent: u64) {
        // A FIN is in neither: hence one byte of slack.
        let open = |cut: &Cut| acked + 1 < cut.point;
        let c = &info.counters;
        let before = std::mem::replace(&mut self.cwnd, info.snd_cwnd);
        let spreads = config.reduction == Reduction::Prr;
        // During PRR the visible cwnd stays near the bytes in flight.
        let least = if spreads { info.snd_ssthresh.unwrap_or(0) / 2 } else { before / 2 };
        // After a timeout it slow-starts, and is reduced in one step.
        let slow = self.loss.is_some_and(|cut| cut.flight.is_none() && open(&cut));
        let flight = (spreads && !slow).then_some(self.flight);
        let here = Cut { point: sent, least, flight };
        let marks = c.ecn_reductions - std::mem::replace(&mut self.reductions, c.ecn_reductions);
        let losses = c.fast_retransmits - std::mem::replace(&mut self.losses, c.fast_retransmits);
        let timeouts = c.rto_count - std::mem::replace(&mut self.timeouts, c.rto_count);
        if c.undos != std::mem::replace(&mut self.undos, c.undos) {
            // The loss was spurious, so there was no episode.
            self.loss = None;
        }
        assert!(marks + losses <= 1, "{marks} cuts for marks and {losses} for losses at once");
        let per_window = config.cut == CutRule::PerWindow;
        if marks > 0 {
            // With Accurate ECN the end of the handshake may report a mark before the window
            // exists.
            let begun = before > 0;
            assert!(
                spreads || !begun || info.snd_cwnd <= before,
                "a cut from {before} to {}",
                info.snd_cwnd
            );
            let last = self.mark.iter().chain(&self.loss).find(|cut| open(cut));
            assert!(!per_window || last.is_none(), "a mark cuts at {acked}, {last:?} is not over");
            self.mark = Some(here);
        }
        if losses > 0 {
            let last = self.loss.filter(open);
            // As in Linux, fast recovery may begin while a timeout is repaired.
            let again = config.recovery_after_rto && last.is_some_and(|cut| cut.flight.is_none());
            assert!(last.is_none() || again, "a loss cuts at {acked}, {last:?} is not over");
            if let Some(mark) = self.mark.filter(|cut| per_window && open(cut)) {
                let left = info.snd_ssthresh.unwrap_or(u64::MAX);
                // A window that the peer or the application left unused is no reference: then half
                // of the bytes in flight (RFC 5681 §3.1 eq. 4), without the data of limited
                // transmit.
                let flight = (sent - acked).saturating_sub(1 + 2 * u64::from(info.mss));
                let least = mark.least.min(flight / 2);
                assert!(left >= least, "mark and loss leave {left}, not {least}");
            }
            self.loss = Some(here);
        }
        if timeouts > 0 && info.snd_cwnd > 0 {
            let mss = u64::from(info.mss);
            // The peer's first AccECN option shortens segments, but not the window.
            let entry = cc::REGISTRY.find(info.cc).expect("a registered control");
            let exempt = entry.declared.exemptions.iter().any(|e| e.rule == "rto");
            let one_segment = info.snd_cwnd <= mss + 12;
            assert!(exempt || one_segment, "cwnd {} after a timeout", info.snd_cwnd);
            (self.mark, self.loss) = (None, Some(Cut { flight: None, ..here }));
        }
    }

    /// The connection has sent all it may; an idle restart lowers cwnd then.
    pub(crate) fn after_send(&mut self, info: &Info, acked: u64, sack: bool) {
        // Without SACK duplicates report what left the network, and only PRR counts them.
        for cut in self.mark.iter().filter(|cut| sack && acked + 1 < cut.point) {
            // A few segments are always sent, and retransmissions count twice.
            let most = cut.flight.map(|f| f.max(info.snd_ssthresh.unwrap_or(0)));
            let most = most.map_or(u64::MAX, |m| m + 4 * u64::from(info.mss));
            assert!(info.in_flight <= most, "{} B in flight after {cut:?}", info.in_flight);
        }
        self.flight = info.in_flight;
        if info.snd_cwnd < self.cwnd {
            self.mark = None;
        }
        self.cwnd = info.snd_cwnd;
    }
}
