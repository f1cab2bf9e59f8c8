//! A star of kernel hosts around a switch in the kernel's own path.
//!
//! Contract: the switch is a namespace that forwards IP between veth devices, one per host. A
//! shaper holds the packets of each device, and the BPF program of [`lowtide_kernel`] marks and
//! drops them by the virtual clock of its line. No thread of ours takes part. Its rows are those of
//! the simulator's ports.

mod check;
mod counts;
mod devices;
mod shaper;

use std::sync::Arc;

use lowtide_bottleneck::{BottleneckReport, Fidelity, IngressDrops};
use lowtide_host::Setup;
use lowtide_kernel::{KernelBottleneck, PortCounts, PortSettings};
use lowtide_live::CpuTimes;
use lowtide_live::netns::Namespace;
use lowtide_rows::EndReason;
use lowtide_units::{Duration, Instant};

use crate::error::TestbedError;
use crate::hosts::{HostNetns, HostThread, set_realtime_priority};
use crate::plan::HostPlan;
use crate::run::{RunOutput, finish, run_flows};
use crate::run_state::RunState;
use crate::traffic;

pub(crate) use check::{check, differences};

/// The network of a testbed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BottleneckKind {
    /// The simulator's network in a thread of ours.
    #[default]
    User,
    /// Devices and shapers of the kernel, with a BPF program that marks.
    Kernel,
}

/// The switch, with its hosts' namespaces. All of it ends with them.
struct KernelSwitch {
    hosts: Vec<Namespace>,
    bottleneck: KernelBottleneck,
    /// By host.
    ports: Vec<PortSettings>,
    cpu_at_start: CpuTimes,
    /// Forwards as long as it exists.
    _switch: Namespace,
}

impl KernelSwitch {
    fn build(setup: &Setup, plans: &[HostPlan]) -> Result<Self, TestbedError> {
        let bottleneck = KernelBottleneck::load()?;
        let made = devices::make(setup, plans, &bottleneck)?;
        let ports = check::ports(setup, plans, made.departure_times);
        Ok(Self {
            hosts: made.hosts,
            bottleneck,
            ports,
            cpu_at_start: CpuTimes::read().unwrap_or_default(),
            _switch: made.switch,
        })
    }

    fn start(&self) -> Result<(), TestbedError> {
        Ok(self.ports.iter().try_for_each(|port| self.bottleneck.start(port))?)
    }

    fn counts(&self) -> Result<Vec<PortCounts>, TestbedError> {
        let read = |port: &PortSettings| self.bottleneck.read(port.address);
        Ok(self.ports.iter().map(read).collect::<Result<_, _>>()?)
    }

    /// Returns the counts of each port from `warm` to the end of the run. A thread without the
    /// hosts' priority would read them too late.
    fn count(&self, run: &RunState, warm: Instant) -> Result<Vec<PortCounts>, TestbedError> {
        // Hosts report a refusal.
        let _ = set_realtime_priority();
        while run.now() < warm && !run.is_stopped() {
            std::thread::sleep(POLL_INTERVAL);
        }
        let before = self.counts()?;
        while !run.is_stopped() {
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(self.counts()?.iter().zip(&before).map(|(now, before)| now.since(before)).collect())
    }

    fn report(&self, setup: &Setup, counts: &[PortCounts], took: Duration) -> BottleneckReport {
        let steal = CpuTimes::read().unwrap_or_default().steal;
        let steal = steal.saturating_sub(self.cpu_at_start.steal);
        BottleneckReport {
            took,
            hosts: Vec::new(),
            ports: counts::queues(setup, counts),
            samples: Vec::new(),
            ingress_drops: IngressDrops::default(),
            no_device_drops: 0,
            no_route_drops: 0,
            in_transit: 0,
            fidelity: Fidelity {
                checksum_partial: counts.iter().map(|c| c.unsplit).sum(),
                scheduling: counts::scheduling(counts, took),
                steal: Duration::from_ns(u64::try_from(steal.as_nanos()).unwrap_or(u64::MAX)),
                ..counts::lateness(counts)
            },
        }
    }
}

/// Interval of checks whether the warm-up, or the run, is over.
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_millis(2);

/// Runs the flows of `setup` between new hosts around a new switch. `None` if `watch` stopped the
/// run.
pub(crate) fn run(
    setup: &Setup,
    plans: &[HostPlan],
    watch: &mut dyn FnMut(Instant) -> bool,
) -> Result<Option<RunOutput>, TestbedError> {
    let (apps, traffic) = traffic::of_run(setup, plans)?;
    let switch = KernelSwitch::build(setup, plans)?;
    let mut hosts = Vec::new();
    for ((plan, namespace), apps) in plans.iter().zip(&switch.hosts).zip(apps) {
        let place = HostNetns::Existing(namespace.clone());
        hosts.push(HostThread::start(plan, place, apps, setup.seed)?);
    }
    switch.start()?;
    let run_state = Arc::new(RunState::begin(traffic));
    let ((ended, reason), counts) = std::thread::scope(|scope| {
        let counting = scope.spawn(|| switch.count(&run_state, Instant::ZERO + setup.warmup));
        let over = run_flows(setup, &hosts, &run_state, watch, &mut |_| false);
        (over, counting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let report = switch.report(setup, &counts?, ended.since_start());
    let (apps, differences) = finish(hosts)?;
    if reason == EndReason::Interrupted {
        return Ok(None);
    }
    let clock_offset = Duration::ZERO;
    Ok(Some(RunOutput { apps, report, clock_offset, ended, reason, differences }))
}
