//! One iteration of the driver: arrived packets enter the network, due packets leave it.
//!
//! Contract: devices and clock are arguments, so that tests run in virtual time. Events due before
//! a packet was read are handled before it enters. Due packets are sent between two reads, not only
//! after the last.

#[cfg(test)]
mod tests;

use std::io;

use lowtide_live::{Device, RxBatch};
use lowtide_net::HostId;
use lowtide_units::{Duration, HostStamp, Instant};

use crate::capture::Capture;
use crate::engine::{Deliver, Engine};
use crate::fidelity::FidelityStats;

/// Packets read from one device per iteration, before other devices are read.
const BURST: usize = 32;

/// Largest packet, bytes.
const MAX_PACKET: usize = 65_536;

/// Buffers for packets that are read.
#[derive(Debug)]
pub(crate) struct ReadBuffers {
    one: Vec<u8>,
    many: RxBatch,
}

impl Default for ReadBuffers {
    fn default() -> Self {
        Self { one: vec![0; MAX_PACKET], many: RxBatch::default() }
    }
}

/// A device, or a fake one in tests.
pub(crate) trait PacketIo {
    /// Reads waiting packets, about [`BURST`] at most, and passes each to `take`.
    fn read(&self, buffers: &mut ReadBuffers, take: &mut dyn FnMut(&[u8])) -> io::Result<()>;
    /// Sends a packet. Returns false if there is no room.
    fn send(&self, packet: &[u8]) -> io::Result<bool>;
}

impl PacketIo for Device {
    fn read(&self, buffers: &mut ReadBuffers, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        if let Self::Packet(_) = self {
            // One call reads many packets and segments GSO packets.
            self.recv_many(&mut buffers.many, HostStamp::default)?;
            buffers.many.packets().for_each(|(_, packet)| take(packet));
            return Ok(());
        }
        for _ in 0..BURST {
            let Some(len) = self.recv(&mut buffers.one)? else { break };
            take(buffers.one.get(..len).unwrap_or(&[]));
        }
        Ok(())
    }
    fn send(&self, packet: &[u8]) -> io::Result<bool> {
        Self::send(self, packet)
    }
}

/// State of a device.
#[derive(Debug)]
pub(crate) struct PortState {
    pub(crate) host: HostId,
    /// Set once the device has failed.
    pub(crate) device_error: Option<String>,
    pub(crate) device_drops: u64,
    /// Packets with a partial checksum or several segments.
    pub(crate) checksum_partial: u64,
    pub(crate) capture: Option<Capture>,
}

/// The network, the state of its devices, and its timing accuracy.
#[derive(Debug)]
pub(crate) struct Forwarder {
    pub(crate) engine: Engine,
    pub(crate) ports: Vec<PortState>,
    /// Index of the port of each host.
    pub(crate) by_host: Vec<Option<usize>>,
    pub(crate) fidelity: FidelityStats,
    pub(crate) tolerance: Duration,
    /// Packets for hosts without a device.
    pub(crate) no_device_drops: u64,
}

impl Forwarder {
    /// Runs one iteration over the devices that are `ready`. Returns the number of packets read.
    pub(crate) fn run_iteration<W: PacketIo>(
        &mut self,
        devices: &[W],
        ready: &[bool],
        buffers: &mut ReadBuffers,
        clock: &mut impl FnMut() -> Instant,
    ) -> usize {
        let mut read = 0;
        for (i, device) in devices.iter().enumerate() {
            if !ready.get(i).copied().unwrap_or(false) {
                continue;
            }
            let result = device.read(buffers, &mut |packet| {
                read += 1;
                self.arrive(devices, i, packet, clock);
            });
            if let Err(error) = result {
                self.on_device_error(i, &error);
            }
        }
        let now = clock();
        self.advance(devices, now, clock);
        if read > 0 {
            self.fidelity.batch_size.add(read as u64);
        }
        read
    }

    fn arrive<W: PacketIo>(
        &mut self,
        devices: &[W],
        port: usize,
        packet: &[u8],
        clock: &mut impl FnMut() -> Instant,
    ) {
        let now = clock();
        let Some(PortState { host, capture, .. }) = self.ports.get_mut(port) else { return };
        let host = *host;
        if let Some(capture) = capture {
            capture.packet(now, packet);
        }
        self.advance(devices, now, clock);
        self.engine.arrive(now, host, packet);
    }

    fn advance<W: PacketIo>(
        &mut self,
        devices: &[W],
        now: Instant,
        clock: &mut impl FnMut() -> Instant,
    ) {
        let Self { engine, ports, by_host, fidelity, tolerance, no_device_drops } = self;
        let tolerance = *tolerance;
        let mut out =
            DeviceSink { devices, clock, ports, by_host, fidelity, tolerance, no_device_drops };
        engine.advance(now, &mut out);
    }

    /// Marks the device of a port as failed.
    pub(crate) fn on_device_error(&mut self, port: usize, error: &io::Error) {
        if let Some(port) = self.ports.get_mut(port) {
            port.device_error.get_or_insert_with(|| error.to_string());
        }
    }
}

/// Sends delivered packets to the devices of their hosts.
struct DeviceSink<'a, W, C> {
    devices: &'a [W],
    clock: &'a mut C,
    ports: &'a mut [PortState],
    by_host: &'a [Option<usize>],
    fidelity: &'a mut FidelityStats,
    tolerance: Duration,
    no_device_drops: &'a mut u64,
}

impl<W: PacketIo, C: FnMut() -> Instant> Deliver for DeviceSink<'_, W, C> {
    fn deliver(&mut self, host: HostId, due: Instant, bytes: &[u8]) {
        let port = self.by_host.get(host.0 as usize).copied().flatten();
        let found = port.and_then(|i| Some((self.ports.get_mut(i)?, self.devices.get(i)?)));
        let Some((port, device)) = found.filter(|(port, _)| port.device_error.is_none()) else {
            *self.no_device_drops += 1;
            return;
        };
        let now = (self.clock)();
        self.fidelity.record_delivery(due, now, self.tolerance);
        if let Some(capture) = &mut port.capture {
            capture.packet(now, bytes);
        }
        match device.send(bytes) {
            Ok(true) => {}
            Ok(false) => port.device_drops += 1,
            Err(error) => port.device_error = Some(error.to_string()),
        }
    }
}
