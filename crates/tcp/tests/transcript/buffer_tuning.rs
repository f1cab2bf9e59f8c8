//! Tuned receive buffers (`buffer-tuning`): growth, lost ACKs, gaps, slow readers, no timestamps,
//! and a right edge that never moves left (RFC 9293 §3.8.6.2.1).

use lowtide_tcp::{BufferTuning, BufferTuningRule, Config};
use lowtide_units::Bytes;

use crate::common::{LinkAction, Origin, Pair, SentSegment, Side, at_every_origin, modern, ms};

const MAX: u64 = 512 << 10;
const RULES: [BufferTuningRule; 3] =
    [BufferTuningRule::FreeBsd10, BufferTuningRule::FreeBsd14, BufferTuningRule::Linux];

fn tuned(rule: BufferTuningRule) -> Config {
    Config {
        mtu: 1500,
        delack_segments: 2,
        delack_timer: ms(40),
        receive_buffer: Bytes::new(MAX),
        send_buffer: Bytes::new(4 << 20),
        buffer_tuning: BufferTuning::Auto,
        buffer_tuning_rule: rule,
        ..modern()
    }
}

/// A sends 40 MB to B over 5 ms each way, without limit of the line, for `span_ms`.
fn run(
    o: Origin,
    config: &Config,
    reads: bool,
    span_ms: u64,
    link: impl FnMut(&SentSegment) -> LinkAction + 'static,
) -> Pair {
    let mut pair = Pair::new(o, config, config, ms(5));
    pair.link(link);
    pair.reads[1] = reads;
    pair.a.send(40_000_000);
    pair.run(ms(span_ms));
    let shift = pair.sent_by(Side::B).next().and_then(|s| s.seg.options.window_scale);
    let shift = shift.expect("window scaling was offered");
    let mut edge = 0;
    for sent in pair.sent_by(Side::B).skip(1) {
        let next = sent.packet.ack.expect("an ACK") + (i64::from(sent.seg.window) << shift);
        // The field drops the last bits of the window.
        assert!(next + (1 << shift) > edge, "{next} after {edge}\n{}", pair.tail());
        edge = edge.max(next);
    }
    pair
}

fn buffer(pair: &mut Pair) -> u64 {
    pair.conn(Side::B).info().rcv_buffer
}

#[test]
fn the_window_grows_from_64_kib_to_the_maximum() {
    at_every_origin(|o| {
        for rule in RULES {
            let mut pair = run(o, &tuned(rule), true, 18, |_| LinkAction::Pass);
            assert!((65_535..=66_608).contains(&buffer(&mut pair)), "{rule:?}");
            // FreeBSD 10: 28 steps in as many intervals of 20 ms (see below).
            let mut pair = run(o, &tuned(rule), true, 800, |_| LinkAction::Pass);
            let size = buffer(&mut pair);
            assert!((MAX - 1460..=MAX).contains(&size), "{rule:?}: {size}");
            assert!(pair.conn(Side::A).info().snd_wnd > MAX - 20_000, "{rule:?}");
        }
    });
}

#[test]
fn freebsd_10_grows_by_a_step_per_interval_which_a_later_tick_ends() {
    // A window arrives in one burst, and all its ACKs have one tick. The next burst echoes that
    // tick, which is not later; the one after it does, 20 ms after the interval began.
    at_every_origin(|o| {
        let mut pair = run(o, &tuned(BufferTuningRule::FreeBsd10), true, 500, |_| LinkAction::Pass);
        let steps = (buffer(&mut pair) - 66_608) / 16_384;
        assert_eq!((buffer(&mut pair) - 66_608) % 16_384, 0);
        // Before: slow start from ten segments to 64 KiB, three round trips, and the handshake.
        assert!((500 / 20 - 4..500 / 20).contains(&steps), "{steps}");
    });
}

#[test]
fn lost_acks_do_not_stop_growth() {
    at_every_origin(|o| {
        for rule in RULES {
            let lost = |s: &SentSegment| {
                let drops = s.from == Side::B && s.index > 3 && s.index.is_multiple_of(3);
                if drops { LinkAction::Drop } else { LinkAction::Pass }
            };
            let mut pair = run(o, &tuned(rule), true, 1_200, lost);
            let size = buffer(&mut pair);
            assert!((MAX - 1460..=MAX).contains(&size), "{rule:?}: {size}");
        }
    });
}

#[test]
fn a_gap_in_each_round_trip_stops_freebsd_10_only() {
    at_every_origin(|o| {
        let late = |s: &SentSegment| {
            let late = s.from == Side::A && s.has_data() && s.index.is_multiple_of(16);
            if late { LinkAction::Delay(ms(1)) } else { LinkAction::Pass }
        };
        let config = |rule| Config { dup_thresh: 100, ..tuned(rule) };
        let mut pair = run(o, &config(BufferTuningRule::FreeBsd10), true, 1_000, late);
        assert_eq!(buffer(&mut pair), 66_608);
        let mut pair = run(o, &config(BufferTuningRule::Linux), true, 1_000, late);
        assert!(buffer(&mut pair) > MAX / 2);
    });
}

#[test]
fn without_a_reader_the_buffer_grows_by_one_step_at_most_and_the_window_closes() {
    at_every_origin(|o| {
        for (rule, most) in RULES.into_iter().zip([66_608 + 16_384, 66_608 * 3 / 2, 65_535]) {
            let mut pair = run(o, &tuned(rule), false, 3_000, |_| LinkAction::Pass);
            let size = buffer(&mut pair);
            assert!(size <= most, "{rule:?}: {size}");
            let unread = pair.conn(Side::B).unread();
            assert!(unread <= size && unread + 1460 > size, "{rule:?}: {unread} of {size}");
            // The window opens when the application reads.
            pair.reads[1] = true;
            pair.conn(Side::B).read(unread);
            pair.run(ms(200));
            let received = pair.conn(Side::B).info().bytes_received;
            assert!(received > unread + 65_535, "{rule:?}: {received}");
        }
    });
}

#[test]
fn without_timestamps_freebsd_10_has_no_interval() {
    at_every_origin(|o| {
        for (rule, most) in RULES.into_iter().zip([65_700, MAX, MAX]) {
            let config = Config { timestamps: false, ..tuned(rule) };
            let mut pair = run(o, &config, true, 800, |_| LinkAction::Pass);
            let size = buffer(&mut pair);
            assert!((most - 1460..=most).contains(&size), "{rule:?}: {size}");
        }
    });
}
