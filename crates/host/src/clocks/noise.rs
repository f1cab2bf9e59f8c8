//! Error models of stamps.
//!
//! Independent draws per stamp, from a generator of the host. One-sided errors make a send stamp
//! early and a receive stamp late, like work between the reading and the wire. So they never
//! shorten a measured round trip. Independent errors may reorder stamps.

use lowtide_sim::{Rng, Seed};
use lowtide_units::{Duration, Instant};

use super::timestamp_points::TxTimes;

/// The error distribution of stamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NoiseSpec {
    /// Stamps are exact.
    #[default]
    None,
    /// Uniform around zero with this standard deviation; at most 1.732 times that.
    Uniform(Duration),
    /// Normal around zero with this standard deviation (DX fig. 15); see [`Rng::normal`].
    Normal(Duration),
    /// Exponential with this standard deviation, one-sided.
    Exponential(Duration),
    /// A network stack: [`STACK_LEAST`] plus an exponential with this standard deviation,
    /// one-sided.
    ///
    /// A round trip passes four stacks, so its error is 4 x 3.5 us plus an Erlang distribution of
    /// order four. With 40.35 us the deviation is the 80.7 us of DX fig. 11. Its shape gives an
    /// interquartile range of 104 us (DX §III: 111 us) and a minimum round trip near the paper's 23
    /// us.
    Stack(Duration),
    /// A NIC that stamps at DMA completion (DX §III, "Error calibration").
    ///
    /// Sending: a packet that waited behind another is fetched together with it with probability
    /// [`DMA_TOGETHER`], and then gets its stamp plus [`DMA_FETCH`]. Receiving: late by an
    /// exponential of mean [`DMA_LATE`]. Back to back at 9.5 Gbit/s, 68 % of the send gaps and 32 %
    /// of the receive gaps are below 1.23 us, as the paper measured.
    Dma,
}

/// Minimum delay of a network stack. Four of them, 1 us on the wire and the minimum of some ten
/// thousand draws of the exponential part (7.5 us) give the 23 us of DX fig. 3.
pub const STACK_LEAST: Duration = Duration::from_ns(3_500);

/// The standard deviation of a network stack: half of the 80.7 us of DX fig. 11, since a round trip
/// has four passages of equal variance.
pub const STACK_DEVIATION: Duration = Duration::from_ns(40_350);

/// Fraction of packets fetched together with the previous one, in parts per billion (DX §III: 68
/// %).
pub const DMA_TOGETHER: u64 = 680_000_000;

/// Time between the stamps of packets fetched together: 1.5 kB over eight lanes of PCIe 3.
pub const DMA_FETCH: Duration = Duration::from_ns(200);

/// Mean delay of a completed reception. Of gaps of 1.295 us (1538 B at 9.5 Gbit/s) with such errors
/// at both ends, half of `exp(-0.065 / 0.146)` are below 1.23 us: 32 %.
pub const DMA_LATE: Duration = Duration::from_ns(146);

/// The error generator of one host's stamps.
#[derive(Clone, Debug)]
pub(crate) struct Noise {
    spec: NoiseSpec,
    rng: Rng,
    /// The last sent packet: its stamp before drift and rounding, and its departure.
    last: Option<(Instant, Instant)>,
}

impl Noise {
    pub(crate) fn new(spec: &NoiseSpec, seed: Seed) -> Option<Box<Self>> {
        let some = || Box::new(Self { spec: *spec, rng: seed.rng(), last: None });
        (*spec != NoiseSpec::None).then(some)
    }

    /// Returns the time, in ps, that stamps a packet sent at `at`.
    pub(crate) fn on_send(&mut self, at: Instant, sent: TxTimes) -> i128 {
        if self.spec == NoiseSpec::Dma {
            let behind = self.last.filter(|(_, left)| sent.driver < *left);
            let stamp = match behind {
                Some((stamp, _)) if self.rng.chance(DMA_TOGETHER) => {
                    (stamp + DMA_FETCH).max(sent.driver).min(at)
                }
                _ => at,
            };
            self.last = Some((stamp, sent.hardware));
            return i128::from(stamp.as_ps());
        }
        i128::from(at.as_ps()) - self.draw()
    }

    /// Returns the time, in ps, that stamps a packet received at `at`.
    pub(crate) fn on_receive(&mut self, at: Instant) -> i128 {
        i128::from(at.as_ps()) + self.draw()
    }

    fn draw(&mut self) -> i128 {
        let one_sided = |span: Duration| i128::from(span.as_ps());
        match self.spec {
            NoiseSpec::None => 0,
            NoiseSpec::Uniform(deviation) => {
                // The half width is sqrt(3) standard deviations.
                let half = i128::from(deviation.as_ps()) * 1_732_051 / 1_000_000;
                let width = u64::try_from(2 * half + 1).unwrap_or(u64::MAX);
                i128::from(self.rng.below(width)) - half
            }
            NoiseSpec::Normal(deviation) => i128::from(self.rng.normal(deviation)),
            NoiseSpec::Exponential(mean) => one_sided(self.rng.exponential(mean)),
            NoiseSpec::Stack(mean) => one_sided(STACK_LEAST + self.rng.exponential(mean)),
            NoiseSpec::Dma => one_sided(self.rng.exponential(DMA_LATE)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clocks::clock::{Clock, ClockSpec, RxTimes, TimestampPoint};

    fn clock(noise: NoiseSpec, host: u64) -> Clock {
        Clock::new(&ClockSpec { noise, ..ClockSpec::IDEAL }, 1, host)
    }

    fn us(n: u64) -> Instant {
        Instant::ZERO + Duration::from_us(n)
    }

    fn passed(at: Instant) -> (TxTimes, RxTimes) {
        (
            TxTimes { kernel: at, driver: at, hardware: at },
            RxTimes { hardware: at, driver: at, kernel: at },
        )
    }

    /// Returns the errors of `n` receive stamps and of `n` send stamps, in us.
    fn errors(noise: NoiseSpec, n: u32) -> (Vec<f64>, Vec<f64>) {
        let mut clock = clock(noise, 0);
        let mut received = Vec::new();
        let mut sent = Vec::new();
        for i in 0..n {
            let at = us(1_000_000 + u64::from(i));
            let (out, inwards) = passed(at);
            let error = |stamp: u64| (stamp as f64 * 1e3 - at.as_ps() as f64) / 1e6;
            received.push(error(clock.on_receive(inwards).0));
            sent.push(error(clock.on_send(out).0));
        }
        (received, sent)
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        (mean, (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt())
    }

    #[test]
    fn every_distribution_has_the_deviation_that_it_is_given() {
        let sd = Duration::from_us(6);
        for noise in [NoiseSpec::Uniform(sd), NoiseSpec::Normal(sd), NoiseSpec::Exponential(sd)] {
            let (received, sent) = errors(noise, 50_000);
            for values in [&received, &sent] {
                let deviation = moments(values).1;
                assert!((deviation / 6.0 - 1.0).abs() < 0.04, "{noise:?}: {deviation}");
            }
            let shift = if matches!(noise, NoiseSpec::Exponential(_)) { 6.0 } else { 0.0 };
            assert!((moments(&received).0 - shift).abs() < 0.15, "{noise:?} is late");
            assert!((moments(&sent).0 + shift).abs() < 0.15, "{noise:?} is early");
        }
    }

    #[test]
    fn a_round_trip_through_four_stacks_looks_as_in_the_kernel_of_dx_fig_3() {
        let stack = ClockSpec {
            timestamp_point: TimestampPoint::Kernel,
            noise: NoiseSpec::Stack(STACK_DEVIATION),
            ..ClockSpec::IDEAL
        };
        let (mut a, mut b) = (Clock::new(&stack, 1, 0), Clock::new(&stack, 1, 1));
        // Back to back: 1.2 us there, 0.1 us back.
        let mut rtts: Vec<f64> = (1..=20_000_u64)
            .map(|i| {
                let t = |ns: u64| us(10_000 * i) + Duration::from_ns(ns);
                let t1 = a.on_send(passed(t(0)).0).0;
                let t2 = b.on_receive(passed(t(1_200)).1).0;
                let t3 = b.on_send(passed(t(1_200)).0).0;
                let t4 = a.on_receive(passed(t(1_300)).1).0;
                // A kernel measurement includes the other host's stack.
                ((t4 - t1) + (t2 - t3)) as f64 / 1e3
            })
            .collect();
        let (_, deviation) = moments(&rtts);
        rtts.sort_by(f64::total_cmp);
        let quantile = |q: usize| rtts[rtts.len() * q / 100];
        let middle = quantile(75) - quantile(25);
        // Given to the model: deviation and minimum. The rest follows from its shape.
        assert!((deviation - 80.7).abs() < 2.5, "s.d. {deviation}");
        assert!((rtts[0] - 23.0).abs() < 5.0, "least {}", rtts[0]);
        assert!((middle - 103.9).abs() < 4.0, "middle half {middle}");
        let most = rtts[rtts.len() - 1];
        assert!((550.0..950.0).contains(&most), "DX fig. 3: 733 us; {most}");
    }

    #[test]
    fn dma_bunches_gaps_as_dx_counted_them() {
        let mut clock = clock(NoiseSpec::Dma, 0);
        let gap = Duration::from_ps(1_295_158); // 1538 B at 9.5 Gbit/s
        let short = |stamps: &[u64]| {
            let gaps = stamps.windows(2).map(|w| w[1].cast_signed() - w[0].cast_signed());
            gaps.filter(|g| *g < 1_230).count() as f64 / stamps.len() as f64
        };
        let mut sent = Vec::new();
        let mut received = Vec::new();
        for i in 0..50_000 {
            let left = us(100) + gap * i;
            // A full ring: handed over twenty packets ahead.
            let handed = Instant::from_ps(left.as_ps() - gap.as_ps() * 20);
            sent.push(clock.on_send(TxTimes { kernel: handed, driver: handed, hardware: left }).0);
            received.push(clock.on_receive(passed(left).1).0);
        }
        assert!((short(&sent) - 0.68).abs() < 0.01, "{}", short(&sent));
        assert!((short(&received) - 0.32).abs() < 0.01, "{}", short(&received));
        assert!(sent.is_sorted(), "fetched in order");
    }

    #[test]
    fn dma_never_stamps_a_packet_before_it_was_handed_over_or_after_it_left() {
        let mut clock = clock(NoiseSpec::Dma, 0);
        for i in 1..1_000_u64 {
            let handed = us(i);
            let left = us(i) + Duration::from_ns(1_500);
            let stamp = clock.on_send(TxTimes { kernel: handed, driver: handed, hardware: left }).0;
            assert!((i * 1_000..=i * 1_000 + 1_500).contains(&stamp), "{stamp}");
        }
    }

    #[test]
    fn stamp_errors_differ_between_hosts() {
        let noise = NoiseSpec::Normal(Duration::from_us(1));
        let (mut a, mut b) = (clock(noise, 0), clock(noise, 1));
        let (_, at) = passed(us(1_000));
        let first: Vec<u64> = (0..8).map(|_| a.on_receive(at).0).collect();
        let second: Vec<u64> = (0..8).map(|_| b.on_receive(at).0).collect();
        assert_ne!(first, second);
        let mut again = clock(noise, 0);
        assert_eq!(first, (0..8).map(|_| again.on_receive(at).0).collect::<Vec<u64>>());
    }
}
