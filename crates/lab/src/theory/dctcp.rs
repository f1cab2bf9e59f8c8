//! The steady-state sawtooth of DCTCP: DCTCP §3.3 (eq. 3 to 10) and §3.4 (eq. 11 to 15).
//!
//! Contract: the model is N endless flows with one RTT, in phase, over one link that marks if more
//! than K packets are queued. Sizes are packets of one size, periods are RTTs.
//!
//! The paper gives two forms of most results: with the alpha that solves eq. 6, and closed forms
//! for a large W*. Eq. 9 and 12 to 15 follow from the closed forms, which are the default of
//! [`Sawtooth`]. [`Sawtooth::utilisation`], [`Sawtooth::queue_at`] and [`min_k_for_flows`] are
//! ours: they follow from eq. 3 and 8. The paper states only that the queue runs empty.

use super::DomainError;
use super::domain::{check_bdp, check_flows, check_threshold};

/// Threshold in packets below which the queue runs empty for some number of flows: C x RTT / 7 (eq.
/// 13). K must be greater.
///
/// # Errors
/// `bdp` is not positive.
pub fn min_k(bdp: f64) -> Result<f64, DomainError> {
    Ok(check_bdp(bdp)? / 7.0)
}

/// Upper bound of g for its average to span a congestion event, in the worst case of one flow:
/// 1.386 / sqrt(2 (C x RTT + K)) (eq. 15; 1.386 is 2 ln 2).
///
/// # Errors
/// `bdp` is not positive, or `k` is negative.
pub fn max_g(bdp: f64, k: f64) -> Result<f64, DomainError> {
    let packets = check_bdp(bdp)? + check_threshold(k)?;
    Ok(2.0 * core::f64::consts::LN_2 / (2.0 * packets).sqrt())
}

/// Least threshold in packets at which the queue of `flows` flows does not run empty, by eq. 12;
/// zero if any threshold suffices. Eq. 13 is its maximum over the number of flows.
///
/// # Errors
/// `bdp` is not positive, or there are no `flows`.
pub fn min_k_for_flows(bdp: f64, flows: f64) -> Result<f64, DomainError> {
    let (b, n) = (check_bdp(bdp)?, check_flows(flows)?);
    // K + N = sqrt(2 N (B + K)) / 2: with x = K + N a quadratic equation, x^2 - N x / 2 = N (B - N)
    // / 2.
    let inner = n * n / 16.0 + n * (b - n) / 2.0;
    if inner < 0.0 {
        return Ok(0.0);
    }
    Ok((n / 4.0 + inner.sqrt() - n).max(0.0))
}

/// N flows in phase over one link: windows and queue by DCTCP §3.3.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sawtooth {
    bdp: f64,
    k: f64,
    flows: f64,
}

impl Sawtooth {
    /// `bdp` is C x RTT in packets, `k` the threshold in packets, `flows` their number.
    ///
    /// # Errors
    /// `bdp` is not positive, `k` is negative, there is no flow, or W* is below one packet.
    pub fn new(bdp: f64, k: f64, flows: f64) -> Result<Self, DomainError> {
        let (bdp, k, flows) = (check_bdp(bdp)?, check_threshold(k)?, check_flows(flows)?);
        if bdp + k < flows {
            return Err(DomainError::WindowBelowOne { flows, packets: bdp + k });
        }
        Ok(Self { bdp, k, flows })
    }

    /// W*, in packets: the window of one flow at which the queue reaches K (before eq. 5).
    pub fn critical_window(&self) -> f64 {
        (self.bdp + self.k) / self.flows
    }

    /// Alpha, from 0 to 1, the solution of eq. 6 without its approximation.
    pub fn alpha(&self) -> f64 {
        let w = self.critical_window();
        let wanted = (2.0 * w + 1.0) / ((w + 1.0) * (w + 1.0));
        // The left side grows from 0 to 3/4 on [0, 1]; the right side is at most 3/4 for W* >= 1.
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if middle * middle * (1.0 - middle / 4.0) < wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        f64::midpoint(low, high)
    }

    /// A, in packets: the amplitude of the queue, in the closed form of eq. 8.
    pub fn amplitude(&self) -> f64 {
        0.5 * (2.0 * self.flows * (self.bdp + self.k)).sqrt()
    }

    /// A with the exact alpha: N (W* + 1) alpha / 2 (eq. 8, before its approximation).
    pub fn amplitude_exact(&self) -> f64 {
        self.flows * (self.critical_window() + 1.0) * self.alpha() / 2.0
    }

    /// `T_C`, the period of the sawtooth in RTTs (eq. 9).
    pub fn period(&self) -> f64 {
        0.5 * (2.0 * (self.bdp + self.k) / self.flows).sqrt()
    }

    /// The longest queue in packets: K + N (eq. 10).
    pub fn q_max(&self) -> f64 {
        self.k + self.flows
    }

    /// The shortest queue in packets (eq. 12); below zero the link is idle for part of the period.
    pub fn q_min(&self) -> f64 {
        self.q_max() - self.amplitude()
    }

    /// The queue in packets, `seconds` after a reduction, with an RTT of `rtt_seconds` without
    /// queues. It rises periodically from [`Sawtooth::q_min`] (at least zero) to
    /// [`Sawtooth::q_max`]. It grows by N packets per RTT (eq. 3), which includes the queueing
    /// delay, so the curve is slightly concave.
    pub fn queue_at(&self, seconds: f64, rtt_seconds: f64) -> f64 {
        // Packets times RTTs elapsed when the queue is `q`: the integral of bdp + q.
        let sum = |q: f64| self.bdp * q + q.max(0.0).powi(2) / 2.0;
        let (low, high) = (sum(self.q_min()), sum(self.q_max()));
        let passed = seconds / rtt_seconds * self.bdp * self.flows;
        let now = low + passed.rem_euclid(high - low);
        (self.bdp * self.bdp + 2.0 * now.max(0.0)).sqrt() - self.bdp
    }

    /// Utilisation of the link: 1 while [`Sawtooth::q_min`] is not negative.
    ///
    /// Below zero, the sum of the windows grows by N packets per RTT from `bdp + q_min` to `bdp +
    /// q_max` (eq. 3). An RTT is the base RTT plus the queueing delay; the link could have sent C
    /// times that.
    pub fn utilisation(&self) -> f64 {
        let gap = (-self.q_min()).max(0.0);
        let top = self.q_max();
        let could = self.bdp * (gap + top) + top * top / 2.0;
        1.0 - gap * gap / 2.0 / could
    }

    /// The `q` quantile of the queue length over RTTs, for `q` from 0 to 1: the length rises
    /// linearly from [`Sawtooth::q_min`] to [`Sawtooth::q_max`].
    pub fn quantile(&self, q: f64) -> f64 {
        (self.q_min() + q.clamp(0.0, 1.0) * self.amplitude()).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::bdp_packets;
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-3 * b.abs().max(1.0), "{a} is not {b}");
    }

    /// 10 Gbit/s and 100 us in packets of 1500 B, as in DCTCP fig. 12.
    const FIG12: f64 = 10e9 * 100e-6 / 12_000.0;

    #[test]
    fn a_threshold_of_a_seventh_is_the_worst_case_over_all_numbers_of_flows() {
        let least = min_k(FIG12).unwrap();
        // Eq. 12 has its minimum at (C x RTT + K) / 8 flows.
        let worst = (FIG12 + least) / 8.0;
        close(worst, FIG12 / 7.0);
        close(Sawtooth::new(FIG12, least, worst).unwrap().q_min(), 0.0);
        for n in 1..=80 {
            let n = f64::from(n);
            assert!(Sawtooth::new(FIG12, least * 1.001, n).unwrap().q_min() > 0.0, "{n} flows");
            assert!(min_k_for_flows(FIG12, n).unwrap() <= least + 1e-9, "{n} flows");
        }
        assert!(Sawtooth::new(FIG12, least * 0.9, worst).unwrap().q_min() < 0.0);
        close(min_k_for_flows(FIG12, worst).unwrap(), least);
    }

    #[test]
    fn twenty_packets_at_10_gbits_are_a_round_trip_of_170_us() {
        // DCTCP §3.5: "a marking threshold as low as 20 packets can be used for 10Gbps".
        close(bdp_packets(10e9, 168e-6, 1500.0), 140.0);
        close(min_k(bdp_packets(10e9, 168e-6, 1500.0)).unwrap(), 20.0);
    }

    #[test]
    fn the_queue_of_figure_12_is_that_of_the_equations() {
        // K = 40 and N = 2, 10, 40: Q_max = K + N, A and T_C by hand from eq. 8 and 9.
        for (n, top, swing, period) in
            [(2.0, 42.0, 11.106, 5.553), (10.0, 50.0, 24.833, 2.483), (40.0, 80.0, 49.666, 1.242)]
        {
            let s = Sawtooth::new(FIG12, 40.0, n).unwrap();
            close(s.q_max(), top);
            close(s.amplitude(), swing);
            close(s.period(), period);
            close(s.q_min(), top - swing);
            close(s.utilisation(), 1.0);
        }
    }

    #[test]
    fn alpha_solves_equation_6_and_tends_to_its_closed_form() {
        for n in [1.0, 2.0, 10.0, 40.0] {
            let s = Sawtooth::new(FIG12, 40.0, n).unwrap();
            let (a, w) = (s.alpha(), s.critical_window());
            close(a * a * (1.0 - a / 4.0), (2.0 * w + 1.0) / ((w + 1.0) * (w + 1.0)));
        }
        let many = Sawtooth::new(1e6, 1e5, 1.0).unwrap();
        // After eq. 6: sqrt(2 / W*) for a small alpha and a large W*.
        let closed = (2.0 / many.critical_window()).sqrt();
        assert!((many.alpha() / closed - 1.0).abs() < 2e-3);
        assert!((many.amplitude_exact() / many.amplitude() - 1.0).abs() < 2e-3);
        let least = Sawtooth::new(10.0, 0.0, 10.0).unwrap();
        close(least.critical_window(), 1.0);
        close(least.alpha(), 1.0);
    }

    #[test]
    fn the_gain_spans_a_congestion_event() {
        // Eq. 14 with eq. 9 for one flow. Eq. 15 approximates ln(1 - g) by -g and is slightly
        // generous: at the bound (1 - g)^T_C is just under a half. The paper's 1/16 is well above
        // it.
        let (path, k) = (FIG12, 40.0);
        let g = max_g(path, k).unwrap();
        close(g, 1.386 / (2.0 * (path + k)).sqrt());
        let period = Sawtooth::new(path, k, 1.0).unwrap().period();
        assert!(((1.0 - g).powf(period) - 0.5).abs() < 0.02);
        assert!(1.0 / 16.0 < g && (1.0_f64 - 1.0 / 16.0).powf(period) > 0.5);
    }

    #[test]
    fn a_queue_that_runs_empty_costs_throughput() {
        let full = Sawtooth::new(FIG12, 12.0, 12.0).unwrap();
        close(full.utilisation(), 1.0);
        let none = Sawtooth::new(FIG12, 0.0, 1.0).unwrap();
        // By hand: A = sqrt(2 x 83.33) / 2 = 6.455, the gap 5.455, 14.88 packets of 538.4.
        close(none.utilisation(), 1.0 - 14.88 / 538.4);
        close(none.quantile(0.01), 0.0);
        close(full.quantile(1.0), 24.0);
    }

    #[test]
    fn the_sawtooth_is_periodic() {
        let s = Sawtooth::new(FIG12, 40.0, 10.0).unwrap();
        let rtt = 100e-6;
        close(s.queue_at(0.0, rtt), s.q_min());
        // An RTT includes the queueing delay: (q_min + q_max) / 2 on average.
        let mean = f64::midpoint(s.q_min(), s.q_max());
        let period = s.period() * rtt * (1.0 + mean / FIG12);
        close(s.queue_at(period * 0.999_999, rtt), s.q_max());
        close(s.queue_at(period * 1.000_001, rtt), s.q_min());
        close(s.queue_at(period * 7.5, rtt), s.queue_at(period * 0.5, rtt));
        let gap = Sawtooth::new(FIG12, 0.0, 1.0).unwrap();
        close(gap.queue_at(0.0, rtt), 0.0);
        // The queue is empty for 5.455 RTTs, then grows packet by packet.
        close(gap.queue_at(5.4 * rtt, rtt), 0.0);
        assert!(gap.queue_at(6.0 * rtt, rtt) > 0.5);
    }

    #[test]
    fn values_outside_the_domain_are_errors() {
        assert_eq!(Sawtooth::new(0.0, 1.0, 1.0), Err(DomainError::Bdp(0.0)));
        assert!(matches!(Sawtooth::new(f64::NAN, 1.0, 1.0), Err(DomainError::Bdp(_))));
        assert_eq!(Sawtooth::new(10.0, -1.0, 1.0), Err(DomainError::Threshold(-1.0)));
        assert_eq!(Sawtooth::new(10.0, 1.0, 0.0), Err(DomainError::Flows(0.0)));
        assert_eq!(
            Sawtooth::new(10.0, 1.0, 12.0),
            Err(DomainError::WindowBelowOne { flows: 12.0, packets: 11.0 })
        );
        assert!(min_k(-1.0).is_err() && max_g(1.0, -1.0).is_err());
    }
}
