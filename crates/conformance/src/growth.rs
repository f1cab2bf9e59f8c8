//! Rules of growth.

use super::flow::{MSS, SETUP, SyntheticSender, declares};
use super::{RuleFailure, Subject};
use lowtide_tcp::cc::{AckSample, Signal};

pub(super) fn no_shrink(subject: Subject<'_>) -> RuleFailure {
    let starts = [
        Some(SyntheticSender::new(subject, &SETUP)),
        SyntheticSender::in_congestion_avoidance(subject, &SETUP, 20),
    ];
    for mut flow in starts.into_iter().flatten() {
        for i in 0..2000 {
            let step = flow.clean_ack();
            if step.after < step.before {
                return Some(format!("clean ACK {i}: {} -> {} B", step.before, step.after));
            }
        }
    }
    None
}

pub(super) fn frozen(subject: Subject<'_>) -> RuleFailure {
    let starts = [
        Some(SyntheticSender::new(subject, &SETUP)),
        SyntheticSender::in_congestion_avoidance(subject, &SETUP, 20),
    ];
    for mut flow in starts.into_iter().flatten() {
        for i in 0..200 {
            let sample = flow.sample(MSS);
            let sample = AckSample { may_grow: false, app_limited: i % 2 == 0, ..sample };
            let step = flow.feed(&sample);
            if step.after > step.before {
                return Some(format!("frozen ACK {i}: {} -> {} B", step.before, step.after));
            }
        }
    }
    None
}

pub(super) fn slow_start(subject: Subject<'_>) -> RuleFailure {
    for segments in [1, 2, 5, 10] {
        for after_rto in [false, true] {
            let mut flow = SyntheticSender::new(subject, &SETUP);
            let sample = flow.sample(segments * MSS);
            let step = flow.feed(&AckSample { after_rto, ..sample });
            let limit = if after_rto { MSS } else { SETUP.abc_limit }.min(segments * MSS);
            if step.after > step.before + limit {
                return Some(format!(
                    "an ACK of {segments} segments{} adds {} B, more than {limit}",
                    if after_rto { " after a timeout" } else { "" },
                    step.after - step.before
                ));
            }
        }
    }
    let mut flow = SyntheticSender::new(subject, &SETUP);
    let start = flow.cwnd();
    for _ in 0..start / MSS {
        let _ = flow.clean_ack();
    }
    let end = flow.cwnd();
    (end <= start || end > 2 * start)
        .then(|| format!("the first round trip goes from {start} to {end} B"))
}

pub(super) fn additive_increase(subject: Subject<'_>) -> RuleFailure {
    for segments in [10, 100] {
        let Some(mut flow) = SyntheticSender::in_congestion_avoidance(subject, &SETUP, segments)
        else {
            return declares(subject, Signal::Loss)
                .then(|| format!("a loss at {segments} segments does not end slow start"));
        };
        let start = flow.cwnd();
        let mut acked = 0;
        let mut windows = 0;
        while windows < 40 {
            // One window of data, by the current window at its start.
            acked += MSS;
            let _ = flow.clean_ack();
            if acked >= flow.cwnd() {
                acked = 0;
                windows += 1;
            }
            let grown = flow.cwnd() - start.min(flow.cwnd());
            if grown > (windows + 1) * MSS {
                return Some(format!("{grown} B in {windows} windows of data"));
            }
        }
        let grown = flow.cwnd() - start.min(flow.cwnd());
        if grown < 20 * MSS {
            return Some(format!("only {grown} B in 40 windows of data"));
        }
    }
    None
}
