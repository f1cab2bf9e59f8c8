//! The test setup: two hosts and the network between them.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use lowtide_bottleneck::{Bottleneck, BottleneckReport, BottleneckSettings, Faults, HostPort};
use lowtide_live::links::{Links, VethEnd};
use lowtide_live::load::{
    Accept, Amount, ByteStream, LoadFlow, LoadPlan, LoadReport, StreamReport, TransferDirection,
    transfer,
};
use lowtide_live::netns::{self, Namespace};
use lowtide_live::{Device, DeviceNetwork, DevicePlan, Live, LiveStats};
use lowtide_net::topology::HostLine;
use lowtide_net::topology::star::{Star, star};
use lowtide_net::{Blueprint, BufferSpec, Framing, HostId, MarkSpec, PortSpec, QueueLength};
use lowtide_tcp::Config;
use lowtide_units::Rate;

pub(crate) const PORT: u16 = 5201;
/// Time limit of a test; larger amounts of data extend it.
const MAX_TIME: Duration = Duration::from_mins(5);

/// Megabytes transferred per configuration, over all directions.
pub(crate) fn megabytes() -> u64 {
    let megabytes = std::env::var("LOWTIDE_LIVE_MB").ok().and_then(|n| n.parse().ok());
    megabytes.unwrap_or(3)
}

/// Runs `test`, which fails if it exceeds the time limit.
pub(crate) fn with_timeout(test: impl FnOnce() + Send + 'static) {
    with_timeout_of(MAX_TIME * (1 + megabytes() / 30) as u32, test);
}

/// Runs `test`, which fails if it exceeds `limit`.
pub(crate) fn with_timeout_of(limit: Duration, test: impl FnOnce() + Send + 'static) {
    let (done, wait) = channel::<()>();
    let thread = std::thread::Builder::new().spawn(move || {
        let _done = done;
        test();
    });
    let thread = thread.unwrap();
    // The channel closes when the thread ends, also by a panic.
    let timed_out = wait.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
    assert!(!timed_out, "the test hangs");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// A short sleep for polling loops.
pub(crate) fn short_sleep() {
    std::thread::sleep(Duration::from_millis(2));
}

/// TCP implementation of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HostStack {
    Lowtide,
    Kernel,
    /// The kernel's, on Ethernet, with or without offloads.
    Ethernet {
        offloads: bool,
    },
}

/// A host.
pub(crate) enum TestHost {
    Lowtide(Live),
    Kernel(Namespace),
}

impl TestHost {
    pub(crate) fn live(&self) -> &Live {
        match self {
            Self::Lowtide(live) => live,
            Self::Kernel(_) => panic!("the host has the kernel's TCP"),
        }
    }

    /// Sets `net.ipv4.<name>` of a host with the kernel's TCP.
    pub(crate) fn set(&self, name: &str, value: &str) {
        if let Self::Kernel(namespace) = self {
            let name = format!("ipv4.{name}");
            namespace.run(|| netns::set_sysctl(&name, value)).unwrap().unwrap();
        }
    }

    /// A server of the kernel on all its addresses.
    pub(crate) fn server(&self) -> TcpListener {
        match self {
            Self::Lowtide(_) => panic!("the host has lowtide's TCP"),
            Self::Kernel(namespace) => {
                namespace.run(|| TcpListener::bind(("0.0.0.0", PORT))).unwrap().unwrap()
            }
        }
    }

    fn listen(&self, at: IpAddr, config: &Config) -> Box<dyn Accept> {
        match self {
            Self::Lowtide(live) => Box::new(live.listen(PORT, config).unwrap()),
            Self::Kernel(namespace) => {
                Box::new(namespace.run(|| TcpListener::bind((at, PORT))).unwrap().unwrap())
            }
        }
    }

    fn connect(&self, to: SocketAddr, config: &Config) -> io::Result<Arc<dyn ByteStream>> {
        Ok(match self {
            Self::Lowtide(live) => Arc::new(live.connect(to, config)?),
            Self::Kernel(namespace) => {
                Arc::new(namespace.run(|| TcpStream::connect(to)).map_err(io::Error::other)??)
            }
        })
    }
}

/// Two hosts, each with either TCP, and the network between them.
pub(crate) struct World {
    pub(crate) hosts: Vec<TestHost>,
    pub(crate) bottleneck: Bottleneck,
}

pub(crate) fn address(host: usize, v6: bool) -> IpAddr {
    let text = if v6 { format!("fd77::{}", host + 1) } else { format!("10.77.0.{}", host + 1) };
    text.parse().unwrap()
}

/// A switch between two hosts with equal links; the hosts' send rate is practically unlimited.
pub(crate) fn network(rate: &str, delay_us: u64, buffer: u64, k: u64) -> Blueprint {
    let host = |name: &str| HostLine {
        name: name.to_owned(),
        rate: lowtide_units::parse_rate(rate).unwrap(),
        delay: lowtide_units::Duration::from_us(delay_us),
    };
    let port = PortSpec {
        buffer: BufferSpec::Static(QueueLength::Packets(buffer)),
        mark: MarkSpec::step(QueueLength::Packets(k)),
        ..PortSpec::NIC
    };
    let hosts = vec![host("a"), host("b")];
    let mut plan = star(&Star { hosts, framing: Framing::Ethernet, port });
    for link in &mut plan.links {
        link.from_a.rate = Rate::from_gbps(1000);
    }
    plan
}

/// Settings with these faults in both directions.
pub(crate) fn faults_in_both_directions(faults: &[&str]) -> BottleneckSettings {
    let mut all = Faults::default();
    for text in faults {
        all.set(text).unwrap();
    }
    BottleneckSettings {
        faults: vec![(HostId(0), all), (HostId(1), all)],
        ..BottleneckSettings::default()
    }
}

impl World {
    pub(crate) fn new(
        stacks: [HostStack; 2],
        plan: &Blueprint,
        settings: &BottleneckSettings,
    ) -> Self {
        let (mut hosts, mut ports) = (Vec::new(), Vec::new());
        for (number, stack) in stacks.into_iter().enumerate() {
            let addresses = [false, true].map(|v6| address(number, v6));
            let (host, device) = match stack {
                HostStack::Lowtide => {
                    let (ours, device) = Device::memory_link().unwrap();
                    let seed = Some(number as u64 + 1);
                    let settings = lowtide_live::LiveSettings { seed, ..Default::default() };
                    (
                        TestHost::Lowtide(
                            Live::with_device(ours, addresses.to_vec(), settings).unwrap(),
                        ),
                        device,
                    )
                }
                HostStack::Kernel => {
                    let namespace = Namespace::new().unwrap();
                    let device = namespace.run(|| kernel(number)).unwrap();
                    (TestHost::Kernel(namespace), device)
                }
                HostStack::Ethernet { offloads } => {
                    let namespace = Namespace::new().unwrap();
                    let device = ethernet(number, &namespace, offloads);
                    (TestHost::Kernel(namespace), device)
                }
            };
            let networks = addresses.map(|a| (a, if a.is_ipv6() { 128 } else { 32 })).to_vec();
            hosts.push(host);
            ports.push(HostPort { host: HostId(number as u32), device, networks });
        }
        let bottleneck = Bottleneck::start(plan, ports, settings).unwrap();
        Self { hosts, bottleneck }
    }

    /// Transfers data over connections that host `client` opens to the other one. Asserts that both
    /// ends saw the same bytes.
    pub(crate) fn transfer(
        &self,
        what: &str,
        (client, v6): (usize, bool),
        config: &Config,
        load: &LoadPlan,
    ) -> (LoadReport, Vec<StreamReport>) {
        let server = 1 - client;
        let to = SocketAddr::new(address(server, v6), PORT);
        let listener = self.hosts[server].listen(to.ip(), config);
        let open = || self.hosts[client].connect(to, config);
        let (report, served) = transfer(&*listener, &open, load).unwrap();
        assert!(report.all_verified(), "{what}: {:#?}\n{served:#?}", report.streams);
        let bytes = load.flows.iter().map(|flow| match flow.amount {
            Amount::Bytes(n) => Some(n),
            Amount::Millis(_) => None,
        });
        if let Some(bytes) = bytes.sum::<Option<u64>>() {
            assert_eq!(report.bytes(), bytes, "{what}");
        }
        assert!(served.iter().all(|s| s.error.is_none()), "{what}: {served:#?}");
        (report, served)
    }

    /// Stops the network, then the hosts. Asserts that no unexpected problem occurred.
    pub(crate) fn end(self) -> (BottleneckReport, Vec<LiveStats>) {
        let report = self.bottleneck.stop().unwrap();
        let failed: Vec<_> = report.hosts.iter().filter_map(|h| h.device_error.as_ref()).collect();
        assert!(failed.is_empty(), "{failed:?}");
        assert_eq!(
            (report.ingress_drops.unknown_destination, report.ingress_drops.malformed),
            (0, 0)
        );
        let ours = self.hosts.iter().filter(|e| matches!(e, TestHost::Lowtide(_)));
        (report, ours.map(|e| e.live().stats()).collect())
    }
}

/// Opens the device of a kernel's host in the namespace of this thread. Its congestion control is
/// Reno, whatever the machine's is.
fn kernel(number: usize) -> Device {
    let networks = [false, true].map(|v6| DeviceNetwork {
        local: address(7, v6),
        peer: address(number, v6),
        prefix: if v6 { 64 } else { 24 },
    });
    netns::set_sysctl("ipv4.tcp_congestion_control", "reno").unwrap();
    Device::open(&DevicePlan::parse("tun:eth0", 1500, networks.to_vec()).unwrap()).unwrap()
}

/// Creates a veth pair from the kernel's host to an otherwise empty namespace. The network opens
/// the other end and answers for the other host.
fn ethernet(number: usize, host: &Namespace, offloads: bool) -> Device {
    let networks = [false, true].map(|v6| DeviceNetwork {
        local: address(1 - number, v6),
        peer: address(number, v6),
        prefix: if v6 { 64 } else { 24 },
    });
    let pair = || {
        let mut links = Links::open().unwrap();
        let near = VethEnd { name: "p0", namespace: None };
        let far = VethEnd { name: "eth0", namespace: Some(host) };
        links.add_veth(&near, &far, 1500).unwrap();
        links.disable_offloads("p0").unwrap();
        links.set_link_up("p0", true).unwrap();
    };
    let middle = Namespace::new().unwrap();
    middle.run(pair).unwrap();
    let far = || {
        let mut links = Links::open().unwrap();
        if !offloads {
            links.disable_offloads("eth0").unwrap();
        }
        for network in &networks {
            links.add_address("eth0", network.peer, network.prefix).unwrap();
        }
        links.set_link_up("eth0", true).unwrap();
        netns::set_sysctl("ipv4.tcp_congestion_control", "reno").unwrap();
    };
    host.run(far).unwrap();
    let plan = DevicePlan::parse("packet:p0", 1500, networks.to_vec()).unwrap();
    middle.run(|| Device::open(&plan)).unwrap().unwrap()
}

/// A plan of parallel connections with `n` bytes each.
pub(crate) fn bytes(direction: TransferDirection, parallel: usize, n: u64) -> LoadPlan {
    let zero = lowtide_units::Duration::ZERO;
    let flow = LoadFlow { start: zero, direction, amount: Amount::Bytes(n), write_size: 64 << 10 };
    LoadPlan { flows: vec![flow; parallel], interval: zero, seed: 42 }
}
