//! Rates that the traffic of a scenario offers between its hosts, before anything runs.
//!
//! Contract: a rate is payload over the time between the first and the last start of a group, as
//! drawn for one seed. These have no rate: groups of fewer than [`MIN_STARTS`] transfers or
//! queries, groups that start at once, endless flows, and closed-loop queries, which wait for each
//! other.
//! Requests are not counted, only answers.

use std::collections::BTreeMap;

use lowtide_host::Setup;
use lowtide_traffic::{QueryClientSpec, QuerySchedule};
use lowtide_units::{Bytes, Instant};

/// Fewest transfers or queries of a group from which a rate is computed.
const MIN_STARTS: usize = 10;

/// A rate from one host to another, bit/s.
pub(crate) struct Demand {
    pub(crate) src: usize,
    pub(crate) dst: usize,
    pub(crate) rate: f64,
}

/// Returns the demands of transfers and of answers to open-loop queries.
pub(crate) fn demands(setup: &Setup) -> Vec<Demand> {
    let mut out = transfers(setup);
    out.extend(answers(setup));
    out
}

/// Returns the starts per second of a group; `None` if it has no rate.
fn start_rate(starts: impl Iterator<Item = Instant> + Clone) -> Option<f64> {
    let count = starts.clone().count();
    let (first, last) = (starts.clone().min()?, starts.max()?);
    let span = last.saturating_since(first).as_secs_f64();
    // The span has one interval less than starts.
    (count >= MIN_STARTS && span > 0.0).then(|| (count - 1) as f64 / span)
}

fn bits(size: Bytes) -> f64 {
    size.as_u64() as f64 * 8.0
}

fn transfers(setup: &Setup) -> Vec<Demand> {
    let mut groups: BTreeMap<u16, Vec<_>> = BTreeMap::new();
    let load_from = setup.counting.open_loop.map_or(u32::MAX, |open| open.load_from) as usize;
    for flow in setup.flows.iter().take(load_from) {
        if let Some(size) = flow.size {
            groups.entry(flow.group).or_default().push((flow, size));
        }
    }
    let mut out = Vec::new();
    for flows in groups.into_values() {
        let Some(rate) = start_rate(flows.iter().map(|(flow, _)| flow.start)) else { continue };
        let each = rate / flows.len() as f64;
        out.extend(flows.into_iter().map(|(flow, size)| Demand {
            src: flow.src as usize,
            dst: flow.dst as usize,
            rate: bits(size) * each,
        }));
    }
    out
}

/// The times of an open-loop client's queries.
fn times(client: &QueryClientSpec) -> &[Instant] {
    match &client.schedule {
        QuerySchedule::OpenLoop(arrivals) => &arrivals.times[..arrivals.counted],
        QuerySchedule::ClosedLoop { .. } => &[],
    }
}

/// The answers to a client come equally from all its servers.
fn answers(setup: &Setup) -> Vec<Demand> {
    let mut groups: BTreeMap<u16, Vec<&QueryClientSpec>> = BTreeMap::new();
    for client in &setup.query_clients {
        groups.entry(client.group).or_default().push(client);
    }
    let mut out = Vec::new();
    for clients in groups.into_values() {
        let starts = clients.iter().flat_map(|client| times(client)).copied();
        let Some(rate) = start_rate(starts.clone()) else { continue };
        let each = rate / starts.count() as f64;
        for client in clients {
            let sizes = client.response_sizes.iter().cycle().take(times(client).len());
            let answer: f64 = sizes.map(|size| bits(*size)).sum();
            let rate =
                each * answer * f64::from(client.fan_out) / client.servers.len().max(1) as f64;
            let demand =
                |server: &u32| Demand { src: *server as usize, dst: client.client as usize, rate };
            out.extend(client.servers.iter().map(demand));
        }
    }
    out
}
