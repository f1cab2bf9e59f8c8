//! What happened to packets.

/// Counts since the driver began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StackCounters {
    /// IP packets that arrived.
    pub received: u64,
    /// TCP packets that were made.
    pub sent: u64,
    /// Packets that arrived and were no IP or TCP packets as they should be.
    pub malformed: u64,
    /// Packets that arrived with a wrong checksum.
    pub bad_checksum: u64,
    /// Packets that were not TCP for one of our addresses.
    pub not_ours: u64,
    /// Fragments, which are not reassembled.
    pub fragments: u64,
    /// Packets whose source is the address of no other host: unspecified, loopback, multicast, broadcast, class E, or
    /// one of our own (RFC 9293 MUST-63).
    pub martians: u64,
    /// TCP packets for a broadcast or multicast address (RFC 9293 MUST-57).
    pub multicast: u64,
    /// ICMP errors about our packets that were believed.
    pub icmp: u64,
    /// Segments that connections did not use.
    pub unacceptable: u64,
    /// Segments that belong to no connection.
    pub stray: u64,
    /// SYNs that were dropped because too many connections were half open.
    pub backlog_full: u64,
    /// SYNs that were answered with a SYN cookie, because too many connections were half open.
    pub cookies_sent: u64,
    /// Connections that began with an ACK that brought such a cookie back.
    pub cookies_accepted: u64,
    /// Connections that were reset because nobody accepted them in time.
    pub listen_overflows: u64,
    /// Packets that the device did not take.
    pub unsent: u64,
    /// Packets that came unfinished, their checksum or their segments left to the interface, and were finished here: the
    /// host at the other end has offloads on.
    pub checksum_partial: u64,
    /// Connections in the table at present, those in TIME-WAIT not counted.
    pub connections: u64,
    /// Memory that payload takes at present, bytes.
    pub buffer_memory: u64,
    /// Memory that all connections take at present, their state included, bytes.
    pub memory: u64,
    /// How often more than half of the memory came into use, so that connections were held to shares.
    pub memory_pressures: u64,
    /// Segments with data, and SYNs, that were dropped for want of memory.
    pub no_memory_drops: u64,
    /// Bytes of memory for data beyond gaps that was discarded for want of memory; it comes again.
    pub ofo_pruned: u64,
    /// Connections that no application holds, at present.
    pub orphans: u64,
    /// Connections that no application held and that were reset: their time was over, there were too
    /// many, or memory was short.
    pub orphans_reset: u64,
}
