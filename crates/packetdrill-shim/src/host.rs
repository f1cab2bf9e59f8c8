//! The host behind the table: the stack, and packetdrill's view of its clock.

use std::sync::{Mutex, MutexGuard, PoisonError};

use lowtide_packetdrill::flags::Flags;
use lowtide_packetdrill::run;
use lowtide_packetdrill::stack::{Packet, Stack};
use lowtide_units::{Duration, Instant};

/// What packetdrill's clock shows at the start, in microseconds: not zero, which means "unset" to some.
const EPOCH_US: i64 = 1_000_000_000;

/// How long a packet is waited for, in virtual time.
const PATIENCE: Duration = Duration::from_secs(75);

/// packetdrill runs calls with a time range in a second thread: one at a time gets the stack.
#[derive(Debug)]
pub(crate) struct Host(Mutex<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) stack: Stack,
    strict: bool,
}

impl Host {
    pub(crate) fn new(flags: Flags) -> Self {
        Self(Mutex::new(Inner { stack: Stack::new(flags.settings), strict: flags.strict }))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        // A call that panicked ended the process.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Moves the clock by `us` microseconds.
    pub(crate) fn sleep(&mut self, us: u64) {
        let to = self.stack.now() + Duration::from_us(us);
        self.stack.advance_to(to);
    }

    /// Reads the clock, which moves by a microsecond.
    pub(crate) fn read_clock(&mut self) -> i64 {
        self.sleep(1);
        on_clock(self.stack.now())
    }

    /// The next packet and when it left, waiting for it if need be.
    pub(crate) fn receive(&mut self) -> Option<(Packet, i64)> {
        let limit = self.stack.now() + PATIENCE;
        self.stack.run_to_packet(limit);
        let packet = self.stack.take_packet()?;
        let at = on_clock(packet.at);
        Some((packet, at))
    }

    /// Prints the digest. False when packets were sent that nobody fetched, and that counts.
    pub(crate) fn finish(&mut self) -> bool {
        eprintln!("lowtide: packets {:016x}", self.stack.digest());
        let mut clean = true;
        if let Some(fault) = self.stack.fault() {
            eprintln!("lowtide: the stack is broken: {fault}");
            clean = false;
        }
        if !self.strict {
            return clean;
        }
        while let Some(packet) = self.stack.take_packet() {
            let shown = run::show(&packet.bytes).unwrap_or_else(|| "no TCP packet".to_string());
            eprintln!("lowtide: a packet that no line expects: {:?} {shown}", packet.at);
            clean = false;
        }
        clean
    }
}

fn on_clock(at: Instant) -> i64 {
    EPOCH_US + at.since_start().as_us() as i64
}
