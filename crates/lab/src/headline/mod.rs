//! The headline of an experiment: the answer to its question, then how the schemes compare, who
//! pays, and the figures that may explain it.
//!
//! Contract: every sentence has numbers of the results. Verdicts are those of one family of
//! comparisons, which contains a false one in at most 5 % of experiments.

mod answer;
mod causes;
mod counted;
mod family;
mod sentences;

use lowtide_record::{Manifest, SweepPoint};
use serde::Serialize;

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

/// What an experiment found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Headline {
    /// The answer to the question of the scenario; null without one, or if fewer than two of its
    /// schemes were run.
    pub answer: Option<String>,
    /// How the schemes compare, one sentence each.
    pub sentences: Vec<String>,
    /// All comparisons, in the order of their importance.
    pub comparisons: Vec<SchemeComparison>,
}

impl Headline {
    /// Judges results, whose schemes have their keys as names.
    pub(crate) fn new(manifest: &Manifest, results: &Results, transports: &Transports) -> Self {
        let question = manifest.question.as_ref();
        let baseline = question
            .and_then(|q| q.schemes.iter().find(|s| manifest.schemes.contains(&s.scheme)))
            .map(|asked| &asked.scheme)
            .or(manifest.schemes.first());
        let Some(baseline) = baseline else {
            return Self { answer: None, sentences: Vec::new(), comparisons: Vec::new() };
        };
        let others: Vec<&String> = manifest.schemes.iter().filter(|s| *s != baseline).collect();
        let classes = all_classes(&results.runs);
        let traffic = question.map(|q| q.traffic.as_str());
        let measures = measures(&results.runs, &results.tails, &classes, traffic);
        let tolerance = question.map_or(TOLERANCE, |q| q.tolerance);
        let none = [SweepPoint::default()];
        let points = if manifest.points.is_empty() { &none[..] } else { &manifest.points[..] };
        let mut family = Family::default();
        for measure in measures {
            for other in &others {
                for point in points {
                    let pair = ([baseline.as_str(), other.as_str()], point);
                    family.compare(&results.runs, measure, pair, tolerance);
                }
            }
        }
        let asked = question.and_then(|q| answer::ask(q, manifest, results, &mut family));
        let label = |scheme: &str| transports.label(scheme).to_owned();
        family.judge(&label);
        let answer = asked.map(|asked| asked.sentence(results, &family, &label));
        let mut sentences = Vec::new();
        for (i, other) in others.iter().take(MAX_OTHERS).enumerate() {
            let all: Vec<&SchemeComparison> =
                family.members.iter().filter(|of| of.schemes[1] == **other).collect();
            sentences.extend(sentences::of_pair(&all, &label));
            if i == 0 {
                let shown = points.last().cloned().unwrap_or_default();
                sentences.extend(causes::figures(results, [baseline, other], &shown, &label));
            }
        }
        if let Some(more @ 1..) = others.len().checked_sub(MAX_OTHERS) {
            sentences.push(format!("{more} more schemes are in the table of comparisons."));
        }
        Self { answer, sentences, comparisons: family.members }
    }

    /// Returns all sentences, the answer first.
    pub fn all(&self) -> impl Iterator<Item = &String> {
        self.answer.iter().chain(&self.sentences)
    }
}
