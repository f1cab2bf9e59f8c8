//! Translates a resolved run to hosts with addresses and TCP stacks.

use std::net::Ipv4Addr;

use lowtide_host::{HostSetup, QueryClient, Setup};
use lowtide_lab::UnsupportedSetup;
use lowtide_net::NodeId;
use lowtide_tcp::Config;
use lowtide_traffic::{QueryClientSpec, QuerySchedule};
use lowtide_units::Rate;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::kernel::tcp_config::KernelTcpConfig;
use crate::stack_choice::{StackChoice, StackKind};

/// Network of the hosts' addresses, 10.66.0.0/16.
const NETWORK: [u8; 2] = [10, 66];
/// Its prefix length.
pub(crate) const PREFIX: u8 = 16;
/// Hosts per /24 subnet.
const HOSTS_PER_SUBNET: u32 = 250;
/// Maximum number of hosts: each has one or more threads and a namespace with its own TCP.
pub(crate) const MAX_HOSTS: usize = 64;
/// Maximum link rate: one thread can forward no more.
const MAX_RATE: Rate = Rate::from_gbps(2);
/// Above this rate, results depend on the machine.
const TRUSTED_BPS: u64 = 400_000_000;

/// Address of a host.
pub(crate) fn address(host: u32) -> Ipv4Addr {
    let [a, b] = NETWORK;
    Ipv4Addr::new(a, b, (host / HOSTS_PER_SUBNET) as u8, (host % HOSTS_PER_SUBNET + 1) as u8)
}

/// TCP stack of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum HostStack {
    /// The kernel's.
    Kernel(KernelTcpConfig),
    /// Lowtide's.
    Lowtide(Box<Config>),
}

/// One host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HostPlan {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) address: Ipv4Addr,
    pub(crate) mtu: u16,
    pub(crate) stack: HostStack,
}

pub(crate) fn refusal(message: String, help: &str) -> UnsupportedSetup {
    UnsupportedSetup { message, help: Some(help.to_owned()) }
}

/// Hosts of `setup`.
///
/// # Errors
/// Parts of the scenario that real packets do not support, in general or on this machine.
pub(crate) fn hosts(
    setup: &Setup,
    choice: &StackChoice,
) -> Result<Vec<HostPlan>, UnsupportedSetup> {
    check_supported(setup)?;
    raise_fd_limit(setup)?;
    let hosts = setup.hosts.iter().zip(&setup.network.hosts).zip(0_u32..);
    hosts.map(|((host, name), number)| host_plan(number, name, host, choice)).collect()
}

fn host_plan(
    number: u32,
    name: &str,
    host: &HostSetup,
    choice: &StackChoice,
) -> Result<HostPlan, UnsupportedSetup> {
    let stack = match choice.stack_of(name) {
        StackKind::Kernel => {
            HostStack::Kernel(KernelTcpConfig::of(&host.config, &choice.cc_mapping).map_err(
                |UnsupportedSetup { message, help }| UnsupportedSetup {
                    message: format!("host `{name}`: {message}"),
                    help,
                },
            )?)
        }
        StackKind::Lowtide => HostStack::Lowtide(Box::new(host.config.clone())),
    };
    let mtu = u16::try_from(host.config.mtu).map_err(|_| {
        refusal(
            format!("host `{name}` has an MTU of {} bytes", host.config.mtu),
            "the maximum is 65535",
        )
    })?;
    Ok(HostPlan { number, name: name.to_owned(), address: address(number), mtu, stack })
}

fn check_supported(setup: &Setup) -> Result<(), UnsupportedSetup> {
    let count = setup.hosts.len();
    if count > MAX_HOSTS {
        return Err(refusal(
            format!("{count} hosts are more than the {MAX_HOSTS} that a testbed has room for"),
            "each needs a namespace and threads; simulate the scenario, or make it smaller",
        ));
    }
    let checked = QueryClient::all(setup, |_| {});
    checked.map_err(|error| UnsupportedSetup { message: error.to_string(), help: None })?;
    if setup.counting.open_loop.is_some() {
        return Err(refusal(
            "real packets do not keep the load up until all counted flows and queries are done \
             (`end = \"counted-done\"`, the default of open loops)"
                .to_owned(),
            "choose another end: `-s run.end=done` or `-s run.end=duration`; or simulate it",
        ));
    }
    if !setup.packet_classes.is_empty() {
        return Err(refusal(
            "packet classes over real packets are not supported yet".to_owned(),
            "leave `[switch.class]` out, or simulate it",
        ));
    }
    if !setup.collectives.is_empty() {
        return Err(refusal(
            "collectives over real packets are not supported yet".to_owned(),
            "simulate the scenario, or leave its groups of kind `collective` out",
        ));
    }
    if !setup.probes.trace.is_empty() {
        return Err(refusal(
            "a flow on real packets cannot be traced".to_owned(),
            "take a capture in a testbed that is up (docs/howto/testbed.md), and read it with `lowtide analyze`",
        ));
    }
    match fastest(setup) {
        Some((name, rate)) if rate > MAX_RATE => Err(refusal(
            format!("the link {name} has {rate}, and real packets reach at most 2 Gbit/s here"),
            "meaningful results need 100 to 400 Mbit/s: `-s topology.link-rate='100 Mbit/s'`",
        )),
        _ => Ok(()),
    }
}

/// File descriptors of a host besides its connections.
const FDS_PER_HOST: u64 = 16;

/// Connections of a query client that may be open at a time: persistent ones; else those of two
/// queries, as those of an answered one are still closing, or in an open loop all.
fn open_connections(spec: &QueryClientSpec) -> u64 {
    match spec.schedule {
        QuerySchedule::ClosedLoop { .. } if !spec.persistent => 2 * u64::from(spec.fan_out),
        _ => spec.connections(),
    }
}

/// Raises the open-files limit for both ends of all connections that may be open at a time.
fn raise_fd_limit(setup: &Setup) -> Result<(), UnsupportedSetup> {
    let queries: u64 = setup.query_clients.iter().map(open_connections).sum();
    let connections = setup.flows.len() as u64 + queries;
    let needed = 64 + FDS_PER_HOST * setup.hosts.len() as u64 + 2 * connections;
    let refused = |most: u64| {
        refusal(
            format!(
                "{connections} connections at a time need {needed} open files, and {most} are allowed"
            ),
            "`ulimit -n` raises the limit; or leave flows or queries out",
        )
    };
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((soft, hard)) if soft < needed => {
            let raised = setrlimit(Resource::RLIMIT_NOFILE, needed.min(hard), hard);
            if hard < needed || raised.is_err() { Err(refused(hard)) } else { Ok(()) }
        }
        // If the limit is unknown, a failing socket reports it.
        _ => Ok(()),
    }
}

/// The switch's link with the highest rate.
fn fastest(setup: &Setup) -> Option<(String, Rate)> {
    let lines = setup.network.links.iter().flat_map(|link| {
        let end = |from: NodeId, to: NodeId, rate: Rate| {
            let of = |node| setup.network.name(node).to_owned();
            matches!(from, NodeId::Switch(_)).then(|| (format!("{}->{}", of(from), of(to)), rate))
        };
        [end(link.a, link.b, link.from_a.rate), end(link.b, link.a, link.from_b.rate)]
    });
    lines.flatten().max_by_key(|(_, rate)| rate.as_bps())
}

/// Parts of the scenario that a run on real packets does not have.
pub(crate) fn differences(setup: &Setup) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |is: bool, what: &str| {
        if is {
            all.push(what.to_owned());
        }
    };
    let plain = |h: &HostSetup| h.nic == lowtide_host::NicSpec::default();
    add(!setup.hosts.iter().all(plain), "stack delays and NICs of hosts are those of this machine");
    let clock = |h: &HostSetup| h.clock == lowtide_host::ClockSpec::default();
    add(!setup.hosts.iter().all(clock), "the clocks of hosts are that of this machine");
    let jitter = setup.disturbance.host_jitter > lowtide_units::Duration::ZERO;
    add(jitter, "`host-jitter` is that of this machine's scheduler");
    add(setup.probes.delays, "computed queueing delays are not compared with true ones");
    if let Some((name, rate)) = fastest(setup).filter(|(_, rate)| rate.as_bps() > TRUSTED_BPS) {
        all.push(format!(
            "the link {name} has {rate}: above 400 Mbit/s results depend on the machine"
        ));
    }
    all
}
