//! The peer of a kernel socket: a DCTCP receiver on a TUN interface that acknowledges each segment
//! at once, as a script says. It has no timer, so the kernel's socket sees the same ACKs each time.

use std::collections::{BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lowtide_live::{Device, DeviceNetwork, DevicePlan};
use lowtide_wire::options::{Options, SackBlocks};
use lowtide_wire::{Addresses, Ecn, Flags, Segment, SeqNum, packet};

/// The kernel's address, and the peer's.
pub(super) const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
pub(super) const PEER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
/// The peer's port.
pub(super) const PORT: u16 = 7;
/// Name of the interface.
pub(super) const INTERFACE: &str = "tun0";
/// Payload of a full segment, bytes. There are no timestamps.
pub(super) const MSS: u32 = 1000;
/// The peer's initial sequence number.
const ISN: u32 = 1_000_000;
/// Window scale; the window is 64 MB and never limits.
const SCALE: u8 = 10;

/// Opens the interface.
pub(super) fn interface() -> Device {
    let network = DeviceNetwork { local: IpAddr::V4(PEER), peer: IpAddr::V4(KERNEL), prefix: 24 };
    let plan = DevicePlan::parse(&format!("tun:{INTERFACE}"), 1500, vec![network]).unwrap();
    Device::open(&plan).unwrap()
}

/// The peer's end of one connection.
pub(super) struct Peer<'a> {
    device: &'a Device,
    kernel_port: u16,
    /// The kernel's initial sequence number.
    kernel_isn: SeqNum,
    /// Segments of data sent to the kernel.
    pub(super) sent: u32,
    /// Segments received in order: the next expected one.
    pub(super) next: u32,
    /// Received ones beyond it.
    beyond: BTreeSet<u32>,
    /// The kernel has sent all segments below this one.
    pub(super) highest: u32,
    /// Segments that wait for their acknowledgement, and whether they were sent for the first time.
    waiting: VecDeque<(u32, bool)>,
    /// Pure ACKs from the kernel: acknowledged segments of ours, and ECE.
    pub(super) acks: Vec<(u32, bool)>,
}

impl<'a> Peer<'a> {
    /// Accepts the connection whose SYN waits on the device. The SYN must request ECN.
    pub(super) fn accept(device: &'a Device) -> Self {
        let syn = loop {
            if let Some((segment, _)) = recv(device) {
                assert!(segment.flags.contains(Flags::SYN), "{segment:?}");
                break segment;
            }
            pause();
        };
        let requests = Flags::ECE | Flags::CWR;
        assert!(syn.flags.contains(requests) && syn.ecn == Ecn::Ect0, "no ECN-capable SYN");
        let peer = Self {
            device,
            kernel_port: syn.src_port,
            kernel_isn: syn.seq,
            sent: 0,
            next: 0,
            beyond: BTreeSet::new(),
            highest: 0,
            waiting: VecDeque::new(),
            acks: Vec::new(),
        };
        let options = Options {
            mss: Some(MSS as u16),
            window_scale: Some(SCALE),
            sack_permitted: true,
            ..Options::default()
        };
        peer.send(
            &Segment {
                seq: SeqNum::new(ISN),
                ack: syn.seq.add(1),
                flags: Flags::SYN | Flags::ACK | Flags::ECE,
                options,
                ..Segment::default()
            },
            &[],
        );
        peer
    }

    fn send(&self, segment: &Segment, payload: &[u8]) {
        let segment = Segment {
            src_port: PORT,
            dst_port: self.kernel_port,
            window: u16::MAX,
            payload_len: payload.len() as u32,
            ..*segment
        };
        let addresses = Addresses::V4 { src: PEER, dst: KERNEL };
        let mut out = [0; 1500];
        let len = packet::emit(&addresses, &segment, payload, &mut out).unwrap();
        assert!(self.device.send(&out[..len]).unwrap(), "the interface has no room");
    }

    fn at(&self, segment: u32) -> SeqNum {
        self.kernel_isn.add(1 + u64::from(segment) * u64::from(MSS))
    }

    /// Takes everything that the kernel has sent.
    pub(super) fn poll(&mut self) {
        while let Some((segment, len)) = recv(self.device) {
            if segment.src_port != self.kernel_port {
                continue;
            }
            if len == 0 {
                let acked = segment.ack.diff(SeqNum::new(ISN).add(1)) as u32 / MSS;
                self.acks.push((acked, segment.flags.contains(Flags::ECE)));
                continue;
            }
            assert_eq!(len, MSS, "a full segment: {segment:?}");
            let index = segment.seq.diff(self.at(0)) as u32 / MSS;
            self.waiting.push_back((index, index >= self.highest));
            self.highest = self.highest.max(index + 1);
        }
    }

    /// The next segment that waits for its acknowledgement, and whether it is a first transmission.
    pub(super) fn take(&mut self) -> Option<(u32, bool)> {
        self.waiting.pop_front()
    }

    /// Acknowledges a segment, with SACK if one before it is missing.
    pub(super) fn acknowledge(&mut self, segment: u32, ece: bool) {
        if segment >= self.next {
            self.beyond.insert(segment);
        }
        while self.beyond.remove(&self.next) {
            self.next += 1;
        }
        let mut sack = SackBlocks::EMPTY;
        for (start, end) in self.blocks(segment) {
            sack.push(self.at(start), self.at(end));
        }
        self.send(
            &Segment {
                seq: SeqNum::new(ISN).add(1 + u64::from(self.sent) * u64::from(MSS)),
                ack: self.at(self.next),
                flags: if ece { Flags::ACK | Flags::ECE } else { Flags::ACK },
                options: Options { sack, ..Options::default() },
                ..Segment::default()
            },
            &[],
        );
    }

    /// Blocks of received segments, that of `newest` first (RFC 2018 §4).
    fn blocks(&self, newest: u32) -> Vec<(u32, u32)> {
        let mut blocks: Vec<(u32, u32)> = Vec::new();
        for &index in &self.beyond {
            match blocks.last_mut() {
                Some(last) if last.1 == index => last.1 += 1,
                _ => blocks.push((index, index + 1)),
            }
        }
        blocks.sort_by_key(|(start, end)| (!(*start..*end).contains(&newest), *start));
        blocks.truncate(3);
        blocks
    }

    /// Sends a segment of data.
    pub(super) fn send_data(&mut self, ecn: Ecn, cwr: bool) {
        self.send(
            &Segment {
                seq: SeqNum::new(ISN).add(1 + u64::from(self.sent) * u64::from(MSS)),
                ack: self.at(self.next),
                // No PSH: the kernel acknowledges every second segment.
                flags: if cwr { Flags::ACK | Flags::CWR } else { Flags::ACK },
                ecn,
                ..Segment::default()
            },
            &[7; MSS as usize],
        );
        self.sent += 1;
    }

    /// Resets the connection: nothing of it is left in the kernel.
    pub(super) fn reset(self) {
        self.send(
            &Segment {
                seq: SeqNum::new(ISN).add(1 + u64::from(self.sent) * u64::from(MSS)),
                ack: self.at(self.next),
                flags: Flags::RST | Flags::ACK,
                ..Segment::default()
            },
            &[],
        );
        while recv(self.device).is_some() {}
    }
}

/// The next TCP segment that the kernel has sent, and the length of its payload.
fn recv(device: &Device) -> Option<(Segment, u32)> {
    let mut buffer = [0; 2048];
    while let Some(len) = device.recv(&mut buffer).unwrap() {
        // The kernel may send other packets (IGMP).
        if let Ok((_, segment, payload)) = packet::parse(&buffer[..len]) {
            return Some((segment, payload.len() as u32));
        }
    }
    None
}

/// A short wait for the kernel.
pub(super) fn pause() {
    std::thread::sleep(Duration::from_millis(1));
}
