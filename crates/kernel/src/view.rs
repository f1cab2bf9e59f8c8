//! Descriptions of loaded twins and of the sockets that use them.

use std::fmt::Debug;
use std::net::SocketAddr;
use std::path::PathBuf;

use lowtide_units::Duration;

use crate::twin::Twin;

/// One socket that uses a twin, or used it until it became `reno`.
#[derive(Clone, PartialEq, Debug)]
pub struct SocketView {
    /// Inode of its network namespace.
    pub netns: u64,
    /// Name of its control.
    pub control: String,
    /// State of the connection; `listen` for a listener, which has no window.
    pub state: &'static str,
    /// Local address and port.
    pub local: SocketAddr,
    /// Remote address and port.
    pub remote: SocketAddr,
    /// Mode of ECN: `off`, `rfc3168`, `accecn`, or `pending` before the peer's answer.
    pub ecn: &'static str,
    /// Segments that were delivered so far.
    pub delivered: u32,
    /// Of these, segments that the receiver reported as marked.
    pub delivered_ce: u32,
    /// ECN was not negotiated, and the twin became `reno`; the values of its rules are 0.
    pub fell_back: bool,
    /// Window in segments, as the kernel has it.
    pub snd_cwnd: u32,
    /// Window in bytes, as the rules have it.
    pub cwnd: u32,
    /// Slow-start threshold in bytes; `None` before the first reaction.
    pub ssthresh: Option<u32>,
    /// DCTCP's alpha, 0 to 1.
    pub alpha: f64,
    /// ECN cuts so far.
    pub cuts: u32,
    /// ACKs that reported marks so far.
    pub marked_acks: u32,
    /// Values of cwnd or ssthresh above the written ones that the kernel set. The next ACK replaced
    /// them.
    pub leaps: u32,
    /// Smoothed round-trip time, in microseconds.
    pub srtt_us: u32,
}

/// State of a twin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TwinState {
    /// Registered: sockets may choose it.
    Loaded,
    /// Unregistered, but sockets that chose it before are open.
    Draining,
    /// Pinned in the BPF file system, but not registered.
    Gone,
    /// Registered by another program, or by a loader that was killed before its last pin.
    Elsewhere,
}

/// A twin that is loaded, or that sockets still use.
#[derive(Debug)]
pub struct LoadedTwin {
    /// The twin.
    pub twin: &'static Twin,
    /// Its state.
    pub state: TwinState,
    /// Its parameters; empty if it is not loaded.
    pub params: Vec<(&'static str, String)>,
    /// Sockets of all network namespaces that use it.
    pub sockets: usize,
    /// Cgroups that select it.
    pub cgroups: Vec<PathBuf>,
}

/// A control that is registered until this is dropped.
#[derive(Debug)]
pub struct Registration {
    pub(crate) _link: Box<dyn Debug + Send>,
}

/// Which sockets will use a twin.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selections {
    /// Folders of cgroups of version 2: sockets in them and in their descendants.
    pub cgroups: Vec<PathBuf>,
    /// Maximum delay of ACKs of the sockets in these cgroups, below one second; `None` leaves the
    /// host's.
    pub delack_max: Option<Duration>,
    /// Prefixes of routes of the main table of this network namespace: connections over them.
    pub routes: Vec<String>,
    /// All new sockets of this network namespace.
    pub default: bool,
}

impl Selections {
    /// Returns whether nothing is selected.
    pub fn is_empty(&self) -> bool {
        self.cgroups.is_empty() && self.routes.is_empty() && !self.default
    }
}
