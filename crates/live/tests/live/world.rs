//! The test setup: a namespace with a TUN interface, lowtide at one end, the kernel at the other.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use lowtide_live::links::{Links, VethEnd};
use lowtide_live::load::{
    Amount, ByteStream, LoadFlow, LoadPlan, LoadReport, StreamReport, TransferDirection, transfer,
};
use lowtide_live::netns::Namespace;
use lowtide_live::relay::RelayStats;
use lowtide_live::{Device, DeviceNetwork, DevicePlan, Live, LiveSettings, RxBatch, config, netns};
use lowtide_tcp::Config;
use lowtide_units::HostStamp;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

pub(crate) const V4: &str = "10.77.0.2/24";
pub(crate) const V6: &str = "fd77::2/64";
pub(crate) const PORT: u16 = 5201;

/// lowtide at one end, the kernel at the other.
pub(crate) struct World {
    pub(crate) live: Live,
    /// Namespace of the kernel's sockets; `None` for that of the test.
    kernel_namespace: Option<Namespace>,
    /// Forwards packets between two TUN interfaces.
    _forwarder: Option<PacketForwarder>,
}

/// Time limit of a test.
const MAX_TIME: Duration = Duration::from_mins(5);

/// Runs `test` in a new namespace. It fails if it exceeds [`MAX_TIME`].
pub(crate) fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let (done, wait) = channel::<()>();
    let thread = std::thread::spawn(move || {
        let _done = done;
        netns::enter_new().unwrap();
        assert!(!netns::in_host_namespace());
        test();
    });
    // The channel closes when the thread ends, also by a panic.
    let timed_out = wait.recv_timeout(MAX_TIME) == Err(RecvTimeoutError::Timeout);
    assert!(!timed_out, "the test hangs");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// A new namespace, which this thread does not enter, with ECN in its kernel.
fn other_namespace() -> Namespace {
    let namespace = Namespace::new().unwrap();
    namespace.run(|| netns::set_sysctl("ipv4.tcp_ecn", "1").unwrap()).unwrap();
    namespace
}

/// Forwards packets between two devices until it is dropped.
struct PacketForwarder {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PacketForwarder {
    fn start(a: Device, b: Device) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut batch = RxBatch::default();
            while !stopped.load(Ordering::Relaxed) {
                let mut fds = [&a, &b].map(|d| PollFd::new(d.as_fd(), PollFlags::POLLIN));
                let _ = poll(&mut fds, PollTimeout::from(20_u8));
                for (from, to) in [(&a, &b), (&b, &a)] {
                    from.recv_many(&mut batch, || HostStamp(0)).unwrap();
                    to.send_many(batch.packets().map(|(_, packet)| packet)).unwrap();
                }
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for PacketForwarder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

pub(crate) fn plan(name: &str, networks: &[&str]) -> DevicePlan {
    let networks = networks.iter().map(|s| DeviceNetwork::parse(s).unwrap()).collect();
    DevicePlan::parse(name, 1500, networks).unwrap()
}

pub(crate) fn settings(set: &[(&str, &str)]) -> Config {
    config("linux", None, set).unwrap()
}

/// The kernel's address.
pub(crate) fn kernel_at(v6: bool) -> IpAddr {
    DeviceNetwork::parse(if v6 { V6 } else { V4 }).unwrap().peer
}

/// Our address.
pub(crate) fn ours_at(v6: bool) -> IpAddr {
    DeviceNetwork::parse(if v6 { V6 } else { V4 }).unwrap().local
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(LiveSettings::default())
    }

    pub(crate) fn with(settings: LiveSettings) -> Self {
        let live = Live::start(&plan("tun:lt0", &[V4, V6]), settings).unwrap();
        Self { live, kernel_namespace: None, _forwarder: None }
    }

    /// A setup over a TUN interface with offload.
    pub(crate) fn offload() -> Self {
        let plan = DevicePlan { offload: true, ..plan("tun:lt0", &[V4, V6]) };
        netns::set_sysctl("ipv4.tcp_ecn", "1").unwrap();
        let live = Live::start(&plan, LiveSettings::default()).unwrap();
        Self { live, kernel_namespace: None, _forwarder: None }
    }

    /// A setup over a veth pair `lt0` and `k0`, with the kernel in another namespace. `offloads`:
    /// whether the kernel's end has its offloads. `offload`: whether we accept GSO packets.
    pub(crate) fn veth(offloads: bool, offload: bool) -> Self {
        Self::veth_with(offloads, &DevicePlan { offload, ..plan("packet:lt0", &[V4, V6]) })
    }

    /// As [`Self::veth`], with this plan of our end.
    pub(crate) fn veth_with(offloads: bool, plan: &DevicePlan) -> Self {
        let kernel_namespace = other_namespace();
        let ours = VethEnd { name: "lt0", namespace: None };
        let theirs = VethEnd { name: "k0", namespace: Some(&kernel_namespace) };
        let mut links = Links::open().unwrap();
        links.add_veth(&ours, &theirs, 1500).unwrap();
        links.disable_offloads("lt0").unwrap();
        links.set_link_up("lt0", true).unwrap();
        let set_up = || {
            let mut links = Links::open().unwrap();
            assert!(!links.offloads("k0").unwrap().is_empty(), "offloads are on by default");
            if !offloads {
                links.disable_offloads("k0").unwrap();
                assert_eq!(links.offloads("k0").unwrap(), Vec::<String>::new());
            }
            for network in [V4, V6].map(|s| DeviceNetwork::parse(s).unwrap()) {
                links.add_address("k0", network.peer, network.prefix).unwrap();
            }
            links.set_link_up("k0", true).unwrap();
            let link = links.get("k0").unwrap();
            assert!(link.up && link.mac.is_some() && link.mtu == 1500, "{link:?}");
        };
        kernel_namespace.run(set_up).unwrap();
        let live = Live::start(plan, LiveSettings::default()).unwrap();
        Self { live, kernel_namespace: Some(kernel_namespace), _forwarder: None }
    }

    /// A setup on an existing TUN interface `lt0`, whose packets are forwarded to the kernel's in
    /// another namespace.
    pub(crate) fn tuns() -> Self {
        let kernel_namespace = other_namespace();
        let ours = Device::open(&plan("tun:lt0", &[])).unwrap();
        let theirs =
            kernel_namespace.run(|| Device::open(&plan("tun:k0", &[V4, V6])).unwrap()).unwrap();
        let live = Live::start(&plan("packet:lt0", &[V4, V6]), LiveSettings::default()).unwrap();
        Self {
            live,
            kernel_namespace: Some(kernel_namespace),
            _forwarder: Some(PacketForwarder::start(ours, theirs)),
        }
    }

    /// Runs `f` in the namespace of the kernel's sockets.
    pub(crate) fn in_kernel_namespace<T: Send>(&self, f: impl FnOnce() -> T + Send) -> T {
        match &self.kernel_namespace {
            None => f(),
            Some(namespace) => namespace.run(f).unwrap(),
        }
    }

    /// Asserts that no connection is left; closing ones get some time.
    pub(crate) fn assert_empty(&self) {
        let left = || self.live.stats().packets.connections;
        for _ in 0..100 {
            if left() == 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{} connections are left", left());
    }

    /// Transfers data over connections that we open to the kernel.
    pub(crate) fn to_kernel(
        &self,
        v6: bool,
        config: &Config,
        load: &LoadPlan,
    ) -> (LoadReport, Vec<StreamReport>) {
        let listener =
            self.in_kernel_namespace(|| TcpListener::bind((kernel_at(v6), PORT)).unwrap());
        let to = SocketAddr::new(kernel_at(v6), PORT);
        let open =
            || -> io::Result<Arc<dyn ByteStream>> { Ok(Arc::new(self.live.connect(to, config)?)) };
        transfer(&listener, &open, load).unwrap()
    }

    /// Transfers data over connections that the kernel opens to us.
    pub(crate) fn serve_kernel(
        &self,
        v6: bool,
        config: &Config,
        load: &LoadPlan,
    ) -> (LoadReport, Vec<StreamReport>) {
        let listener = self.live.listen(PORT, config).unwrap();
        let to = SocketAddr::new(ours_at(v6), PORT);
        let open = || -> io::Result<Arc<dyn ByteStream>> {
            Ok(Arc::new(self.in_kernel_namespace(|| TcpStream::connect(to))?))
        };
        transfer(&listener, &open, load).unwrap()
    }
}

/// A plan of one connection with `n` bytes.
pub(crate) fn bytes(direction: TransferDirection, n: u64) -> LoadPlan {
    flows_of(1, direction, n)
}

/// A plan of several connections with `n` bytes each.
pub(crate) fn flows_of(connections: usize, direction: TransferDirection, n: u64) -> LoadPlan {
    let zero = lowtide_units::Duration::ZERO;
    let flow = LoadFlow { start: zero, direction, amount: Amount::Bytes(n), write_size: 64 << 10 };
    LoadPlan { flows: vec![flow; connections], interval: zero, seed: 42 }
}

/// Asserts that both ends saw the same bytes, as many as expected.
pub(crate) fn assert_good(what: &str, (report, served): &(LoadReport, Vec<StreamReport>), n: u64) {
    assert!(report.all_verified(), "{what}: {:#?}\n{served:#?}", report.streams);
    assert_eq!(report.bytes(), n, "{what}");
    assert!(served.iter().all(|s| s.error.is_none()), "{what}: {served:#?}");
}

/// Runs `ip`, which must succeed.
pub(crate) fn ip(args: &[&str]) {
    let status = Command::new("ip").args(args).status().unwrap();
    assert!(status.success(), "ip {args:?}");
}

/// Connections of the relay that have ended for any reason.
pub(crate) fn total_ended(s: &RelayStats) -> u64 {
    let failed = s.unreachable + s.timed_out + s.reset + s.idle + s.too_slow;
    s.closed + failed + s.replaced + s.refused + s.reset_at_shutdown
}
