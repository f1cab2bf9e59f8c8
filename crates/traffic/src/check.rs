//! Checks of generated traffic: the limits of a group, and hosts that can send it.

use crate::api::{Traffic, WorkloadArgs, WorkloadContext};
use crate::error::{MAX_CONNECTIONS, MAX_QUERIES, WorkloadError};
use crate::{Flow, QueryClientSpec};

impl Traffic {
    /// Checks the limits of a group. [`WorkloadEntry::generate`] does so at the end; a workload
    /// that makes its traffic in parts may do so after each, before it takes too much memory.
    ///
    /// # Errors
    /// More than [`MAX_CONNECTIONS`] connections or [`MAX_QUERIES`] queries.
    ///
    /// [`WorkloadEntry::generate`]: crate::workload::WorkloadEntry::generate
    pub fn check_limits(&self, args: &WorkloadArgs) -> Result<(), WorkloadError> {
        if self.connections() > MAX_CONNECTIONS {
            return Err(WorkloadError::above_limit(&args.name, "connections", MAX_CONNECTIONS));
        }
        let queries =
            self.query_clients.iter().map(QueryClientSpec::queries).fold(0, u64::saturating_add);
        if queries > MAX_QUERIES {
            return Err(WorkloadError::above_limit(&args.name, "queries", MAX_QUERIES));
        }
        Ok(())
    }

    /// Checks that the hosts of `ctx` can send this traffic. An error is a bug of the workload:
    /// nothing that users write causes it.
    pub(crate) fn check_hosts(
        &self,
        workload: &str,
        args: &WorkloadArgs,
        ctx: &WorkloadContext,
    ) -> Result<(), WorkloadError> {
        let hosts = ctx.hosts.len();
        let mut all = self.flows.iter().chain(&self.load);
        let flow = all.find_map(|flow| flow_error(flow, args.group, hosts));
        let client = || self.query_clients.iter().find_map(|c| client_error(c, args.group, hosts));
        match flow.or_else(client) {
            Some(error) => Err(WorkloadError::of_workload(workload, &args.name, error)),
            None => Ok(()),
        }
    }
}

/// Returns why a flow cannot be sent.
fn flow_error(flow: &Flow, group: u16, hosts: usize) -> Option<&'static str> {
    if flow.group != group {
        return Some("a flow of another group");
    }
    pair_error(flow.src, flow.dst, hosts)
}

/// Returns why a query client cannot query.
fn client_error(client: &QueryClientSpec, group: u16, hosts: usize) -> Option<&'static str> {
    if client.group != group {
        return Some("a query client of another group");
    }
    if client.fan_out == 0 || client.fan_out as usize > client.servers.len() {
        return Some("a query client whose fan-out is zero or above its number of servers");
    }
    let empty = client.response_sizes.iter().any(|size| size.as_u64() == 0);
    if empty || client.response_sizes.is_empty() || client.request.as_u64() == 0 {
        return Some("a query without bytes");
    }
    client.servers.iter().find_map(|server| pair_error(client.client, *server, hosts))
}

/// Returns why one host cannot send to the other.
fn pair_error(from: u32, to: u32, hosts: usize) -> Option<&'static str> {
    if from == to {
        return Some("traffic from a host to itself");
    }
    (from.max(to) as usize >= hosts).then_some("traffic of a host that does not exist")
}

#[cfg(test)]
mod tests {
    use lowtide_units::{Bytes, Duration, Instant};

    use super::*;
    use crate::testing::context;
    use crate::{QuerySchedule, WritePattern};

    fn flow() -> Flow {
        let (start, write_pattern) = (Instant::ZERO, WritePattern::Bulk);
        Flow { group: 0, src: 0, dst: 1, size: None, start, write_pattern }
    }

    fn client() -> QueryClientSpec {
        QueryClientSpec {
            group: 0,
            client: 0,
            start: Instant::ZERO,
            servers: vec![1, 2],
            fan_out: 2,
            request: Bytes::new(1),
            response_sizes: vec![Bytes::new(1)],
            schedule: QuerySchedule::ClosedLoop { queries: 1, pause: Duration::ZERO },
            jitter: Duration::ZERO,
            deadline: None,
            persistent: true,
        }
    }

    /// Returns the error of this traffic among four hosts.
    fn error(flows: Vec<Flow>, query_clients: Vec<QueryClientSpec>) -> Option<String> {
        let traffic = Traffic { flows, query_clients, ..Traffic::default() };
        let checked = traffic.check_hosts("mine", &WorkloadArgs::default(), &context(4, 1));
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn traffic_that_no_host_can_send_is_an_error_of_the_workload() {
        assert_eq!(error(vec![flow()], vec![client()]), None);
        for (wrong, part) in [
            (Flow { dst: 0, ..flow() }, "itself"),
            (Flow { dst: 4, ..flow() }, "does not exist"),
            (Flow { group: 1, ..flow() }, "another group"),
        ] {
            let text = error(vec![flow(), wrong], Vec::new()).unwrap();
            assert!(text.contains(part) && text.contains("`mine`"), "{text}");
        }
        for (wrong, part) in [
            (QueryClientSpec { client: 2, ..client() }, "itself"),
            (QueryClientSpec { client: 9, ..client() }, "does not exist"),
            (QueryClientSpec { group: 1, ..client() }, "another group"),
            (QueryClientSpec { fan_out: 3, ..client() }, "fan-out"),
            (QueryClientSpec { fan_out: 0, ..client() }, "fan-out"),
            (QueryClientSpec { request: Bytes::new(0), ..client() }, "without bytes"),
            (QueryClientSpec { response_sizes: Vec::new(), ..client() }, "without bytes"),
            (QueryClientSpec { response_sizes: vec![Bytes::new(0)], ..client() }, "without bytes"),
        ] {
            let text = error(Vec::new(), vec![client(), wrong]).unwrap();
            assert!(text.contains(part), "{text}");
        }
    }
}
