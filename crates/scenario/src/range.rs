//! Ranges of hosts.

/// Consecutive hosts of the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HostRange {
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl HostRange {
    /// One past the last host.
    pub(crate) const fn end(self) -> u32 {
        self.first.saturating_add(self.count)
    }
    pub(crate) const fn contains(self, host: u32) -> bool {
        self.first <= host && host < self.end()
    }
}
