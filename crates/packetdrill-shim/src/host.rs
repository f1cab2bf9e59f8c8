//! The host behind the interface: the stack, and packetdrill's view of its clock.

use lowtide_output::streams;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lowtide_packetdrill::run;
use lowtide_packetdrill::so_flags::SoFlags as Settings;
use lowtide_packetdrill::stack::{SentPacket, Stack};
use lowtide_units::{Duration, Instant};
use lowtide_wire::{Flags, WireError, packet};

/// Start value of packetdrill's clock, in microseconds: not zero, which can mean "unset".
const EPOCH_US: i64 = 1_000_000_000;

/// Maximum wait for a packet, in virtual time.
const MAX_PACKET_WAIT: Duration = Duration::from_secs(75);

/// packetdrill runs calls with a time range in a second thread: the mutex serialises them.
#[derive(Debug)]
pub(crate) struct Host(Mutex<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) stack: Stack,
    strict: bool,
    /// Number of packets that packetdrill fetched.
    fetched: usize,
    resets: Vec<PendingReset>,
}

/// An RST|ACK after which packetdrill has neither read the clock nor sent another packet of its
/// connection.
#[derive(Debug)]
struct PendingReset {
    ends: [(IpAddr, u16); 2],
    /// Packets that the host sent on it, by their number since the start.
    replies: Range<usize>,
}

impl Host {
    pub(crate) fn new(flags: Settings) -> Self {
        let stack = Stack::new(flags.settings);
        let strict = flags.strict;
        Self(Mutex::new(Inner { stack, strict, fetched: 0, resets: Vec::new() }))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic in a call ends the process, so the lock cannot be poisoned.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Advances the clock by `us` microseconds.
    pub(crate) fn sleep(&mut self, us: u64) {
        self.resets.clear();
        let to = self.stack.now() + Duration::from_us(us);
        self.stack.advance_to(to);
    }

    /// Reads the clock, which advances it by one microsecond.
    pub(crate) fn read_clock(&mut self) -> i64 {
        self.sleep(1);
        clock_us(self.stack.now())
    }

    /// The next packet and its send time; waits for it if needed.
    pub(crate) fn receive(&mut self) -> Option<(SentPacket, i64)> {
        self.resets.clear();
        let limit = self.stack.now() + MAX_PACKET_WAIT;
        self.stack.run_to_packet(limit);
        let packet = self.stack.take_packet()?;
        self.fetched += 1;
        let at = clock_us(packet.at);
        Some((packet, at))
    }

    /// Delivers a packet to the host.
    ///
    /// # Errors
    /// As [`Stack::inject`]: the host drops it.
    pub(crate) fn inject(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        let first = self.fetched + self.stack.queued_packets();
        self.stack.inject(bytes)?;
        let answers = first..self.fetched + self.stack.queued_packets();
        let (addresses, segment, payload) = packet::parse(bytes)?;
        let (src, dst) = addresses.src_dst();
        let ends = [(src, segment.src_port), (dst, segment.dst_port)];
        self.resets.retain(|reset| reset.ends != ends);
        if segment.flags == Flags::RST | Flags::ACK && payload.is_empty() {
            self.resets.push(PendingReset { ends, replies: answers });
        }
        Ok(())
    }

    /// True if packet `number` answers packetdrill's own RST. At the end of a script packetdrill
    /// sends an RST on each connection, right after the last number that the script sent. If that
    /// is in the window but not RCV.NXT, the host must send a challenge ACK (RFC 5961 §3.2), which
    /// no line can expect. An RST of the script itself is followed by packetdrill's own, or by a
    /// read of the clock.
    fn is_teardown_reply(&self, number: usize, bytes: &[u8]) -> bool {
        let answers = self.resets.iter().any(|reset| reset.replies.contains(&number));
        answers
            && packet::parse(bytes).is_ok_and(|(_, segment, payload)| {
                let other = Flags::SYN | Flags::FIN | Flags::RST | Flags::PSH | Flags::URG;
                let acks = segment.flags.contains(Flags::ACK);
                acks && !segment.flags.intersects(other) && payload.is_empty()
            })
    }

    /// Prints the digest. Returns false if strict and packets were never fetched.
    pub(crate) fn finish(&mut self) -> bool {
        streams::note(format_args!("lowtide: packets {:016x}", self.stack.relative_digest()));
        let mut clean = true;
        if let Some(fault) = self.stack.fault() {
            streams::note(format_args!("lowtide: the stack is broken: {fault}"));
            clean = false;
        }
        if !self.strict {
            return clean;
        }
        while let Some(packet) = self.stack.take_packet() {
            let number = self.fetched;
            self.fetched += 1;
            if self.is_teardown_reply(number, &packet.bytes) {
                continue;
            }
            let shown = run::show(&packet.bytes).unwrap_or_else(|| "no TCP packet".to_string());
            streams::note(format_args!(
                "lowtide: a packet that no line expects: {:?} {shown}",
                packet.at
            ));
            clean = false;
        }
        clean
    }
}

fn clock_us(at: Instant) -> i64 {
    EPOCH_US + at.since_start().as_us() as i64
}
