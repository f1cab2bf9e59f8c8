//! Empirical distributions of sizes and of times between arrivals.
//!
//! Contract: the distribution function is linear between two points, so all values between them are
//! equally likely. A first point above zero puts that probability on its value. Two rows with one
//! value are a step. Integer arithmetic only: a draw is a function of one number below 10^18, equal
//! on every machine. Values are whole bytes or picoseconds, rounded to the nearest. A size is at
//! least one byte.

use core::fmt;

use lowtide_schema::DistributionOf;
use lowtide_sim::Rng;
use lowtide_units::{Bytes, Duration, parse_bytes, parse_duration};

mod built_in;
mod read;

/// Probability one, as a fixed-point number with 18 decimal digits.
pub const PROBABILITY_ONE: u64 = 1_000_000_000_000_000_000;

/// A point of a distribution function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Point {
    /// Bytes or picoseconds.
    value: u64,
    /// Probability of this value and all below, in units of 1/[`PROBABILITY_ONE`].
    cumulative: u64,
}

/// An empirical distribution.
#[derive(Clone, PartialEq, Eq)]
pub struct Cdf {
    name: String,
    kind: DistributionOf,
    /// Values and probabilities never decrease; the last probability is [`PROBABILITY_ONE`].
    points: Vec<Point>,
}

impl Cdf {
    /// Returns the built-in distribution of that name, or `None`.
    pub fn named(name: &str) -> Option<Self> {
        built_in::find(name)
    }

    /// Reads a text other than a path: a built-in distribution of that kind, or a constant such as
    /// `20 kB` or `10 ms`. Returns `None` for any other text, which is then a path.
    pub fn from_text(text: &str, kind: DistributionOf) -> Option<Self> {
        let fixed = || match kind {
            DistributionOf::Size => {
                parse_bytes(text).ok().filter(|b| b.as_u64() > 0).map(Self::fixed)
            }
            DistributionOf::Time => parse_duration(text).ok().map(Self::fixed_time),
        };
        Self::named(text).filter(|cdf| cdf.kind == kind).or_else(fixed)
    }

    /// Returns the names of the built-in distributions of a kind.
    pub fn names(kind: DistributionOf) -> Vec<&'static str> {
        built_in::names(kind)
    }

    /// Returns the source of a built-in distribution's numbers: the comment at the head of its
    /// file.
    pub fn source(name: &str) -> Option<&'static str> {
        built_in::source(name)
    }

    /// Returns a constant size, at least one byte.
    pub fn fixed(size: Bytes) -> Self {
        let value = size.as_u64().max(1);
        let points = vec![Point { value, cumulative: PROBABILITY_ONE }];
        Self { name: size.to_string(), kind: DistributionOf::Size, points }
    }

    /// Returns a constant duration.
    pub fn fixed_time(span: Duration) -> Self {
        let points = vec![Point { value: span.as_ps(), cumulative: PROBABILITY_ONE }];
        Self { name: span.to_string(), kind: DistributionOf::Time, points }
    }

    /// Returns whether the distribution is constant.
    pub fn is_fixed(&self) -> bool {
        self.points.first().is_some_and(|first| self.points.iter().all(|p| p.value == first.value))
    }

    /// Returns the distribution scaled to the mean `mean`, or unchanged if its mean is zero.
    #[must_use]
    pub fn scaled_to_mean(&self, mean: Duration) -> Self {
        let (to, from) = (u128::from(mean.as_ps()), u128::from(self.mean()));
        let stretch = |value: u64| match (u128::from(value) * to + from / 2).checked_div(from) {
            Some(value) => u64::try_from(value).unwrap_or(u64::MAX),
            None => value,
        };
        let points = self.points.iter().map(|p| Point { value: stretch(p.value), ..*p });
        Self { points: points.collect(), ..self.clone() }
    }

    /// Name in the scenario: a built-in name, a value or a file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Quantity that is drawn.
    pub fn kind(&self) -> DistributionOf {
        self.kind
    }

    /// Returns the mean, by exact integration, rounded to a whole byte or picosecond.
    pub fn mean(&self) -> u64 {
        let whole = u128::from(PROBABILITY_ONE);
        // Twice the integral of the value, in units of 1/`PROBABILITY_ONE`: at most 2^125.
        let twice = |(from, to): (Point, Point)| {
            u128::from(to.cumulative - from.cumulative)
                * (u128::from(from.value) + u128::from(to.value))
        };
        let all: u128 = self.pieces().map(twice).sum();
        u64::try_from((all + whole) / (2 * whole)).unwrap_or(u64::MAX)
    }

    /// Returns the pairs of adjacent points. The first point is preceded by its value with
    /// probability 0.
    fn pieces(&self) -> impl Iterator<Item = (Point, Point)> + '_ {
        let first = self.points.first().map(|p| Point { cumulative: 0, ..*p });
        first.into_iter().chain(self.points.iter().copied()).zip(self.points.iter().copied())
    }

    /// Returns the value at a probability in units of 1/[`PROBABILITY_ONE`], or the largest beyond
    /// it.
    pub fn quantile(&self, at: u64) -> u64 {
        let i = self.points.partition_point(|p| p.cumulative <= at);
        let Some(to) = self.points.get(i).or(self.points.last()) else { return 0 };
        let Some(from) = i.checked_sub(1).and_then(|i| self.points.get(i)) else { return to.value };
        let (width, span) = (to.cumulative - from.cumulative, to.value - from.value);
        if width == 0 {
            return to.value;
        }
        let into = u128::from(span) * u128::from(at.saturating_sub(from.cumulative).min(width));
        // Rounded to the nearest, so that draws keep the mean.
        from.value + ((into + u128::from(width / 2)) / u128::from(width)) as u64
    }

    /// Draws a value, usually from one number of the generator.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let value = self.quantile(rng.below(PROBABILITY_ONE));
        if self.kind == DistributionOf::Size { value.max(1) } else { value }
    }

    /// Draws a size.
    pub fn draw_size(&self, rng: &mut Rng) -> Bytes {
        Bytes::new(self.draw(rng))
    }

    /// Draws a duration.
    pub fn draw_duration(&self, rng: &mut Rng) -> Duration {
        Duration::from_ps(self.draw(rng))
    }
}

impl fmt::Debug for Cdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cdf")
            .field("name", &self.name)
            .field("measure", &self.kind)
            .field("points", &self.points.len())
            .finish()
    }
}

#[cfg(test)]
mod tests;
