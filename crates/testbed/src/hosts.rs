//! Host threads: each sets up its stack, waits for the start, runs its applications and reports.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

use lowtide_bottleneck::HostPort;
use lowtide_live::{Device, DeviceNetwork, DevicePlan, Live, LiveError, LiveSettings, netns};
use lowtide_net::HostId;
use lowtide_sim::Seed;
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

use crate::apps::Apps;
use crate::apps::context::PORT;
use crate::error::TestbedError;
use crate::kernel::sockets::KernelSockets;
use crate::kernel::tcp_config::KernelTcpConfig;
use crate::lowtide_sockets::LowtideSockets;
use crate::plan::{HostPlan, HostStack, PREFIX};
use crate::run_state::RunState;
use crate::sockets::Sockets;

/// Interface name of a host.
pub(crate) const INTERFACE: &str = "eth0";

/// Namespace of a kernel host.
#[derive(Clone, Debug)]
pub(crate) enum HostNetns {
    /// In a new namespace that ends with its thread; its interface is connected to the bottleneck.
    New,
    /// In an existing namespace with its interface.
    Existing(netns::Namespace),
}

/// A running host.
pub(crate) struct HostThread {
    name: String,
    /// Its end of the link to the bottleneck, unless another process has it.
    port: Option<HostPort>,
    differences: Vec<String>,
    start_tx: Sender<Arc<RunState>>,
    /// Signals that it has queried every connection for the last time.
    done_rx: Receiver<HostReady>,
    thread: JoinHandle<Result<Apps, TestbedError>>,
}

/// Message of a host that is ready.
struct HostReady {
    device: Option<Device>,
    differences: Vec<String>,
}

impl HostThread {
    /// Starts a host's thread and waits until it listens.
    pub(crate) fn start(
        plan: &HostPlan,
        place: HostNetns,
        apps: Apps,
        seed: u64,
    ) -> Result<Self, TestbedError> {
        let (ready_tx, ready_rx) = channel();
        let (begin, run_rx) = channel();
        let own = plan.clone();
        let thread = std::thread::Builder::new()
            .name(format!("host {}", plan.name))
            .spawn(move || host_thread(&own, place, apps, seed, ready_tx, &run_rx))
            .map_err(|error| socket(plan, "start its thread", error))?;
        let Ok(HostReady { device, differences }) = ready_rx.recv() else {
            // The thread has returned its error, or panicked.
            let ended =
                thread.join().unwrap_or_else(|_| Err(TestbedError::Ended(plan.name.clone())));
            return Err(ended.err().unwrap_or_else(|| TestbedError::Ended(plan.name.clone())));
        };
        let networks = vec![(IpAddr::V4(plan.address), 32)];
        let port = device.map(|device| HostPort { host: HostId(plan.number), device, networks });
        Ok(Self {
            name: plan.name.clone(),
            port,
            differences,
            start_tx: begin,
            done_rx: ready_rx,
            thread,
        })
    }

    /// Takes its end of the link; once.
    pub(crate) fn take_port(&mut self) -> Option<HostPort> {
        self.port.take()
    }

    /// Differences between its TCP and the scenario.
    pub(crate) fn differences(&self) -> &[String] {
        &self.differences
    }

    /// Starts its applications.
    pub(crate) fn begin(&self, run_state: &Arc<RunState>) {
        // A thread that has ended is detected by `join`.
        let _ = self.start_tx.send(Arc::clone(run_state));
    }

    /// True if its applications have ended, which happens only after the run is stopped.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.done_rx.try_recv(), Err(TryRecvError::Disconnected))
    }

    /// Waits for its last query of every connection. No host may close a connection before all are
    /// done.
    pub(crate) fn wait_until_done(&self) {
        // No message follows, only the closed channel.
        let _ = self.done_rx.recv();
    }

    /// Returns the observations of its applications.
    pub(crate) fn join(self) -> Result<Apps, TestbedError> {
        drop(self.start_tx);
        self.thread.join().unwrap_or(Err(TestbedError::Ended(self.name)))
    }
}

fn socket(plan: &HostPlan, what: &'static str, error: io::Error) -> TestbedError {
    TestbedError::Socket { host: plan.name.clone(), what, error }
}

fn host_thread(
    plan: &HostPlan,
    place: HostNetns,
    mut apps: Apps,
    seed: u64,
    ready_tx: Sender<HostReady>,
    run_rx: &Receiver<Arc<RunState>>,
) -> Result<Apps, TestbedError> {
    let failed = |error| TestbedError::Host { host: plan.name.clone(), error };
    let scheduling = set_realtime_priority();
    let (mut sockets, ready): (Box<dyn Sockets>, HostReady) = match (&plan.stack, place) {
        (HostStack::Lowtide(config), _) => {
            let (ours, device) = Device::memory_link().map_err(failed)?;
            let id = u64::from(plan.number);
            let seed = Some(Seed::derive(seed, "host", id, "live endpoint").rng().next_u64());
            // Both ends of every connection are ours: no limit may affect a result.
            let (memory, orphans) = (usize::MAX, usize::MAX);
            let settings = LiveSettings { seed, memory, orphans, ..LiveSettings::default() };
            let live =
                Live::with_device(ours, vec![plan.address.into()], settings).map_err(failed)?;
            let sockets = LowtideSockets::listen(live, PORT, config)
                .map_err(|error| socket(plan, "listen", error))?;
            (Box::new(sockets), HostReady { device: Some(device), differences: Vec::new() })
        }
        (HostStack::Kernel(end), HostNetns::New) => {
            netns::enter_new().map_err(failed)?;
            let device = Device::open(&interface(plan).map_err(failed)?).map_err(failed)?;
            kernel(plan, end, Some(device))?
        }
        (HostStack::Kernel(end), HostNetns::Existing(namespace)) => {
            namespace.enter().map_err(failed)?;
            kernel(plan, end, None)?
        }
    };
    let mut ready = ready;
    ready.differences.extend(scheduling);
    // The receiver is gone only if another host failed.
    if ready_tx.send(ready).is_err() {
        return Err(TestbedError::Ended(plan.name.clone()));
    }
    let Ok(run_state) = run_rx.recv() else { return Ok(apps) };
    let ran = apps.run(&mut *sockets, &run_state);
    drop(ready_tx);
    // Waits until all hosts have queried their connections.
    let _ = run_rx.recv();
    ran.map_err(|error| socket(plan, "its applications", error))?;
    Ok(apps)
}

/// Real-time priority of host threads: below the bottleneck's, above all others.
const PRIORITY: u8 = 40;

/// Gives this thread and its children real-time priority: a host that waits for a CPU looks like a
/// slow link. Returns a remark if the system refuses.
pub(crate) fn set_realtime_priority() -> Option<String> {
    let value = ThreadPriorityValue::try_from(PRIORITY).ok()?;
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let wish = ThreadPriority::Crossplatform(value);
    let set = set_thread_priority_and_policy(thread_native_id(), wish, policy);
    set.err().map(|why| format!("hosts run at normal priority: SCHED_FIFO was refused ({why})"))
}

fn kernel(
    plan: &HostPlan,
    end: &KernelTcpConfig,
    device: Option<Device>,
) -> Result<(Box<dyn Sockets>, HostReady), TestbedError> {
    let differences = end.apply();
    let sockets = KernelSockets::listen(plan.address, PORT, end)
        .map_err(|error| socket(plan, "listen", error))?;
    Ok((Box::new(sockets), HostReady { device, differences }))
}

/// Interface of a kernel host: it has the host's address, and all other hosts are reached through
/// it.
pub(crate) fn interface(plan: &HostPlan) -> Result<DevicePlan, LiveError> {
    let [a, b, ..] = plan.address.octets();
    let side = DeviceNetwork::parse(&format!("{a}.{b}.255.254/{PREFIX}"))?;
    let side = side.with_peer(plan.address.into())?;
    DevicePlan::parse(&format!("tun:{INTERFACE}"), plan.mtu, vec![side])
}
