//! Making a testbed, keeping it, taking it down.

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

use super::snapshot::{Shot, network, socket};
use super::state::{NetnsName, TestbedState, lock};
use super::{PersistentError, TestbedPaths, netns_names};
use crate::error::TestbedError;
use crate::hosts::interface;
use crate::plan::{self, HostPlan, HostStack};
use crate::run::settings;
use crate::stack_choice::{StackChoice, StackKind};

/// Waits for a process that was told to end: so often, so long.
const EXIT_POLLS: u32 = 200;
const EXIT_POLL_INTERVAL: Duration = Duration::from_millis(25);

/// A testbed that this process has up: its namespaces have names, and packets go between them.
#[derive(Debug)]
pub struct PersistentTestbed {
    places: TestbedPaths,
    state: TestbedState,
    hosts: Vec<(String, String, Ipv4Addr)>,
    bottleneck: Option<Bottleneck>,
    listener: UnixListener,
    network: u64,
    /// What was left behind by another one, and is gone.
    pub removed: Vec<String>,
    /// What hosts do otherwise than the scenario says.
    pub differences: Vec<String>,
    /// Given back last of all.
    lock: File,
}

impl PersistentTestbed {
    /// Makes the testbed of `setup`, a run of `scenario`. Leftovers of an earlier one go first.
    ///
    /// # Errors
    /// Another process has one; a name is taken; a right is missing. Nothing is left of what was begun.
    pub fn make(
        setup: &Setup,
        scenario: &str,
        places: &TestbedPaths,
    ) -> Result<Self, PersistentError> {
        let kernels = StackChoice {
            default_stack: StackKind::Kernel,
            exceptions: Vec::new(),
            cc_mapping: Vec::new(),
        };
        let plans = plan::hosts(setup, &kernels).map_err(refused)?;
        let lock = lock(places)?.ok_or_else(|| PersistentError::AlreadyUp(owner(places)))?;
        let removed = remove_leftovers(places)?;
        let all: Vec<String> =
            plans.iter().map(|p| netns_names::netns_name(&p.name)).collect::<Result<_, _>>()?;
        netns_names::check_free(places, &all)?;
        let namespaces = plans.iter().map(|plan| Namespace::new().map_err(host(plan)));
        let namespaces: Vec<Namespace> = namespaces.collect::<Result<_, _>>()?;
        let mut state = TestbedState::of_this_process(scenario, Vec::new());
        for ((name, namespace), plan) in all.iter().zip(&namespaces).zip(&plans) {
            let inode = namespace.inode().map_err(host(plan))?;
            state.names.push(NetnsName { name: name.clone(), inode });
        }
        // From here on whoever comes next knows what to take away.
        state.write(places)?;
        let built = build(setup, &plans, &namespaces, places, &state);
        let (bottleneck, listener, differences) = match built {
            Ok(built) => built,
            Err(error) => {
                // What went wrong is the error to tell.
                let _ = remove_leftovers(places);
                return Err(error);
            }
        };
        let hosts = plans.iter().zip(all).map(|(p, name)| (p.name.clone(), name, p.address));
        Ok(Self {
            places: places.clone(),
            state,
            hosts: hosts.collect(),
            bottleneck: Some(bottleneck),
            listener,
            network: network(setup),
            removed,
            differences,
            lock,
        })
    }

    /// Each host, its namespace and its address.
    pub fn hosts(&self) -> &[(String, String, Ipv4Addr)] {
        &self.hosts
    }

    /// Keeps it up until `stop` says so, or until nothing is left of its interfaces. Why it ended, when nobody asked.
    pub fn serve(&self, stop: &dyn Fn() -> bool) -> Option<String> {
        let Some(bottleneck) = &self.bottleneck else { return None };
        loop {
            if stop() {
                return None;
            }
            if let Some((host, why)) = bottleneck.failed_device() {
                let name = self.hosts.get(host.0 as usize).map_or("?", |(name, ..)| name);
                return Some(format!("the interface of host `{name}` is gone: {why}"));
            }
            let shot = || Shot::of(&bottleneck.report(), self.network, &self.state.scenario);
            if let Err(error) = Shot::serve(&self.listener, &shot) {
                return Some(format!("its socket: {error}"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Takes it down; what the network has seen.
    ///
    /// # Errors
    /// Something could not be taken away.
    pub fn down(mut self) -> Result<Option<BottleneckReport>, PersistentError> {
        let report = self.bottleneck.take().map(|b| b.report());
        remove_leftovers(&self.places)?;
        drop(self.lock);
        Ok(report)
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

type Built = (Bottleneck, UnixListener, Vec<String>);

fn build(
    setup: &Setup,
    plans: &[HostPlan],
    namespaces: &[Namespace],
    places: &TestbedPaths,
    state: &TestbedState,
) -> Result<Built, PersistentError> {
    let (mut ports, mut differences) = (Vec::new(), plan::differences(setup));
    for (plan, namespace) in plans.iter().zip(namespaces) {
        let made = namespace.run(|| {
            let device = Device::open(&interface(plan)?)?;
            let said = match &plan.stack {
                HostStack::Kernel(end) => end.apply(),
                HostStack::Lowtide(_) => Vec::new(),
            };
            Ok((device, said))
        });
        let (device, said) = made.and_then(|made| made).map_err(host(plan))?;
        let new = said.into_iter().filter(|d| !differences.contains(d)).collect::<Vec<_>>();
        differences.extend(new);
        let networks = vec![(IpAddr::V4(plan.address), 32)];
        ports.push(HostPort { host: HostId(plan.number), device, networks });
    }
    let settings = lowtide_bottleneck::BottleneckSettings {
        warmup: lowtide_units::Duration::ZERO,
        sample_interval: lowtide_units::Duration::ZERO,
        ..settings(setup)
    };
    let bottleneck =
        Bottleneck::start(&setup.network, ports, &settings).map_err(TestbedError::from)?;
    let path = socket(places);
    let what = || format!("listen at {}", path.display());
    let listener = UnixListener::bind(&path).map_err(PersistentError::system(what()))?;
    listener.set_nonblocking(true).map_err(PersistentError::system(what()))?;
    for (name, namespace) in state.names.iter().zip(namespaces) {
        netns_names::bind(places, &name.name, namespace)?;
    }
    Ok((bottleneck, listener, differences))
}

/// The process that has it, as far as it has said so.
fn owner(places: &TestbedPaths) -> u32 {
    TestbedState::read(places).ok().flatten().map_or(0, |s| s.pid)
}

/// Takes away what is there; whoever calls has the lock.
fn remove_leftovers(places: &TestbedPaths) -> Result<Vec<String>, PersistentError> {
    let taken = match TestbedState::read(places)? {
        Some(state) => netns_names::remove_all(places, &state)?,
        None => Vec::new(),
    };
    match fs::remove_file(socket(places)) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            return Err(PersistentError::system("remove the testbed's socket")(e));
        }
        _ => {}
    }
    TestbedState::remove(places)?;
    Ok(taken)
}

/// What [`down`] did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TeardownReport {
    /// The process that was told to end.
    pub ended: Option<u32>,
    /// Names that nobody had taken away.
    pub removed: Vec<String>,
}

/// Ends the testbed that is up, whoever has it, and takes away what was left behind.
///
/// # Errors
/// Its process does not end; something cannot be taken away.
pub fn down(places: &TestbedPaths) -> Result<TeardownReport, PersistentError> {
    if let Some(_lock) = lock(places)? {
        return Ok(TeardownReport { ended: None, removed: remove_leftovers(places)? });
    }
    let state = TestbedState::read(places)?
        .filter(TestbedState::is_alive)
        .ok_or(PersistentError::DoesNotEnd(0))?;
    let pid = Pid::from_raw(i32::try_from(state.pid).unwrap_or(0));
    kill(pid, Signal::SIGINT)
        .map_err(|e| PersistentError::system(format!("end process {}", state.pid))(e.into()))?;
    for _ in 0..EXIT_POLLS {
        if let Some(_lock) = lock(places)? {
            return Ok(TeardownReport {
                ended: Some(state.pid),
                removed: remove_leftovers(places)?,
            });
        }
        std::thread::sleep(EXIT_POLL_INTERVAL);
    }
    Err(PersistentError::DoesNotEnd(state.pid))
}
