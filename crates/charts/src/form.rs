//! The serialised form of figures (JSON), from the same values as SVG and CSV: the script of our
//! pages draws it.
//!
//! Contract: numbers have seven significant digits, more than a screen shows.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::error::ChartError;
use crate::heat::HeatForm;
use crate::palette::{Style, style};
use crate::{Dot, Figure, FigureFiles, HeatMap, StackedPlot};

/// A figure of any kind.
#[derive(Serialize)]
#[serde(tag = "form", rename_all = "kebab-case")]
enum Form<'a> {
    Panels(Styled<'a, Figure>),
    Lanes(Styled<'a, StackedPlot>),
    Grids(HeatForm<'a>),
}

/// A figure with the styles that it uses, by number.
#[derive(Serialize)]
struct Styled<'a, F> {
    #[serde(flatten)]
    figure: &'a F,
    styles: BTreeMap<usize, Style>,
}

impl<'a, F> Styled<'a, F> {
    fn new(figure: &'a F, used: impl Iterator<Item = usize>) -> Self {
        Self { figure, styles: used.map(|number| (number, style(number))).collect() }
    }
}

pub(crate) fn of_panels(figure: &Figure) -> Result<String, ChartError> {
    let series = figure.panels.iter().flat_map(|p| &p.series).map(|s| s.style);
    let used = series.chain(figure.legend.iter().map(|(_, number)| *number));
    json(&figure.id, &Form::Panels(Styled::new(figure, used)))
}

/// Returns the form of figures that a slider chooses from; `last` is drawn already.
pub(crate) fn of_frames(
    others: &[(&str, &Figure)],
    (last, drawn): (&str, &FigureFiles),
) -> Result<String, ChartError> {
    let frame = |name: &str, caption: &str, figure: &str| {
        let text = |text: &str| serde_json::Value::from(text).to_string();
        format!("{{\"name\":{},\"caption\":{},\"figure\":{figure}}}", text(name), text(caption))
    };
    let mut frames = Vec::new();
    for (name, figure) in others {
        frames.push(frame(name, &figure.caption, &of_panels(figure)?));
    }
    frames.push(frame(last, &drawn.caption, &drawn.json));
    Ok(format!("{{\"form\":\"frames\",\"frames\":[{}]}}", frames.join(",")))
}

pub(crate) fn of_lanes(stack: &StackedPlot) -> Result<String, ChartError> {
    let used = stack.lanes.iter().flat_map(|l| &l.curves).map(|c| c.style);
    json(&stack.id, &Form::Lanes(Styled::new(stack, used)))
}

pub(crate) fn of_grids(map: &HeatMap) -> Result<String, ChartError> {
    json(&map.id, &Form::Grids(HeatForm::new(map)))
}

fn json(id: &str, form: &Form<'_>) -> Result<String, ChartError> {
    serde_json::to_string(form)
        .map_err(|e| ChartError { what: format!("figure `{id}`"), reason: e.to_string() })
}

/// Serialises a number with seven significant digits.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
pub(crate) fn rounded<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(round(*value))
}

/// Serialises numbers with seven significant digits, with their names.
pub(crate) fn rounded_ticks<S: Serializer>(
    ticks: &[(f64, String)],
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_seq(ticks.iter().map(|(value, name)| (round(*value), name)))
}

/// Serialises a range with seven significant digits.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(crate) fn rounded_range<S: Serializer>(
    range: &Option<(f64, f64)>,
    to: S,
) -> Result<S::Ok, S::Error> {
    range.map(|(from, until)| [round(from), round(until)]).serialize(to)
}

fn round(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

impl Serialize for Dot {
    /// `[x, y]`, or `[x, y, low, high]` with an interval.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (x, y) = (round(self.x), round(self.y));
        match self.interval {
            None => [x, y].serialize(to),
            Some([low, high]) => [x, y, round(low), round(high)].serialize(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_keep_their_order_and_captions() {
        let figure = |caption: &str| Figure {
            id: "queue".into(),
            title: String::new(),
            caption: caption.into(),
            legend: Vec::new(),
            panels: Vec::new(),
        };
        let drawn = FigureFiles::of(&figure("at 2")).unwrap();
        let json = drawn.with_frames(&[("k = 1", &figure("at \"1\""))], "k = 2").unwrap().json;
        let form: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(form["frames"][0]["caption"], "at \"1\"");
        assert_eq!(form["frames"][1]["name"], "k = 2");
        assert_eq!(form["frames"][1]["figure"]["form"], "panels");
    }

    #[test]
    fn a_dot_is_a_short_list() {
        let dot = Dot { interval: Some([0.1, 2.0]), ..Dot::new(1.0 / 3.0, 1e9) };
        assert_eq!(serde_json::to_string(&dot).unwrap(), "[0.3333333,1000000000.0,0.1,2.0]");
        let empty = Dot::new(0.0, f64::NAN);
        assert_eq!(serde_json::to_string(&empty).unwrap(), "[0.0,null]");
    }
}
