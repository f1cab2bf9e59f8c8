//! Two captures of the same connections, at two points of the path.
//!
//! Contract: segments are matched by fields that routers keep. From the matches follow the clocks
//! ([`ClockFit`]), and for each direction the delay between the points, the segments that were lost
//! between them, and what the path changed. Nothing is said of segments that a capture could not
//! have: those near its start and end.

mod clock;
mod matches;
mod observations;
mod report;
mod text;

pub use clock::ClockFit;
pub use observations::Observations;
pub use report::{DirectionPair, PairReport};

use crate::error::AnalysisError;
use clock::Passage;
use matches::Matches;
use observations::{Direction, Path};

/// Compares two captures, which are called `names`.
///
/// # Errors
/// They have no packet each way in common.
pub fn compare(
    names: [String; 2],
    captures: &[Observations; 2],
) -> Result<PairReport, AnalysisError> {
    let paths: Vec<Path> = captures[0]
        .directions
        .keys()
        .filter(|path| captures[1].directions.contains_key(*path))
        .copied()
        .collect();
    let matched = |path: &Path| Matches::of(sides(captures, path));
    let matches: Vec<Matches> = paths.iter().map(matched).collect();
    let toward = toward_second(captures, &paths, &matches);
    let Some((clock, toward)) = toward else {
        let count = |i: usize| captures[i].directions.len();
        let message = format!(
            "the captures have no packets of one connection in both directions in common ({} and \
             {} directions of connections)",
            count(0),
            count(1)
        );
        let help = "connections are matched by address and port, which address translation \
                    changes: capture on one side of it";
        return Err(AnalysisError::NotFound { message, help: Some(help.to_owned()) });
    };
    Ok(PairReport::of(names, captures, clock, paths.iter().zip(&matches).zip(&toward)))
}

fn sides<'a>(captures: &'a [Observations; 2], path: &Path) -> [&'a Direction; 2] {
    [0, 1].map(|i| &captures[i].directions[path])
}

/// Finds the clocks, and for each path whether it leads from point 1 to point 2.
///
/// The wrong choice makes the least round trip between the points negative. All paths between two
/// hosts lead the same way.
fn toward_second(
    captures: &[Observations; 2],
    paths: &[Path],
    matches: &[Matches],
) -> Option<(ClockFit, Vec<bool>)> {
    let passages = |path: &Path, found: &Matches| -> Vec<Passage> {
        let [first, second] = sides(captures, path);
        let passage = |&(i, j): &(usize, usize)| {
            let (time, other) = (first.segments[i].time as f64, second.segments[j].time as f64);
            Passage { time, difference: other - time }
        };
        found.both.iter().map(passage).collect()
    };
    let all: Vec<Vec<Passage>> = paths.iter().zip(matches).map(|(p, m)| passages(p, m)).collect();
    let mut toward = vec![true; paths.len()];
    // The first pair of hosts decides for the clocks; then each other path for itself.
    let hosts = paths.iter().zip(&all).filter(|(_, way)| !way.is_empty());
    let hosts: Vec<_> = hosts.map(|(path, _)| (path.0.ip(), path.1.ip())).collect();
    let (from, to) = *hosts.iter().find(|(from, to)| hosts.contains(&(*to, *from)))?;
    let of = |from, to| -> Vec<Passage> {
        let these = paths.iter().zip(&all).filter(|(p, _)| (p.0.ip(), p.1.ip()) == (from, to));
        these.flat_map(|(_, way)| way.iter().copied()).collect()
    };
    let (there, back) = (of(from, to), of(to, from));
    let mut clock = ClockFit::of([&there, &back])?;
    let mut first_leads = true;
    if clock.round_trip_ns < 0.0 {
        clock = ClockFit::of([&back, &there])?;
        first_leads = false;
    }
    for ((path, way), toward) in paths.iter().zip(&all).zip(&mut toward) {
        let ends = (path.0.ip(), path.1.ip());
        *toward = if ends == (from, to) {
            first_leads
        } else if ends == (to, from) {
            !first_leads
        } else {
            // More packets that arrive after they left than before.
            let late = |p: &&Passage| p.difference > clock.offset_at(p.time);
            way.iter().filter(late).count() * 2 >= way.len()
        };
    }
    Some((clock, toward))
}
