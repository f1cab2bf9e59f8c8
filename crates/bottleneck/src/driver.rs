//! The thread that runs the network by the system's clock.

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

/// Lateness that no figure notices.
const TOLERANCE: Duration = Duration::from_us(100);
/// IP bytes of a full packet.
const FULL: u64 = 1500;
/// Turns after which the processor time is read again.
const CPU_READ_INTERVAL: u32 = 1024;

/// One host of the blueprint and what it is reached by.
#[derive(Debug)]
pub struct HostPort {
    /// Which host.
    pub host: HostId,
    /// Where its packets come from and go to.
    pub device: Device,
    /// What is at it: networks, each as an address and how many of its bits count. Whole addresses have 32 or 128.
    pub networks: Vec<(IpAddr, u8)>,
}

/// What a bottleneck is told beside its blueprint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BottleneckSettings {
    /// Whatever is drawn follows from it: faults, loss, markers that mark at random, ECMP.
    pub seed: u64,
    /// The statistics of ports begin so long after the start.
    pub warmup: Duration,
    /// What goes wrong with what hosts send; nothing by default.
    pub faults: Vec<(HostId, Faults)>,
    /// So long before something is due the thread no longer sleeps; zero: it always sleeps.
    pub spin: Duration,
    /// The priority of SCHED_FIFO, 1 to 99; `None` for the normal one. A refusal is told in the report.
    pub priority: Option<u8>,
    /// The core that the thread is to stay on.
    pub cpu_core: Option<usize>,
    /// From when on lateness counts as falling behind; by default 100 us, or the time of a full packet on the
    /// slowest line if that is longer.
    pub tolerance: Option<Duration>,
    /// How often the queues of switches are looked at; zero for never.
    pub sample_interval: Duration,
    /// The thread gives up all capabilities once it has its priority ([`lowtide_live::privileges`]). Captures are then
    /// written in place, as nobody may have the right to rename them at the end.
    pub unprivileged: bool,
    /// Captures of what passes the devices of hosts.
    pub captures: Vec<(HostId, PathBuf)>,
    /// The most packets under way: what bounds the memory, whatever buffers say.
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
    /// When it started.
    before: CpuTimes,
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
    /// Notes what only the thread knows.
    fn update_thread_stats(&mut self, devices: &[Device]) {
        self.cpu = thread_cpu_time();
        for (seat, device) in self.forwarder.ports.iter_mut().zip(devices) {
            seat.checksum_partial = device.checksum_partial();
        }
    }
}

impl Forwarder {
    /// Lets devices look for their neighbours, and says in how long one of them is to do so next.
    fn run_device_timers(&mut self, devices: &[Device]) -> Option<Duration> {
        let mut next = None;
        for (seat, device) in devices.iter().enumerate() {
            let mut due = device.next_timeout();
            if due.is_some_and(|due| due.is_zero()) {
                if let Err(error) = device.handle_timeout() {
                    self.on_device_error(seat, &error);
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
        // What was due is the thread's to do: figures end where it was last.
        let now = self.clock.now();
        let State { forwarder: core, scheduling, cpu } = &*state;
        let after = CpuTimes::read().unwrap_or_default();
        let stolen = after.steal.saturating_sub(self.before.steal).as_nanos();
        let stolen = Duration::from_ns(u64::try_from(stolen).unwrap_or(u64::MAX));
        let thread = ThreadStats { scheduling: scheduling.clone(), cpu: *cpu, steal: stolen };
        core.report(now, &self.names, thread)
    }
}

/// A network that runs until this is dropped.
#[derive(Debug)]
pub struct Bottleneck {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// A network with its captures open, whose thread is not started yet: in between a program may give up privileges.
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
    /// Runs it; its time begins now.
    ///
    /// # Errors
    /// No thread.
    pub fn start(self) -> Result<Bottleneck, BottleneckError> {
        let Self { forwarder: mut core, names, devices, thread_config: wish, spin, unprivileged } =
            self;
        let captures = core.ports.iter_mut().filter_map(|s| s.capture.as_mut());
        captures.map(Capture::start).fold(Ok(()), Result::and)?;
        let system = |what| move |error: std::io::Error| BottleneckError::System { what, error };
        let wake = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)
            .map_err(|e| system("make an event descriptor")(e.into()))?;
        let state = State { forwarder: core, scheduling: String::new(), cpu: Duration::ZERO };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            names,
            clock: Clock::start(),
            before: CpuTimes::read().unwrap_or_default(),
            wake,
            stop: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("lowtide-bottleneck".to_owned())
            .spawn(move || run(&theirs, &devices, (wish, unprivileged), spin))
            .map_err(system("start a thread"))?;
        Ok(Bottleneck { shared, thread: Some(thread) })
    }
}

impl Bottleneck {
    /// Runs `blueprint` with these ports; its time begins now. Hosts without a port exist, but nothing reaches
    /// them.
    ///
    /// # Errors
    /// A network that cannot be, two ports for one host, an address at two hosts, a capture that cannot be written, no
    /// thread.
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
    /// A network that cannot be, two ports for one host, an address at two hosts, a capture that cannot be written.
    pub fn prepare(
        blueprint: &Blueprint,
        ports: Vec<HostPort>,
        settings: &BottleneckSettings,
    ) -> Result<PreparedBottleneck, BottleneckError> {
        let hosts = blueprint.hosts.len();
        let mut table = AddressTable::default();
        let mut by_host = vec![None; hosts];
        let (mut seats, mut devices) = (Vec::new(), Vec::new());
        for port in ports {
            let host = port.host;
            let Some(place) = by_host.get_mut(host.0 as usize) else {
                return Err(BottleneckError::NoHost { host: host.0, hosts });
            };
            let name = blueprint.hosts[host.0 as usize].as_str();
            if place.replace(seats.len()).is_some() {
                return Err(BottleneckError::DuplicatePort(name.to_owned()));
            }
            for (network, bits) in port.networks {
                table.add(network, bits, host)?;
            }
            let wanted = settings.captures.iter().find(|(at, _)| *at == host);
            let capture = wanted
                .map(|(_, path)| Capture::create(path, name, settings.unprivileged))
                .transpose()?;
            seats.push(PortState {
                host,
                device_error: None,
                device_drops: 0,
                checksum_partial: 0,
                capture,
            });
            devices.push(port.device);
        }
        let plan = EngineConfig {
            seed: settings.seed,
            warmup: settings.warmup,
            max_packets: settings.max_packets,
            sample_interval: settings.sample_interval,
            faults: settings.faults.clone(),
        };
        let engine = Engine::new(blueprint, &plan, table)?;
        let tolerance = settings.tolerance.unwrap_or_else(|| tolerance(blueprint));
        let (pace, nowhere) = (FidelityStats::default(), 0);
        let core = Forwarder {
            engine,
            ports: seats,
            by_host,
            fidelity: pace,
            tolerance,
            no_device_drops: nowhere,
        };
        let wish = ThreadConfig { priority: settings.priority, cpu_core: settings.cpu_core };
        let (spin, unprivileged) = (settings.spin, settings.unprivileged);
        Ok(PreparedBottleneck {
            forwarder: core,
            names: blueprint.hosts.clone(),
            devices,
            thread_config: wish,
            spin,
            unprivileged,
        })
    }

    /// Time since the start: instants of the report, of link failures and of captures count from there.
    pub fn now(&self) -> Instant {
        self.shared.clock.now()
    }

    /// How things stand.
    pub fn report(&self) -> BottleneckReport {
        self.shared.report()
    }

    /// The first device that is gone, and why: an interface that was removed, a host that has ended.
    pub fn failed_device(&self) -> Option<(HostId, String)> {
        let state = self.shared.lock();
        state.forwarder.ports.iter().find_map(|s| Some((s.host, s.device_error.clone()?)))
    }

    /// Whether the thread has ended by itself: every device is gone.
    pub fn has_ended(&self) -> bool {
        self.shared.ended.load(Ordering::Acquire)
    }

    /// Ends it; what is under way is lost.
    ///
    /// # Errors
    /// A capture could not be written to its end.
    pub fn stop(mut self) -> Result<BottleneckReport, BottleneckError> {
        self.end();
        let report = self.shared.report();
        self.close()?;
        Ok(report)
    }

    fn end(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.shared.stop.store(true, Ordering::Release);
        // Full means that it is awake already.
        let _ = self.shared.wake.write(1);
        // A panic has been printed; there is nothing more to say here.
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
        // Whoever wants to know calls `stop`.
        let _ = self.close();
    }
}

/// What the slowest line of a switch needs for a full packet, if that is longer than what no figure notices.
fn tolerance(blueprint: &Blueprint) -> Duration {
    let lines = blueprint.links.iter().flat_map(|link| {
        let size = Bytes::new(FULL + link.framing.overhead());
        [link.from_a.rate, link.from_b.rate].map(|rate| rate.serialization(size))
    });
    lines.max().unwrap_or(TOLERANCE).max(TOLERANCE)
}

fn run(
    shared: &Shared,
    devices: &[Device],
    (wish, unprivileged): (ThreadConfig, bool),
    spin: Duration,
) {
    let _over = ExitGuard(shared);
    shared.lock().scheduling = apply(wish);
    if unprivileged && let Err(error) = privileges::drop_all() {
        // Nobody reads packets with more than was promised.
        let mut state = shared.lock();
        return state
            .forwarder
            .ports
            .iter_mut()
            .for_each(|s| s.device_error = Some(error.to_string()));
    }
    let mut room = ReadBuffers::default();
    let mut eyes = PollSet::new(shared, devices);
    let mut turns = 0_u32;
    while !shared.stop.load(Ordering::Acquire) {
        let began = shared.clock.now();
        let mut state = shared.lock();
        state.forwarder.run_iteration(devices, &eyes.ready, &mut room, &mut || shared.clock.now());
        let next = state.forwarder.engine.next();
        if turns.is_multiple_of(CPU_READ_INTERVAL) {
            state.update_thread_stats(devices);
        }
        let talk = state.forwarder.run_device_timers(devices);
        turns = turns.wrapping_add(1);
        let now = shared.clock.now();
        state.forwarder.fidelity.loop_iteration.add(now.saturating_since(began).as_ns());
        let gone = state.forwarder.ports.iter().filter(|s| s.device_error.is_some()).count();
        if gone > eyes.closed {
            eyes.close(gone, &state.forwarder.ports);
        }
        drop(state);
        if gone == devices.len() && gone > 0 {
            break;
        }
        let left = next.map(|at| at.saturating_since(now).saturating_sub(spin));
        eyes.wait(left.into_iter().chain(talk).min());
    }
    shared.lock().update_thread_stats(devices);
}

/// Says so when the thread ends, even by a panic.
struct ExitGuard<'a>(&'a Shared);

impl Drop for ExitGuard<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Release);
    }
}

/// What the thread waits for.
struct PollSet<'a> {
    shared: &'a Shared,
    devices: &'a [Device],
    /// The call, then the devices that are not gone.
    fds: Vec<PollFd<'a>>,
    /// The device of each of them.
    numbers: Vec<usize>,
    /// By device: it may have something.
    ready: Vec<bool>,
    /// Devices that are gone.
    closed: usize,
}

impl<'a> PollSet<'a> {
    fn new(shared: &'a Shared, devices: &'a [Device]) -> Self {
        let ready = vec![true; devices.len()];
        let mut eyes =
            Self { shared, devices, fds: Vec::new(), numbers: Vec::new(), ready, closed: 0 };
        eyes.close(0, &[]);
        eyes
    }

    /// So many devices are gone.
    fn close(&mut self, closed: usize, seats: &[PortState]) {
        self.closed = closed;
        self.fds.clear();
        self.numbers.clear();
        self.fds.push(PollFd::new(self.shared.wake.as_fd(), PollFlags::POLLIN));
        for (i, device) in self.devices.iter().enumerate() {
            if seats.get(i).is_none_or(|s| s.device_error.is_none()) {
                self.fds.push(PollFd::new(device.as_fd(), PollFlags::POLLIN));
                self.numbers.push(i);
            }
        }
    }

    /// Until a packet comes, somebody calls, or `left` is over.
    fn wait(&mut self, left: Option<Duration>) {
        let timeout =
            left.map(|left| TimeSpec::nanoseconds(i64::try_from(left.as_ns()).unwrap_or(i64::MAX)));
        // A signal is no reason to end; what went wrong with a device shows when it is read.
        let _ = ppoll(&mut self.fds, timeout, None);
        let mut has = self.fds.iter().map(|fd| fd.any().unwrap_or(false));
        if has.next().unwrap_or(false) {
            let _ = self.shared.wake.read();
        }
        self.ready.fill(false);
        for (number, has) in self.numbers.iter().zip(has) {
            self.ready[*number] = has;
        }
    }
}

/// Processor time of this thread.
fn thread_cpu_time() -> Duration {
    let clock = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
    let ns = nix::time::clock_gettime(clock).map_or(0, |t| t.num_nanoseconds());
    Duration::from_ns(u64::try_from(ns).unwrap_or(0))
}
