//! One run: hosts, the network between them and the flows, in real time.

use std::sync::Arc;

use lowtide_bottleneck::{Bottleneck, BottleneckReport, BottleneckSettings};
use lowtide_host::Setup;
use lowtide_rows::EndReason;
use lowtide_units::{Duration, Instant};

use crate::apps::Apps;
use crate::error::TestbedError;
use crate::hosts::{HostNetns, HostThread};
use crate::lost_interface::lost_interface;
use crate::plan::HostPlan;
use crate::run_state::RunState;
use crate::traffic;

/// Interval of checks whether the run is over.
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_millis(2);
/// Checks between two calls of `watch`.
const POLLS_PER_WATCH: u32 = 25;
/// Real-time priority of the bottleneck's thread, the highest: without it the thread was preempted
/// for up to 20 ms.
const PRIORITY: u8 = 50;
/// Spin time before an event: a wake-up takes 20 to 50 us on a virtual machine, more than the time
/// between two packets.
const SPIN: Duration = Duration::from_us(60);

/// Linux counts a connection's timeouts from 6.7 on.
const NO_TIMEOUTS: &str =
    "this kernel does not report retransmission timeouts: `timeouts` of queries are 0";

/// Result of a run.
pub(crate) struct RunOutput {
    /// By host index.
    pub(crate) apps: Vec<Apps>,
    pub(crate) report: BottleneckReport,
    /// Start of the run's clock after that of the bottleneck's clock.
    pub(crate) clock_offset: Duration,
    pub(crate) ended: Instant,
    pub(crate) reason: EndReason,
    /// Differences between hosts and the scenario.
    pub(crate) differences: Vec<String>,
}

/// Settings of the bottleneck for `setup`.
pub(crate) fn settings(setup: &Setup) -> BottleneckSettings {
    // On a single CPU the hosts would have to wait for it.
    let alone = std::thread::available_parallelism().is_ok_and(|n| n.get() == 1);
    BottleneckSettings {
        seed: setup.seed,
        warmup: setup.warmup,
        priority: Some(PRIORITY),
        spin: if alone { Duration::ZERO } else { SPIN },
        sample_interval: setup
            .probes
            .interval
            .filter(|_| setup.probes.queues)
            .unwrap_or(Duration::ZERO),
        ..BottleneckSettings::default()
    }
}

/// Runs the flows of `setup` between new hosts. `None` if `watch` stopped the run.
pub(crate) fn run(
    setup: &Setup,
    plans: &[HostPlan],
    watch: &mut dyn FnMut(Instant) -> bool,
) -> Result<Option<RunOutput>, TestbedError> {
    let (apps, traffic) = traffic::of_run(setup, plans)?;
    let mut hosts = Vec::new();
    for (plan, apps) in plans.iter().zip(apps) {
        hosts.push(HostThread::start(plan, HostNetns::New, apps, setup.seed)?);
    }
    let ports = hosts.iter_mut().filter_map(HostThread::take_port).collect();
    let bottleneck = Bottleneck::start(&setup.network, ports, &settings(setup))?;
    let run_state = Arc::new(RunState::begin(traffic));
    let lead = bottleneck.now().since_start();
    let lost = &mut |_| bottleneck.failed_device().is_some();
    let (ended, reason) = run_flows(setup, &hosts, &run_state, watch, lost);
    let report = bottleneck.report();
    let finished = finish(hosts)?;
    drop(bottleneck);
    if reason == EndReason::Interrupted && lost_interface(&report).is_none() {
        return Ok(None);
    }
    let (apps, differences) = finished;
    Ok(Some(RunOutput { apps, report, clock_offset: lead, ended, reason, differences }))
}

/// Runs from the first flow to the end.
pub(crate) fn run_flows(
    setup: &Setup,
    hosts: &[HostThread],
    run_state: &Arc<RunState>,
    watch: &mut dyn FnMut(Instant) -> bool,
    lost: &mut dyn FnMut(Instant) -> bool,
) -> (Instant, EndReason) {
    for host in hosts {
        host.begin(run_state);
    }
    let end = Instant::ZERO + setup.end.at;
    let mut looks = 0_u32;
    let over = loop {
        let now = run_state.now();
        if now >= end {
            break (end, EndReason::Time);
        }
        if setup.end.when_done && run_state.is_done() {
            break (now, EndReason::Done);
        }
        let told = looks.is_multiple_of(POLLS_PER_WATCH) && watch(now);
        if told || hosts.iter().any(HostThread::has_ended) || lost(now) {
            break (now, EndReason::Interrupted);
        }
        looks = looks.wrapping_add(1);
        let left = std::time::Duration::from_nanos(end.saturating_since(now).as_ns());
        std::thread::sleep(left.min(POLL_INTERVAL));
    };
    run_state.stop();
    over
}

/// Collects the observations of all hosts and their differences from the scenario.
pub(crate) fn finish(hosts: Vec<HostThread>) -> Result<(Vec<Apps>, Vec<String>), TestbedError> {
    let mut differences: Vec<String> = Vec::new();
    for difference in hosts.iter().flat_map(HostThread::differences) {
        if !differences.contains(difference) {
            differences.push(difference.clone());
        }
    }
    hosts.iter().for_each(HostThread::wait_until_done);
    let apps: Vec<Apps> = hosts.into_iter().map(HostThread::join).collect::<Result<_, _>>()?;
    if apps.iter().any(Apps::lacks_timeouts) {
        differences.push(NO_TIMEOUTS.to_owned());
    }
    Ok((apps, differences))
}
