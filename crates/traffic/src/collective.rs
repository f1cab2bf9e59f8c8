//! Collectives: programs of ranks, whose sends depend on received bytes.

use lowtide_units::{Duration, Instant};

/// Bytes on one flow; the index is that of [`Traffic::flows`], later of the run.
///
/// [`Traffic::flows`]: crate::workload::Traffic::flows
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// The flow.
    pub flow: u32,
    /// Payload bytes.
    pub bytes: u64,
}

/// One step of a lane: it waits for all receives, computes, then sends.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Step {
    /// The next bytes of these flows, which end at the rank's host.
    pub receive: Vec<Message>,
    /// Time from the last of these bytes to the sends.
    pub compute: Duration,
    /// Bytes to write on these flows, which begin at the rank's host.
    pub send: Vec<Message>,
}

/// One rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RankSpec {
    /// Its host.
    pub host: u32,
    /// The steps of an iteration. Steps of a lane are in order; lanes do not wait for each other.
    /// The first step of the first lane receives and sends nothing: the computation before the
    /// iteration.
    pub lanes: Vec<Vec<Step>>,
}

/// One collective: its ranks repeat their programs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CollectiveSpec {
    /// Index into the names of the traffic groups.
    pub group: u16,
    /// Time at which each rank begins the computation before its first iteration.
    pub start: Instant,
    /// Iterations of each rank.
    pub iterations: u32,
    /// Each computation before an iteration is longer by up to this, uniformly.
    pub jitter: Duration,
    /// The ranks, by number.
    pub ranks: Vec<RankSpec>,
}

impl CollectiveSpec {
    /// Returns it with the numbers of its flows shifted by `first`.
    #[must_use]
    pub fn with_first_flow(mut self, first: u32) -> Self {
        let steps = self.ranks.iter_mut().flat_map(|rank| rank.lanes.iter_mut().flatten());
        for message in steps.flat_map(|step| step.receive.iter_mut().chain(&mut step.send)) {
            message.flow += first;
        }
        self
    }
}
