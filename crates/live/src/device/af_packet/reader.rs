//! Reading of frames, from the receive ring or with a system call for each.

use std::io;
use std::sync::{MutexGuard, PoisonError};

use lowtide_packet_ring::{RxRing, SlotContents};
use lowtide_units::Instant;

use super::neighbours::NeighbourTable;
use super::{AfPacket, HEADERS_LEN, socket};
use crate::device::offload::VirtioNetHeader;

/// Reads frames of an interface. Its locks are taken once for many frames.
pub(super) struct FrameReader<'a> {
    device: &'a AfPacket,
    ring: Option<MutexGuard<'a, RxRing>>,
    neighbours: Option<MutexGuard<'a, NeighbourTable>>,
    now: Instant,
}

/// Outcome of reading a frame.
pub(super) enum ReadOutcome {
    /// No frame waits.
    Empty,
    /// The frame had no IP packet for us, or it was lost.
    Handled,
    /// The buffer has `len` bytes of an IP packet at `start`. `before` bytes preceded it in its
    /// frame.
    Packet { start: usize, len: usize, offload: VirtioNetHeader, before: usize },
}

impl<'a> FrameReader<'a> {
    pub(super) fn new(device: &'a AfPacket) -> Self {
        let ring = device.ring.as_ref().and_then(|ring| ring.as_ref().ok());
        Self {
            device,
            ring: ring.map(|ring| ring.lock().unwrap_or_else(PoisonError::into_inner)),
            neighbours: device.lock_neighbours(),
            now: device.clock.now(),
        }
    }

    /// Whether frames come from a receive ring.
    pub(super) fn has_ring(&self) -> bool {
        self.ring.is_some()
    }

    /// Reads the next frame into `buffer`.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<ReadOutcome> {
        let mut ring = self.ring.take();
        let outcome = match &mut ring {
            Some(ring) => self.read_ring(ring, buffer),
            None => self.read_socket(buffer),
        };
        self.ring = ring;
        outcome
    }

    fn read_ring(&mut self, ring: &mut RxRing, buffer: &mut [u8]) -> io::Result<ReadOutcome> {
        let Some(frame) = ring.next_frame() else { return Ok(ReadOutcome::Empty) };
        match frame.contents() {
            SlotContents::Frame(bytes) => {
                let Some((offload, start)) = self.parse(bytes)? else {
                    return Ok(ReadOutcome::Handled);
                };
                let packet = bytes.get(start..).unwrap_or(&[]);
                let len = packet.len();
                let Some(target) = buffer.get_mut(..len) else { return Ok(ReadOutcome::Handled) };
                target.copy_from_slice(packet);
                let before = start - VirtioNetHeader::LEN;
                Ok(ReadOutcome::Packet { start: 0, len, offload, before })
            }
            SlotContents::OnSocket => match self.read_socket(buffer)? {
                // The slot was not empty.
                ReadOutcome::Empty => Ok(ReadOutcome::Handled),
                outcome => Ok(outcome),
            },
            SlotContents::Lost => Ok(ReadOutcome::Handled),
        }
    }

    fn read_socket(&mut self, buffer: &mut [u8]) -> io::Result<ReadOutcome> {
        let Some(len) = self.device.socket.recv(buffer)? else { return Ok(ReadOutcome::Empty) };
        let bytes = buffer.get(..len).unwrap_or(&[]);
        let Some((offload, start)) = self.parse(bytes)? else { return Ok(ReadOutcome::Handled) };
        let before = start - VirtioNetHeader::LEN;
        Ok(ReadOutcome::Packet { start, len: len - start, offload, before })
    }

    /// Handles a frame. Returns the offset of its IP packet, if there is one for us.
    pub(super) fn parse(&mut self, bytes: &[u8]) -> io::Result<Option<(VirtioNetHeader, usize)>> {
        let Some((offload, frame)) = socket::split_vnet_header(bytes) else { return Ok(None) };
        let Some(neighbours) = &mut self.neighbours else {
            return Ok(Some((offload, VirtioNetHeader::LEN)));
        };
        let ip = neighbours.receive(self.now, frame);
        self.device.send_queued_frames(neighbours)?;
        Ok(ip.then_some((offload, HEADERS_LEN)))
    }
}
