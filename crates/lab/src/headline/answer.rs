//! The answer to the question of a scenario, in one sentence.
//!
//! Contract: every value is over seeds. A judgement is a verdict of the headline's family, within
//! the tolerance of the question.

use lowtide_charts::number;
use lowtide_record::SweepPoint;
use lowtide_rows::{AskedScheme, ScenarioQuestion};
use lowtide_stats::Verdict;
use lowtide_units::{Bytes, Quantile};

use super::family::{Family, Measure};
use super::{SchemeComparison, Subject};
use crate::facts::RunFacts;
use crate::results::Results;
use crate::tails::{FlowSet, TailMetric};

/// Returns the point of the sweep that the question is about, and whether it is the stated one.
pub(crate) fn asked_point(
    question: &ScenarioQuestion,
    points: &[SweepPoint],
) -> (SweepPoint, bool) {
    let stated = points.iter().find(|p| question.at.iter().all(|pair| p.0.contains(pair)));
    let point = stated.or(points.last()).cloned().unwrap_or_default();
    (point, stated.is_some())
}

/// A question whose comparisons are in the family.
pub(super) struct Asked<'a> {
    question: &'a ScenarioQuestion,
    point: SweepPoint,
    /// Whether the point is that of the reported values.
    stated: bool,
    /// The schemes that were run, the baseline first.
    schemes: Vec<&'a AskedScheme>,
    /// Places of the comparisons of the others with the baseline.
    others: Vec<usize>,
    /// Places of the comparisons of both sides with the baseline, and of one side with both.
    sides: Option<[usize; 2]>,
}

/// Adds the comparisons of the question to the family; `None` unless two of its schemes were run.
pub(super) fn ask<'a>(
    subject: Subject<'a>,
    results: &Results,
    family: &mut Family,
) -> Option<Asked<'a>> {
    let question = subject.question?;
    let (point, stated) = asked_point(question, subject.points);
    let run = results.runs.iter().find(|run| run.key.point == point)?;
    let schemes: Vec<&AskedScheme> =
        question.schemes.iter().filter(|asked| subject.schemes.contains(&asked.scheme)).collect();
    let (baseline, others) = schemes.split_first().filter(|(_, others)| !others.is_empty())?;
    let measure = measure(question, run);
    let mut compare = |schemes: [&str; 2]| {
        let pair = (schemes, &point);
        let place = family.compare(&results.runs, measure, pair, question.tolerance)?;
        family.members[place].asked = true;
        Some(place)
    };
    let places = others.iter().map(|other| compare([&baseline.scheme, &other.scheme]));
    let places: Vec<usize> = places.collect::<Option<_>>()?;
    let place = |scheme: &Option<String>| {
        others.iter().position(|other| Some(&other.scheme) == scheme.as_ref())
    };
    let sides = match (place(&question.both_sides), place(&question.one_side)) {
        (Some(both), Some(one)) => {
            compare([&others[both].scheme, &others[one].scheme]).map(|found| [places[both], found])
        }
        _ => None,
    };
    Some(Asked { question, point, stated, schemes, others: places, sides })
}

impl Asked<'_> {
    /// Returns the sentence, once the family is judged.
    pub(super) fn sentence(
        &self,
        results: &Results,
        family: &Family,
        label: &dyn Fn(&str) -> String,
    ) -> String {
        let (question, members) = (self.question, &family.members);
        let name = |asked: &AskedScheme| {
            // A scheme that settings changed is not the one that the question names.
            let own = label(&asked.scheme);
            asked.name.clone().filter(|_| own == asked.scheme).unwrap_or(own)
        };
        let unit = if question.measure == "slowdown" { "" } else { " ms" };
        let mut source = question.source.as_deref().unwrap_or("reported");
        let first = self.others.first().map(|i| &members[*i].shown.a);
        let shown = first.into_iter().chain(self.others.iter().map(|i| &members[*i].shown.b));
        let values = self.schemes.iter().zip(shown).enumerate().map(|(i, (asked, shown))| {
            let bounded = shown.value.is_some() || shown.between.is_some();
            let unit = if i == 0 && bounded { unit } else { "" };
            let reported = asked.reported.filter(|_| self.stated).map_or_else(String::new, |ms| {
                let source = std::mem::take(&mut source);
                let space = if source.is_empty() { "" } else { " " };
                format!(" ({source}{space}{})", number(ms))
            });
            let value = if bounded {
                shown.value_text()
            } else {
                format!("no value ({})", shown.value_text())
            };
            format!("{} {value}{unit}{reported}", name(asked))
        });
        let values: Vec<String> = values.collect();
        let run = results.runs.iter().find(|run| run.key.point == self.point);
        let subject =
            run.map_or_else(String::new, |run| subject(question, run, results, &self.point));
        format!(
            "{subject}, {}: {}: {}.",
            statistic(question),
            values.join(", "),
            self.judgement(members, &name)
        )
    }

    /// Compares the others with the baseline, and one side with both.
    fn judgement(
        &self,
        members: &[SchemeComparison],
        name: &dyn Fn(&AskedScheme) -> String,
    ) -> String {
        let slowdown = self.question.measure == "slowdown";
        let [sooner, later] = if slowdown { ["less", "more"] } else { ["sooner", "later"] };
        let others: Vec<&SchemeComparison> = self.others.iter().map(|i| &members[*i]).collect();
        let tolerance = (self.question.tolerance * 1e4).round() / 100.0;
        let times = |of: &SchemeComparison| of.shown.ratio.map(|ratio| 1.0 / ratio);
        let mut parts = Vec::new();
        if others.iter().all(|of| of.verdict() == Verdict::Better && of.shown.ratio.is_some()) {
            let least = others.iter().filter_map(|of| times(of)).fold(f64::INFINITY, f64::min);
            parts.push(format!("{least:.1} times {sooner}"));
        } else {
            for (other, asked) in others.iter().zip(&self.schemes[1..]) {
                let name = name(asked);
                parts.push(match (other.verdict(), times(other)) {
                    (Verdict::Better, Some(times)) => {
                        format!("{name} is {times:.1} times {sooner}")
                    }
                    (Verdict::Worse, Some(times)) => {
                        format!("{name} is {:.1} times {later}", 1.0 / times)
                    }
                    (Verdict::Better, None) => format!("{name} is {sooner}"),
                    (Verdict::Worse, None) => format!("{name} is {later}"),
                    (Verdict::Same, _) => format!("{name} is the same within {tolerance} %"),
                    (Verdict::Undecided, _) => format!("{name} is undecided"),
                });
            }
        }
        // One side replaces both only where both are better.
        if let Some([both, one]) = self.sides
            && members[both].verdict() == Verdict::Better
        {
            parts.push(match members[one].verdict() {
                Verdict::Better | Verdict::Same => "one side is enough".to_owned(),
                Verdict::Worse => "one side is not enough".to_owned(),
                Verdict::Undecided => "whether one side is enough is undecided".to_owned(),
            });
        }
        parts.join(", ")
    }
}

/// Returns the quantity of the question.
fn measure<'a>(question: &'a ScenarioQuestion, run: &RunFacts) -> Measure<'a> {
    let queries = run.queries.iter().any(|group| group.name == question.traffic);
    let metric = match question.measure.as_str() {
        "slowdown" => TailMetric::Slowdown,
        _ if queries => TailMetric::QctMs,
        _ if run.collective(&question.traffic).is_some() => TailMetric::StepMs,
        _ => TailMetric::FctMs,
    };
    let set = FlowSet { group: &question.traffic, class: None, metric };
    let all = [Quantile::P50, Quantile::P95, Quantile::P99, Quantile::P999];
    let percentile = all.into_iter().find(|q| q.name() == question.percentile);
    percentile.map_or(Measure::Mean(set), |q| Measure::Percentile(set, q))
}

fn statistic(question: &ScenarioQuestion) -> String {
    let measure = if question.measure == "slowdown" { " slowdown" } else { "" };
    format!("{}{measure}", question.percentile)
}

/// Describes the flows of the question and those beside them.
fn subject(
    question: &ScenarioQuestion,
    run: &RunFacts,
    results: &Results,
    point: &SweepPoint,
) -> String {
    let group = |name: &str| run.groups.iter().find(|group| group.name == name);
    let same = |name: &str, flows: usize| {
        let all = results.runs.iter().filter(|run| run.key.point == *point);
        let mut all = all.flat_map(|run| &run.groups).filter(|group| group.name == name);
        all.all(|group| group.flows == flows)
    };
    let count = |name: &str| match group(name).map(|group| group.flows) {
        Some(flows) if same(name, flows) => format!("{} ", in_words(flows)),
        _ => String::new(),
    };
    let queries = run.queries.iter().find(|group| group.name == question.traffic);
    let own = match (queries, group(&question.traffic).and_then(|group| group.size_bytes)) {
        (Some(queries), _) => format!("{} queries", in_words(queries.queries)),
        (None, Some(size)) => {
            let size = Bytes::new(size);
            format!("{}transfers of {size}", count(&question.traffic))
        }
        (None, None) => format!("{}{} flows", count(&question.traffic), question.traffic),
    };
    let beside: Vec<String> = run
        .groups
        .iter()
        .filter(|group| group.name != question.traffic)
        .map(|group| format!("{}{} flows", count(&group.name), group.name))
        .collect();
    if beside.is_empty() { own } else { format!("{own} beside {}", beside.join(" and ")) }
}

fn in_words(count: usize) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    WORDS.get(count).map_or_else(|| count.to_string(), |word| (*word).to_owned())
}
