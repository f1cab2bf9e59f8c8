//! An attacker that follows no protocol rule, packet by packet.

use lowtide_tcp::Config;
use lowtide_wire::Options;

use super::*;

/// Bytes of an IPv4 and a TCP header without options: the smallest packet.
pub(super) const HEADERS: usize = 40;

/// One connection of an attacker to port 80 of a stack.
#[derive(Debug)]
pub(super) struct Attacker {
    port: u16,
    /// Sequence number of its first data byte, and of the stack's.
    data_start: SeqNum,
    stack_data_start: SeqNum,
    /// Its acknowledgement, an offset in the stack's data.
    pub(super) acked: u32,
    /// Its advertised window.
    pub(super) window: u16,
    /// Bytes that it has sent.
    pub(super) wire: usize,
}

/// Takes the segments out of `batch`.
pub(super) fn sent(batch: &mut TxBatch) -> Vec<Segment> {
    let segment = |p: crate::device::TxPacket<'_>| packet::parse(p.bytes).unwrap().1;
    let all = batch.packets().map(segment).collect();
    batch.clear();
    all
}

impl Attacker {
    /// Opens a connection from `port` with window scale 14 and MSS 1460.
    pub(super) fn open(stack: &mut Stack, now: Instant, port: u16, batch: &mut TxBatch) -> Self {
        let mut new = Self {
            port,
            data_start: SeqNum::new(1001),
            stack_data_start: SeqNum::new(0),
            acked: 0,
            window: 65_535,
            wire: 0,
        };
        let options = Options {
            mss: Some(1460),
            window_scale: Some(14),
            sack_permitted: true,
            ..Options::default()
        };
        let syn = Segment {
            seq: SeqNum::new(1000),
            flags: Flags::SYN,
            options,
            window: 65_535,
            ..Segment::default()
        };
        new.inject(stack, now, syn, &[], batch);
        let syn_ack = sent(batch).pop().expect("a SYN-ACK");
        assert!(syn_ack.flags.contains(Flags::SYN | Flags::ACK), "{syn_ack:?}");
        new.stack_data_start = syn_ack.seq.add(1);
        new.ack(stack, now, batch);
        new
    }

    fn inject(
        &mut self,
        stack: &mut Stack,
        now: Instant,
        segment: Segment,
        payload: &[u8],
        batch: &mut TxBatch,
    ) {
        let segment = Segment {
            src_port: self.port,
            dst_port: 80,
            payload_len: payload.len() as u32,
            ..segment
        };
        let addresses = Addresses::between(ADDRESSES[0], ADDRESSES[1]).unwrap();
        let mut bytes = [0; 1600];
        let len = packet::emit(&addresses, &segment, payload, &mut bytes).unwrap();
        self.wire += len;
        stack.inject(now, HostStamp(now.since_start().as_ns()), &bytes[..len], batch);
    }

    fn segment(&self, offset: u32) -> Segment {
        Segment {
            seq: self.data_start.add(u64::from(offset)),
            ack: self.stack_data_start.add(u64::from(self.acked)),
            flags: Flags::ACK,
            window: self.window,
            ..Segment::default()
        }
    }

    /// Sends data at an offset of its stream.
    pub(super) fn data(
        &mut self,
        stack: &mut Stack,
        now: Instant,
        offset: u32,
        payload: &[u8],
        batch: &mut TxBatch,
    ) {
        self.inject(stack, now, self.segment(offset), payload, batch);
    }

    /// Sends an ACK without data.
    pub(super) fn ack(&mut self, stack: &mut Stack, now: Instant, batch: &mut TxBatch) {
        self.inject(stack, now, self.segment(0), &[], batch);
    }

    /// Sends a FIN without data.
    pub(super) fn fin(&mut self, stack: &mut Stack, now: Instant, batch: &mut TxBatch) {
        let segment = Segment { flags: Flags::ACK | Flags::FIN, ..self.segment(0) };
        self.inject(stack, now, segment, &[], batch);
    }

    /// Sequence number of its first data byte.
    pub(super) const fn data_start(&self) -> SeqNum {
        self.data_start
    }

    /// End offset of the segment's data, if the segment is for this attacker.
    pub(super) fn segment_end(&self, segment: &Segment) -> Option<u32> {
        let end = segment.seq.diff(self.stack_data_start) + segment.payload_len as i32;
        (segment.dst_port == self.port).then_some(end.max(0) as u32)
    }
}

/// A stack with `limits` that listens on port 80.
pub(super) fn server(limits: StackLimits, config: &Config) -> Stack {
    let mut stack = stack(1);
    stack.set_limits(limits);
    stack.listen(80, config, (4096, 4096)).unwrap();
    stack
}
