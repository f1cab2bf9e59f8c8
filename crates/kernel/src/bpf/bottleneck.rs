//! Loads the switch port of `kernel/bottleneck.bpf.c`, attaches it and reads its counters.

use std::net::Ipv4Addr;
use std::os::fd::{AsFd as _, OwnedFd};

use libbpf_rs::{MapCore as _, MapFlags, MapHandle, TC_EGRESS, TC_INGRESS, TcHookBuilder};
use nix::time::{ClockId, clock_gettime};

use super::{kernel, objects};
use crate::bottleneck::{PortCounts, PortSettings};
use crate::error::KernelError;

const NAME: &str = "bottleneck";

/// Output ports of a switch made of devices, whose queues a BPF program keeps. The programs stay on
/// their devices, and so end with the namespaces of these.
#[derive(Debug)]
pub struct KernelBottleneck {
    port: OwnedFd,
    delivery: OwnedFd,
    ports: MapHandle,
}

impl KernelBottleneck {
    /// Loads the programs.
    ///
    /// # Errors
    /// The binary has no programs, the kernel refuses them, or a privilege is missing.
    pub fn load() -> Result<Self, KernelError> {
        kernel::check("marking in the kernel's path")?;
        let object = objects::open(NAME, objects::BOTTLENECK, None, false)?;
        let program = |name: &str| {
            let program = object.progs().find(|program| program.name() == name);
            let program = program.ok_or(KernelError::NotBuilt)?;
            program.as_fd().try_clone_to_owned().map_err(|e| KernelError::io(NAME, e))
        };
        let ports = object.maps().next().ok_or(KernelError::NotBuilt)?;
        let ports = MapHandle::try_from(&ports).map_err(|e| objects::refused(NAME, &e))?;
        Ok(Self { port: program("lt_switch_port")?, delivery: program("lt_delivery")?, ports })
    }

    /// Makes the device of this number, in this thread's namespace, an output port.
    ///
    /// # Errors
    /// The kernel has no clsact.
    pub fn attach_port(&self, device: u32) -> Result<(), KernelError> {
        attach(&self.port, device, TC_EGRESS)
    }

    /// Measures the lateness of packets that arrive at the device of a host.
    ///
    /// # Errors
    /// The kernel has no clsact.
    pub fn attach_host(&self, device: u32) -> Result<(), KernelError> {
        attach(&self.delivery, device, TC_INGRESS)
    }

    /// Starts, or restarts, the port to the host of `settings`. Until then its packets are neither
    /// counted nor marked.
    ///
    /// # Errors
    /// There are 64 ports already.
    pub fn start(&self, settings: &PortSettings) -> Result<(), KernelError> {
        let key = settings.address.octets();
        let started = self.ports.update(&key, &settings.encode(now()?), MapFlags::ANY);
        started.map_err(|e| objects::refused(NAME, &e))
    }

    /// Returns the counters of the port to the host with this address.
    ///
    /// # Errors
    /// The port was not started.
    pub fn read(&self, address: Ipv4Addr) -> Result<PortCounts, KernelError> {
        let found = self.ports.lookup(&address.octets(), MapFlags::LOCK);
        let found = found.map_err(|e| objects::refused(NAME, &e))?;
        let now = now()?;
        found.and_then(|port| PortCounts::decode(&port, now)).ok_or_else(|| KernelError::Refused {
            name: NAME.to_owned(),
            reason: format!("there is no port to {address}"),
        })
    }
}

/// Returns CLOCK_MONOTONIC, ns.
fn now() -> Result<u64, KernelError> {
    let clock = ClockId::CLOCK_MONOTONIC;
    let now = clock_gettime(clock).map_err(|e| KernelError::io(NAME, e.into()))?;
    Ok(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

fn attach(program: &OwnedFd, device: u32, point: u32) -> Result<(), KernelError> {
    let mut hook = TcHookBuilder::new(program.as_fd());
    let mut hook = hook.ifindex(device as i32).replace(true).handle(1).priority(1).hook(point);
    let attached = hook.create().and_then(|mut hook| hook.attach());
    attached.map(drop).map_err(|e| objects::refused(NAME, &e))
}
