//! Seeds of the random numbers of congestion controls.
//!
//! A seed depends on the run's seed, the name of the traffic group, the number of the connection in
//! its group, and its side. So another group beside it, and the order of the groups, change none.

use std::sync::Arc;

use lowtide_sim::Seed;
use lowtide_tcp::cc;

use crate::app::{ConnProgress, ConnSide};
use crate::setup::Setup;

/// The seeds of a run; none if no control of a host draws random numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControlSeeds {
    /// By connection: its number in its group, from 0. Empty without seeds.
    ordinals: Arc<[u32]>,
}

impl ControlSeeds {
    /// Counts the connections of each group, if a control draws.
    pub(crate) fn new(setup: &Setup, connections: &[ConnProgress]) -> Self {
        let draws = |name| cc::REGISTRY.find(name).is_some_and(|entry| entry.requires.random);
        if !setup.hosts.iter().any(|host| draws(host.config.cc)) {
            return Self::default();
        }
        let mut counts = vec![0_u32; usize::from(u16::MAX) + 1];
        let ordinal = |connection: &ConnProgress| {
            let count = &mut counts[usize::from(connection.group)];
            *count += 1;
            *count - 1
        };
        Self { ordinals: connections.iter().map(ordinal).collect() }
    }

    /// The seed of a side of a connection.
    pub(crate) fn of(
        &self,
        setup: &Setup,
        connection: &ConnProgress,
        side: ConnSide,
    ) -> Option<u64> {
        let ordinal = *self.ordinals.get(connection.number as usize)?;
        let purpose = if side.is_client() { "client control" } else { "server control" };
        let group = setup.group_name(connection.group);
        Some(Seed::derive(setup.seed, &group, u64::from(ordinal), purpose).value())
    }
}
