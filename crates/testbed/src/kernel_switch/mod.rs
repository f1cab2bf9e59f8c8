//! A star of kernel hosts around a switch in the kernel's own path.
//!
//! Contract: the switch is a namespace that forwards IP between veth devices, one per host. A
//! shaper holds the packets of each device. The BPF program of [`lowtide_kernel`] marks and drops
//! them by the virtual clock of its line, or a qdisc of the kernel does so in place of another
//! marker. No thread of ours takes part. Its rows are those of the simulator's ports.

mod aqm;
mod check;
mod counts;
mod devices;
mod kind;
mod qdiscs;
mod shaper;

use std::sync::Arc;

use lowtide_bottleneck::{BottleneckReport, Fidelity, IngressDrops};
use lowtide_host::Setup;
use lowtide_kernel::{KernelBottleneck, PortCounts, PortSettings};
use lowtide_live::netns::Namespace;
use lowtide_live::{Clock, CpuTimes, LiveError};
use lowtide_net::Blueprint;
use lowtide_rows::EndReason;
use lowtide_units::{Duration, Instant};

use crate::error::TestbedError;
use crate::hosts::{HostNetns, HostThread, set_realtime_priority};
use crate::plan::HostPlan;
use crate::run::{RunOutput, finish, run_flows};
use crate::run_state::RunState;
use crate::traffic;

use devices::Queues;
use qdiscs::Qdiscs;

pub(crate) use check::{check, differences};
pub use kind::BottleneckKind;

/// The switch. It ends with its value.
#[derive(Debug)]
pub(crate) struct KernelSwitch {
    network: Blueprint,
    ports: Ports,
    cpu_at_start: CpuTimes,
    clock: Clock,
    /// Forwards as long as it exists.
    _switch: Namespace,
}

/// The counters of its ports.
#[derive(Debug)]
enum Ports {
    /// Those of the BPF program, with its settings by host.
    Program(KernelBottleneck, Vec<PortSettings>),
    Qdiscs(Qdiscs),
}

impl KernelSwitch {
    /// Makes a switch between `hosts` for a setup that [`check`] has accepted, and starts it.
    pub(crate) fn start(
        setup: &Setup,
        plans: &[HostPlan],
        hosts: &[Namespace],
        kind: BottleneckKind,
    ) -> Result<Self, TestbedError> {
        let system =
            |error: LiveError| TestbedError::Command("unshare".to_owned(), error.to_string());
        let switch = Namespace::new().map_err(system)?;
        let qdiscs = check::qdiscs(setup, plans, kind);
        let qdiscs = qdiscs.map_err(|e| TestbedError::Command("tc".to_owned(), e.message))?;
        let ports = if let Some(qdiscs) = qdiscs {
            devices::make(setup, plans, (&switch, hosts), &Queues::Qdiscs(&qdiscs))?;
            Ports::Qdiscs(Qdiscs::new(plans, &switch).map_err(system)?)
        } else {
            let bottleneck = KernelBottleneck::load()?;
            let departure_times = shaper::has_fq(&switch);
            let queues = Queues::Program { bottleneck: &bottleneck, departure_times };
            devices::make(setup, plans, (&switch, hosts), &queues)?;
            let ports = check::ports(setup, plans, departure_times);
            ports.iter().try_for_each(|port| bottleneck.start(port))?;
            Ports::Program(bottleneck, ports)
        };
        let cpu_at_start = CpuTimes::read().unwrap_or_default();
        let (network, clock) = (setup.network.clone(), Clock::start());
        Ok(Self { network, ports, cpu_at_start, clock, _switch: switch })
    }

    /// Looks at the lengths of qdiscs, which keep no sum over time.
    pub(crate) fn sample(&mut self) -> Result<(), TestbedError> {
        match &mut self.ports {
            Ports::Program(..) => Ok(()),
            Ports::Qdiscs(qdiscs) => qdiscs.sample(),
        }
    }

    fn counts(&mut self) -> Result<Vec<PortCounts>, TestbedError> {
        match &mut self.ports {
            Ports::Program(bottleneck, ports) => {
                let read = |port: &PortSettings| bottleneck.read(port.address);
                Ok(ports.iter().map(read).collect::<Result<_, _>>()?)
            }
            Ports::Qdiscs(qdiscs) => qdiscs.counts(),
        }
    }

    /// Returns the counts of each port from `warm` to the end of the run. A thread without the
    /// hosts' priority would read them too late.
    fn count(&mut self, run: &RunState, warm: Instant) -> Result<Vec<PortCounts>, TestbedError> {
        // Hosts report a refusal.
        let _ = set_realtime_priority();
        while run.now() < warm && !run.is_stopped() {
            std::thread::sleep(POLL_INTERVAL);
            self.sample()?;
        }
        let before = self.counts()?;
        while !run.is_stopped() {
            std::thread::sleep(POLL_INTERVAL);
            self.sample()?;
        }
        Ok(self.counts()?.iter().zip(&before).map(|(now, before)| now.since(before)).collect())
    }

    /// Returns the report since the start.
    pub(crate) fn report(&mut self) -> Result<BottleneckReport, TestbedError> {
        let counts = self.counts()?;
        Ok(self.report_of(&counts, self.clock.now().since_start()))
    }

    fn report_of(&self, counts: &[PortCounts], took: Duration) -> BottleneckReport {
        let steal = CpuTimes::read().unwrap_or_default().steal;
        let steal = steal.saturating_sub(self.cpu_at_start.steal);
        BottleneckReport {
            took,
            hosts: Vec::new(),
            ports: counts::queues(&self.network, counts),
            samples: Vec::new(),
            ingress_drops: IngressDrops::default(),
            no_device_drops: 0,
            no_route_drops: 0,
            in_transit: 0,
            fidelity: Fidelity {
                checksum_partial: counts.iter().map(|c| c.unsplit).sum(),
                scheduling: match self.ports {
                    Ports::Program(..) => counts::scheduling(counts, took),
                    Ports::Qdiscs(_) => "the kernel's softirqs and qdiscs".to_owned(),
                },
                steal: Duration::from_ns(u64::try_from(steal.as_nanos()).unwrap_or(u64::MAX)),
                ..counts::lateness(counts)
            },
        }
    }
}

/// Interval of checks whether the warm-up, or the run, is over, and of samples of qdiscs.
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_millis(5);

/// Runs the flows of `setup` between new hosts around a new switch. `None` if `watch` stopped the
/// run.
pub(crate) fn run(
    setup: &Setup,
    plans: &[HostPlan],
    kind: BottleneckKind,
    watch: &mut dyn FnMut(Instant) -> bool,
) -> Result<Option<RunOutput>, TestbedError> {
    let (apps, traffic) = traffic::of_run(setup, plans)?;
    let namespace = |plan: &HostPlan| {
        let failed = |error| TestbedError::Host { host: plan.name.clone(), error };
        Namespace::new().map_err(failed)
    };
    let namespaces: Vec<_> = plans.iter().map(namespace).collect::<Result<_, _>>()?;
    let mut switch = KernelSwitch::start(setup, plans, &namespaces, kind)?;
    let mut hosts = Vec::new();
    for ((plan, namespace), apps) in plans.iter().zip(namespaces).zip(apps) {
        let place = HostNetns::Existing(namespace);
        hosts.push(HostThread::start(plan, place, apps, setup.seed)?);
    }
    let run_state = Arc::new(RunState::begin(traffic));
    let ((ended, reason), counts) = std::thread::scope(|scope| {
        let counting = scope.spawn(|| switch.count(&run_state, Instant::ZERO + setup.warmup));
        let over = run_flows(setup, &hosts, &run_state, watch, &mut |_| false);
        (over, counting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let report = switch.report_of(&counts?, ended.since_start());
    let (apps, differences) = finish(hosts)?;
    if reason == EndReason::Interrupted {
        return Ok(None);
    }
    let clock_offset = Duration::ZERO;
    Ok(Some(RunOutput { apps, report, clock_offset, ended, reason, differences }))
}
