//! TDCTCP: DCTCP that grows faster while alpha is low, and resets alpha after a delayed-ACK
//! timeout.
//!
//! ## Algorithm
//! Three changes to DCTCP. In congestion avoidance the window grows by
//! `MSS (1 + 1 / (1 + alpha / 2))` per round trip: two segments with no marks, 1.67 if all are
//! marked. After the receiver's delayed-ACK timer released an ACK, alpha is reset to zero and
//! measured anew. It is out of date after the pause, and a high one would keep the window at one
//! segment, whose ACK waits for the timer again. The third change is the receiver's
//! (`ack = "tdctcp"`).
//!
//! ## Spec
//! TDCTCP (Das and Sivalingam) §IV-A, algorithm 1; §IV-B. The rest is `dctcp`.
//!
//! ## Deviations
//! The paper does not say how the sender detects a timeout at the receiver. The rule is ours
//! (`delack-timeout = "inferred"`). The ACK covers fewer than m segments and has the ECE of the ACK
//! before, so a change did not cause it. Nothing is outstanding after it, and its round-trip time
//! is at least the minimum plus one tick of `rto-granularity`. In a simulator the other end can
//! report the truth (`"oracle"`); without such a report the rule applies. The agreement of both is
//! counted in either case. The ACK that the timer released belongs to the window before the reset:
//! its mark is from before the pause, so the new measurement does not count it (§IV-B: "from
//! scratch"), and it is no reason to cut. A cut by an alpha of zero would be none and is not
//! reported, so no CWR follows. m is this end's own `delack-segments`, as the peer's is unknown.
//! Algorithm 1 grows only on ACKs without ECE, even if a marked ACK must not cut. The switch `cut`
//! selects whether each marked ACK cuts (algorithm 1, the scheme `tdctcp`), or one per window of
//! data (§III on ECN). `increase` and `reset` turn the first two changes off, one at a time. The
//! one-segment windows of §IV-C need `window-floor = 1`. Alpha starts at one as in `dctcp`; the
//! paper is silent.
//!
//! ## Kernel twin
//! None; the paper's model is for OMNeT++.

use alloc::boxed::Box;

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};
use lowtide_units::{Probe, Unit};

use super::alpha::Q20_BITS;
use super::dctcp::{Dctcp, INITIAL_ALPHA, SHIFT_G};
use super::{
    AckSample, CcEntry, CcSetup, CongestionControl, CongestionEvent, DeclaredProperties,
    DelackDetection, Exemption, Reaction, Requirements, Signal,
};

const ORACLE: &str = "oracle";
const BY_ALPHA: &str = "by-alpha";
const AT_TIMEOUT: &str = "at-timeout";

/// Registration.
pub static ENTRY: CcEntry = CcEntry {
    name: "tdctcp",
    summary: "DCTCP with an increase of up to two segments, alpha reset after delayed-ACK timeouts",
    spec: "TDCTCP §IV-A, §IV-B",
    equations: &[
        "avoidance: cwnd += mss (1 + 1 / (1 + alpha / 2)) per RTT; a cut and alpha as dctcp",
        "a delayed-ACK timeout: alpha = 0",
    ],
    params: &[
        SHIFT_G,
        INITIAL_ALPHA,
        Param {
            name: "delack-timeout",
            kind: ValueKind::Choice(&["inferred", ORACLE]),
            default: DefaultValue::Is("inferred"),
            doc: "Detection of a delayed-ACK timeout by the sender: our rule, or the simulator.",
            source: "TDCTCP §IV-B does not say",
        },
        Param {
            name: "increase",
            kind: ValueKind::Choice(&[BY_ALPHA, "one-segment"]),
            default: DefaultValue::Is(BY_ALPHA),
            doc: "Growth per round trip: algorithm 1, or DCTCP's segment, without the first change.",
            source: "TDCTCP §IV-A, algorithm 1",
        },
        Param {
            name: "reset",
            kind: ValueKind::Choice(&[AT_TIMEOUT, "never"]),
            default: DefaultValue::Is(AT_TIMEOUT),
            doc: "Reset of alpha: at a delayed-ACK timeout, or never, without the second change.",
            source: "TDCTCP §IV-B",
        },
    ],
    declared: DeclaredProperties {
        reacts_to: &[Signal::Loss, Signal::Ecn],
        floor_segments: 2,
        proportional: true,
        rate_based: false,
        exemptions: &[Exemption {
            rule: "additive-increase",
            source: "TDCTCP algorithm 1, line 3: up to two segments per round trip",
        }],
    },
    requires: Requirements { ecn: true, host_stamps: false, rate_samples: false },
    build,
};

fn build(values: &Values, setup: &CcSetup) -> Box<dyn CongestionControl> {
    Box::new(Tdctcp {
        dctcp: Dctcp::rfc8257(values, setup),
        oracle: values.name("delack-timeout") == ORACLE,
        by_alpha: values.name("increase") == BY_ALPHA,
        resets: values.name("reset") == AT_TIMEOUT,
        detection: DelackDetection::default(),
    })
}

#[derive(Debug)]
struct Tdctcp {
    dctcp: Dctcp,
    oracle: bool,
    /// The increase follows alpha.
    by_alpha: bool,
    /// A delayed-ACK timeout resets alpha.
    resets: bool,
    detection: DelackDetection,
}

/// `mss (1 + 1 / (1 + alpha / 2))` with alpha in 2^-20, rounded down.
fn increase(mss: u64, alpha_q20: u32) -> u64 {
    let one = 1_u64 << (Q20_BITS + 1);
    mss + mss * one / (one + u64::from(alpha_q20))
}

impl Tdctcp {
    /// True if the delayed-ACK timer released this ACK, as far as this sender can know.
    fn delack_timeout(&mut self, ack: &AckSample) -> bool {
        let guess = ack.delack_suspected;
        let Some(truth) = ack.delack_timeout else { return guess };
        let count = match (truth, guess) {
            (true, true) => &mut self.detection.true_positives,
            (true, false) => &mut self.detection.false_negatives,
            (false, true) => &mut self.detection.false_positives,
            (false, false) => return false,
        };
        *count = count.saturating_add(1);
        if self.oracle { truth } else { guess }
    }

    /// Grows by algorithm 1, line 3; slow start is unchanged.
    fn grow(&mut self, ack: &AckSample) {
        if ack.may_grow && !ack.ece {
            let mss = self.dctcp.window.mss();
            let increase = if self.by_alpha { increase(mss, self.dctcp.alpha_q20()) } else { mss };
            let rest = self.dctcp.window.slow_start(ack);
            self.dctcp.window.additive_increase(rest, increase);
        }
    }
}

impl CongestionControl for Tdctcp {
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        if !self.dctcp.window.ecn() {
            return self.dctcp.on_ack(ack);
        }
        let timeout = self.delack_timeout(ack);
        self.dctcp.observe(ack);
        if timeout && self.resets {
            self.dctcp.reset_alpha();
        } else if ack.ece && ack.may_reduce {
            return self.dctcp.cut(ack);
        }
        self.grow(ack);
        Reaction::None
    }

    fn on_event(&mut self, event: &CongestionEvent) {
        self.dctcp.on_event(event);
    }

    fn cwnd(&self) -> u64 {
        self.dctcp.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.dctcp.ssthresh()
    }

    fn delack_detection(&self) -> DelackDetection {
        self.detection
    }

    fn probe(&self, out: &mut dyn Probe) {
        self.dctcp.probe(out);
        let t = &self.detection;
        for (name, n) in [
            ("delack-found", t.true_positives),
            ("delack-missed", t.false_negatives),
            ("delack-imagined", t.false_positives),
        ] {
            out.value(name, Unit::Count, u64::from(n));
        }
    }
}

#[cfg(test)]
mod tests;
