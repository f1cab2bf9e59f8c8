//! The thread that runs the network in real time.

use std::net::IpAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use lowtide_live::{Clock, CpuTimes, Device, privileges};
use lowtide_net::{Blueprint, HostId};
use lowtide_units::{Bytes, Duration, Instant};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::{TimeSpec, TimeValLike};

use crate::address_table::AddressTable;
use crate::capture::Capture;
use crate::engine::{Engine, EngineConfig};
use crate::error::BottleneckError;
use crate::faults::Faults;
use crate::fidelity::FidelityStats;
use crate::forwarder::{Forwarder, PortState, ReadBuffers};
use crate::report::{BottleneckReport, ThreadStats};
use crate::scheduling::{ThreadConfig, apply};

/// Default tolerance of lateness, too small to affect results.
const TOLERANCE: Duration = Duration::from_us(100);
/// IP bytes of a full-size packet.
const FULL_PACKET: u64 = 1500;
/// Iterations between reads of the CPU time.
const CPU_READ_INTERVAL: u32 = 1024;

/// A host of the blueprint and its device.
#[derive(Debug)]
pub struct HostPort {
    /// The host.
    pub host: HostId,
    /// Device for the host's packets.
    pub device: Device,
    /// Networks of the host, each an address and a prefix length; 32 or 128 for single addresses.
    pub networks: Vec<(IpAddr, u8)>,
}

/// Settings of a bottleneck beside its blueprint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BottleneckSettings {
    /// Seed of all random draws: faults, loss, random marking, ECMP.
    pub seed: u64,
    /// Delay of the port statistics after the start.
    pub warmup: Duration,
    /// Faults injected into packets from hosts; none by default.
    pub faults: Vec<(HostId, Faults)>,
    /// Time before a deadline from which on the thread spins; zero: it always sleeps.
    pub spin: Duration,
    /// Priority of SCHED_FIFO, 1 to 99; `None` for normal scheduling. The report says if it was
    /// refused.
    pub priority: Option<u8>,
    /// Core to which the thread is pinned.
    pub cpu_core: Option<usize>,
    /// Lateness that counts as falling behind. Default: 100 us, or the serialization time of a
    /// full-size packet on the slowest link if that is longer.
    pub tolerance: Option<Duration>,
    /// Interval of sampling switch queues; zero for never.
    pub sample_interval: Duration,
    /// Whether the thread drops all capabilities once it has its priority
    /// ([`lowtide_live::privileges`]). Captures are then written in place, because renaming them
    /// may not be permitted.
    pub unprivileged: bool,
    /// Capture files of hosts' devices.
    pub captures: Vec<(HostId, PathBuf)>,
    /// Most packets in transit: bounds the memory whatever the port buffers are.
    pub max_packets: usize,
}

impl Default for BottleneckSettings {
    fn default() -> Self {
        Self {
            seed: 1,
            warmup: Duration::ZERO,
            faults: Vec::new(),
            spin: Duration::ZERO,
            priority: None,
            cpu_core: None,
            tolerance: None,
            sample_interval: Duration::ZERO,
            unprivileged: false,
            captures: Vec::new(),
            max_packets: 100_000,
        }
    }
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    names: Vec<String>,
    clock: Clock,
    /// CPU times at the start.
    cpu_at_start: CpuTimes,
    wake: EventFd,
    stop: AtomicBool,
    ended: AtomicBool,
}

#[derive(Debug)]
struct State {
    forwarder: Forwarder,
    scheduling: String,
    cpu: Duration,
}

impl State {
    /// Updates the statistics that only the thread can read.
    fn update_thread_stats(&mut self, devices: &[Device]) {
        self.cpu = thread_cpu_time();
        for (port, device) in self.forwarder.ports.iter_mut().zip(devices) {
            port.checksum_partial = device.checksum_partial();
        }
    }
}

impl Forwarder {
    /// Runs due timers of devices. Returns the time until the next one.
    fn run_device_timers(&mut self, devices: &[Device]) -> Option<Duration> {
        let mut next = None;
        for (port, device) in devices.iter().enumerate() {
            let mut due = device.next_timeout();
            if due.is_some_and(|due| due.is_zero()) {
                if let Err(error) = device.handle_timeout() {
                    self.on_device_error(port, &error);
                }
                due = device.next_timeout();
            }
            next = next.into_iter().chain(due).min();
        }
        next.map(|d| Duration::from_ns(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self) -> BottleneckReport {
        let state = self.lock();
        // Pending events are left to the thread: statistics end at its last iteration.
        let now = self.clock.now();
        let State { forwarder, scheduling, cpu } = &*state;
        let after = CpuTimes::read().unwrap_or_default();
        let steal = after.steal.saturating_sub(self.cpu_at_start.steal).as_nanos();
        let steal = Duration::from_ns(u64::try_from(steal).unwrap_or(u64::MAX));
        let thread = ThreadStats { scheduling: scheduling.clone(), cpu: *cpu, steal };
        forwarder.report(now, &self.names, thread)
    }
}

/// A network that runs until this is dropped.
#[derive(Debug)]
pub struct Bottleneck {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// A network whose captures are open and whose thread is not started, so that the program can drop
/// privileges first.
#[derive(Debug)]
pub struct PreparedBottleneck {
    forwarder: Forwarder,
    names: Vec<String>,
    devices: Vec<Device>,
    thread_config: ThreadConfig,
    spin: Duration,
    unprivileged: bool,
}

impl PreparedBottleneck {
    /// Starts the network; its time begins now.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(self) -> Result<Bottleneck, BottleneckError> {
        let Self { mut forwarder, names, devices, thread_config, spin, unprivileged } = self;
        let captures = forwarder.ports.iter_mut().filter_map(|s| s.capture.as_mut());
        captures.map(Capture::start).fold(Ok(()), Result::and)?;
        let system = |what| move |error: std::io::Error| BottleneckError::System { what, error };
        let wake = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)
            .map_err(|e| system("create an event descriptor")(e.into()))?;
        let state = State { forwarder, scheduling: String::new(), cpu: Duration::ZERO };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            names,
            clock: Clock::start(),
            cpu_at_start: CpuTimes::read().unwrap_or_default(),
            wake,
            stop: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        });
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("lowtide-bottleneck".to_owned())
            .spawn(move || run(&for_thread, &devices, (thread_config, unprivileged), spin))
            .map_err(system("start a thread"))?;
        Ok(Bottleneck { shared, thread: Some(thread) })
    }
}

impl Bottleneck {
    /// Runs `blueprint` with these ports; its time begins now. Hosts without a port exist but are
    /// unreachable.
    ///
    /// # Errors
    /// Those of [`Self::prepare`], or the thread cannot be started.
    pub fn start(
        blueprint: &Blueprint,
        ports: Vec<HostPort>,
        settings: &BottleneckSettings,
    ) -> Result<Self, BottleneckError> {
        Self::prepare(blueprint, ports, settings)?.start()
    }

    /// Prepares the bottleneck without starting its thread.
    ///
    /// # Errors
    /// An invalid network, two ports for one host, an address at two hosts, a capture that cannot
    /// be created.
    pub fn prepare(
        blueprint: &Blueprint,
        ports: Vec<HostPort>,
        settings: &BottleneckSettings,
    ) -> Result<PreparedBottleneck, BottleneckError> {
        let hosts = blueprint.hosts.len();
        let mut table = AddressTable::default();
        let mut by_host = vec![None; hosts];
        let (mut port_states, mut devices) = (Vec::new(), Vec::new());
        for port in ports {
            let host = port.host;
            let Some(slot) = by_host.get_mut(host.0 as usize) else {
                return Err(BottleneckError::NoHost { host: host.0, hosts });
            };
            let name = blueprint.hosts[host.0 as usize].as_str();
            if slot.replace(port_states.len()).is_some() {
                return Err(BottleneckError::DuplicatePort(name.to_owned()));
            }
            for (network, bits) in port.networks {
                table.add(network, bits, host)?;
            }
            let capture_path = settings.captures.iter().find(|(at, _)| *at == host);
            let capture = capture_path
                .map(|(_, path)| Capture::create(path, name, settings.unprivileged))
                .transpose()?;
            port_states.push(PortState {
                host,
                device_error: None,
                device_drops: 0,
                checksum_partial: 0,
                capture,
            });
            devices.push(port.device);
        }
        let engine_config = EngineConfig {
            seed: settings.seed,
            warmup: settings.warmup,
            max_packets: settings.max_packets,
            sample_interval: settings.sample_interval,
            faults: settings.faults.clone(),
        };
        let engine = Engine::new(blueprint, &engine_config, table)?;
        let tolerance = settings.tolerance.unwrap_or_else(|| tolerance(blueprint));
        let forwarder = Forwarder {
            engine,
            ports: port_states,
            by_host,
            fidelity: FidelityStats::default(),
            tolerance,
            no_device_drops: 0,
        };
        let thread_config =
            ThreadConfig { priority: settings.priority, cpu_core: settings.cpu_core };
        let (spin, unprivileged) = (settings.spin, settings.unprivileged);
        Ok(PreparedBottleneck {
            forwarder,
            names: blueprint.hosts.clone(),
            devices,
            thread_config,
            spin,
            unprivileged,
        })
    }

    /// Time since the start; times in the report, of link failures and in captures refer to it.
    pub fn now(&self) -> Instant {
        self.shared.clock.now()
    }

    /// A report of the current state.
    pub fn report(&self) -> BottleneckReport {
        self.shared.report()
    }

    /// The first failed device and its error: for example an interface that was removed.
    pub fn failed_device(&self) -> Option<(HostId, String)> {
        let state = self.shared.lock();
        state.forwarder.ports.iter().find_map(|s| Some((s.host, s.device_error.clone()?)))
    }

    /// Whether the thread has ended because every device failed.
    pub fn has_ended(&self) -> bool {
        self.shared.ended.load(Ordering::Acquire)
    }

    /// Stops the network; packets in transit are lost.
    ///
    /// # Errors
    /// A capture could not be completed.
    pub fn stop(mut self) -> Result<BottleneckReport, BottleneckError> {
        self.end();
        let report = self.shared.report();
        self.close()?;
        Ok(report)
    }

    fn end(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.shared.stop.store(true, Ordering::Release);
        // If the counter is full, the thread is awake already.
        let _ = self.shared.wake.write(1);
        // The panic message has been printed already.
        let _ = thread.join();
    }

    fn close(&self) -> Result<(), BottleneckError> {
        let mut state = self.shared.lock();
        let captures = state.forwarder.ports.iter_mut().filter_map(|s| s.capture.take());
        captures.map(Capture::close).fold(Ok(()), Result::and)
    }
}

impl Drop for Bottleneck {
    fn drop(&mut self) {
        self.end();
        // Callers that need the error call `stop`.
        let _ = self.close();
    }
}

/// Serialization time of a full-size packet on the slowest link, at least [`TOLERANCE`].
fn tolerance(blueprint: &Blueprint) -> Duration {
    let times = blueprint.links.iter().flat_map(|link| {
        let size = Bytes::new(FULL_PACKET + link.framing.overhead());
        [link.from_a.rate, link.from_b.rate].map(|rate| rate.serialization(size))
    });
    times.max().unwrap_or(TOLERANCE).max(TOLERANCE)
}

fn run(
    shared: &Shared,
    devices: &[Device],
    (thread_config, unprivileged): (ThreadConfig, bool),
    spin: Duration,
) {
    let _guard = ExitGuard(shared);
    shared.lock().scheduling = apply(thread_config);
    if unprivileged && let Err(error) = privileges::drop_all() {
        // Do not read packets with more privileges than promised.
        let mut state = shared.lock();
        return state
            .forwarder
            .ports
            .iter_mut()
            .for_each(|s| s.device_error = Some(error.to_string()));
    }
    let mut buffers = ReadBuffers::default();
    let mut poll_set = PollSet::new(shared, devices);
    let mut iterations = 0_u32;
    while !shared.stop.load(Ordering::Acquire) {
        let began = shared.clock.now();
        let mut state = shared.lock();
        state
            .forwarder
            .run_iteration(devices, &poll_set.ready, &mut buffers, &mut || shared.clock.now());
        let next = state.forwarder.engine.next();
        if iterations.is_multiple_of(CPU_READ_INTERVAL) {
            state.update_thread_stats(devices);
        }
        let device_timer = state.forwarder.run_device_timers(devices);
        iterations = iterations.wrapping_add(1);
        let now = shared.clock.now();
        state.forwarder.fidelity.loop_iteration.add(now.saturating_since(began).as_ns());
        let failed = state.forwarder.ports.iter().filter(|s| s.device_error.is_some()).count();
        if failed > poll_set.closed {
            poll_set.close(failed, &state.forwarder.ports);
        }
        drop(state);
        if failed == devices.len() && failed > 0 {
            break;
        }
        let left = next.map(|at| at.saturating_since(now).saturating_sub(spin));
        poll_set.wait(left.into_iter().chain(device_timer).min());
    }
    shared.lock().update_thread_stats(devices);
}

/// Marks the thread as ended, even after a panic.
struct ExitGuard<'a>(&'a Shared);

impl Drop for ExitGuard<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Release);
    }
}

/// The descriptors that the thread polls.
struct PollSet<'a> {
    shared: &'a Shared,
    devices: &'a [Device],
    /// The eventfd, then the devices that have not failed.
    fds: Vec<PollFd<'a>>,
    /// Device index of each of them.
    numbers: Vec<usize>,
    /// By device: whether it may be readable.
    ready: Vec<bool>,
    /// Number of failed devices.
    closed: usize,
}

impl<'a> PollSet<'a> {
    fn new(shared: &'a Shared, devices: &'a [Device]) -> Self {
        let ready = vec![true; devices.len()];
        let mut poll_set =
            Self { shared, devices, fds: Vec::new(), numbers: Vec::new(), ready, closed: 0 };
        poll_set.close(0, &[]);
        poll_set
    }

    /// Rebuilds the set for `closed` failed devices.
    fn close(&mut self, closed: usize, ports: &[PortState]) {
        self.closed = closed;
        self.fds.clear();
        self.numbers.clear();
        self.fds.push(PollFd::new(self.shared.wake.as_fd(), PollFlags::POLLIN));
        for (i, device) in self.devices.iter().enumerate() {
            if ports.get(i).is_none_or(|s| s.device_error.is_none()) {
                self.fds.push(PollFd::new(device.as_fd(), PollFlags::POLLIN));
                self.numbers.push(i);
            }
        }
    }

    /// Waits for a packet, a stop, or the time `left`.
    fn wait(&mut self, left: Option<Duration>) {
        let timeout =
            left.map(|left| TimeSpec::nanoseconds(i64::try_from(left.as_ns()).unwrap_or(i64::MAX)));
        // A signal has no effect; errors of a device show when it is read.
        let _ = ppoll(&mut self.fds, timeout, None);
        let mut readable = self.fds.iter().map(|fd| fd.any().unwrap_or(false));
        if readable.next().unwrap_or(false) {
            let _ = self.shared.wake.read();
        }
        self.ready.fill(false);
        for (number, readable) in self.numbers.iter().zip(readable) {
            self.ready[*number] = readable;
        }
    }
}

/// CPU time of this thread.
fn thread_cpu_time() -> Duration {
    let clock = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
    let ns = nix::time::clock_gettime(clock).map_or(0, |t| t.num_nanoseconds());
    Duration::from_ns(u64::try_from(ns).unwrap_or(0))
}
