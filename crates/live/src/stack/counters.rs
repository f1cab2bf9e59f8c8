//! Packet counters of the stack.

/// Counts since the driver began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StackCounters {
    /// IP packets that arrived.
    pub received: u64,
    /// TCP segments sent.
    pub sent: u64,
    /// Packets that arrived with malformed IP or TCP headers.
    pub malformed: u64,
    /// Packets that arrived with a wrong checksum.
    pub bad_checksum: u64,
    /// Packets that were not TCP to one of our addresses.
    pub not_ours: u64,
    /// Fragments, which are not reassembled.
    pub fragments: u64,
    /// Packets whose source cannot be another host: unspecified, loopback, multicast, broadcast,
    /// class E, or one of our own addresses (RFC 9293 MUST-63).
    pub martians: u64,
    /// TCP packets for a broadcast or multicast address (RFC 9293 MUST-57).
    pub multicast: u64,
    /// ICMP errors about our packets that were accepted.
    pub icmp: u64,
    /// Segments that connections rejected as unacceptable.
    pub unacceptable: u64,
    /// Segments that belong to no connection.
    pub stray: u64,
    /// SYNs dropped because too many connections were half open.
    pub backlog_full: u64,
    /// SYNs answered with a SYN cookie because too many connections were half open.
    pub cookies_sent: u64,
    /// Connections opened by an ACK with a valid SYN cookie.
    pub cookies_accepted: u64,
    /// Connections reset because they were not accepted in time.
    pub listen_overflows: u64,
    /// Packets that the device did not take.
    pub unsent: u64,
    /// Packets with a partial checksum or several segments, which were completed here: the sending
    /// host has offloads on.
    pub checksum_partial: u64,
    /// Connections in the table now, without those in TIME-WAIT.
    pub connections: u64,
    /// Memory that payload takes now, bytes.
    pub buffer_memory: u64,
    /// Memory that all connections take now, including their state, bytes.
    pub memory: u64,
    /// Times that memory pressure began: more than half of the memory was in use, so connections
    /// were limited to their shares.
    pub memory_pressures: u64,
    /// Segments with data, and SYNs, dropped for lack of memory.
    pub no_memory_drops: u64,
    /// Memory of out-of-order data discarded for lack of memory, bytes. The peer retransmits it.
    pub ofo_pruned: u64,
    /// Connections that no application holds now.
    pub orphans: u64,
    /// Orphaned connections that were reset: they timed out, there were too many, or memory was
    /// short.
    pub orphans_reset: u64,
}
