//! The segments that one capture shows, by connection and direction.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;

use lowtide_wire::{Ecn, Flags, Options, Segment};

use crate::capture::{CapturePoint, CapturedPacket, Decoder, Reader};
use crate::error::AnalysisError;

/// Limit on the segments of one capture: 72 B each.
const MAX_SEGMENTS: usize = 20_000_000;

/// Sender and receiver.
pub(super) type Path = (SocketAddr, SocketAddr);

/// One segment of at most the MSS; those of offload are split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Observation {
    /// Time since the start of the capture, nanoseconds.
    pub(super) time: u64,
    pub(super) identity: Identity,
    pub(super) ecn: Ecn,
    pub(super) hop_limit: u8,
    /// It came in one packet with others: only the first byte of that packet has a time.
    pub(super) split: bool,
}

/// Fields that no router changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Identity {
    pub(super) seq: u32,
    pub(super) payload: u32,
    /// FIN, SYN and RST.
    kind: u16,
    /// Number, window and timestamps of a segment without payload.
    ack: u32,
    window: u16,
    timestamps: (u32, u32),
    identification: Option<u16>,
}

/// Flags and options of the SYN of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Syn {
    pub(super) flags: Flags,
    pub(super) options: Options,
    pub(super) ecn: Ecn,
}

/// One direction of a connection.
#[derive(Clone, Default, Debug)]
pub(super) struct Direction {
    pub(super) segments: Vec<Observation>,
    pub(super) syn: Option<Syn>,
}

/// All segments that one capture shows.
#[derive(Default, Debug)]
pub struct Observations {
    /// Time of the first frame, nanoseconds of the capturing host's clock.
    pub(super) start: u64,
    /// Time of the last frame since the first.
    pub(super) end: u64,
    pub(super) directions: BTreeMap<Path, Direction>,
    /// Packets that the capture lost, if it states them.
    pub(super) dropped: Option<u64>,
    /// The reason why it was not read to its end.
    pub(super) broken: Option<String>,
}

impl Observations {
    /// Reads a capture.
    ///
    /// # Errors
    /// It is no capture, or has more than 20 million segments.
    pub fn read(stream: impl Read) -> Result<Self, AnalysisError> {
        let mut reader = Reader::new(stream)?;
        let (mut decoder, mut out) = (Decoder::default(), Self::default());
        let mut points: BTreeMap<Path, CapturePoint> = BTreeMap::new();
        let (mut first, mut count) = (true, 0);
        loop {
            let frame = match reader.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(error) if first => return Err(error.into()),
                Err(error) => {
                    out.broken = Some(error.to_string());
                    break;
                }
            };
            if std::mem::take(&mut first) {
                out.start = frame.time_ns;
            }
            let time = frame.time_ns.saturating_sub(out.start);
            out.end = out.end.max(time);
            let Ok(seen) = decoder.segment(&frame) else { continue };
            let (from, to) = seen.packet.addresses.src_dst();
            let Segment { src_port, dst_port, .. } = seen.packet.segment;
            let path = (SocketAddr::new(from, src_port), SocketAddr::new(to, dst_port));
            // Other interfaces show the same packets again.
            if *points.entry(path).or_insert(seen.point) != seen.point {
                continue;
            }
            count += 1;
            if count > MAX_SEGMENTS {
                return Err(AnalysisError::NotFound {
                    message: format!("a capture has more than {MAX_SEGMENTS} segments"),
                    help: Some("compare a part: `editcap -A START -B END IN OUT`".to_owned()),
                });
            }
            out.directions.entry(path).or_default().add(time, &seen.packet);
        }
        let dropped = reader.interfaces().iter().filter_map(|i| i.dropped);
        out.dropped = dropped.reduce(u64::saturating_add);
        out.split_offload();
        Ok(out)
    }

    /// Splits segments of offload at the MSS that the peer's SYN permits, less the options, else at
    /// the most frequent payload of a full segment.
    fn split_offload(&mut self) {
        for direction in self.directions.values_mut() {
            let mut sizes: BTreeMap<u32, u32> = BTreeMap::new();
            for segment in &direction.segments {
                *sizes.entry(segment.identity.payload).or_default() += 1;
            }
            // A packet of an Ethernet line; larger ones are of offload or of jumbo frames.
            let usual = sizes.iter().filter(|(size, _)| (500..=1460).contains(*size));
            let Some((&mss, _)) = usual.max_by_key(|(_, count)| **count) else { continue };
            if sizes.keys().all(|size| *size <= mss) {
                continue;
            }
            let whole = std::mem::take(&mut direction.segments);
            direction.segments.reserve(whole.len());
            for segment in whole {
                segment.split(mss, &mut direction.segments);
            }
        }
    }
}

impl Direction {
    fn add(&mut self, time: u64, packet: &CapturedPacket) {
        let segment = &packet.segment;
        let kind = segment.flags.bits() & Flags::FIN.with(Flags::SYN).with(Flags::RST).bits();
        if segment.flags.contains(Flags::SYN) {
            let Segment { flags, options, ecn, .. } = *segment;
            self.syn.get_or_insert(Syn { flags, options, ecn });
        }
        let empty = segment.payload_len == 0;
        let times = segment.options.timestamps.map_or((0, 0), |t| (t.value, t.echo));
        self.segments.push(Observation {
            time,
            identity: Identity {
                seq: segment.seq.raw(),
                payload: segment.payload_len,
                kind,
                // GRO takes the newest ACK of the packets that it merges.
                ack: if empty { segment.ack.raw() } else { 0 },
                window: if empty { segment.window } else { 0 },
                timestamps: if empty { times } else { (times.0, 0) },
                identification: packet.identification.filter(|id| *id != 0),
            },
            ecn: segment.ecn,
            hop_limit: packet.hop_limit,
            split: false,
        });
    }
}

impl Observation {
    pub(super) fn is_identified(&self) -> bool {
        self.identity.identification.is_some()
    }

    /// Adds the segments of at most `mss` bytes that offload merged or will make of this one.
    fn split(self, mss: u32, out: &mut Vec<Self>) {
        let mut rest = self.identity.payload;
        let mut next = self;
        while rest > mss {
            next.identity.payload = mss;
            out.push(Self { split: true, ..next });
            rest -= mss;
            next.identity.seq = next.identity.seq.wrapping_add(mss);
            // Segmentation counts the identification up.
            next.identity.identification =
                next.identity.identification.map(|id| id.wrapping_add(1));
        }
        next.identity.payload = rest;
        out.push(Self { split: self.identity.payload > mss, ..next });
    }
}

impl Identity {
    pub(super) fn without_identification(self) -> Self {
        Self { identification: None, ..self }
    }
}
