//! Phantom queue (HULL): marks by line utilisation, before a real queue builds up.
//!
//! ## Algorithm
//! A counter emulates a queue on a slightly slower line. Each packet that is transmitted adds its
//! bytes, and the counter drains at `gamma` times the rate. A packet that finds more than K in it
//! is marked (HULL §3.1). No packet waits in it, and the real queue does not affect the decision.
//!
//! The counter is at the line, behind the real queue, as in HULL. The transmission time of a packet
//! is known at enqueue, so marking needs no event. The counter includes framing, as the line rate
//! does.

use lowtide_schema::DefaultValue::Is;
use lowtide_schema::{Param, ParamError, ValueKind, Values};
use lowtide_units::{Bytes, Fraction, Instant, QueueLength, Rate};

use super::{
    Aqm, AqmVerdict, EnqueueInfo, Marker, MarkerConfig, MarkerEntry, MarkerSetup, NotEct,
    SignalCondition, params,
};

/// Registration.
pub static ENTRY: MarkerEntry = MarkerEntry {
    name: "phantom",
    summary: "mark by a virtual queue that drains at a fraction of the rate of the line",
    spec: "HULL §3.1 (NSDI 2012), DX §VI",
    params: &[
        Param {
            doc: "Threshold K of the virtual queue, in bytes with framing.",
            source: "HULL §3.1",
            ..params::K
        },
        Param {
            name: "gamma",
            kind: ValueKind::SHARE,
            default: Is("95 %"),
            doc: "Drain rate of the virtual queue, as a share of the line rate.",
            source: "HULL §3.1",
        },
        params::NOT_ECT,
    ],
    configure,
};

/// The configuration.
#[derive(Clone, Copy, Debug)]
struct Config {
    k: Bytes,
    gamma: Fraction,
    not_ect: NotEct,
}

fn configure(values: &mut Values) -> Result<Box<dyn MarkerConfig>, ParamError> {
    let QueueLength::Bytes(k) = values.length("k") else {
        return Err(ParamError::new(
            "k",
            "a phantom queue cannot count packets",
            "write it in bytes: `k = \"3 kB\"`",
        ));
    };
    let (gamma, not_ect) = (values.fraction("gamma"), params::not_ect(values));
    Ok(Box::new(Config { k, gamma, not_ect }))
}

impl MarkerConfig for Config {
    fn start(&self, setup: &MarkerSetup) -> Marker {
        let (rate, overhead) = (setup.rate(), setup.overhead());
        Marker::new(Phantom::new(self.k, self.gamma, self.not_ect, rate, overhead))
    }

    fn sets_ce(&self) -> bool {
        true
    }

    fn forwards_not_ect(&self) -> bool {
        self.not_ect == NotEct::Ignore
    }

    fn needs_whole_line(&self) -> bool {
        true
    }

    fn signal_condition(&self) -> SignalCondition {
        if self.gamma < Fraction::ONE {
            return SignalCondition::Unknown;
        }
        SignalCondition::Never(ParamError::new(
            "gamma",
            format!(
                "a phantom queue that drains as fast as its line (`gamma` = {}) never fills",
                self.gamma
            ),
            "lower `gamma`; HULL has 95 %",
        ))
    }
}

/// One byte of the counter: a picosecond then drains bits per second times parts per billion.
const BYTE: u128 = 8_000_000_000_000 * 1_000_000_000;

/// The counter.
#[derive(Clone, Debug)]
pub struct Phantom {
    backlog: u128,
    /// Time of the last update of `backlog`.
    at: Instant,
    k: u128,
    /// Drain per picosecond.
    drain: u128,
    /// Bytes of framing per packet.
    overhead: u64,
    not_ect: NotEct,
}

impl Phantom {
    /// Returns a marker with threshold `k` that drains at `gamma` times `rate`; each packet has
    /// `overhead` bytes of framing.
    pub const fn new(
        k: Bytes,
        gamma: Fraction,
        not_ect: NotEct,
        rate: Rate,
        overhead: u64,
    ) -> Self {
        let gamma = gamma.as_ppb();
        let gamma = if gamma < 0 { 0 } else { gamma.unsigned_abs() };
        Self {
            backlog: 0,
            at: Instant::ZERO,
            k: k.as_u64() as u128 * BYTE,
            drain: rate.as_bps() as u128 * gamma as u128,
            overhead,
            not_ect,
        }
    }
}

impl Aqm for Phantom {
    fn on_enqueue(&mut self, _: Instant, packet: &EnqueueInfo) -> AqmVerdict {
        let since = packet.tx_start.saturating_since(self.at);
        self.at = self.at.max(packet.tx_start);
        let drained = self.drain.saturating_mul(u128::from(since.as_ps()));
        self.backlog = self.backlog.saturating_sub(drained);
        let above = self.backlog > self.k;
        let verdict = match (above, packet.ecn.is_capable(), self.not_ect) {
            (false, _, _) | (true, false, NotEct::Ignore) => AqmVerdict::Forward,
            (true, true, _) => AqmVerdict::Mark,
            (true, false, NotEct::Drop) => return AqmVerdict::Drop,
        };
        self.backlog += (u128::from(packet.size) + u128::from(self.overhead)) * BYTE;
        verdict
    }
}

#[cfg(test)]
mod tests {
    use lowtide_units::Duration;
    use lowtide_wire::Ecn;

    use super::*;
    use crate::Occupancy;

    /// At 8 Gbit/s a byte takes 1 ns; packets have 1000 B, no framing.
    fn phantom(k: u64, gamma: i64) -> Phantom {
        let gamma = Fraction::from_percent(gamma);
        Phantom::new(Bytes::new(k), gamma, NotEct::Ignore, Rate::from_gbps(8), 0)
    }

    fn at(ns: u64) -> Instant {
        Instant::ZERO + Duration::from_ns(ns)
    }

    fn offer(phantom: &mut Phantom, ns: u64, ecn: Ecn) -> AqmVerdict {
        let found = Occupancy::default();
        let packet =
            EnqueueInfo { backlog: found, size: 1_000, ecn, tx_start: at(ns), idle_since: at(0) };
        phantom.on_enqueue(at(0), &packet)
    }

    /// Returns the index of the first marked packet and the number of marks, for `n` packets `gap`
    /// ns apart.
    fn marks(phantom: &mut Phantom, n: u64, gap: u64) -> (Option<u64>, usize) {
        let marked: Vec<u64> =
            (0..n).filter(|i| offer(phantom, i * gap, Ecn::Ect0) == AqmVerdict::Mark).collect();
        (marked.first().copied(), marked.len())
    }

    #[test]
    fn a_line_used_below_gamma_is_never_marked() {
        // Load 95.2 %, drain 96 %: never more than one packet.
        assert_eq!(marks(&mut phantom(1_000, 96), 100_000, 1_050), (None, 0));
        // Load exactly gamma: 80 % and 80 %.
        assert_eq!(marks(&mut phantom(1_000, 80), 100_000, 1_250), (None, 0));
    }

    #[test]
    fn a_full_line_is_marked_when_the_excess_over_gamma_reaches_k() {
        // The counter grows by 50 of 1000 B per packet: packet i finds 50 i B.
        for k in [1_000, 3_000, 6_049] {
            let (first, marked) = marks(&mut phantom(k, 95), 1_000, 1_000);
            let want = k / 50 + 1;
            assert_eq!(first, Some(want), "{k}");
            assert_eq!(marked as u64, 1_000 - want, "all packets from then on are marked");
        }
    }

    #[test]
    fn the_long_term_unmarked_rate_is_gamma() {
        // A sender that omits marked packets gets exactly gamma of the line.
        let mut phantom = phantom(1_000, 95);
        let n = 100_000_u64;
        let mut passed = 0_u64;
        for i in 0..n {
            // A marked packet is undone: it was never sent.
            let before = phantom.clone();
            match offer(&mut phantom, i * 1_000, Ecn::Ect0) {
                AqmVerdict::Mark => phantom = before,
                _ => passed += 1,
            }
        }
        assert!(passed.abs_diff(n * 95 / 100) <= 2, "{passed} of {n}");
    }

    #[test]
    fn an_idle_line_empties_it() {
        let mut phantom = phantom(1_000, 50);
        for i in 0..10 {
            offer(&mut phantom, i * 1_000, Ecn::Ect0);
        }
        // Before the eleventh packet 9 x 500 B + 1000 B = 5500 B are left, which drain in 11 us.
        assert_eq!(offer(&mut phantom.clone(), 9_000 + 8_999, Ecn::Ect0), AqmVerdict::Mark);
        assert_eq!(offer(&mut phantom.clone(), 9_000 + 9_000, Ecn::Ect0), AqmVerdict::Forward);
        offer(&mut phantom, 9_000 + 11_000, Ecn::Ect0);
        assert_eq!(phantom.backlog, 1_000 * BYTE);
    }

    #[test]
    fn not_ect_packets_pass_or_are_dropped_uncounted() {
        let gamma = Fraction::from_percent(50);
        for (not_ect, verdict) in
            [(NotEct::Ignore, AqmVerdict::Forward), (NotEct::Drop, AqmVerdict::Drop)]
        {
            let mut phantom = Phantom::new(Bytes::new(0), gamma, not_ect, Rate::from_gbps(8), 0);
            assert_eq!(offer(&mut phantom, 0, Ecn::NotEct), AqmVerdict::Forward);
            assert_eq!(offer(&mut phantom, 0, Ecn::NotEct), verdict);
            let held = if not_ect == NotEct::Drop { 1_000 } else { 2_000 };
            assert_eq!(phantom.backlog, held * BYTE);
            assert_eq!(offer(&mut phantom, 0, Ecn::Ect0), AqmVerdict::Mark);
        }
    }
}
