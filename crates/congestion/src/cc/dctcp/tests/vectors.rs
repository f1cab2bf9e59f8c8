//! The reference vectors of both kernels, run through the control: each ACK is a whole round.

use std::vec::Vec;

use super::*;

const KERNELS: [&str; 2] = ["linux", "freebsd"];

/// An ACK of `total` segments, `marked` of them marked, with nothing outstanding after it.
fn round(flow: &mut Flow, marked: u32, total: u32) -> u64 {
    let bytes = u64::from(total) * MSS;
    flow.una += bytes;
    let _ = flow.cc.on_ack(&AckSample {
        snd_una: flow.una,
        snd_nxt: flow.una,
        acked_bytes: bytes,
        acked_segments: total,
        delivered_bytes: bytes,
        delivered_segments: total,
        ce_bytes: u64::from(marked) * MSS,
        ce_segments: marked,
        ece: marked > 0,
        ..AckSample::default()
    });
    assert_eq!(flow.alpha() % 1024, 0, "ten bits");
    flow.alpha() / 1024
}

fn rounds(kernel: &'static str, from: u64, marked: u32, total: u32, n: usize) -> Vec<u64> {
    let mut flow = Flow::new(kernel, from);
    (0..n).map(|_| round(&mut flow, marked, total)).collect()
}

#[test]
fn decay_from_one() {
    let [linux, freebsd] = KERNELS.map(|kernel| rounds(kernel, 1024, 0, 10, 100));
    for decay in [&linux, &freebsd] {
        assert_eq!(decay[..11], [960, 900, 844, 792, 743, 697, 654, 614, 576, 540, 507]);
        assert_eq!(decay[71..74], [17, 16, 15]);
    }
    assert!(linux[74..].iter().all(|alpha| *alpha == 0), "75 rounds to nothing");
    assert!(freebsd[74..].iter().all(|alpha| *alpha == 15), "74 rounds to what sticks");
}

#[test]
fn rise_from_nothing() {
    for kernel in KERNELS {
        assert_eq!(rounds(kernel, 0, 10, 10, 6), [64, 124, 181, 234, 284, 331], "{kernel}");
        assert_eq!(rounds(kernel, 0, 10, 10, 300)[299], 1024, "{kernel}");
        assert_eq!(rounds(kernel, 0, 5, 10, 6), [32, 62, 91, 118, 143, 167], "{kernel}");
        assert_eq!(rounds(kernel, 0, 5, 10, 300)[299], 512, "{kernel}");
    }
}

/// Share of marks, then the steady state of alpha from 0 and from 1: linux, freebsd.
#[test]
fn steady_states() {
    for (marked, total, linux, freebsd) in [
        (1, 10, [6, 111], [96, 111]),
        (1, 5, [12, 207], [192, 207]),
        (1, 4, [256, 271], [256, 271]),
        (1, 64, [1, 31], [16, 31]),
        (1, 65, [0, 0], [0, 15]),
    ] {
        for (kernel, expected) in KERNELS.into_iter().zip([linux, freebsd]) {
            let settled = [0, 1024].map(|from| rounds(kernel, from, marked, total, 500)[499]);
            assert_eq!(settled, expected, "{kernel} {marked}/{total}");
        }
    }
}

#[test]
fn a_mixed_series() {
    for kernel in KERNELS {
        let mut flow = Flow::new(kernel, 1024);
        let series = [(10, 10), (0, 10), (3, 10), (3, 10), (0, 10), (10, 10)];
        let seen = series.map(|(marked, total)| round(&mut flow, marked, total));
        assert_eq!(seen, [1024, 960, 919, 881, 826, 839], "{kernel}");
    }
}

/// cwnd after a cut of `w` segments.
fn cut_of(kernel: &'static str, alpha: u64, w: u64) -> u64 {
    let path = CcSetup { initial_window: w * MSS, ..setup() };
    let order = [("order", "cut-first")];
    let mut flow = Flow::with(&path, kernel, alpha, &order);
    assert_eq!(flow.ack(true, true), Reaction::Reduced);
    flow.cc.cwnd()
}

#[test]
fn cuts() {
    let windows = [2, 3, 4, 10, 20, 31, 40, 100];
    for (alpha, left) in [
        (1024, [2, 2, 2, 5, 10, 16, 20, 50]),
        (512, [2, 3, 3, 8, 15, 24, 30, 75]),
        (256, [2, 3, 4, 9, 18, 28, 35, 88]),
        (100, [2, 3, 4, 10, 20, 30, 39, 96]),
    ] {
        let linux = windows.map(|w| cut_of("linux", alpha, w));
        assert_eq!(linux, left.map(|w| w * MSS), "alpha {alpha}");
        for w in windows {
            let bytes = (w * MSS - ((w * MSS * alpha) >> 11)).max(2 * MSS);
            assert_eq!(cut_of("freebsd", alpha, w), bytes, "alpha {alpha}, {w} segments");
        }
    }
    assert_eq!([136, 137].map(|w| cut_of("linux", 15, w)), [136 * MSS, 136 * MSS]);
}
