//! Rules of loss, timeout, idle and undo.

use super::flow::{MSS, RTT, SETUP, SyntheticSender, declares, near};
use super::{RuleFailure, Subject};
use lowtide_tcp::cc::{CongestionEvent, Signal};

/// A control with a window of about a hundred segments.
fn grown(subject: Subject<'_>) -> SyntheticSender {
    let mut flow = SyntheticSender::new(subject, &SETUP);
    for _ in 0..90 {
        let _ = flow.clean_ack();
    }
    flow
}

pub(super) fn loss_halves(subject: Subject<'_>) -> RuleFailure {
    if !declares(subject, Signal::Loss) {
        return None;
    }
    for clean_rounds in [0, 400] {
        for share in [1, 2, 1000] {
            let mut flow = grown(subject);
            for _ in 0..clean_rounds {
                flow.observe_round(0);
            }
            let in_flight = flow.cwnd() / share;
            let half = (in_flight / 2).max(SETUP.floor);
            flow.lose(in_flight);
            let (cwnd, ssthresh) = (flow.cwnd(), flow.cc.ssthresh());
            if !near(ssthresh, half, MSS) || cwnd > ssthresh {
                return Some(format!(
                    "a loss with {in_flight} B in flight leaves cwnd {cwnd}, ssthresh {ssthresh}"
                ));
            }
        }
        let mut flow = grown(subject);
        let in_flight = flow.cwnd();
        flow.rto(true, in_flight);
        let ssthresh = flow.cc.ssthresh();
        if !near(ssthresh, in_flight / 2, MSS) {
            return Some(format!(
                "a timeout with {in_flight} B in flight leaves ssthresh {ssthresh}"
            ));
        }
    }
    None
}

pub(super) fn one_reduction(subject: Subject<'_>) -> RuleFailure {
    if !declares(subject, Signal::Loss) || !declares(subject, Signal::Ecn) {
        return None;
    }
    for clean_rounds in [0, 400] {
        let [mut both, mut alone] = [0, 1].map(|_| {
            let mut flow = grown(subject);
            for _ in 0..clean_rounds {
                flow.observe_round(0);
            }
            flow
        });
        let in_flight = both.cwnd();
        let _ = both.marked_ack(MSS, true);
        let now = both.now;
        both.event(&CongestionEvent::Loss { now, in_flight, already_reduced: true });
        alone.lose(in_flight);
        if !near(both.cwnd(), alone.cwnd(), MSS) {
            return Some(format!(
                "of {in_flight} B a mark and a loss leave {} B, the loss alone {}",
                both.cwnd(),
                alone.cwnd()
            ));
        }
    }
    None
}

pub(super) fn recovered_burst(subject: Subject<'_>) -> RuleFailure {
    for segments in [0, 1, 5, 1000] {
        let mut flow = grown(subject);
        let before = flow.cwnd();
        flow.lose(before);
        let in_flight = segments * MSS;
        let now = flow.now;
        flow.event(&CongestionEvent::Recovered { now, in_flight });
        let bound = flow.cc.ssthresh().min(in_flight.max(MSS) + MSS).max(SETUP.floor);
        if flow.cwnd() > bound {
            return Some(format!(
                "recovery ends with {in_flight} B in flight and cwnd {}, more than {bound}",
                flow.cwnd()
            ));
        }
    }
    None
}

pub(super) fn rto(subject: Subject<'_>) -> RuleFailure {
    let mut flow = grown(subject);
    let before = flow.cwnd();
    flow.rto(true, before);
    let (cwnd, ssthresh) = (flow.cwnd(), flow.cc.ssthresh());
    if cwnd != MSS || ssthresh >= before {
        return Some(format!("after a timeout cwnd is {cwnd}, ssthresh {ssthresh} of {before} B"));
    }
    flow.rto(false, MSS);
    let (cwnd, second) = (flow.cwnd(), flow.cc.ssthresh());
    if cwnd != MSS || second != ssthresh {
        return Some(format!("the second timeout takes ssthresh {ssthresh} to {second} B"));
    }
    // Slow start follows: the window reaches ssthresh again after a few round trips.
    for _ in 0..2 * ssthresh / MSS {
        let _ = flow.clean_ack();
    }
    (flow.cwnd() < ssthresh).then(|| format!("no slow start after a timeout: {} B", flow.cwnd()))
}

pub(super) fn idle_restart(subject: Subject<'_>) -> RuleFailure {
    let idle = |flow: &mut SyntheticSender| {
        let (cwnd, ssthresh) = (flow.cwnd(), flow.cc.ssthresh());
        flow.now += RTT * 100;
        let now = flow.now;
        flow.event(&CongestionEvent::IdleRestart { now, idle: RTT * 100, halvings: None });
        let bound = cwnd.min(SETUP.initial_window);
        (flow.cwnd() > bound || flow.cc.ssthresh() < ssthresh).then(|| {
            format!(
                "after idle cwnd {cwnd} is {} (bound {bound}), ssthresh {ssthresh} is {}",
                flow.cwnd(),
                flow.cc.ssthresh()
            )
        })
    };
    let mut large = grown(subject);
    let mut small = grown(subject);
    small.rto(true, 6 * MSS);
    idle(&mut large).or_else(|| idle(&mut small))
}

/// Reduces the window, with this many bytes in flight.
type Reduce<'a> = &'a dyn Fn(&mut SyntheticSender, u64);

pub(super) fn undo(subject: Subject<'_>) -> RuleFailure {
    let undo = |flow: &mut SyntheticSender| {
        let now = flow.now;
        flow.event(&CongestionEvent::Undo { now });
    };
    let timeouts = |flow: &mut SyntheticSender, in_flight: u64| {
        flow.rto(true, in_flight);
        flow.rto(false, MSS);
    };
    let cases: [(&str, Reduce<'_>); 3] =
        [("a loss", &SyntheticSender::lose), ("two timeouts", &timeouts), ("nothing", &|_, _| {})];
    for (what, reduce) in cases {
        let mut flow = grown(subject);
        let before = (flow.cwnd(), flow.cc.ssthresh());
        reduce(&mut flow, before.0);
        undo(&mut flow);
        let after = (flow.cwnd(), flow.cc.ssthresh());
        if after != before {
            return Some(format!("undo after {what}: {before:?} becomes {after:?}"));
        }
        // An undo restores only once.
        flow.lose(before.0);
        let now = flow.now;
        flow.event(&CongestionEvent::Undo { now });
        flow.event(&CongestionEvent::IdleRestart { now, idle: RTT * 100, halvings: None });
        let restarted = flow.cwnd();
        undo(&mut flow);
        if flow.cwnd() != restarted {
            return Some(format!("a second undo takes {restarted} to {} B", flow.cwnd()));
        }
    }
    None
}
