//! Numbers of hosts and switches.

/// A host, numbered from zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct HostId(pub u32);

/// A host or a switch, each numbered from zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NodeId {
    /// An end host.
    Host(HostId),
    /// A switch.
    Switch(u32),
}
