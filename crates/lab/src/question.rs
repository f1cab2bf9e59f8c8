//! The answer to the question of a scenario, in one sentence.
//!
//! Contract: every value is a row of the summary, a mean over seeds. A judgement needs 95 %
//! intervals that decide it; two values are equal within the tolerance of the question.

use lowtide_charts::number;
use lowtide_record::{Manifest, SweepPoint};
use lowtide_rows::{AskedScheme, ScenarioQuestion};
use lowtide_units::Bytes;

use crate::facts::RunFacts;
use crate::results::Results;
use crate::tails::significant;
use crate::transports::Transports;

/// A scheme of the answer with its value over the seeds.
struct Answered<'a> {
    asked: &'a AskedScheme,
    name: String,
    value: Option<f64>,
    ci95: Option<[f64; 2]>,
}

/// Comparison of the value of a scheme with that of the baseline.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Against {
    Sooner,
    Later,
    Equal,
    Undecided,
}

/// Returns the point of the sweep that the question is about, and whether it is the stated one.
pub(crate) fn asked_point(
    question: &ScenarioQuestion,
    points: &[SweepPoint],
) -> (SweepPoint, bool) {
    let stated = points.iter().find(|p| question.at.iter().all(|pair| p.0.contains(pair)));
    let point = stated.or(points.last()).cloned().unwrap_or_default();
    (point, stated.is_some())
}

/// Returns the sentence; `None` unless two schemes of the question were run.
pub(crate) fn answer(
    question: &ScenarioQuestion,
    manifest: &Manifest,
    results: &Results,
    transports: &Transports,
) -> Option<String> {
    let (point, stated) = asked_point(question, &manifest.points);
    let run = results.runs.iter().find(|run| run.key.point == point)?;
    let metric = metric(question, run);
    let answered: Vec<Answered<'_>> = question
        .schemes
        .iter()
        .map(|asked| (asked, transports.label(&asked.scheme)))
        .filter(|(asked, label)| {
            manifest.schemes.iter().any(|name| *name == asked.scheme || name == label)
        })
        .map(|(asked, label)| {
            let row = results.summary.iter().find(|row| {
                row.subject.is_group_metric(&question.traffic, &metric)
                    && (row.subject.scheme == asked.scheme || row.subject.scheme == label)
                    && row.subject.point == point
            });
            let value = row.and_then(|row| row.mean);
            let exact = row.filter(|row| row.seed_independent).and(value);
            let ci95 = row.and_then(|row| row.ci95).or(exact.map(|value| [value; 2]));
            // A scheme that settings changed is not the one that the question names.
            let name = asked.name.clone().filter(|_| label == asked.scheme);
            Answered { asked, name: name.unwrap_or_else(|| label.to_owned()), value, ci95 }
        })
        .collect();
    let [baseline, others @ ..] = answered.as_slice() else { return None };
    if others.is_empty() {
        return None;
    }
    let unit = if question.measure == "slowdown" { "" } else { " ms" };
    let mut source = question.source.as_deref().unwrap_or("reported");
    let values: Vec<String> = answered
        .iter()
        .enumerate()
        .map(|(i, of)| {
            let value = of.value.map_or_else(|| "no value".to_owned(), significant);
            let unit = if i == 0 && of.value.is_some() { unit } else { "" };
            let reported = of.asked.reported.filter(|_| stated).map_or_else(String::new, |ms| {
                let source = std::mem::take(&mut source);
                let space = if source.is_empty() { "" } else { " " };
                format!(" ({source}{space}{})", number(ms))
            });
            format!("{} {value}{unit}{reported}", of.name)
        })
        .collect();
    Some(format!(
        "{}, {}: {}: {}.",
        subject(question, run, results, &point),
        statistic(question),
        values.join(", "),
        judgement(question, baseline, others)
    ))
}

/// Returns the metric of the summary.
fn metric(question: &ScenarioQuestion, run: &RunFacts) -> String {
    let queries = run.queries.iter().any(|group| group.name == question.traffic);
    let times = match question.measure.as_str() {
        "slowdown" => "slowdown",
        _ if queries => "qct_ms",
        _ => "fct_ms",
    };
    format!("{times}.{}", question.percentile.replace("99.9", "999"))
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

/// Returns the range of `a / b` that the intervals of both allow.
fn ratio(a: &Answered<'_>, b: &Answered<'_>) -> Option<[f64; 2]> {
    let ([a_low, a_high], [b_low, b_high]) = (a.ci95?, b.ci95?);
    (b_low > 0.0).then(|| [a_low / b_high, a_high / b_low])
}

fn against(baseline: &Answered<'_>, other: &Answered<'_>, tolerance: f64) -> Against {
    match ratio(baseline, other) {
        Some([low, high]) if low >= 1.0 / (1.0 + tolerance) && high <= 1.0 + tolerance => {
            Against::Equal
        }
        Some([low, _]) if low > 1.0 => Against::Sooner,
        Some([_, high]) if high < 1.0 => Against::Later,
        _ => Against::Undecided,
    }
}

/// Compares the others with the baseline, and one side with both.
fn judgement(
    question: &ScenarioQuestion,
    baseline: &Answered<'_>,
    others: &[Answered<'_>],
) -> String {
    let sooner = if question.measure == "slowdown" { "less" } else { "sooner" };
    let later = if question.measure == "slowdown" { "more" } else { "later" };
    let verdicts: Vec<Against> =
        others.iter().map(|other| against(baseline, other, question.tolerance)).collect();
    let times = |other: &Answered<'_>| Some(baseline.value? / other.value?);
    let mut parts = Vec::new();
    if verdicts.iter().all(|verdict| *verdict == Against::Sooner) {
        let least = others.iter().filter_map(times).fold(f64::INFINITY, f64::min);
        parts.push(format!("{least:.1} times {sooner}"));
    } else {
        for (other, verdict) in others.iter().zip(&verdicts) {
            let name = &other.name;
            parts.push(match (verdict, times(other)) {
                (Against::Sooner, Some(times)) => format!("{name} is {times:.1} times {sooner}"),
                (Against::Later, Some(times)) => {
                    format!("{name} is {:.1} times {later}", 1.0 / times)
                }
                (Against::Equal, _) => format!("{name} is equal"),
                _ => format!("{name} is undecided"),
            });
        }
    }
    let of = |scheme: &Option<String>| {
        let wanted = scheme.as_ref()?;
        let i = others.iter().position(|other| other.asked.scheme == *wanted)?;
        (verdicts[i] == Against::Sooner || scheme == &question.one_side).then(|| &others[i])
    };
    if let (Some(both), Some(one)) = (of(&question.both_sides), of(&question.one_side)) {
        let most = 1.0 + question.tolerance;
        parts.push(match ratio(one, both) {
            Some([_, high]) if high <= most => "one side is enough".to_owned(),
            Some([low, _]) if low > most => "one side is not enough".to_owned(),
            _ => "whether one side is enough is undecided".to_owned(),
        });
    }
    parts.join(", ")
}
