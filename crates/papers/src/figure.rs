//! A paper's figure, drawn from our tables on the paper's axes; its description is data.
//!
//! Contract: a point over a swept key or a class is a measure as in claims: the mean over seeds
//! with its interval. A distribution takes the values of all seeds; a trace, a plane and a scatter
//! those of the first. Curves of an analysis appear only beside measured ones.

mod dots;

use lowtide_charts::{Axis, Dot, Figure, GuideLine, Panel, PlotSeries, SeriesKind};
use lowtide_record::SweepPoint;
use serde::Deserialize;

use super::check::ExperimentSchema;
use super::figure_kind::FigureKind;
use super::measure::ClaimMeasure;
use super::source::RunData;
use super::theory_curve::TheoryCurve;

/// `[[figure]]` of a file of claims.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PaperFigure {
    /// Its identifier, such as `fig18a`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its caption.
    #[serde(default)]
    caption: String,
    kind: FigureKind,
    /// For `over`: the swept key of the horizontal axis.
    #[serde(default)]
    key: Option<String>,
    /// For `classes`: the labels of the horizontal axis, from left to right.
    #[serde(default)]
    classes: Vec<String>,
    x: AxisSpec,
    y: AxisSpec,
    curve: Vec<CurveSpec>,
    /// Values in the paper's text, drawn as lines.
    #[serde(default)]
    mark: Vec<ReferenceLineSpec>,
}

/// An axis of the paper's figure.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AxisSpec {
    /// Its label with the unit.
    label: String,
    #[serde(default)]
    log: bool,
    #[serde(default)]
    low: Option<f64>,
    #[serde(default)]
    high: Option<f64>,
    /// Divisor of the values of a swept key that gives the label's unit; the values are in
    /// picoseconds, bytes or bits per second.
    #[serde(default)]
    per: Option<f64>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CurveSpec {
    name: String,
    #[serde(default)]
    measure: Option<ClaimMeasure>,
    /// For `classes`: one measure per class, in their order.
    #[serde(default)]
    measures: Vec<ClaimMeasure>,
    /// For `plane`: the measure on the horizontal axis.
    #[serde(default)]
    across: Option<ClaimMeasure>,
    /// An analytic curve, in place of a measure.
    #[serde(default)]
    theory: Option<TheoryCurve>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceLineSpec {
    label: String,
    at: f64,
    #[serde(default)]
    vertical: bool,
}

impl PaperFigure {
    /// Returns the errors of the figure, in an experiment that has `names`.
    pub(super) fn check(&self, names: &ExperimentSchema<'_>) -> Result<(), String> {
        let misplaced =
            self.y.per.is_some() || (self.kind != FigureKind::Over && self.x.per.is_some());
        if misplaced || self.x.per.is_some_and(|per| per <= 0.0) {
            return Err("`per` goes with the horizontal axis of `kind = \"over\"`".to_owned());
        }
        if (self.kind == FigureKind::Over) != self.key.is_some() {
            return Err("`key` goes with `kind = \"over\"`, which needs it".to_owned());
        }
        if (self.kind == FigureKind::Classes) == self.classes.is_empty() {
            return Err("`classes` goes with `kind = \"classes\"`, which needs it".to_owned());
        }
        if self.kind == FigureKind::Classes && (self.x.log || self.x.low.or(self.x.high).is_some())
        {
            return Err("an axis of classes has no ends and no scale".to_owned());
        }
        if self.curve.iter().all(|curve| curve.theory.is_some()) {
            return Err("a curve with a `measure` is needed".to_owned());
        }
        for curve in &self.curve {
            self.check_curve(curve, names).map_err(|e| format!("curve `{}`: {e}", curve.name))?;
        }
        Ok(())
    }

    fn check_curve(&self, curve: &CurveSpec, names: &ExperimentSchema<'_>) -> Result<(), String> {
        if curve.measures.len() != self.classes.len() {
            return Err("it takes as many `measures` as there are `classes`".to_owned());
        }
        if self.kind == FigureKind::Classes {
            let alone = curve.measure.is_none() && curve.across.is_none() && curve.theory.is_none();
            return match curve.measures.iter().try_for_each(|measure| names.measure(measure)) {
                Ok(()) if !alone => {
                    Err("`measures` excludes `measure`, `across` and `theory`".to_owned())
                }
                checked => checked,
            };
        }
        let measure = match (&curve.measure, &curve.theory) {
            (Some(measure), None) => measure,
            (None, Some(_)) if self.x.per.is_some() => {
                return Err("`theory` does not go with `per` of the axis".to_owned());
            }
            (None, Some(theory)) if curve.across.is_none() => return theory.check(self.kind),
            _ => return Err("it takes either a `measure` or a `theory`".to_owned()),
        };
        if (self.kind == FigureKind::Plane) != curve.across.is_some() {
            return Err("`across` goes with `kind = \"plane\"`, which needs it".to_owned());
        }
        if let Some(key) = &self.key {
            let value = names.values(key).next();
            let value = value.ok_or_else(|| format!("`{key}` is not swept"))?;
            return names.measure(&measure.with(key, value));
        }
        if self.kind == FigureKind::Scatter {
            return match measure {
                ClaimMeasure::Windows(_) => names.measure(measure),
                _ => Err("a scatter plot takes `windows`".to_owned()),
            };
        }
        for measure in std::iter::once(measure).chain(&curve.across) {
            let ClaimMeasure::Rows(rows) = measure else {
                return Err("it takes rows of a table, with `table` and `column`".to_owned());
            };
            if rows.over.is_some() || rows.weight.is_some() {
                return Err(
                    "values that are drawn one by one have no `over` and no `weight`".to_owned()
                );
            }
            names.measure(measure)?;
        }
        Ok(())
    }

    /// Draws the figure; the legend has the reason for a curve without a value.
    pub(super) fn draw(&self, of: RunData<'_>, points: &[SweepPoint]) -> Result<Figure, String> {
        let mut series = Vec::new();
        for (style, curve) in self.curve.iter().enumerate() {
            let Some((look, dots)) = self.measured_points(curve, of, points)? else { continue };
            if !dots.is_empty() {
                let (scheme, part) = (curve.name.clone(), String::new());
                series.push(PlotSeries { scheme, part, style, kind: look, points: dots });
            }
        }
        if !series.is_empty() {
            series.extend(self.theory_series(&series)?);
        }
        let legend = self.curve.iter().enumerate().map(|(i, c)| (c.name.clone(), i)).collect();
        let xs = series.iter().flat_map(|s| &s.points).map(|p| p.x);
        let rules =
            |vertical| self.mark.iter().filter(move |m| m.vertical == vertical).map(|m| m.at);
        let panel = Panel {
            title: String::new(),
            x: if self.kind == FigureKind::Classes {
                Axis::categorical(&self.x.label, "class", &self.classes)
            } else {
                self.x.axis("x", &xs.chain(rules(true)).collect::<Vec<_>>())
            },
            y: self.y.axis("y", &y_extent(&series).chain(rules(false)).collect::<Vec<_>>()),
            guide_lines: self.mark.iter().map(ReferenceLineSpec::rule).collect(),
            series,
            shade: None,
        };
        let figure = Figure {
            id: self.id.clone(),
            title: self.title.clone(),
            caption: self.caption.clone(),
            legend,
            panels: vec![panel],
        };
        Ok(figure.explain_absent(&|_| "no value in these runs".to_owned()))
    }
}

impl PaperFigure {
    /// The measured points of a curve and their style; nothing for an analytic curve or a point
    /// that was omitted.
    fn measured_points(
        &self,
        curve: &CurveSpec,
        of: RunData<'_>,
        points: &[SweepPoint],
    ) -> Result<Option<(SeriesKind, Vec<Dot>)>, String> {
        if self.kind == FigureKind::Classes {
            return Ok(Some((SeriesKind::Dots, dots::classes(&curve.measures, of, points)?)));
        }
        let Some(measure) = &curve.measure else { return Ok(None) };
        if let Some(key) = &self.key {
            let dots = dots::over_sweep(measure, key, self.x.per.unwrap_or(1.0), of, points)?;
            return Ok(Some((SeriesKind::Measured, dots)));
        }
        if !measure.is_at(points) {
            return Ok(None);
        }
        Ok(match (self.kind, measure, &curve.across) {
            (FigureKind::Plane, ClaimMeasure::Rows(rows), Some(ClaimMeasure::Rows(across))) => {
                let mut dots = dots::plane(across, rows, of)?;
                dots.retain(|dot| self.x.contains(dot.x) && self.y.contains(dot.y));
                Some((SeriesKind::Trace, dots))
            }
            (FigureKind::Scatter, ClaimMeasure::Windows(windows), None) => {
                Some((SeriesKind::Scatter, dots::scatter(windows, of)?))
            }
            (FigureKind::Trace, ClaimMeasure::Rows(rows), None) => {
                Some((SeriesKind::Trace, dots::trace(rows, of)?))
            }
            (FigureKind::Cdf, ClaimMeasure::Rows(rows), None) => {
                Some((SeriesKind::Steps, dots::distribution(rows, of)?))
            }
            _ => None,
        })
    }

    /// The analytic curves, over the range of the measured ones.
    fn theory_series(&self, measured: &[PlotSeries]) -> Result<Vec<PlotSeries>, String> {
        let of_all = || measured.iter().flat_map(|s| &s.points);
        let mut places: Vec<f64> = of_all().map(|dot| dot.x).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let ends = [places.first(), places.last()].map(|x| x.copied().unwrap_or_default());
        let mut axis = [self.x.low.unwrap_or(ends[0]), self.x.high.unwrap_or(ends[1])];
        if self.kind == FigureKind::Plane {
            axis[1] = axis[1].min(self.y.high.unwrap_or(f64::INFINITY));
        }
        let mut series = Vec::new();
        for (style, curve) in self.curve.iter().enumerate() {
            let Some(theory) = &curve.theory else { continue };
            let (scheme, part) = (curve.name.clone(), String::new());
            let points = theory.dots(&places, axis)?;
            series.push(PlotSeries { scheme, part, style, kind: SeriesKind::Thin, points });
        }
        Ok(series)
    }
}

/// Values that the axis must include: the points, and the upper ends of their intervals. Huge
/// intervals, as of two seeds, are ignored because they would compress the points.
fn y_extent(series: &[PlotSeries]) -> impl Iterator<Item = f64> {
    let dots = || series.iter().flat_map(|s| &s.points);
    let most = 2.0 * dots().map(|dot| dot.y).fold(0.0, f64::max);
    let ends = dots().filter_map(move |dot| Some(dot.interval?[1].min(most)));
    dots().map(|dot| dot.y).chain(ends)
}

impl AxisSpec {
    /// Whether a value is within the axis limits of the file.
    fn contains(&self, value: f64) -> bool {
        self.low.is_none_or(|low| low <= value) && self.high.is_none_or(|high| value <= high)
    }

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

impl ReferenceLineSpec {
    fn rule(&self) -> GuideLine {
        GuideLine { label: self.label.clone(), at: self.at, vertical: self.vertical }
    }
}

#[cfg(test)]
mod tests {
    use lowtide_scenario::Scenario;

    use super::*;

    const ROWS: &str = "{ table = \"probes\", column = \"cwnd_bytes\", reduce = \"mean\", where = { scheme = \"dctcp\", flow = 0 } }";

    /// The error of a figure of this kind with these curves, on the embedded scenario
    /// `two-flows-1g`.
    fn figure_error(kind: &str, curves: &[&str]) -> Result<(), String> {
        let head = format!(
            "id = \"a\"\ntitle = \"t\"\nkind = \"{kind}\"\nx = {{ label = \"x\", low = 0 }}\ny = {{ label = \"y\" }}\n"
        );
        let curves: Vec<String> =
            curves.iter().map(|c| format!("[[curve]]\nname = \"c\"\n{c}\n")).collect();
        let figure: PaperFigure = toml::from_str(&(head + &curves.concat())).unwrap();
        let plan = Scenario::load("two-flows-1g").unwrap().expand().unwrap();
        figure.check(&ExperimentSchema::new(&plan))
    }

    #[test]
    fn a_plane_has_two_measures_and_an_analysis_none() {
        let measure = format!("measure = {ROWS}");
        let both = format!("{measure}\nacross = {ROWS}");
        let fair = "theory = { is = \"fairness\" }";
        assert_eq!(figure_error("plane", &[&both, fair]), Ok(()));
        assert_eq!(figure_error("trace", &[&measure]), Ok(()));
        for (kind, curves, says) in [
            ("plane", &[measure.as_str()][..], "`across` goes with `kind = \"plane\"`"),
            ("trace", &[&both], "`across` goes with `kind = \"plane\"`"),
            ("trace", &[&measure, fair], "goes with `kind = \"plane\"`"),
            ("plane", &[fair], "a curve with a `measure` is needed"),
            ("plane", &[&both, &format!("{both}\n{fair}")], "either a `measure` or a `theory`"),
            ("plane", &[&both, ""], "either a `measure` or a `theory`"),
        ] {
            let error = figure_error(kind, curves).unwrap_err();
            assert!(error.contains(says), "{kind} {curves:?}: {error}");
        }
    }

    /// The error of a figure of classes with the extra keys `beside` in its curve.
    fn classes_error(axis: &str, measures: &str, beside: &str) -> Result<(), String> {
        let text = format!(
            "id = \"a\"\ntitle = \"t\"\nkind = \"classes\"\nclasses = [\"one\", \"two\"]\nx = {{ label = \"x\" {axis} }}\n\
             y = {{ label = \"y\" }}\n[[curve]]\nname = \"c\"\nmeasures = [{measures}]\n{beside}\n"
        );
        let figure: PaperFigure = toml::from_str(&text).unwrap();
        let plan = Scenario::load("two-flows-1g").unwrap().expand().unwrap();
        figure.check(&ExperimentSchema::new(&plan))
    }

    #[test]
    fn classes_have_a_measure_each_and_a_scatter_plot_has_windows() {
        let both = format!("{ROWS}, {ROWS}");
        assert_eq!(classes_error("", &both, ""), Ok(()));
        let wrong = ROWS.replace("cwnd_bytes", "cwnd_apples");
        for (axis, measures, beside, says) in [
            ("", ROWS, "", "as many `measures`"),
            ("", &format!("{ROWS}, {wrong}"), "", "cwnd_apples"),
            ("", &both, &format!("measure = {ROWS}"), "excludes `measure`"),
            (", log = true", &both, "", "no ends and no scale"),
        ] {
            let error = classes_error(axis, measures, beside).unwrap_err();
            assert!(error.contains(says), "{measures} {beside}: {error}");
        }
        let measure = format!("measure = {ROWS}");
        for (kind, curve, says) in [
            ("classes", measure.as_str(), "`classes` goes with"),
            ("trace", &format!("measures = [{ROWS}]"), "as many `measures`"),
            ("scatter", &measure, "takes `windows`"),
        ] {
            let error = figure_error(kind, &[curve]).unwrap_err();
            assert!(error.contains(says), "{kind} {curve}: {error}");
        }
        let over = measure.replace("reduce", "over = \"in_flight_bytes\", reduce");
        let error = figure_error("cdf", &[&over]).unwrap_err();
        assert!(error.contains("no `over` and no `weight`"), "{error}");
        let windows = "measure = { windows = \"rmse\", feedback = \"marked\", queue = \"switch0->senders.1\", \
                       full = 100, packet = \"12 us\", from = \"1 ms\", scheme = \"dctcp\" }";
        assert_eq!(figure_error("scatter", &[windows, "theory = { is = \"truth\" }"]), Ok(()));
        let error = figure_error("trace", &[windows]).unwrap_err();
        assert!(error.contains("rows of a table"), "{error}");
    }

    #[test]
    fn axis_limits_are_inclusive() {
        let axis = |low, high| AxisSpec { label: String::new(), log: false, low, high, per: None };
        assert!(axis(Some(0.0), Some(9.0)).contains(9.0) && axis(None, None).contains(-1e9));
        assert!(!axis(Some(0.0), None).contains(-0.1) && !axis(None, Some(9.0)).contains(9.1));
    }

    #[test]
    fn an_axis_includes_intervals_that_are_not_huge() {
        let of = |end: f64| {
            let dot = |y, interval| Dot { x: 0.0, y, interval };
            let points = vec![dot(10.0, Some([8.0, end])), dot(4.0, None)];
            let (scheme, part) = (String::new(), String::new());
            let series = [PlotSeries { scheme, part, style: 0, kind: SeriesKind::Dots, points }];
            y_extent(&series).fold(0.0, f64::max)
        };
        assert_eq!((of(12.0), of(500.0)), (12.0, 20.0));
    }
}
