//! Pairs the runs of two sets.

use crate::error::LabError;
use crate::facts::RunFacts;

/// A run of A and its partner in B.
pub(super) type PairedRuns<'a> = (&'a RunFacts, &'a RunFacts);

/// Paired runs.
pub(super) struct Pairing<'a> {
    /// The pairs of each scheme and point that has any, in the order of A.
    pub(super) points: Vec<Vec<PairedRuns<'a>>>,
    /// Runs that only A has.
    pub(super) only_a: Vec<String>,
    /// Runs that only B has.
    pub(super) only_b: Vec<String>,
}

/// Pairs runs by scheme, point and seed; `schemes` maps schemes of A to differently named ones of
/// B.
pub(super) fn pair_runs<'a>(
    a: &'a [RunFacts],
    b: &'a [RunFacts],
    schemes: &[(String, String)],
) -> Result<Pairing<'a>, LabError> {
    for (of_a, of_b) in schemes {
        check_scheme(a, of_a, "A")?;
        check_scheme(b, of_b, "B")?;
    }
    let partner = |run: &RunFacts| {
        let named = schemes.iter().find(|(of_a, _)| *of_a == run.key.scheme);
        let scheme = named.map_or(&run.key.scheme, |(_, of_b)| of_b).clone();
        b.iter().find(move |other| {
            other.key.scheme == scheme
                && other.key.seed == run.key.seed
                && other.key.point == run.key.point
        })
    };
    let mut points: Vec<Vec<PairedRuns<'a>>> = Vec::new();
    let mut only_a = Vec::new();
    for run in a {
        let Some(other) = partner(run) else {
            only_a.push(run.key.to_string());
            continue;
        };
        let same = |(first, _): &PairedRuns<'_>| {
            first.key.scheme == run.key.scheme && first.key.point == run.key.point
        };
        match points.iter_mut().find(|p| p.first().is_some_and(same)) {
            Some(point) => point.push((run, other)),
            None => points.push(vec![(run, other)]),
        }
    }
    if points.is_empty() {
        return Err(LabError::InvalidRequest {
            message: format!(
                "no run of A has a partner in B.\nA has {}\nB has {}",
                contents(a),
                contents(b)
            ),
            help: Some(
                "runs are paired by scheme, point and seed; --pair dctcp=sack pairs schemes of two names"
                    .to_owned(),
            ),
        });
    }
    let taken = |run: &RunFacts| points.iter().flatten().any(|(_, b)| b.key == run.key);
    let only_b = b.iter().filter(|run| !taken(run)).map(|run| run.key.to_string()).collect();
    Ok(Pairing { points, only_a, only_b })
}

fn check_scheme(runs: &[RunFacts], scheme: &str, side: &str) -> Result<(), LabError> {
    if runs.iter().any(|r| r.key.scheme == scheme) {
        return Ok(());
    }
    Err(LabError::InvalidRequest {
        message: format!("{side} has no scheme `{scheme}`"),
        help: Some(format!("it has {}", contents(runs))),
    })
}

/// Describes the schemes, points and seeds of `runs`.
fn contents(runs: &[RunFacts]) -> String {
    let distinct = |of: &dyn Fn(&RunFacts) -> String| {
        let mut all: Vec<String> = Vec::new();
        for text in runs.iter().map(of) {
            if !all.contains(&text) {
                all.push(text);
            }
        }
        all
    };
    let schemes = distinct(&|r| r.key.scheme.clone());
    let seeds = distinct(&|r| r.key.seed.to_string());
    let points = distinct(&|r| format!("{{{}}}", r.key.point));
    let none = points.len() == 1 && runs.iter().all(|r| r.key.point.is_empty());
    let points = if none { "no sweep".to_owned() } else { format!("points {}", points.join(" ")) };
    format!("schemes {}; seeds {}; {points}", schemes.join(", "), seeds.join(", "))
}
