//! Rules of the reaction to marks and delay.

use lowtide_units::Duration;

use super::flow::{Lcg, MSS, RTT, SETUP, SyntheticSender, declares, near, random_event};
use super::{RuleFailure, Subject};
use lowtide_tcp::cc::{AckSample, CcSetup, Reaction, Signal};

/// Rounds after which an estimate has converged.
const SETTLE: usize = 400;

/// Drives a hundred ACKs, with or without the signal.
type Drive<'a> = &'a dyn Fn(&mut SyntheticSender, bool);

pub(super) fn signals(subject: Subject<'_>) -> RuleFailure {
    let ecn = |flow: &mut SyntheticSender, on: bool| {
        for _ in 0..100 {
            let _ = if on { flow.marked_ack(MSS, true) } else { flow.clean_ack() };
        }
    };
    let delay = |flow: &mut SyntheticSender, on: bool| {
        for i in 0..100 {
            let sample = flow.sample(MSS);
            // First a path without a queue, as the reference of the delay.
            let queue = if on && i >= 20 { RTT } else { Duration::ZERO };
            let (delay, rtt) = (Some(queue), Some(RTT + queue));
            let _ =
                flow.feed(&AckSample { rtt, queueing_delay: delay, fabric_delay: delay, ..sample });
        }
    };
    let loss = |flow: &mut SyntheticSender, on: bool| {
        for _ in 0..100 {
            let _ = flow.clean_ack();
        }
        if on {
            let in_flight = flow.cwnd();
            flow.lose(in_flight);
        }
    };
    let cases: [(Signal, Drive<'_>); 3] =
        [(Signal::Ecn, &ecn), (Signal::Delay, &delay), (Signal::Loss, &loss)];
    for (signal, drive) in cases {
        let [with, without] = [true, false].map(|on| {
            let mut flow = SyntheticSender::new(subject, &SETUP);
            drive(&mut flow, on);
            flow.cwnd()
        });
        if declares(subject, signal) {
            if with >= without {
                return Some(format!("{signal:?} is declared and ignored: {with} B"));
            }
        } else if with != without {
            return Some(format!(
                "{signal:?} is not declared and changes the window: {with} against {without} B"
            ));
        }
    }
    None
}

pub(super) fn one_cut(subject: Subject<'_>) -> RuleFailure {
    let mut flow = SyntheticSender::new(subject, &SETUP);
    for _ in 0..100 {
        let _ = flow.clean_ack();
    }
    let _ = flow.marked_ack(MSS, true);
    for i in 0..100 {
        let step = flow.marked_ack(MSS, false);
        if step.reaction == Reaction::Reduced || step.after < step.before {
            return Some(format!(
                "marked ACK {i} cuts without permission: {} -> {} B",
                step.before, step.after
            ));
        }
    }
    None
}

pub(super) fn clean_ack(subject: Subject<'_>) -> RuleFailure {
    let mut flow = SyntheticSender::new(subject, &SETUP);
    for i in 0..200 {
        // Marks on every tenth ACK; every ACK may reduce.
        let marked = i % 10 == 0;
        let step = if marked { flow.marked_ack(MSS, true) } else { flow.clean_ack() };
        if !marked && (step.reaction == Reaction::Reduced || step.after < step.before) {
            return Some(format!(
                "ACK {i} has no mark and cuts: {} -> {} B",
                step.before, step.after
            ));
        }
    }
    None
}

pub(super) fn cut_or_grow(subject: Subject<'_>) -> RuleFailure {
    let grew = |what: &str, before: u64, after: u64| {
        Some(format!("{what}: reduced, and {before} -> {after} B"))
    };
    // First a long time without marks, so that the estimate is near zero and a cut is small; then
    // one ACK that permits a whole segment of growth.
    for mut flow in [
        Some(SyntheticSender::new(subject, &SETUP)),
        SyntheticSender::in_congestion_avoidance(subject, &SETUP, 10),
    ]
    .into_iter()
    .flatten()
    {
        for _ in 0..SETTLE {
            flow.observe_round(0);
        }
        let step = flow.marked_ack(flow.cwnd(), true);
        if step.reaction == Reaction::Reduced && step.after > step.before {
            return grew("a mark after a clean time", step.before, step.after);
        }
    }
    let (mut flow, mut rng) = (SyntheticSender::new(subject, &SETUP), Lcg::new(7));
    for i in 0..5000 {
        if let Some(step) = random_event(&mut flow, &mut rng, true)
            && step.reaction == Reaction::Reduced
            && step.after > step.before
        {
            return grew(&format!("mixture, step {i}"), step.before, step.after);
        }
    }
    None
}

pub(super) fn reports_cuts(subject: Subject<'_>) -> RuleFailure {
    let (mut flow, mut rng) = (SyntheticSender::new(subject, &SETUP), Lcg::new(11));
    for i in 0..5000 {
        if let Some(step) = random_event(&mut flow, &mut rng, true)
            && step.reaction == Reaction::None
            && step.after < step.before
        {
            return Some(format!("step {i}: {} -> {} B unreported", step.before, step.after));
        }
    }
    None
}

pub(super) fn ecn_halves(subject: Subject<'_>) -> RuleFailure {
    if subject.entry.declared.proportional || !declares(subject, Signal::Ecn) {
        return None;
    }
    for clean_rounds in [0, SETTLE] {
        let mut flow = SyntheticSender::new(subject, &SETUP);
        for _ in 0..40 {
            let _ = flow.clean_ack();
        }
        for _ in 0..clean_rounds {
            flow.observe_round(0);
        }
        let step = flow.marked_ack(MSS, true);
        if !near(step.after, step.before / 2, MSS) {
            return Some(format!("a mark takes {} to {} B", step.before, step.after));
        }
    }
    None
}

pub(super) fn proportional(subject: Subject<'_>) -> RuleFailure {
    if !subject.entry.declared.proportional {
        return None;
    }
    // Marked ACKs of every ten, and the range of the cut in 1/1000 of the window.
    for (marks, least, most) in [(10, 480, 510), (5, 200, 300), (0, 0, 20)] {
        let mut flow = SyntheticSender::new(subject, &SETUP);
        for _ in 0..190 {
            let _ = flow.clean_ack();
        }
        for _ in 0..SETTLE {
            flow.observe_round(marks);
        }
        let step = flow.marked_ack(MSS, true);
        let taken = (step.before - step.after.min(step.before)) * 1000 / step.before;
        if !(least..=most).contains(&taken) {
            return Some(format!(
                "with {marks} of 10 ACKs marked a cut takes {taken}/1000 of the window, \
                 not {least} to {most}"
            ));
        }
    }
    None
}

pub(super) fn no_ecn(subject: Subject<'_>) -> RuleFailure {
    let path = CcSetup { ecn: false, ..SETUP };
    let (mut told, mut plain) =
        (SyntheticSender::new(subject, &path), SyntheticSender::new(subject, &path));
    for i in 0..500 {
        let (a, b) = (
            if i % 3 == 0 { told.marked_ack(MSS, true) } else { told.clean_ack() },
            plain.clean_ack(),
        );
        if a != b {
            return Some(format!("ACK {i}: {a:?} with a mark, {b:?} without"));
        }
        if i % 100 == 99 {
            let in_flight = plain.cwnd();
            told.lose(in_flight);
            plain.lose(in_flight);
        }
    }
    None
}
