//! The operations in a binary without BPF programs: each fails and says how to build it with them.

use std::net::Ipv4Addr;

use lowtide_schema::Values;

use crate::bottleneck::{PortCounts, PortSettings};
use crate::error::KernelError;
use crate::twin::Twin;
use crate::view::{LoadedTwin, Registration, Selections, SocketView};

/// Fails.
pub fn load(
    twin: &'static Twin,
    given: &[(&str, &str)],
    _: bool,
    _: &Selections,
) -> Result<(), KernelError> {
    // A wrong parameter is reported by every binary.
    Values::parse(twin.params, given).map_err(|e| KernelError::Param(e.to_string()))?;
    Err(KernelError::NotBuilt)
}

/// Fails.
pub fn register_object(_: &str, _: &[u8]) -> Result<Registration, KernelError> {
    Err(KernelError::NotBuilt)
}

/// Fails.
pub fn unload(_: &'static Twin, _: bool) -> Result<(), KernelError> {
    Err(KernelError::NotBuilt)
}

/// Fails.
pub fn list() -> Result<Vec<LoadedTwin>, KernelError> {
    Err(KernelError::NotBuilt)
}

/// Lists the sockets that use a twin; there is none in this binary.
#[derive(Debug)]
pub enum SocketReader {}

impl SocketReader {
    /// Fails.
    pub fn open() -> Result<Self, KernelError> {
        Err(KernelError::NotBuilt)
    }

    /// Cannot be called.
    pub fn read(&self) -> Result<Vec<SocketView>, KernelError> {
        match *self {}
    }
}

/// Marks at the output ports of a switch; there is none in this binary.
#[derive(Debug)]
pub struct KernelBottleneck(());

impl KernelBottleneck {
    /// Fails.
    pub fn load() -> Result<Self, KernelError> {
        Err(KernelError::NotBuilt)
    }

    /// Fails.
    pub fn attach_port(&self, _: u32) -> Result<(), KernelError> {
        Err(KernelError::NotBuilt)
    }

    /// Fails.
    pub fn attach_host(&self, _: u32) -> Result<(), KernelError> {
        Err(KernelError::NotBuilt)
    }

    /// Fails.
    pub fn start(&self, _: &PortSettings) -> Result<(), KernelError> {
        Err(KernelError::NotBuilt)
    }

    /// Fails.
    pub fn read(&self, _: Ipv4Addr) -> Result<PortCounts, KernelError> {
        Err(KernelError::NotBuilt)
    }
}

/// Nothing is loaded.
pub const fn untested_release() -> Option<String> {
    None
}

/// Fails.
pub fn select(_: &'static Twin, _: &Selections) -> Result<(), KernelError> {
    Err(KernelError::NotBuilt)
}
