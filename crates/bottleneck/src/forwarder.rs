//! One turn of the driver: what has arrived goes in, what is due goes out.
//!
//! Contract: devices and clock are arguments, so that it runs in virtual time in tests. Before a packet goes in,
//! everything happens that was due before it was read; what is due goes out between two packets that are read,
//! not only after the last.

#[cfg(test)]
mod tests;

use std::io;

use lowtide_live::{Device, RxBatch};
use lowtide_net::HostId;
use lowtide_units::{Duration, HostStamp, Instant};

use crate::capture::Capture;
use crate::engine::{Deliver, Engine};
use crate::fidelity::FidelityStats;

/// Packets that are read from one device in a turn, before others have theirs.
const BURST: usize = 32;

/// The longest packet.
const LONGEST: usize = 65_536;

/// Room for what is read.
#[derive(Debug)]
pub(crate) struct ReadBuffers {
    one: Vec<u8>,
    many: RxBatch,
}

impl Default for ReadBuffers {
    fn default() -> Self {
        Self { one: vec![0; LONGEST], many: RxBatch::default() }
    }
}

/// Whatever packets come from and go to.
pub(crate) trait PacketIo {
    /// Reads what waits, some [`BURST`] packets at most, and gives each to `take`.
    fn read(&self, room: &mut ReadBuffers, take: &mut dyn FnMut(&[u8])) -> io::Result<()>;
    /// False when there is no room.
    fn send(&self, packet: &[u8]) -> io::Result<bool>;
}

impl PacketIo for Device {
    fn read(&self, room: &mut ReadBuffers, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        if let Self::Packet(_) = self {
            // Many in one call; and what a host left to be cut into segments is cut.
            self.recv_many(&mut room.many, HostStamp::default)?;
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
pub(crate) struct PortState {
    pub(crate) host: HostId,
    /// Why there is nothing more to be had from it.
    pub(crate) device_error: Option<String>,
    pub(crate) device_drops: u64,
    /// Packets that came with their checksum or their segments still to be made.
    pub(crate) checksum_partial: u64,
    pub(crate) capture: Option<Capture>,
}

/// The network, its devices' state, and how well it keeps time.
#[derive(Debug)]
pub(crate) struct Forwarder {
    pub(crate) engine: Engine,
    pub(crate) ports: Vec<PortState>,
    /// The seat of each host.
    pub(crate) by_host: Vec<Option<usize>>,
    pub(crate) fidelity: FidelityStats,
    pub(crate) tolerance: Duration,
    /// Packets for hosts without a device.
    pub(crate) no_device_drops: u64,
}

impl Forwarder {
    /// One look at the devices that are `ready`. Packets that were read.
    pub(crate) fn run_iteration<W: PacketIo>(
        &mut self,
        wires: &[W],
        ready: &[bool],
        room: &mut ReadBuffers,
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
                self.on_device_error(i, &error);
            }
        }
        let now = clock();
        self.advance(wires, now, clock);
        if read > 0 {
            self.fidelity.batch_size.add(read as u64);
        }
        read
    }

    fn arrive<W: PacketIo>(
        &mut self,
        wires: &[W],
        seat: usize,
        packet: &[u8],
        clock: &mut impl FnMut() -> Instant,
    ) {
        let now = clock();
        let Some(PortState { host, capture, .. }) = self.ports.get_mut(seat) else { return };
        let host = *host;
        if let Some(capture) = capture {
            capture.packet(now, packet);
        }
        self.advance(wires, now, clock);
        self.engine.arrive(now, host, packet);
    }

    fn advance<W: PacketIo>(
        &mut self,
        wires: &[W],
        now: Instant,
        clock: &mut impl FnMut() -> Instant,
    ) {
        let Self {
            engine,
            ports: seats,
            by_host,
            fidelity: pace,
            tolerance,
            no_device_drops: nowhere,
        } = self;
        let tolerance = *tolerance;
        let mut out = DeviceSink {
            wires,
            clock,
            ports: seats,
            by_host,
            fidelity: pace,
            tolerance,
            no_device_drops: nowhere,
        };
        engine.advance(now, &mut out);
    }

    /// There is nothing more to be had from the device of that seat.
    pub(crate) fn on_device_error(&mut self, seat: usize, error: &io::Error) {
        if let Some(seat) = self.ports.get_mut(seat) {
            seat.device_error.get_or_insert_with(|| error.to_string());
        }
    }
}

/// Where packets go that have reached their hosts.
struct DeviceSink<'a, W, C> {
    wires: &'a [W],
    clock: &'a mut C,
    ports: &'a mut [PortState],
    by_host: &'a [Option<usize>],
    fidelity: &'a mut FidelityStats,
    tolerance: Duration,
    no_device_drops: &'a mut u64,
}

impl<W: PacketIo, C: FnMut() -> Instant> Deliver for DeviceSink<'_, W, C> {
    fn deliver(&mut self, host: HostId, due: Instant, bytes: &[u8]) {
        let seat = self.by_host.get(host.0 as usize).copied().flatten();
        let place = seat.and_then(|i| Some((self.ports.get_mut(i)?, self.wires.get(i)?)));
        let Some((seat, wire)) = place.filter(|(seat, _)| seat.device_error.is_none()) else {
            *self.no_device_drops += 1;
            return;
        };
        let now = (self.clock)();
        self.fidelity.record_delivery(due, now, self.tolerance);
        if let Some(capture) = &mut seat.capture {
            capture.packet(now, bytes);
        }
        match wire.send(bytes) {
            Ok(true) => {}
            Ok(false) => seat.device_drops += 1,
            Err(error) => seat.device_error = Some(error.to_string()),
        }
    }
}
