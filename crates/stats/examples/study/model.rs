//! Distributions of flows with a common factor per seed, and their true percentiles.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};

/// Distribution of the value of one flow, times the factor of its seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Base {
    /// Log-normal with a deviation of one.
    LogNormal,
    /// Pareto with the shape 1.5 and the scale one.
    Pareto,
}

/// Change of that distribution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// None.
    Plain,
    /// Six of ten flows have a slowdown of exactly one, the others are above it.
    Atom,
    /// Slowdowns are at least one: the share of exactly one depends on the seed.
    Floor,
    /// Rounded up to a multiple of one half.
    Grid,
    /// Four sizes of flows, without other variation.
    Sizes,
    /// Four sizes of flows, with a log-normal variation of 0.3.
    NoisySizes,
}

/// A distribution with its seed factor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    pub(crate) base: Base,
    pub(crate) shape: Shape,
    /// Deviation of the logarithm of the factor of a seed.
    pub(crate) seed_factor: f64,
}

const ATOM: f64 = 0.6;
/// Values with their probabilities.
const SIZES: [(f64, f64); 4] = [(2.0, 0.4), (6.0, 0.3), (30.0, 0.2), (300.0, 0.1)];
const NOISE: f64 = 0.3;

pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns a number from zero, exclusive, to one.
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.0.next_u64()) * end as u128) >> 64) as usize
    }

    /// Box and Muller (1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

fn normal_below(z: f64) -> f64 {
    statrs::function::erf::erfc(-z / std::f64::consts::SQRT_2) / 2.0
}

impl Base {
    fn below(self, value: f64) -> f64 {
        match self {
            Self::LogNormal => normal_below(value.ln()),
            Self::Pareto => 1.0 - value.max(1.0).powf(-1.5),
        }
    }

    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::LogNormal => random.normal().exp(),
            Self::Pareto => random.uniform().powf(-1.0 / 1.5),
        }
    }

    /// The divisor with which 42 to 45 % of flows are at the floor.
    const fn floor_scale(self) -> f64 {
        match self {
            Self::LogNormal => 0.82,
            Self::Pareto => 1.4,
        }
    }
}

impl Model {
    /// Draws the factor of a seed.
    pub(crate) fn factor(self, random: &mut Random) -> f64 {
        (self.seed_factor * random.normal()).exp()
    }

    /// Draws the flows of a seed with this factor.
    pub(crate) fn flows(self, factor: f64, flows: usize, random: &mut Random) -> Vec<f64> {
        (0..flows).map(|_| self.flow(factor, random)).collect()
    }

    fn flow(self, factor: f64, random: &mut Random) -> f64 {
        match self.shape {
            Shape::Plain => factor * self.base.draw(random),
            Shape::Atom if random.uniform() <= ATOM => 1.0,
            Shape::Atom => 1.0 + factor * self.base.draw(random),
            Shape::Floor => (factor * self.base.draw(random) / self.base.floor_scale()).max(1.0),
            Shape::Grid => (factor * self.base.draw(random) * 2.0).ceil() / 2.0,
            Shape::Sizes => factor * size(random),
            Shape::NoisySizes => factor * size(random) * (NOISE * random.normal()).exp(),
        }
    }

    /// Returns the share of flows of a seed that are at most `value`.
    fn below(self, factor: f64, value: f64) -> f64 {
        let base = |value: f64| self.base.below(value / factor);
        let sizes = |below: &dyn Fn(f64) -> f64| {
            SIZES.iter().map(|(size, share)| share * below(value / (size * factor))).sum()
        };
        match self.shape {
            Shape::Plain => base(value),
            Shape::Atom | Shape::Floor if value < 1.0 => 0.0,
            Shape::Atom => ATOM + (1.0 - ATOM) * base(value - 1.0),
            Shape::Floor => base(value * self.base.floor_scale()),
            Shape::Grid => base((value * 2.0 + 1e-9).floor() / 2.0),
            Shape::Sizes => sizes(&|ratio| if ratio >= 1.0 { 1.0 } else { 0.0 }),
            Shape::NoisySizes => sizes(&|ratio| normal_below(ratio.ln() / NOISE)),
        }
    }

    /// Returns the percentile of the flows of all possible seeds, by bisection of their
    /// distribution.
    pub(crate) fn truth(self, q: f64) -> f64 {
        // The factor's distribution, in steps of 0.01 deviations.
        let steps: Vec<(f64, f64)> = (-600..=600)
            .map(|i| f64::from(i) / 100.0)
            .map(|z| ((self.seed_factor * z).exp(), (-z * z / 2.0).exp()))
            .collect();
        let all: f64 = steps.iter().map(|(_, weight)| weight).sum();
        let below = |value: f64| {
            steps.iter().map(|(factor, weight)| weight * self.below(*factor, value)).sum::<f64>()
                / all
        };
        let (mut low, mut high) = (1e-3_f64, 1e6_f64);
        for _ in 0..100 {
            let middle = (low * high).sqrt();
            if below(middle) >= q { high = middle } else { low = middle }
        }
        match self.shape {
            Shape::Grid => (high * 2.0).round() / 2.0,
            Shape::Atom | Shape::Floor => high.max(1.0 + 1e-9),
            _ => high,
        }
    }
}

fn size(random: &mut Random) -> f64 {
    let mut rest = random.uniform();
    for (size, share) in SIZES {
        rest -= share;
        if rest <= 0.0 {
            return size;
        }
    }
    SIZES[0].0
}
