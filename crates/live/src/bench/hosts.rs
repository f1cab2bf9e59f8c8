//! The two hosts of a benchmark and the link between them.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use lowtide_tcp::Config;

use super::usage::pin;
use super::{BenchRun, LinkKind, TcpStack};
use crate::device::{DeviceNetwork, DevicePlan};
use crate::error::LiveError;
use crate::links::{Links, VethEnd};
use crate::load::{Accept, ByteStream};
use crate::netns::{self, Namespace};
use crate::socket::{Live, LiveSettings};

pub(super) const PORT: u16 = 5201;
const ADDRESSES: [&str; 2] = ["10.77.0.1/24", "10.77.0.2/24"];
const NAMES: [&str; 2] = ["a0", "b0"];
const MTU: u16 = 1500;

/// A host.
pub(super) enum BenchHost {
    Kernel { namespace: Namespace, address: IpAddr },
    Lowtide { live: Live, address: IpAddr },
}

fn networks() -> Result<[DeviceNetwork; 2], LiveError> {
    Ok([DeviceNetwork::parse(ADDRESSES[0])?, DeviceNetwork::parse(ADDRESSES[1])?])
}

/// Sets up the hosts and the link of a run.
pub(super) fn set_up_hosts(run: &BenchRun<'_>) -> Result<[BenchHost; 2], LiveError> {
    match run.link {
        LinkKind::Veth | LinkKind::VethOffloads => veth(run),
        LinkKind::Tun | LinkKind::TunOffload => tun(run),
    }
}

fn start(run: &BenchRun<'_>, end: usize, plan: &DevicePlan) -> Result<BenchHost, LiveError> {
    // The driver inherits the CPU affinity of the thread that starts it.
    let live = std::thread::scope(|scope| {
        let starter = scope.spawn(|| {
            pin(run.cpus[end]);
            Live::start(plan, LiveSettings::default())
        });
        starter.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    Ok(BenchHost::Lowtide { live, address: plan.networks[0].local })
}

fn veth(run: &BenchRun<'_>) -> Result<[BenchHost; 2], LiveError> {
    let spaces = [Namespace::new()?, Namespace::new()?];
    let [a, b] = [0, 1].map(|i| VethEnd { name: NAMES[i], namespace: Some(&spaces[i]) });
    spaces[0].run(|| Links::open()?.add_veth(&a, &b, u32::from(MTU)))??;
    for (i, network) in networks()?.into_iter().enumerate() {
        let offloads = run.link == LinkKind::VethOffloads;
        spaces[i].run(|| -> Result<(), LiveError> {
            netns::set_sysctl("ipv4.tcp_congestion_control", run.kernel_cc)?;
            let mut links = Links::open()?;
            if !offloads {
                links.disable_offloads(NAMES[i])?;
            }
            if run.stacks[i] == TcpStack::Kernel {
                links.add_address(NAMES[i], network.local, network.prefix)?;
            }
            links.set_link_up(NAMES[i], true)
        })??;
    }
    let mut ends = Vec::new();
    for (i, (network, namespace)) in networks()?.into_iter().zip(spaces).enumerate() {
        ends.push(match run.stacks[i] {
            TcpStack::Kernel => BenchHost::Kernel { namespace, address: network.local },
            TcpStack::Lowtide => {
                let device = format!("packet:{}", NAMES[i]);
                let offload = run.link == LinkKind::VethOffloads;
                let plan = DevicePlan::parse(&device, MTU, vec![network])?;
                let plan = DevicePlan { offload, ..plan };
                namespace.run(|| start(run, i, &plan))??
            }
        });
    }
    into_pair(ends)
}

fn tun(run: &BenchRun<'_>) -> Result<[BenchHost; 2], LiveError> {
    let namespace = Namespace::new()?;
    let mut ends = Vec::new();
    let ours = run.stacks.iter().position(|w| *w == TcpStack::Lowtide).unwrap_or(0);
    let network = networks()?[ours];
    let offload = run.link == LinkKind::TunOffload;
    let plan = DevicePlan::parse(&format!("tun:{}", NAMES[ours]), MTU, vec![network])?;
    let plan = DevicePlan { offload, ..plan };
    let lowtide = namespace.run(|| {
        netns::set_sysctl("ipv4.tcp_congestion_control", run.kernel_cc)?;
        start(run, ours, &plan)
    })??;
    ends.push(lowtide);
    ends.insert(1 - ours, BenchHost::Kernel { namespace, address: network.peer });
    into_pair(ends)
}

fn into_pair(ends: Vec<BenchHost>) -> Result<[BenchHost; 2], LiveError> {
    let two = |_| LiveError::system("set up a link", io::Error::other("it has two ends"));
    ends.try_into().map_err(two)
}

impl BenchHost {
    pub(super) fn address(&self) -> IpAddr {
        match self {
            Self::Kernel { address, .. } | Self::Lowtide { address, .. } => *address,
        }
    }

    pub(super) fn listen(&self, run: &BenchRun<'_>) -> Result<Box<dyn Accept>, LiveError> {
        let failed = |e| LiveError::system("listen", e);
        Ok(match self {
            Self::Kernel { namespace, address } => {
                Box::new(namespace.run(|| TcpListener::bind((*address, PORT)))?.map_err(failed)?)
            }
            Self::Lowtide { live, .. } => Box::new(live.listen(PORT, run.config).map_err(failed)?),
        })
    }

    pub(super) fn connect(
        &self,
        to: SocketAddr,
        config: &Config,
    ) -> io::Result<Arc<dyn ByteStream>> {
        Ok(match self {
            Self::Kernel { namespace, .. } => {
                Arc::new(namespace.run(|| TcpStream::connect(to)).map_err(io::Error::other)??)
            }
            Self::Lowtide { live, .. } => Arc::new(live.connect(to, config)?),
        })
    }

    /// CPU time of lowtide's driver, seconds.
    pub(super) fn driver_cpu_seconds(&self) -> f64 {
        match self {
            Self::Kernel { .. } => 0.0,
            Self::Lowtide { live, .. } => live.stats().cpu.as_secs_f64(),
        }
    }
}
