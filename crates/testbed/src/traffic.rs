//! The applications of all hosts of a run, and the traffic that they share.

use std::net::Ipv4Addr;
use std::sync::Mutex;

use lowtide_host::{Exchange, QueryClient, QueryConnection, RunError, Setup};
use lowtide_units::{Bytes, Duration};

use crate::apps::Apps;
use crate::apps::client_conn::ClientConn;
use crate::apps::flow_client::FlowClient;
use crate::apps::query_client::{QueryApp, QueryConn};
use crate::plan::HostPlan;
use crate::run_state::SharedTraffic;
use crate::writer::FlowWriter;

/// Minimum sampling interval: each sample of a kernel socket is a system call.
const MIN_SAMPLE_INTERVAL: Duration = Duration::from_ms(5);

/// Numbers the connections of each traffic group, for early openings and samples.
struct Ordinals<'a> {
    setup: &'a Setup,
    next: Vec<u32>,
}

impl Ordinals<'_> {
    /// The ordinal of the next connection of that group, and whether its sender is sampled.
    fn take(&mut self, group: u16) -> (u32, bool) {
        let place = self.next.get_mut(usize::from(group));
        let nth = place.map_or(0, |n| std::mem::replace(n, *n + 1));
        let probes = &self.setup.probes;
        let sampled = probes.interval.is_some()
            && probes.groups.contains(&group)
            && nth < probes.flows_per_group;
        (nth, sampled)
    }
}

/// The applications by host, and what they share.
///
/// # Errors
/// A query client that cannot run.
pub(crate) fn of_run(
    setup: &Setup,
    plans: &[HostPlan],
) -> Result<(Vec<Apps>, SharedTraffic), RunError> {
    let mut ordinals = Ordinals { setup, next: vec![0; setup.traffic_groups.len()] };
    let address = |host: u32| plans.get(host as usize).map_or(Ipv4Addr::UNSPECIFIED, |p| p.address);
    let mut hosts: Vec<(Vec<FlowClient>, Vec<QueryApp>)> =
        plans.iter().map(|_| <_>::default()).collect();
    for (flow, number) in setup.flows.iter().zip(0..) {
        let (nth, sampled) = ordinals.take(flow.group);
        let start = setup.flow_start(number).unwrap_or(flow.start);
        let conn = ClientConn::new(number, address(flow.dst), false, sampled);
        let writer = FlowWriter::new(flow, number, start, setup.seed);
        let opens = setup.opening(flow.group, nth, start);
        if let Some((flows, _)) = hosts.get_mut(flow.src as usize) {
            flows.push(FlowClient::new(conn, flow.size.is_some(), opens, writer));
        }
    }
    let mut connections: Vec<QueryConnection> = Vec::new();
    let clients = QueryClient::all(setup, |connection| connections.push(connection))?;
    let busy = setup.query_clients.iter().filter(|spec| spec.schedule.countable() > 0).count();
    let sizes: Vec<Option<u64>> = setup.flows.iter().map(|f| f.size.map(Bytes::as_u64)).collect();
    let exchange =
        |connection: &QueryConnection| Mutex::new(Exchange::new(connection.query_client));
    let shared = SharedTraffic {
        awaited: sizes.iter().flatten().count() + busy,
        sizes,
        query_clients: setup.query_clients.clone(),
        exchanges: connections.iter().map(exchange).collect(),
    };
    let mut numbered = connections.into_iter().zip(setup.flows.len() as u32..).peekable();
    for ((client, spec), number) in clients.into_iter().zip(&setup.query_clients).zip(0..) {
        let (mut conns, mut opens) = (Vec::new(), client.start);
        while let Some((connection, at)) = numbered.next_if(|(c, _)| c.query_client == number) {
            let (nth, sampled) = ordinals.take(spec.group);
            if spec.persistent && conns.is_empty() {
                opens = setup.opening(spec.group, nth, client.start);
            }
            let conn = ClientConn::new(at, address(connection.server), true, sampled);
            let size = connection.size.map(Bytes::as_u64);
            conns.push(QueryConn::new(conn, connection.server, size));
        }
        if let Some((_, queries)) = hosts.get_mut(spec.client as usize) {
            queries.push(QueryApp::new(number, client, opens, conns));
        }
    }
    let interval = setup.probes.interval.map(|interval| interval.max(MIN_SAMPLE_INTERVAL));
    let apps = plans.iter().zip(hosts).map(|(plan, (flows, queries))| {
        Apps::new(plan.address, flows, queries, setup.warmup, interval)
    });
    Ok((apps.collect(), shared))
}
