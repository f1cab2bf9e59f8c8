//! One turn of the driver: what has arrived goes in, what is due goes out.
//!
//! Contract: devices and clock are arguments, so that it runs in virtual time in tests. Before a packet goes in,
//! everything happens that was due before it was read; what is due goes out between two packets that are read,
//! not only after the last.

#[cfg(test)]
mod tests;

use std::io;

use lowtide_live::{Device, Inbox};
use lowtide_net::HostId;
use lowtide_units::{Duration, HostStamp, Instant};

use crate::capture::Capture;
use crate::engine::{Deliver, Engine};
use crate::fidelity::Pace;

/// Packets that are read from one device in a turn, before others have theirs.
const BURST: usize = 32;

/// The longest packet.
const LONGEST: usize = 65_536;

/// Room for what is read.
#[derive(Debug)]
pub(crate) struct Room {
    one: Vec<u8>,
    many: Inbox,
}

impl Default for Room {
    fn default() -> Self {
        Self { one: vec![0; LONGEST], many: Inbox::default() }
    }
}

/// Whatever packets come from and go to.
pub(crate) trait Wire {
    /// Reads what waits, some [`BURST`] packets at most, and gives each to `take`.
    fn read(&self, room: &mut Room, take: &mut dyn FnMut(&[u8])) -> io::Result<()>;
    /// False when there is no room.
    fn send(&self, packet: &[u8]) -> io::Result<bool>;
}

impl Wire for Device {
    fn read(&self, room: &mut Room, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        if let Self::Packet(_) = self {
            // Many in one call; and what a host left to be cut into segments is cut.
            self.fill(&mut room.many, HostStamp::default)?;
            room.many.packets().for_each(|(_, packet)| take(packet));
            return Ok(());
        }
        for _ in 0..BURST {
            let Some(len) = self.recv(&mut room.one)? else { break };
            take(room.one.get(..len).unwrap_or(&[]));
        }
        Ok(())
    }
    fn send(&self, packet: &[u8]) -> io::Result<bool> {
        Self::send(self, packet)
    }
}

/// What is known of a device.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) host: HostId,
    /// Why there is nothing more to be had from it.
    pub(crate) gone: Option<String>,
    pub(crate) refused: u64,
    /// Packets that came with their checksum or their segments still to be made.
    pub(crate) unfinished: u64,
    pub(crate) capture: Option<Capture>,
}

/// The network, its devices' state, and how well it keeps time.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) engine: Engine,
    pub(crate) seats: Vec<Seat>,
    /// The seat of each host.
    pub(crate) by_host: Vec<Option<usize>>,
    pub(crate) pace: Pace,
    pub(crate) tolerance: Duration,
    /// Packets for hosts without a device.
    pub(crate) nowhere: u64,
}

impl Core {
    /// One look at the devices that are `ready`. Packets that were read.
    pub(crate) fn turn<W: Wire>(
        &mut self,
        wires: &[W],
        ready: &[bool],
        room: &mut Room,
        clock: &mut impl FnMut() -> Instant,
    ) -> usize {
        let mut read = 0;
        for (i, wire) in wires.iter().enumerate() {
            if !ready.get(i).copied().unwrap_or(false) {
                continue;
            }
            let result = wire.read(room, &mut |packet| {
                read += 1;
                self.arrive(wires, i, packet, clock);
            });
            if let Err(error) = result {
                self.leave(i, &error);
            }
        }
        let now = clock();
        self.advance(wires, now, clock);
        if read > 0 {
            self.pace.batch.add(read as u64);
        }
        read
    }

    fn arrive<W: Wire>(
        &mut self,
        wires: &[W],
        seat: usize,
        packet: &[u8],
        clock: &mut impl FnMut() -> Instant,
    ) {
        let now = clock();
        let Some(Seat { host, capture, .. }) = self.seats.get_mut(seat) else { return };
        let host = *host;
        if let Some(capture) = capture {
            capture.packet(now, packet);
        }
        self.advance(wires, now, clock);
        self.engine.arrive(now, host, packet);
    }

    fn advance<W: Wire>(&mut self, wires: &[W], now: Instant, clock: &mut impl FnMut() -> Instant) {
        let Self { engine, seats, by_host, pace, tolerance, nowhere } = self;
        let tolerance = *tolerance;
        let mut out = Out { wires, clock, seats, by_host, pace, tolerance, nowhere };
        engine.advance(now, &mut out);
    }

    /// There is nothing more to be had from the device of that seat.
    pub(crate) fn leave(&mut self, seat: usize, error: &io::Error) {
        if let Some(seat) = self.seats.get_mut(seat) {
            seat.gone.get_or_insert_with(|| error.to_string());
        }
    }
}

/// Where packets go that have reached their hosts.
struct Out<'a, W, C> {
    wires: &'a [W],
    clock: &'a mut C,
    seats: &'a mut [Seat],
    by_host: &'a [Option<usize>],
    pace: &'a mut Pace,
    tolerance: Duration,
    nowhere: &'a mut u64,
}

impl<W: Wire, C: FnMut() -> Instant> Deliver for Out<'_, W, C> {
    fn deliver(&mut self, host: HostId, due: Instant, bytes: &[u8]) {
        let seat = self.by_host.get(host.0 as usize).copied().flatten();
        let place = seat.and_then(|i| Some((self.seats.get_mut(i)?, self.wires.get(i)?)));
        let Some((seat, wire)) = place.filter(|(seat, _)| seat.gone.is_none()) else {
            *self.nowhere += 1;
            return;
        };
        let now = (self.clock)();
        self.pace.deliver(due, now, self.tolerance);
        if let Some(capture) = &mut seat.capture {
            capture.packet(now, bytes);
        }
        match wire.send(bytes) {
            Ok(true) => {}
            Ok(false) => seat.refused += 1,
            Err(error) => seat.gone = Some(error.to_string()),
        }
    }
}
