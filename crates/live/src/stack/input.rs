//! Handling of arriving packets.

use lowtide_tcp::{Arrival, FourTuple, IcmpReport};
#[cfg(test)]
use lowtide_units::HostStamp;
use lowtide_units::Instant;
use lowtide_wire::icmp::{self, IcmpKind};
use lowtide_wire::{Addresses, Ecn, Segment, WireError, packet};

use super::addresses::AddressVerdict;
use super::{Stack, TxBatch};
use crate::device::RxPacket;

impl Stack {
    /// Handles an IP packet that arrived at host time `stamp`; packets that are invalid are counted
    /// and dropped.
    #[cfg(test)]
    pub(crate) fn inject(
        &mut self,
        now: Instant,
        stamp: HostStamp,
        bytes: &[u8],
        batch: &mut TxBatch,
    ) {
        let packet = RxPacket { bytes, stamp, segment_size: 0, checksum_unnecessary: false };
        self.handle_packet(now, &packet, batch);
    }

    /// Handles an IP packet that arrived; packets that are invalid are counted and dropped.
    pub(crate) fn handle_packet(
        &mut self,
        now: Instant,
        incoming: &RxPacket<'_>,
        batch: &mut TxBatch,
    ) {
        self.counters.received += 1;
        let RxPacket { bytes, stamp, segment_size, checksum_unnecessary: trusted } = *incoming;
        let parsed =
            if trusted { packet::parse_without_checksum(bytes) } else { packet::parse(bytes) };
        let (addresses, mut segment, payload) = match parsed {
            Ok(parsed) => parsed,
            Err(WireError::NotTcp { .. }) => return self.icmp(now, bytes, batch),
            Err(WireError::Checksum { .. }) => {
                self.counters.bad_checksum += 1;
                return;
            }
            Err(WireError::Fragment) => {
                self.counters.fragments += 1;
                return;
            }
            Err(_) => {
                self.counters.malformed += 1;
                return;
            }
        };
        let (remote, local) = addresses.src_dst();
        // Such packets get no reply, not even RST.
        let dropped = match self.addresses.classify(remote, local) {
            AddressVerdict::Local => None,
            AddressVerdict::Martian => Some(&mut self.counters.martians),
            AddressVerdict::Multicast => Some(&mut self.counters.multicast),
            AddressVerdict::NotLocal => Some(&mut self.counters.not_ours),
        };
        if let Some(count) = dropped {
            *count += 1;
            return;
        }
        segment.rx.stamp = Some(stamp);
        if segment_size > 0 {
            let segments = segment.payload_len.div_ceil(u32::from(segment_size)) as u16;
            segment.rx.coalesced = segments;
            segment.rx.ce_coalesced = if segment.ecn == Ecn::Ce { segments } else { 0 };
        }
        let payload = bytes.get(payload).unwrap_or(&[]);
        let (local_port, remote_port) = (segment.dst_port, segment.src_port);
        let tuple = FourTuple { local, local_port, remote, remote_port };
        if self.budget.under_pressure() && !self.admit(now, &tuple, &segment, batch) {
            self.counters.no_memory_drops += 1;
            return;
        }
        let (arrival, key) = self.sockets.handle_segment(now, local, remote, &segment, payload);
        match arrival {
            Arrival::Completed(..) => self.counters.cookies_accepted += 1,
            Arrival::Refused(..) => self.counters.unacceptable += 1,
            Arrival::Cookie => self.counters.cookies_sent += 1,
            Arrival::Stray => self.counters.stray += 1,
            Arrival::BacklogFull => self.counters.backlog_full += 1,
            // Taken, opened, TIME-WAIT.
            _ => {}
        }
        if let Some(key) = key {
            self.pump(now, key, batch);
        }
        while let Some((tuple, reply)) = self.sockets.endpoint().poll_reply() {
            self.emit(&tuple, &reply, (&[], &[]), batch);
        }
    }

    /// Handles a packet that is not TCP: an ICMP error about a packet of ours, or not for us.
    fn icmp(&mut self, now: Instant, bytes: &[u8], batch: &mut TxBatch) {
        let Some(error) = icmp::parse(bytes) else {
            self.counters.not_ours += 1;
            return;
        };
        if !self.addresses.is_host(error.from) {
            self.counters.martians += 1;
            return;
        }
        let (local, remote) = error.addresses.src_dst();
        let (local_port, remote_port) = (error.src_port, error.dst_port);
        let tuple = FourTuple { local, local_port, remote, remote_port };
        let report = match error.kind {
            IcmpKind::TooBig { mtu } => IcmpReport::TooBig { mtu },
            IcmpKind::HardError => IcmpReport::HardError,
            IcmpKind::SoftError => return,
        };
        let Some((id, key)) = self.sockets.find(&tuple) else { return };
        let conn = self.sockets.endpoint().conn(id);
        if conn.is_some_and(|c| c.handle_icmp_report(now, error.seq, report)) {
            self.counters.icmp += 1;
            self.pump(now, key, batch);
        }
    }

    pub(super) fn emit(
        &mut self,
        tuple: &FourTuple,
        segment: &Segment,
        payload: (&[u8], &[u8]),
        batch: &mut TxBatch,
    ) {
        // Both addresses of a connection are of one family, and its segments fit into packets.
        let Some(addresses) = Addresses::between(tuple.local, tuple.remote) else { return };
        match batch.push(&addresses, segment, payload) {
            Ok(()) => self.counters.sent += 1,
            Err(_) => self.counters.unsent += 1,
        }
    }
}
