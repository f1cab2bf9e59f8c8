//! Tests which pairs of receiver and decoder count exactly: every pattern of marks on twelve
//! segments, an ACK for every second segment, no loss.

use lowtide_schema::Values;
use lowtide_units::{Duration, Instant};

use super::{AckView, FeedbackDecoder};
use crate::ack::{self, AckAction, AckSetup, RxSample};

const MSS: u32 = 1000;
const SEGMENTS: u32 = 12;

/// Marked segments that the decoder counts for an ACK of `segments` segments.
fn decode(decoder: &mut dyn FeedbackDecoder, segments: u32, ece: bool) -> u32 {
    decoder
        .on_ack(&AckView {
            ece,
            delivered_bytes: u64::from(segments * MSS),
            delivered_segments: segments,
            mss: MSS,
            ..AckView::default()
        })
        .ce_segments
}

/// Marked segments that the sender counts, for marks at the bits of `pattern`.
fn counted(flip: &str, decoder: &str, pattern: u32) -> u32 {
    let policy = ack::REGISTRY.find("dctcp").unwrap();
    let flip = Values::parse(policy.params, &[("flip", flip)]).unwrap();
    let setup = AckSetup { segments: 2, timer: Duration::from_ms(40), mss: 1000, ecn: true };
    let mut policy = (policy.build)(&flip, &setup);
    let decoder = super::REGISTRY.find(decoder).unwrap();
    let mut decoder = (decoder.build)(&Values::parse(decoder.params, &[]).unwrap());
    let (mut waiting, mut sum) = (0, 0);
    for i in 0..SEGMENTS {
        let old = policy.echo();
        let action = policy.on_data(&RxSample {
            now: Instant::ZERO,
            in_order: true,
            duplicate: false,
            segments: 1,
            payload: MSS,
            ect: true,
            ce: pattern >> i & 1 == 1,
            cwr: false,
            ack_pending: waiting > 0,
            prior_rcv_nxt: u64::from(i * MSS),
        });
        match action {
            AckAction::Delay(_) => waiting += 1,
            AckAction::Now => {
                sum += decode(&mut *decoder, waiting + 1, policy.echo());
                waiting = 0;
                policy.on_ack_sent(Instant::ZERO);
            }
            AckAction::OldEcho { .. } => {
                sum += decode(&mut *decoder, waiting, old);
                waiting = 1;
            }
            AckAction::SplitAt { .. } => {
                sum +=
                    decode(&mut *decoder, waiting, old) + decode(&mut *decoder, 1, policy.echo());
                waiting = 0;
                policy.on_ack_sent(Instant::ZERO);
            }
        }
    }
    if waiting > 0 {
        // The delayed-ACK timer fires.
        sum += decode(&mut *decoder, waiting, policy.echo());
    }
    sum
}

/// The largest undercount and overcount.
fn errors(flip: &str, decoder: &str) -> (i64, i64) {
    let errors = (0..1 << SEGMENTS)
        .map(|p: u32| i64::from(counted(flip, decoder, p)) - i64::from(p.count_ones()));
    errors.fold((0, 0), |(low, high), e| (low.min(e), high.max(e)))
}

#[test]
fn a_split_is_exact_and_leaves_nothing_to_repair() {
    assert_eq!(errors("split", "dctcp"), (0, 0));
    assert_eq!(errors("split", "freebsd"), (0, 0));
}

#[test]
fn an_old_echo_is_exact_without_the_repair_only() {
    assert_eq!(errors("old-echo", "dctcp"), (0, 0));
    // The first ACK of a new state may cover two segments, one of which the correction takes away.
    let (low, high) = errors("old-echo", "freebsd");
    assert!(low < 0 && high > 0, "{low} {high}");
}

#[test]
fn one_ack_at_a_flip_is_exact_with_the_repair_only() {
    assert_eq!(errors("new-echo", "freebsd"), (0, 0));
    let (low, high) = errors("new-echo", "dctcp");
    assert!(low < 0 && high > 0, "{low} {high}");
}

#[test]
fn when_waiting_is_wrong_by_one_in_either_direction() {
    // A mark with no ACK pending, then a clean segment: one ACK without ECE covers both.
    assert_eq!(counted("when-waiting", "freebsd", 0b01), 0);
    assert_eq!(counted("split", "freebsd", 0b01), 1);
    // After marks, two clean segments in one ACK: the correction counts one of them as marked.
    assert_eq!(counted("when-waiting", "freebsd", 0b0011), 2);
    assert_eq!(counted("when-waiting", "freebsd", 0b00_1111), 4);
    assert_eq!(errors("when-waiting", "freebsd"), (-6, 5));
}
