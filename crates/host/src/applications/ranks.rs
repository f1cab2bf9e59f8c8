//! The state of all ranks of the collectives of a run ([`lowtide_traffic::CollectiveSpec`]).

use std::collections::BTreeMap;

use lowtide_rows::CollectiveRow;
use lowtide_sim::{Rng, Seed};
use lowtide_traffic::{CollectiveSpec, RankSpec};
use lowtide_units::Instant;

use crate::setup::Setup;
use crate::tables::Row;

/// All ranks of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collectives {
    /// By collective, then rank.
    pub(crate) ranks: Vec<Rank>,
    /// By flow number.
    pub(super) incoming: BTreeMap<u32, Incoming>,
}

/// A flow of a collective at its receiver.
#[derive(Clone, Debug)]
pub(super) struct Incoming {
    pub(super) rank: u32,
    /// Bytes that steps have received.
    pub(super) consumed: u64,
}

/// The state of one rank.
#[derive(Clone, Debug)]
pub(crate) struct Rank {
    pub(crate) host: u32,
    collective: usize,
    /// Its number in the collective.
    number: usize,
    pub(super) lanes: Vec<Lane>,
    /// Start and end of its iterations so far.
    pub(super) times: Vec<(Instant, Option<Instant>)>,
    pub(super) jitter: Rng,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lane {
    /// The next step.
    pub(super) next: usize,
    /// The end of its computation, once it has received everything.
    pub(super) due: Option<Instant>,
}

impl Row for Rank {
    const TABLE: &'static str = "ranks";
    type Key = u32;

    fn index(number: u32) -> usize {
        number as usize
    }
}

impl Collectives {
    pub(crate) fn new(setup: &Setup) -> Self {
        let mut made = Self::default();
        for (spec, collective) in setup.collectives.iter().zip(0..) {
            let purpose = format!("{}/compute", setup.group_name(spec.group));
            for (rank, number) in spec.ranks.iter().zip(0..) {
                let index = made.ranks.len() as u32;
                for message in rank.lanes.iter().flatten().flat_map(|step| &step.receive) {
                    made.incoming.insert(message.flow, Incoming { rank: index, consumed: 0 });
                }
                made.ranks.push(Rank {
                    host: rank.host,
                    collective,
                    number,
                    lanes: vec![Lane::default(); rank.lanes.len()],
                    times: Vec::new(),
                    jitter: Seed::derive(setup.seed, "rank", number as u64, &purpose).rng(),
                });
            }
        }
        made
    }

    /// Returns the time of the first event of each rank, and the rank's host.
    pub(crate) fn first_events(&self, setup: &Setup) -> impl Iterator<Item = (Instant, u32)> {
        self.ranks.iter().map(|rank| (rank.spec(setup).0.start, rank.host))
    }

    /// Returns a row per rank and iteration.
    pub(crate) fn rows(&self, setup: &Setup) -> Vec<CollectiveRow> {
        let of_rank = |rank: &Rank| {
            let group = rank.spec(setup).0.group;
            let row =
                |((start, end), iteration): (&(Instant, Option<Instant>), u32)| CollectiveRow {
                    group: setup.group_name(group),
                    rank: rank.number as u32,
                    host: setup.host_name(rank.host),
                    iteration,
                    start_ps: start.as_ps(),
                    end_ps: end.map(Instant::as_ps),
                    step_ps: end.map(|end| end.saturating_since(*start).as_ps()),
                    counted: setup.counts_from(*start),
                };
            rank.times.iter().zip(0..).map(row).collect::<Vec<_>>()
        };
        self.ranks.iter().flat_map(of_rank).collect()
    }
}

impl Rank {
    pub(super) fn spec<'a>(&self, setup: &'a Setup) -> (&'a CollectiveSpec, &'a RankSpec) {
        let collective = &setup.collectives[self.collective];
        (collective, &collective.ranks[self.number])
    }

    /// Ends the iteration if all lanes are through, and resets them. Returns true if there is a
    /// next iteration.
    pub(super) fn end_iteration(&mut self, now: Instant, setup: &Setup) -> bool {
        let (collective, spec) = self.spec(setup);
        let through = self.lanes.iter().zip(&spec.lanes).all(|(lane, of)| lane.next == of.len());
        let iterations = self.times.len();
        match self.times.last_mut() {
            Some((_, end @ None)) if through => *end = Some(now),
            _ => return false,
        }
        let goes_on = iterations < collective.iterations as usize;
        if goes_on {
            self.lanes.fill(Lane::default());
        }
        goes_on
    }
}
