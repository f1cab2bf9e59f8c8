//! Rules that hold for any input.

use lowtide_units::{Duration, Instant};

use super::flow::{Lcg, MSS, SETUP, SyntheticSender, random_event};
use super::{RuleFailure, Subject};
use lowtide_tcp::cc::{AckSample, CcSetup, CongestionEvent, RateSample, Reaction};

/// Minimum of a window that no reaction may pass, bytes.
fn least_window(subject: Subject<'_>, mss: u64) -> u64 {
    if subject.entry.declared.floor_segments == 0 { 1 } else { mss }
}

pub(super) fn floor(subject: Subject<'_>) -> RuleFailure {
    for segments in [1, 2] {
        let path = CcSetup { floor: segments * MSS, ..SETUP };
        let declared = u64::from(subject.entry.declared.floor_segments) * MSS;
        let least = path.floor.min(declared).max(1);
        let mut flow = SyntheticSender::new(subject, &path);
        let mut rng = Lcg::new(segments);
        for i in 0..5000 {
            // Runs of marks and losses as well as a mixture.
            if i % 100 < 20 {
                let _ = flow.marked_ack(MSS, true);
                let in_flight = flow.cwnd();
                flow.lose(in_flight);
            } else {
                let _ = random_event(&mut flow, &mut rng, false);
            }
            let (cwnd, ssthresh) = (flow.cwnd(), flow.cc.ssthresh());
            if cwnd < least || ssthresh < least {
                return Some(format!(
                    "step {i}: cwnd {cwnd}, ssthresh {ssthresh}, floor {least} B"
                ));
            }
        }
        // Below the floor after a timeout, a cut leaves the one segment, or what is declared.
        let in_flight = flow.cwnd();
        flow.rto(true, in_flight);
        let _ = flow.marked_ack(MSS, true);
        if flow.cwnd() < least_window(subject, MSS) {
            return Some(format!("a mark after a timeout leaves {} B", flow.cwnd()));
        }
    }
    None
}

pub(super) fn limits(subject: Subject<'_>) -> RuleFailure {
    const HUGE: u64 = u64::MAX;
    for (mss, initial_window) in [(1448, 14_480), (65_495, HUGE - 1), (1, 2)] {
        let path =
            CcSetup { mss, initial_window, floor: 2 * u64::from(mss), abc_limit: HUGE, ..SETUP };
        let mut flow = SyntheticSender::new(subject, &path);
        for i in 0_u32..60 {
            let huge = i % 2 == 0;
            let bytes = if huge { HUGE } else { u64::from(i) };
            let segments = if huge { u32::MAX } else { i };
            let marked = i % 5 == 0;
            let now = Instant::from_ps(if i < 30 { u64::from(i) } else { HUGE });
            let sample = AckSample {
                now,
                snd_una: bytes,
                snd_nxt: HUGE,
                acked_bytes: bytes,
                acked_segments: segments,
                sacked_bytes: bytes,
                sacked_segments: segments,
                delivered_bytes: bytes,
                delivered_segments: segments,
                ce_bytes: if marked { bytes } else { 0 },
                ce_segments: if marked { segments } else { 0 },
                ece: marked,
                rtt: Some(if huge { Duration::MAX } else { Duration::ZERO }),
                in_flight: HUGE,
                prior_in_flight: HUGE,
                rate_sample: Some(RateSample {
                    prior_delivered: bytes,
                    delivered: bytes,
                    interval: Duration::from_ps(u64::from(i)),
                    app_limited: marked,
                    tx_in_flight: bytes,
                    lost: bytes,
                }),
                may_reduce: true,
                may_grow: true,
                ..AckSample::default()
            };
            let step = flow.feed(&sample);
            let wrapped = step.reaction == Reaction::None && step.after < step.before;
            let cut_too_far = step.after < step.before / 3;
            if (wrapped || cut_too_far) && !subject.entry.declared.rate_based {
                return Some(format!("ACK {i} of {bytes} B: {} -> {} B", step.before, step.after));
            }
            let in_flight = bytes;
            match i % 15 {
                5 => flow.event(&CongestionEvent::Loss { now, in_flight, already_reduced: huge }),
                8 => flow.event(&CongestionEvent::Recovered { now, in_flight }),
                10 => flow.event(&CongestionEvent::Rto {
                    now,
                    first: huge,
                    in_recovery: false,
                    in_flight,
                }),
                11 => flow.event(&CongestionEvent::IdleRestart {
                    now,
                    idle: Duration::MAX,
                    halvings: None,
                }),
                12 => flow.event(&CongestionEvent::Undo { now }),
                _ => {}
            }
            let least = least_window(subject, u64::from(mss));
            if flow.cwnd() < least || flow.cc.ssthresh() < least {
                return Some(format!(
                    "step {i}: cwnd {}, ssthresh {} with an MSS of {mss} B",
                    flow.cwnd(),
                    flow.cc.ssthresh()
                ));
            }
        }
    }
    None
}

pub(super) fn deterministic(subject: Subject<'_>) -> RuleFailure {
    let [a, b] = [0, 1].map(|_| {
        let (mut flow, mut rng) = (SyntheticSender::new(subject, &SETUP), Lcg::new(3));
        (0..2000)
            .map(|_| {
                let step = random_event(&mut flow, &mut rng, true);
                (step, flow.cwnd(), flow.cc.ssthresh(), flow.cc.pacing_rate())
            })
            .collect::<Vec<_>>()
    });
    let differ = a.iter().zip(&b).position(|(x, y)| x != y)?;
    Some(format!("step {differ}: {:?} and {:?}", a[differ], b[differ]))
}
