//! A paper's figure, drawn again from our tables in the paper's own axes; what is drawn is data.
//!
//! Contract: a point of a curve over a swept key is a measure as claims have it, the mean over seeds with
//! its interval. A distribution takes the values of all seeds, a trace those of the first.

use lowtide_record::Point;
use serde::Deserialize;

use super::check::Names;
use super::measure::{Measure, Rows, TIME};
use super::source::Source;
use crate::figure::{Axis, Dot, Figure, Look, Panel, Rule, Series, thinned};
use crate::interval::OverSeeds;
use crate::plots::place_of;

/// `[[figure]]` of a file of claims.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PaperFigure {
    /// Its name, as `fig18a`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How to read it.
    #[serde(default)]
    caption: String,
    kind: Kind,
    /// Of `over`: the swept key along the horizontal axis.
    #[serde(default)]
    key: Option<String>,
    x: AxisOf,
    y: AxisOf,
    curve: Vec<CurveOf>,
    /// What the paper's text says, as a line.
    #[serde(default)]
    mark: Vec<Mark>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// A measure over a swept key.
    Over,
    /// The share of values up to each one.
    Cdf,
    /// Values over time, of the first seed.
    Trace,
}

/// An axis as the paper has it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AxisOf {
    /// With its unit.
    label: String,
    #[serde(default)]
    log: bool,
    #[serde(default)]
    low: Option<f64>,
    #[serde(default)]
    high: Option<f64>,
    /// Of the values of a swept key, how much makes one of the label's unit: picoseconds, bytes, bits a second
    /// are what they are counted in.
    #[serde(default)]
    per: Option<f64>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CurveOf {
    name: String,
    measure: Measure,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    label: String,
    at: f64,
    #[serde(default)]
    upright: bool,
}

/// Points of a trace or a distribution that are drawn.
const MOST_POINTS: usize = 1200;

impl PaperFigure {
    /// What is wrong with it, in an experiment that has `names`.
    pub(super) fn check(&self, names: &Names<'_>) -> Result<(), String> {
        let misplaced = self.y.per.is_some() || (self.kind != Kind::Over && self.x.per.is_some());
        if misplaced || self.x.per.is_some_and(|per| per <= 0.0) {
            return Err("`per` goes with the horizontal axis of `kind = \"over\"`".to_owned());
        }
        if (self.kind == Kind::Over) != self.key.is_some() {
            return Err("`key` goes with `kind = \"over\"`, which needs it".to_owned());
        }
        for curve in &self.curve {
            match (&self.key, &curve.measure) {
                (Some(key), measure) => {
                    let value = names.values(key).next();
                    let value = value.ok_or_else(|| format!("`{key}` is not swept"))?;
                    names.measure(&measure.with(key, value))
                }
                (None, measure @ Measure::Rows(_)) => names.measure(measure),
                (None, _) => Err("it takes rows of a table, with `table` and `column`".to_owned()),
            }
            .map_err(|e| format!("curve `{}`: {e}", curve.name))?;
        }
        Ok(())
    }

    /// The figure; a curve without a value is left out.
    pub(super) fn draw(&self, of: Source<'_>, points: &[Point]) -> Result<Figure, String> {
        let mut series = Vec::new();
        for (style, curve) in self.curve.iter().enumerate() {
            let (look, dots) = match (&self.key, &curve.measure) {
                (Some(key), measure) => {
                    (Look::Measured, over(measure, key, self.x.per.unwrap_or(1.0), of, points)?)
                }
                (None, Measure::Rows(rows)) if curve.measure.is_at(points) => match self.kind {
                    Kind::Trace => (Look::Trace, trace(rows, of)?),
                    _ => (Look::Steps, distribution(rows, of)?),
                },
                _ => continue,
            };
            if !dots.is_empty() {
                let (scheme, part) = (curve.name.clone(), String::new());
                series.push(Series { scheme, part, style, look, points: dots });
            }
        }
        let legend = series.iter().map(|s| (s.scheme.clone(), s.style)).collect();
        let xs = series.iter().flat_map(|s| &s.points).map(|p| p.x);
        let ys = series.iter().flat_map(|s| &s.points).map(|p| p.y);
        let rules = |upright| self.mark.iter().filter(move |m| m.upright == upright).map(|m| m.at);
        let panel = Panel {
            title: String::new(),
            x: self.x.axis("x", &xs.chain(rules(true)).collect::<Vec<_>>()),
            y: self.y.axis("y", &ys.chain(rules(false)).collect::<Vec<_>>()),
            rules: self.mark.iter().map(Mark::rule).collect(),
            series,
            shade: None,
        };
        Ok(Figure {
            id: self.id.clone(),
            title: self.title.clone(),
            caption: self.caption.clone(),
            legend,
            panels: vec![panel],
        })
    }
}

impl AxisOf {
    fn axis(&self, column: &str, values: &[f64]) -> Axis {
        let finite = || values.iter().copied().filter(|v| v.is_finite());
        let positive = finite().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
        let most = finite().fold(0.0, f64::max);
        let most = if most > 0.0 { most } else { 1.0 };
        let high = self.high.unwrap_or(most * 1.05);
        if self.log {
            let low = self.low.unwrap_or_else(|| positive.min(high) / 1.3);
            return Axis::log(&self.label, column, low, high.max(low * 2.0));
        }
        let low = self.low.unwrap_or(0.0);
        Axis::linear(&self.label, column, low, if high > low { high } else { low + 1.0 })
    }
}

impl Mark {
    fn rule(&self) -> Rule {
        Rule { label: self.label.clone(), at: self.at, upright: self.upright }
    }
}

fn over(
    measure: &Measure,
    key: &str,
    per: f64,
    of: Source<'_>,
    points: &[Point],
) -> Result<Vec<Dot>, String> {
    let mut values: Vec<&str> = points.iter().filter_map(|p| p.get(key)).collect();
    values.sort_unstable();
    values.dedup();
    let mut dots = Vec::new();
    for value in values {
        let Some(x) = place_of(value) else {
            return Err(format!("`{value}` of `{key}` has no place on an axis"));
        };
        let one = measure.with(key, value);
        if !one.leaves().into_iter().all(|leaf| leaf.is_at(points)) {
            continue;
        }
        let over = OverSeeds::new(&one.values(of)?);
        dots.extend(over.mean.map(|y| Dot { x: x / per, y, interval: over.ci95 }));
    }
    dots.sort_by(|a, b| a.x.total_cmp(&b.x));
    Ok(dots)
}

fn distribution(rows: &Rows, of: Source<'_>) -> Result<Vec<Dot>, String> {
    let mut values: Vec<f64> = rows.all(of, None)?.into_iter().map(|(_, y)| y).collect();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let step = n.div_ceil(MOST_POINTS).max(1);
    let ranks = (0..n).filter(|i| i % step == 0 || i + 1 == n);
    let mut dots: Vec<Dot> = values.first().map(|v| Dot::new(*v, 0.0)).into_iter().collect();
    dots.extend(ranks.map(|i| Dot::new(values[i], (i + 1) as f64 / n as f64)));
    Ok(dots)
}

fn trace(rows: &Rows, of: Source<'_>) -> Result<Vec<Dot>, String> {
    let first = Source { seeds: of.seeds.get(..1).unwrap_or_default(), ..of };
    let pairs = rows.all(first, Some(TIME))?;
    let dots: Vec<Dot> = pairs.into_iter().map(|(ps, y)| Dot::new(ps / 1e12, y)).collect();
    Ok(thinned(&dots, MOST_POINTS))
}
