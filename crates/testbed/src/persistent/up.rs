//! Creates, keeps and removes a testbed.

use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::net::UnixListener;
use std::time::Duration;

use lowtide_bottleneck::{Bottleneck, BottleneckReport, HostPort};
use lowtide_host::Setup;
use lowtide_lab::UnsupportedSetup;
use lowtide_live::netns::Namespace;
use lowtide_live::{Device, LiveError};
use lowtide_net::HostId;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::snapshot::{Snapshot, network, socket};
use super::state::{NetnsName, TestbedState, lock};
use super::{PersistentError, TestbedPaths, netns_names};
use crate::error::TestbedError;
use crate::hosts::interface;
use crate::kernel_switch::{self, BottleneckKind, KernelSwitch};
use crate::plan::{self, HostPlan, HostStack};
use crate::run::settings;
use crate::stack_choice::{StackChoice, StackKind};

/// Wait for a terminated process: number of polls, and their interval.
const EXIT_POLLS: u32 = 200;
const EXIT_POLL_INTERVAL: Duration = Duration::from_millis(25);

/// A testbed owned by this process: its namespaces have names, and packets are forwarded.
#[derive(Debug)]
pub struct PersistentTestbed {
    paths: TestbedPaths,
    state: TestbedState,
    hosts: Vec<(String, String, Ipv4Addr)>,
    bottleneck: Network,
    listener: UnixListener,
    network: u64,
    /// Names left behind by an earlier testbed, which were removed.
    pub removed: Vec<String>,
    /// Differences between hosts and the scenario.
    pub differences: Vec<String>,
    /// Released last.
    lock: File,
}

/// The network between the hosts.
#[derive(Debug)]
enum Network {
    User(Bottleneck),
    Kernel(Box<KernelSwitch>),
}

impl Network {
    fn report(&mut self) -> Result<BottleneckReport, TestbedError> {
        match self {
            Self::User(bottleneck) => Ok(bottleneck.report()),
            Self::Kernel(switch) => switch.report(),
        }
    }
}

impl PersistentTestbed {
    /// Creates the testbed of `setup`, a run of `scenario`, with the network `kind`. Leftovers of
    /// an earlier one are removed first.
    ///
    /// # Errors
    /// Another process has a testbed, a name is taken, or a privilege is missing. Everything
    /// created so far is removed.
    pub fn make(
        setup: &Setup,
        scenario: &str,
        kind: BottleneckKind,
        paths: &TestbedPaths,
    ) -> Result<Self, PersistentError> {
        let kernels = StackChoice {
            default_stack: StackKind::Kernel,
            exceptions: Vec::new(),
            cc_mapping: Vec::new(),
        };
        let plans = plan::hosts(setup, &kernels).map_err(refused)?;
        if kind != BottleneckKind::User {
            kernel_switch::check(setup, &plans, kind).map_err(refused)?;
        }
        let lock = lock(paths)?.ok_or_else(|| PersistentError::AlreadyUp(owner(paths)))?;
        let removed = remove_leftovers(paths)?;
        let all: Vec<String> =
            plans.iter().map(|p| netns_names::netns_name(&p.name)).collect::<Result<_, _>>()?;
        netns_names::check_free(paths, &all)?;
        let namespaces = plans.iter().map(|plan| Namespace::new().map_err(host(plan)));
        let namespaces: Vec<Namespace> = namespaces.collect::<Result<_, _>>()?;
        let mut state = TestbedState::of_this_process(scenario, Vec::new());
        for ((name, namespace), plan) in all.iter().zip(&namespaces).zip(&plans) {
            let inode = namespace.inode().map_err(host(plan))?;
            state.names.push(NetnsName { name: name.clone(), inode });
        }
        // From here on a later process can find and remove the names.
        state.write(paths)?;
        let built = build(setup, &plans, &namespaces, kind, (paths, &state));
        let (bottleneck, listener, differences) = match built {
            Ok(built) => built,
            Err(error) => {
                // The first error is the one to report.
                let _ = remove_leftovers(paths);
                return Err(error);
            }
        };
        let hosts = plans.iter().zip(all).map(|(p, name)| (p.name.clone(), name, p.address));
        Ok(Self {
            paths: paths.clone(),
            state,
            hosts: hosts.collect(),
            bottleneck,
            listener,
            network: network(setup),
            removed,
            differences,
            lock,
        })
    }

    /// Name, namespace and address of each host.
    pub fn hosts(&self) -> &[(String, String, Ipv4Addr)] {
        &self.hosts
    }

    /// Runs until `stop` returns true or an interface is lost; returns the reason in the latter
    /// case.
    pub fn serve(&mut self, stop: &dyn Fn() -> bool) -> Option<String> {
        loop {
            if stop() {
                return None;
            }
            match &mut self.bottleneck {
                Network::User(bottleneck) => {
                    if let Some((host, why)) = bottleneck.failed_device() {
                        let name = self.hosts.get(host.0 as usize).map_or("?", |(name, ..)| name);
                        return Some(format!("the interface of host `{name}` is gone: {why}"));
                    }
                }
                Network::Kernel(switch) => {
                    if let Err(error) = switch.sample() {
                        return Some(error.to_string());
                    }
                }
            }
            let mut shot = || {
                let report = self.bottleneck.report().map_err(std::io::Error::other)?;
                Ok(Snapshot::of(&report, self.network, &self.state.scenario))
            };
            if let Err(error) = Snapshot::serve(&self.listener, &mut shot) {
                return Some(format!("its socket: {error}"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Removes the testbed and returns the network's report.
    ///
    /// # Errors
    /// A name could not be removed.
    pub fn down(mut self) -> Result<BottleneckReport, PersistentError> {
        let report = self.bottleneck.report();
        remove_leftovers(&self.paths)?;
        drop(self.lock);
        Ok(report?)
    }
}

fn refused(refusal: UnsupportedSetup) -> PersistentError {
    let UnsupportedSetup { message, help } = refusal;
    let help = help.map(|help| format!(" ({help})")).unwrap_or_default();
    PersistentError::System {
        what: "build it".to_owned(),
        error: std::io::Error::other(message + &help),
    }
}

fn host(plan: &HostPlan) -> impl FnOnce(LiveError) -> PersistentError {
    let host = plan.name.clone();
    move |error| PersistentError::Testbed(TestbedError::Host { host, error })
}

type Built = (Network, UnixListener, Vec<String>);

fn build(
    setup: &Setup,
    plans: &[HostPlan],
    namespaces: &[Namespace],
    kind: BottleneckKind,
    (paths, state): (&TestbedPaths, &TestbedState),
) -> Result<Built, PersistentError> {
    let (mut ports, mut differences) = (Vec::new(), plan::differences(setup));
    let user = kind == BottleneckKind::User;
    let switch =
        (!user).then(|| KernelSwitch::start(setup, plans, namespaces, kind)).transpose()?;
    if !user {
        differences.extend(kernel_switch::differences(setup, kind));
    }
    for (plan, namespace) in plans.iter().zip(namespaces) {
        let opened = namespace.run(|| {
            let device = if user { Some(Device::open(&interface(plan)?)?) } else { None };
            let unapplied = match &plan.stack {
                HostStack::Kernel(end) => end.apply(),
                HostStack::Lowtide(_) => Vec::new(),
            };
            Ok((device, unapplied))
        });
        let (device, unapplied) = opened.and_then(|opened| opened).map_err(host(plan))?;
        let new = unapplied.into_iter().filter(|d| !differences.contains(d)).collect::<Vec<_>>();
        differences.extend(new);
        let networks = vec![(IpAddr::V4(plan.address), 32)];
        let port = |device| HostPort { host: HostId(plan.number), device, networks };
        ports.extend(device.map(port));
    }
    let settings = lowtide_bottleneck::BottleneckSettings {
        warmup: lowtide_units::Duration::ZERO,
        sample_interval: lowtide_units::Duration::ZERO,
        ..settings(setup)
    };
    let network = match switch {
        Some(switch) => Network::Kernel(Box::new(switch)),
        None => Network::User(
            Bottleneck::start(&setup.network, ports, &settings).map_err(TestbedError::from)?,
        ),
    };
    let path = socket(paths);
    let what = || format!("listen at {}", path.display());
    let listener = UnixListener::bind(&path).map_err(PersistentError::system(what()))?;
    listener.set_nonblocking(true).map_err(PersistentError::system(what()))?;
    for (name, namespace) in state.names.iter().zip(namespaces) {
        netns_names::bind(paths, &name.name, namespace)?;
    }
    Ok((network, listener, differences))
}

/// Process ID of the testbed's owner, if its state is written.
fn owner(paths: &TestbedPaths) -> u32 {
    TestbedState::read(paths).ok().flatten().map_or(0, |s| s.pid)
}

/// Removes leftovers; the caller holds the lock.
fn remove_leftovers(paths: &TestbedPaths) -> Result<Vec<String>, PersistentError> {
    let taken = match TestbedState::read(paths)? {
        Some(state) => netns_names::remove_all(paths, &state)?,
        None => Vec::new(),
    };
    match fs::remove_file(socket(paths)) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            return Err(PersistentError::system("remove the testbed's socket")(e));
        }
        _ => {}
    }
    TestbedState::remove(paths)?;
    Ok(taken)
}

/// Result of [`down`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TeardownReport {
    /// Process that was terminated.
    pub ended: Option<u32>,
    /// Leftover names that were removed.
    pub removed: Vec<String>,
}

/// Terminates the process of the testbed that is up and removes leftovers.
///
/// # Errors
/// The process does not end, or a name cannot be removed.
pub fn down(paths: &TestbedPaths) -> Result<TeardownReport, PersistentError> {
    if let Some(_lock) = lock(paths)? {
        return Ok(TeardownReport { ended: None, removed: remove_leftovers(paths)? });
    }
    let state = TestbedState::read(paths)?
        .filter(TestbedState::is_alive)
        .ok_or(PersistentError::DoesNotEnd(0))?;
    let pid = Pid::from_raw(i32::try_from(state.pid).unwrap_or(0));
    kill(pid, Signal::SIGINT)
        .map_err(|e| PersistentError::system(format!("end process {}", state.pid))(e.into()))?;
    for _ in 0..EXIT_POLLS {
        if let Some(_lock) = lock(paths)? {
            return Ok(TeardownReport {
                ended: Some(state.pid),
                removed: remove_leftovers(paths)?,
            });
        }
        std::thread::sleep(EXIT_POLL_INTERVAL);
    }
    Err(PersistentError::DoesNotEnd(state.pid))
}
