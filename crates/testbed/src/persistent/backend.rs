//! Runs in a persistent testbed.

use std::sync::Arc;

use lowtide_host::Setup;
use lowtide_lab::{Backend, CompletedRun, UnsupportedSetup};
use lowtide_live::netns::Namespace;
use lowtide_record::{Backend as Entry, TimingReport};
use lowtide_rows::{EndReason, Queue};
use lowtide_units::Instant;

use super::snapshot::{Snapshot, network};
use super::{PersistentError, TestbedPaths, netns_names};
use crate::error::TestbedError;
use crate::hosts::{HostNetns, HostThread};
use crate::kernel::release::release;
use crate::plan;
use crate::run::{finish, run_flows};
use crate::run_state::{RunState, SharedTraffic};
use crate::stack_choice::{StackChoice, StackKind};
use crate::tables::{Observations, tables};
use crate::traffic;

/// Backend that runs in the testbed that is up: its own network, the kernel's TCP on all hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PersistentBackend {
    paths: TestbedPaths,
    choice: StackChoice,
}

impl PersistentBackend {
    /// Backend for the testbed at `paths`; `controls` maps our congestion controls to kernel names.
    pub const fn new(paths: TestbedPaths, controls: Vec<(String, String)>) -> Self {
        Self {
            paths,
            choice: StackChoice {
                default_stack: StackKind::Kernel,
                exceptions: Vec::new(),
                cc_mapping: controls,
            },
        }
    }

    fn start_hosts(
        &self,
        setup: &Setup,
    ) -> Result<(Vec<HostThread>, SharedTraffic), PersistentError> {
        let plans = plan::hosts(setup, &self.choice).map_err(|r| PersistentError::System {
            what: "run this".to_owned(),
            error: std::io::Error::other(r.message),
        })?;
        let (apps, traffic) = traffic::of_run(setup, &plans).map_err(TestbedError::from)?;
        let mut hosts = Vec::new();
        for (plan, apps) in plans.iter().zip(apps) {
            let path = self.paths.netns_dir.join(netns_names::netns_name(&plan.name)?);
            let namespace = Namespace::at(&path)
                .map_err(|error| TestbedError::Host { host: plan.name.clone(), error })?;
            hosts.push(HostThread::start(plan, HostNetns::Existing(namespace), apps, setup.seed)?);
        }
        Ok((hosts, traffic))
    }

    fn measure(
        &self,
        setup: &Setup,
        watch: &mut dyn FnMut(Instant) -> bool,
    ) -> Result<Option<CompletedRun>, PersistentError> {
        let (hosts, traffic) = self.start_hosts(setup)?;
        let run_state = Arc::new(RunState::begin(traffic));
        let warm = Instant::ZERO + setup.warmup;
        // The network's counters start at the end of the warm-up.
        let mut before = None;
        let mut failed = None;
        let (ended, reason) = run_flows(setup, &hosts, &run_state, watch, &mut |now| {
            if before.is_none() && now >= warm {
                match Snapshot::fetch(&self.paths) {
                    Ok(shot) => before = Some(shot),
                    Err(error) => failed = Some(error),
                }
            }
            failed.is_some()
        });
        let (apps, differences) = finish(hosts)?;
        if let Some(error) = failed {
            return Err(error);
        }
        let after = Snapshot::fetch(&self.paths)?;
        if reason == EndReason::Interrupted {
            return Ok(None);
        }
        let before = before.unwrap_or_else(|| after.clone());
        let queues: Vec<Queue> = after.since(&before);
        let no_route_drops = after.no_route_drops - before.no_route_drops.min(after.no_route_drops);
        let seen =
            Observations { apps, queues, queue_samples: Vec::new(), no_route_drops, ended, reason };
        let mut all = plan::differences(setup);
        all.extend(differences);
        all.push("queues over time are not recorded in a persistent testbed".to_owned());
        let us = |ns: u64| ns as f64 / 1e3;
        let measured = TimingReport {
            differences: all,
            packets: after.packets - before.packets,
            late_packets: after.late_packets - before.late_packets,
            tolerance_us: us(after.tolerance_ns),
            late_mean_us: us(after.late_mean_ns),
            late_p50_us: us(after.late_p50_ns),
            late_p99_us: us(after.late_p99_ns),
            late_max_us: us(after.late_max_ns),
            steal_ms: us(after.steal_ns.saturating_sub(before.steal_ns)) / 1e3,
            refused: after.refused - before.refused,
            strays: after.strays - before.strays,
            remarks: vec![
                format!("the bottleneck ran with {}", after.scheduling),
                "its lateness and the longest queue in bytes are counted since the testbed is up"
                    .to_owned(),
            ],
        };
        Ok(Some(CompletedRun::measured(setup, tables(setup, seen), measured)))
    }
}

impl Backend for PersistentBackend {
    fn entry(&self) -> Entry {
        let controls = self.choice.cc_mapping.iter().map(|(from, to)| format!("{from}={to}"));
        Entry { name: "testbed".to_owned(), kernel: release(), choices: controls.collect() }
    }

    fn check(&self, setup: &Setup) -> Result<(), UnsupportedSetup> {
        plan::hosts(setup, &self.choice)?;
        let refusal = |e: PersistentError| UnsupportedSetup { message: e.to_string(), help: None };
        let shot = Snapshot::fetch(&self.paths).map_err(refusal)?;
        if shot.network == network(setup) {
            return Ok(());
        }
        Err(refusal(PersistentError::OtherNetwork { up: shot.scenario }))
    }

    fn run(
        &self,
        setup: &Setup,
        watch: &mut dyn FnMut(Instant) -> bool,
    ) -> Result<Option<CompletedRun>, String> {
        self.measure(setup, watch).map_err(|e| e.to_string())
    }
}
