//! The headline of an experiment: the answer to its question, then how the schemes compare, who
//! pays, and the figures that may explain it.
//!
//! Contract: every sentence has numbers of the results. Verdicts are those of one family of
//! comparisons with a familywise error of 5 %.

mod answer;
mod counted;
mod family;
mod sentences;

use lowtide_record::{Manifest, SweepPoint};
use lowtide_rows::ScenarioQuestion;
use serde::Serialize;

use crate::network_figures::{differing_figures, rows_of};
use crate::results::Results;
use crate::tails::all_classes;
use crate::transports::Transports;

pub(crate) use answer::asked_point;
pub(crate) use counted::counted;
pub use family::SchemeComparison;
pub(crate) use family::common_percentile;
use family::{Family, TOLERANCE, measures};

/// Limit on schemes that sentences compare with the first; tables have all.
const MAX_OTHERS: usize = 2;

/// The findings of an experiment, in sentences and numbers.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Headline {
    /// The answer to the question of the scenario; null without one, or if fewer than two of its
    /// schemes were run.
    pub answer: Option<String>,
    /// Sentences about the schemes.
    pub sentences: Vec<String>,
    /// All comparisons, in the order of their importance.
    pub comparisons: Vec<SchemeComparison>,
}

/// The schemes and points of an experiment, and its question.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) question: Option<&'a ScenarioQuestion>,
    /// The schemes, the first of them as the baseline unless the question has another.
    pub(crate) schemes: &'a [String],
    pub(crate) points: &'a [SweepPoint],
}

impl Headline {
    /// Judges the results of a run directory, whose schemes have their keys as names.
    pub(crate) fn new(manifest: &Manifest, results: &Results, transports: &Transports) -> Self {
        let (schemes, points) = (&manifest.schemes, &manifest.points);
        let subject = Subject { question: manifest.question.as_ref(), schemes, points };
        Self::of(subject, results, &|scheme| transports.label(scheme).to_owned())
    }

    fn of(subject: Subject<'_>, results: &Results, label: &dyn Fn(&str) -> String) -> Self {
        let Subject { question, schemes, points } = subject;
        let baseline = question
            .and_then(|q| q.schemes.iter().find(|s| schemes.contains(&s.scheme)))
            .map(|asked| &asked.scheme)
            .or(schemes.first());
        let (Some(baseline), Some(shown)) = (baseline, points.last()) else {
            return Self { answer: None, sentences: Vec::new(), comparisons: Vec::new() };
        };
        let mut others: Vec<&String> = schemes.iter().filter(|s| *s != baseline).collect();
        let asked = |scheme: &str| question?.schemes.iter().position(|s| s.scheme == scheme);
        others.sort_by_key(|scheme| asked(scheme).unwrap_or(usize::MAX));
        let classes = all_classes(&results.runs);
        let traffic = question.map(|q| q.traffic.as_str());
        let measures = measures(&results.runs, &results.tails, &classes, traffic);
        let tolerance = question.map_or(TOLERANCE, |q| q.tolerance);
        let mut family = Family::default();
        for measure in measures {
            for other in &others {
                for point in points {
                    let pair = ([baseline.as_str(), other.as_str()], point);
                    family.compare(&results.runs, measure, pair, tolerance);
                }
            }
        }
        let asked = answer::ask(subject, results, &mut family);
        family.judge(label);
        let answer = asked.map(|asked| asked.sentence(results, &family, label));
        let mut sentences = Vec::new();
        for (i, other) in others.iter().take(MAX_OTHERS).enumerate() {
            let of = |of: &&SchemeComparison| of.schemes == [baseline, *other].map(String::as_str);
            let all: Vec<&SchemeComparison> = family.members.iter().filter(of).collect();
            sentences.extend(sentences::of_pair(&all, label));
            if i == 0 {
                let [a, b] =
                    [baseline, *other].map(|scheme| rows_of(&results.summary, scheme, shown));
                let names = [baseline, *other].map(|scheme| label(scheme));
                sentences.extend(sentences::beside(&differing_figures(&a, &b), &names, shown));
            }
        }
        let names: Vec<String> = others.iter().skip(MAX_OTHERS).map(|other| label(other)).collect();
        if !names.is_empty() {
            sentences.push(format!("The table of comparisons also has {}.", names.join(", ")));
        }
        Self { answer, sentences, comparisons: family.members }
    }

    /// Returns all sentences, the answer first.
    pub fn all(&self) -> impl Iterator<Item = &String> {
        self.answer.iter().chain(&self.sentences)
    }
}

#[cfg(test)]
mod tests;
